"""What moderators may change: who sees a delivery, which platforms are one, what is known of them, what predictions
leave out.

Everything can be taken back, and raises the revision, so that snapshots and ETags follow. Stored predictions stay as
they were given. Who decided on it and why is noted by profiles.moderation.log, through which pages and the admin come
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction

from profiles.identity.descriptions import FACTS, PLATFORM_FACTS, FactColumns, described_by, restate
from profiles.identity.matching import (
    PLATFORM_RULES,
    WORKLOAD_RULES,
    MatchingRules,
    merge_private_rows_into,
)
from profiles.identity.spelling import canonical_vendor
from profiles.ingest.withdrawal import drop_unsupported
from profiles.judgement.owners import contested_pairs, judge_pairs
from profiles.models import Platform, PlatformDescription, Profile, Revision, Source, Workload
from profiles.models.querysets import key_chunks
from profiles.signals import merged, separated


class ModerationError(Exception):
    """What a moderator asked for would break something; nothing was changed."""


@transaction.atomic
def set_hidden(source: Source, hidden: bool) -> None:
    """Hide a delivery from everybody, or show it again: its profiles, the platforms and workloads that nothing else is
    known of, and what it says of all of them. Whoever has private profiles of a public row that is hidden gets a row of
    their own, as when a delivery is withdrawn; when it is shown again, they move back."""
    Revision.hold()
    source.hidden = hidden
    source.save(update_fields=["hidden"])
    source.profiles.update(hidden=hidden)
    judge_pairs(contested_pairs(source.profiles.all()))
    for rules in (PLATFORM_RULES, WORKLOAD_RULES):
        _follow(rules, source, hidden)
    for columns, keys in described_by([source]):
        restate(columns, keys)
    Revision.raise_for(source.private_to)


def _follow(rules: MatchingRules, source: Source, hidden: bool) -> None:
    """Hide the source's platforms (workloads) that are left without a shown profile; show all that have one. A public
    row is shown for public profiles only."""
    rows = rules.model.objects.filter(profiles__source=source).order_by()
    if hidden:
        drop_unsupported(FACTS[rules.model], list(rows.values_list("pk", flat=True).distinct()))
        rows = rows.exclude(pk__in=Profile.objects.filter(hidden=False).values(rules.noun))
    rules.model.objects.filter(pk__in=rows.values("pk")).update(hidden=hidden)
    if not hidden and source.private_to_id is None:
        merge_private_rows_into(rules, list(rules.model.objects.filter(pk__in=rows.values("pk"))))


@transaction.atomic
def merge_platforms(duplicate: Platform, kept: Platform) -> int:
    """Move the profiles of a platform to another that is the same machine. Returns their number. The duplicate stays as
    a hidden row: its address leads to the other, and deliveries that name it go there. The facts are computed again,
    from what was delivered for both."""
    Revision.hold()
    _check_one_machine(duplicate, kept)
    moved = duplicate.profiles.update(platform=kept)
    judge_pairs(contested_pairs(kept.profiles.all()))
    duplicate.descriptions.update(platform=kept)
    Platform.objects.filter(merged_into=duplicate).update(merged_into=kept)
    duplicate.merged_into, duplicate.hidden = kept, True
    duplicate.save(update_fields=["merged_into", "hidden"])
    kept.decided = duplicate.decided | kept.decided
    kept.save(update_fields=["decided"])
    restate(PLATFORM_FACTS, [kept.pk])
    kept.refresh_from_db()
    Revision.raise_for(None)
    transaction.on_commit(lambda: merged.send_robust(Platform, platform=kept))
    return moved


def merge_record(duplicate: Platform, kept: Platform) -> dict[str, Any]:
    """What a merge of the two is about to move, by primary keys: what `separate_platforms` needs to take it back."""
    former = Platform.objects.filter(merged_into=duplicate).order_by("pk")
    return {
        "kept": kept.pk,
        "profiles": list(duplicate.profiles.order_by("pk").values_list("pk", flat=True)),
        "descriptions": list(duplicate.descriptions.order_by("pk").values_list("pk", flat=True)),
        "former": list(former.values_list("pk", flat=True)),
        "decided": [name for name in duplicate.decided if name not in kept.decided],
    }


@transaction.atomic
def separate_platforms(duplicate: Platform, record: dict[str, Any]) -> Platform:
    """Take a merge back: what it moved goes to the duplicate again, of which the facts are computed again, as those of
    the platform that it was merged into, which is returned. What was delivered since stays with that one."""
    Revision.hold()
    kept = Platform.objects.filter(pk=record["kept"]).first()
    if kept is None or duplicate.merged_into_id != kept.pk:
        raise ModerationError(f"{duplicate.slug} is not merged into that machine any more.")
    contested = contested_pairs(kept.profiles.all())
    _move(Profile, record["profiles"], {"platform": kept}, {"platform": duplicate})
    judge_pairs((platform.pk, workload) for platform in (kept, duplicate) for _, workload in contested)
    _move(PlatformDescription, record["descriptions"], {"platform": kept}, {"platform": duplicate})
    _move(Platform, record["former"], {"merged_into": kept}, {"merged_into": duplicate})
    shown = duplicate.profiles.filter(hidden=False, private_to=None)
    duplicate.merged_into, duplicate.hidden = None, not shown.exists()
    duplicate.save(update_fields=["merged_into", "hidden"])
    brought = {name for name in record["decided"] if kept.decided.get(name) == duplicate.decided.get(name)}
    kept.decided = {name: value for name, value in kept.decided.items() if name not in brought}
    kept.save(update_fields=["decided"])
    restate(PLATFORM_FACTS, [duplicate.pk, kept.pk])
    Revision.raise_for(None)
    transaction.on_commit(lambda: separated.send_robust(Platform, platforms=[duplicate, kept]))
    return kept


def _move(model: Any, keys: Iterable[Any], of: dict[str, Any], to: dict[str, Any]) -> None:
    for part in key_chunks(keys):
        model.objects.filter(pk__in=part, **of).update(**to)


def _check_one_machine(duplicate: Platform, kept: Platform) -> None:
    if duplicate.pk == kept.pk:
        raise ModerationError("A machine cannot be merged into itself.")
    for row in (duplicate, kept):
        if row.private_to_id is not None or row.merged_into_id is not None:
            raise ModerationError(f"{row.slug} is {'private' if row.private_to_id else 'merged already'}.")
    breakpoints = [(row.n_nu, row.n_ht) for row in (duplicate, kept)]
    if breakpoints[0] != breakpoints[1]:
        raise ModerationError(
            f"{duplicate.slug} has n_nu, n_ht = {breakpoints[0]} and {kept.slug} {breakpoints[1]}: not one machine."
        )
    pairs = kept.profiles.values_list("source", "workload")
    twice = set(duplicate.profiles.values_list("source", "workload")) & set(pairs)
    if twice:
        raise ModerationError(f"One delivery measured {len(twice)} workloads on both: not one machine.")


@transaction.atomic
def mark_outlier(profile: Profile, reason: str) -> None:
    """Keep a profile out of predictions, for a reason that its page shows; an empty reason takes it back.

    What is decided here stays: `manage.py find_outliers` does not judge the profile again. What a moderator lets stand
    counts before other owners' measurements of the pair.
    """
    _set_judgement(profile, reason.strip(), Profile.Judge.MODERATOR)


@transaction.atomic
def restore_judgement(profile: Profile, reason: str, judge: str) -> None:
    """As it was before `mark_outlier`."""
    _set_judgement(profile, reason, judge)


def _set_judgement(profile: Profile, reason: str, judge: str) -> None:
    """What it is beside other owners' measurements of its pair is decided again."""
    Revision.hold()
    profile.outlier_reason, profile.outlier_judge = reason, judge
    profile.save(update_fields=["outlier_reason", "outlier_judge"])
    judge_pairs(contested_pairs(Profile.objects.filter(pk=profile.pk)))
    Revision.raise_for(profile.private_to)


@transaction.atomic
def decide_facts(row: Platform | Workload, facts: dict[str, Any]) -> None:
    """A moderator's word on some facts of a row, None for unknown: no delivery changes it. Unknown columns are
    refused."""
    columns = FACTS[type(row)]
    unknown = set(facts) - set(columns.own)
    if unknown:
        raise ValueError(f"no fact of a {columns.noun}: {', '.join(sorted(unknown))}")
    if "vendor" in facts:
        facts = facts | {"vendor": canonical_vendor(facts["vendor"])}
    _change_decided(columns, row, lambda decided: decided | facts)


@transaction.atomic
def leave_to_deliveries(row: Platform | Workload) -> None:
    """Take back what moderators decided on this row."""
    _change_decided(FACTS[type(row)], row, lambda decided: {})


@transaction.atomic
def restore_decisions(row: Platform | Workload, decided: dict[str, Any]) -> None:
    """What moderators decided on this row is that and nothing else."""
    _change_decided(FACTS[type(row)], row, lambda _: decided)


def _change_decided(columns: FactColumns, row: Any, change: Callable[[dict], dict]) -> None:
    Revision.hold()
    stored = columns.model.objects.get(pk=row.pk)
    stored.decided = change(stored.decided)
    stored.save(update_fields=["decided"])
    restate(columns, [row.pk])
    Revision.raise_for(stored.private_to)
