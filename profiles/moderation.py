"""Moderators' actions: hide deliveries, merge platforms, set facts, and exclude profiles from predictions.

Each action is logged with the moderator and the reason in the same transaction, and can be undone. Each action raises
the revision, so that snapshots and ETags follow. Stored predictions do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.dispatch import Signal

from profiles.identity.descriptions import described_by, restate
from profiles.identity.matching import PLATFORM_RULES, RULES, MatchingRules, merge_private_rows_into
from profiles.identity.spelling import canonical_vendor
from profiles.ingest.withdrawal import drop_unsupported
from profiles.judgement.owners import contested_pairs, judge_pairs
from profiles.models import (
    ModerationEntry,
    Platform,
    PlatformDescription,
    Profile,
    Revision,
    Source,
    VisitorReport,
    Workload,
)
from profiles.models.moderation import LONGEST_DECISION_REASON
from profiles.models.querysets import key_chunks

merged = Signal()  # sent with `platform` after the commit of a merge into this platform
separated = Signal()  # sent with `platforms` after the commit that undid a merge of these two

Action, Subject = ModerationEntry.Action, ModerationEntry.Subject
SUBJECTS: dict[str, type[Any]] = {
    Subject.SOURCE: Source,
    Subject.PLATFORM: Platform,
    Subject.WORKLOAD: Workload,
    Subject.PROFILE: Profile,
    Subject.REPORT: VisitorReport,
}
SUBJECT_KINDS = {model: kind for kind, model in SUBJECTS.items()}


class ModerationError(Exception):
    """Raised when an action is not possible. Nothing is changed."""


@dataclass(frozen=True)
class Decision:
    """The moderator who decides, and the reason, which is required."""

    by: Any
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ModerationError("A reason is required; it is stored in the log.")
        if len(self.reason.strip()) > LONGEST_DECISION_REASON:
            raise ModerationError(f"The reason is longer than {LONGEST_DECISION_REASON} characters.")


def note(
    decision: Decision, action: str, row: Any, *, before: Any = None, after: Any = None, queue: str = ""
) -> ModerationEntry:
    return ModerationEntry.objects.create(
        by=decision.by,
        action=action,
        subject_kind=SUBJECT_KINDS[type(row)],
        subject_key=row.pk,
        queue=queue,
        reason=decision.reason.strip(),
        before=before or {},
        after=after or {},
    )


@transaction.atomic
def set_hidden(source: Source, hidden: bool) -> None:
    """Hide a delivery, or show it again.

    This includes its profiles, the platforms and workloads that have no other profiles, and its descriptions of all
    rows. Owners of private profiles of a public row that is hidden get a private copy of the row, as when a delivery is
    withdrawn. When the row is shown again, their profiles move back.
    """
    Revision.hold()
    source.hidden = hidden
    source.save(update_fields=["hidden"])
    source.profiles.update(hidden=hidden)
    judge_pairs(contested_pairs(source.profiles.all()))
    for rules in RULES.values():
        _follow(rules, source, hidden)
    for rules, keys in described_by([source]):
        restate(rules, keys)
    Revision.raise_for(source.private_to)


def _follow(rules: MatchingRules, source: Source, hidden: bool) -> None:
    """Hide the source's platforms (workloads) without visible profiles, or show those that have one.

    A public row is shown for public profiles only.
    """
    rows = rules.model.objects.filter(profiles__source=source).order_by()
    if hidden:
        drop_unsupported(rules, list(rows.values_list("pk", flat=True).distinct()))
        rows = rows.exclude(pk__in=Profile.objects.filter(hidden=False).values(rules.noun))
    rules.model.objects.filter(pk__in=rows.values("pk")).update(hidden=hidden)
    if not hidden and source.private_to_id is None:
        merge_private_rows_into(rules, list(rules.model.objects.filter(pk__in=rows.values("pk"))))


@transaction.atomic
def hide(source: Source, decision: Decision) -> ModerationEntry:
    """Hide a public delivery that is shown."""
    return _set_hidden(source, True, decision)


@transaction.atomic
def show(source: Source, decision: Decision) -> ModerationEntry:
    """Show a hidden public delivery again."""
    return _set_hidden(source, False, decision)


def _set_hidden(source: Source, hidden: bool, decision: Decision) -> ModerationEntry:
    source = Source.objects.select_for_update().get(pk=source.pk)
    if source.private_to_id is not None:
        raise ModerationError("Private data is not moderated.")
    if source.hidden == hidden:
        raise ModerationError(f"This upload is already {'hidden' if hidden else 'shown'}.")
    set_hidden(source, hidden)
    return note(decision, Action.HIDE if hidden else Action.SHOW, source)


@transaction.atomic
def merge_platforms(duplicate: Platform, kept: Platform) -> int:
    """Move the profiles of a platform to another platform that is the same machine, and return their number.

    The duplicate remains as a hidden row: its URL leads to the other platform, and deliveries that name it are stored
    for the other platform. The facts are recomputed from the deliveries for both.
    """
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
    restate(PLATFORM_RULES, [kept.pk])
    kept.refresh_from_db()
    Revision.raise_for(None)
    transaction.on_commit(lambda: merged.send_robust(Platform, platform=kept))
    return moved


@transaction.atomic
def merge(duplicate: Platform, kept: Platform, decision: Decision) -> tuple[ModerationEntry, int]:
    """Merge two platforms that are one machine, and return the log entry and the number of moved profiles."""
    duplicate, kept = (Platform.objects.get(pk=row.pk) for row in (duplicate, kept))
    # The primary keys of all rows that will move, with which `separate` can undo the merge.
    former = Platform.objects.filter(merged_into=duplicate).order_by("pk")
    record = {
        "kept": kept.pk,
        "profiles": list(duplicate.profiles.order_by("pk").values_list("pk", flat=True)),
        "descriptions": list(duplicate.descriptions.order_by("pk").values_list("pk", flat=True)),
        "former": list(former.values_list("pk", flat=True)),
        "decided": [name for name in duplicate.decided if name not in kept.decided],
    }
    moved = merge_platforms(duplicate, kept)
    return note(decision, Action.MERGE, duplicate, before=record), moved


@transaction.atomic
def separate(duplicate: Platform, record: dict[str, Any], decision: Decision) -> ModerationEntry:
    """Undo a merge: move the rows that it moved back to the duplicate, and recompute the facts of both platforms.

    Profiles that were delivered since the merge remain with the other platform.
    """
    Revision.hold()
    target = Platform.objects.filter(pk=record["kept"]).first()
    if target is None or duplicate.merged_into_id != target.pk:
        raise ModerationError(f"{duplicate.slug} is no longer merged into that machine.")
    contested = contested_pairs(target.profiles.all())
    _move(Profile, record["profiles"], {"platform": target}, {"platform": duplicate})
    judge_pairs((platform.pk, workload) for platform in (target, duplicate) for _, workload in contested)
    _move(PlatformDescription, record["descriptions"], {"platform": target}, {"platform": duplicate})
    _move(Platform, record["former"], {"merged_into": target}, {"merged_into": duplicate})
    shown = duplicate.profiles.filter(hidden=False, private_to=None)
    duplicate.merged_into, duplicate.hidden = None, not shown.exists()
    duplicate.save(update_fields=["merged_into", "hidden"])
    brought = {name for name in record["decided"] if target.decided.get(name) == duplicate.decided.get(name)}
    target.decided = {name: value for name, value in target.decided.items() if name not in brought}
    target.save(update_fields=["decided"])
    restate(PLATFORM_RULES, [duplicate.pk, target.pk])
    Revision.raise_for(None)
    transaction.on_commit(lambda: separated.send_robust(Platform, platforms=[duplicate, target]))
    return note(decision, Action.SEPARATE, duplicate, after={"kept": target.pk})


def _move(model: Any, keys: Iterable[Any], of: dict[str, Any], to: dict[str, Any]) -> None:
    for part in key_chunks(keys):
        model.objects.filter(pk__in=part, **of).update(**to)


def _check_one_machine(duplicate: Platform, kept: Platform) -> None:
    if duplicate.pk == kept.pk:
        raise ModerationError("A machine cannot be merged into itself.")
    for row in (duplicate, kept):
        if row.private_to_id is not None or row.merged_into_id is not None:
            raise ModerationError(f"{row.slug} is {'private' if row.private_to_id else 'already merged'}.")
    breakpoints = [(row.n_nu, row.n_ht) for row in (duplicate, kept)]
    if breakpoints[0] != breakpoints[1]:
        raise ModerationError(
            f"{duplicate.slug} has n_nu, n_ht = {breakpoints[0]}, {kept.slug} has {breakpoints[1]}: "
            "they are different machines."
        )
    pairs = kept.profiles.values_list("source", "workload")
    twice = set(duplicate.profiles.values_list("source", "workload")) & set(pairs)
    if twice:
        raise ModerationError(f"One upload measured {len(twice)} workloads on both: they are different machines.")


@transaction.atomic
def decide(row: Platform | Workload, facts: dict[str, Any], decision: Decision) -> ModerationEntry:
    """Set facts of a row (None for unknown) that no delivery can change. Raises ValueError for unknown columns."""
    rules = RULES[type(row)]
    unknown = set(facts) - set(rules.fact_columns)
    if unknown:
        raise ValueError(f"unknown facts of a {rules.noun}: {', '.join(sorted(unknown))}")
    if "vendor" in facts:
        facts = facts | {"vendor": canonical_vendor(facts["vendor"])}
    return _change_decided(row, lambda decided: decided | facts, decision)


@transaction.atomic
def leave(row: Platform | Workload, decision: Decision) -> ModerationEntry:
    """Reset the moderators' decisions on this row, so that its facts follow the deliveries again."""
    return _change_decided(row, lambda decided: {}, decision)


def _change_decided(row: Any, change: Callable[[dict], dict], decision: Decision) -> ModerationEntry:
    Revision.hold()
    rules = RULES[type(row)]
    stored = rules.model.objects.get(pk=row.pk)
    before, stored.decided = stored.decided, change(stored.decided)
    stored.save(update_fields=["decided"])
    restate(rules, [row.pk])
    Revision.raise_for(stored.private_to)
    return note(decision, Action.FACTS, row, before={"decided": before}, after={"decided": stored.decided})


@transaction.atomic
def mark_outlier(profile: Profile, reason: str, judged_by: str = Profile.Judge.MODERATOR) -> None:
    """Exclude a profile from predictions for a reason that its page shows, or include it again if the reason is empty.

    The owner that counts for the profile's pair is determined again. `manage.py find_outliers` does not judge the
    profile again. A profile that a moderator included counts before other owners' measurements of the pair. `judged_by`
    differs from the default when an earlier verdict is restored.
    """
    Revision.hold()
    profile.outlier_reason, profile.outlier_judge = reason, judged_by
    profile.save(update_fields=["outlier_reason", "outlier_judge"])
    judge_pairs(contested_pairs(Profile.objects.filter(pk=profile.pk)))
    Revision.raise_for(profile.private_to)


@transaction.atomic
def judge(
    profile: Profile, outlier_reason: str, decision: Decision, judged_by: str = Profile.Judge.MODERATOR
) -> ModerationEntry:
    """Exclude a profile from predictions for a reason that its page shows, or include it if the reason is ""."""
    row = Profile.objects.select_for_update().get(pk=profile.pk)
    before = _verdict(row)
    mark_outlier(row, outlier_reason, judged_by)
    return note(decision, Action.OUTLIER, row, before=before, after=_verdict(row))


def _verdict(row: Profile) -> dict[str, str]:
    return {"reason": row.outlier_reason, "judge": row.outlier_judge}


@transaction.atomic
def handle(row: Any, queue: str, decision: Decision) -> ModerationEntry:
    """Remove a row from a part of the queue."""
    return note(decision, Action.HANDLE, row, queue=queue)


@transaction.atomic
def undo(entry: ModerationEntry, decision: Decision) -> ModerationEntry:
    """Undo an entry if its result is unchanged, and return the new entry."""
    entry = ModerationEntry.objects.select_for_update().get(pk=entry.pk)
    if ModerationEntry.objects.filter(undoes=entry).exists():
        raise ModerationError("This entry is already undone.")
    row = SUBJECTS[entry.subject_kind].objects.filter(pk=entry.subject_key).first()
    if row is None:
        raise ModerationError("Its subject was deleted by the owner.")
    back = BACK[entry.action](entry, row, decision)
    back.undoes = entry
    back.save(update_fields=["undoes"])
    return back


def _undo_separation(entry: ModerationEntry, row: Platform, decision: Decision) -> ModerationEntry:
    target = Platform.objects.filter(pk=entry.after["kept"]).first()
    if target is None:
        raise ModerationError("The machine into which it was merged no longer exists.")
    return merge(row, target, decision)[0]


def _undo_decision(entry: ModerationEntry, row: Any, decision: Decision) -> ModerationEntry:
    _check_unchanged(row.decided == entry.after["decided"])
    return _change_decided(row, lambda _: entry.before["decided"], decision)


def _undo_judgement(entry: ModerationEntry, row: Profile, decision: Decision) -> ModerationEntry:
    _check_unchanged(_verdict(row) == entry.after)
    return judge(row, entry.before["reason"], decision, entry.before["judge"])


def _check_unchanged(is_unchanged: bool) -> None:
    if not is_unchanged:
        raise ModerationError("A later decision exists: undo that first.")


def _hand_back(entry: ModerationEntry, row: Any, decision: Decision) -> ModerationEntry:
    action = Action.REOPEN if entry.action == Action.HANDLE else Action.HANDLE
    return note(decision, action, row, queue=entry.queue)


BACK: dict[str, Callable[[ModerationEntry, Any, Decision], ModerationEntry]] = {
    Action.HIDE: lambda entry, row, decision: show(row, decision),
    Action.SHOW: lambda entry, row, decision: hide(row, decision),
    Action.MERGE: lambda entry, row, decision: separate(row, entry.before, decision),
    Action.SEPARATE: _undo_separation,
    Action.FACTS: _undo_decision,
    Action.OUTLIER: _undo_judgement,
    Action.HANDLE: _hand_back,
    Action.REOPEN: _hand_back,
}
