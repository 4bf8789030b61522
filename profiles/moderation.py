"""What moderators may change: who sees a delivery, which platforms are one, what predictions leave out.

Everything is taken back by the same functions, and raises the revision, so that snapshots and ETags follow. Stored
predictions stay as they were given.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from profiles.models import Platform, Profile, Revision, Source, Workload
from profiles.signals import merged


class ModerationError(Exception):
    """What a moderator asked for would break something; nothing was changed."""


@transaction.atomic
def set_hidden(source: Source, hidden: bool) -> None:
    """Hide a delivery from everybody, or show it again: its profiles, and the platforms and workloads that nothing
    else is known of."""
    Revision.hold()
    source.hidden = hidden
    source.save(update_fields=["hidden"])
    source.profiles.update(hidden=hidden)
    for model in (Platform, Workload):
        _follow(model, source, hidden)
    Revision.raise_for(source.private_to)


def _follow(model: Any, source: Source, hidden: bool) -> None:
    """Hide the source's platforms (workloads) that are left without a shown profile; show all that have one."""
    rows = model.objects.filter(profiles__source=source)
    if hidden:
        rows = rows.exclude(pk__in=Profile.objects.filter(hidden=False).values(model._meta.model_name))
    model.objects.filter(pk__in=rows.order_by().values("pk")).update(hidden=hidden)


@transaction.atomic
def merge_platforms(duplicate: Platform, kept: Platform) -> int:
    """Move the profiles of a platform to another that is the same machine; how many. The duplicate stays as a hidden
    row: its address leads to the other, and deliveries that name it go there."""
    Revision.hold()
    _check_one_machine(duplicate, kept)
    moved = duplicate.profiles.update(platform=kept)
    Platform.objects.filter(merged_into=duplicate).update(merged_into=kept)
    duplicate.merged_into, duplicate.hidden = kept, True
    duplicate.save(update_fields=["merged_into", "hidden"])
    if duplicate.n_max > kept.n_max:
        kept.n_max = duplicate.n_max
        kept.save(update_fields=["n_max"])
    Revision.raise_for(None)
    transaction.on_commit(lambda: merged.send_robust(Platform, platform=kept))
    return moved


def _check_one_machine(duplicate: Platform, kept: Platform) -> None:
    if duplicate.pk == kept.pk:
        raise ModerationError("A platform cannot be merged into itself.")
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

    What is decided here stays: `manage.py find_outliers` does not judge the profile again.
    """
    Revision.hold()
    profile.outlier_reason, profile.outlier_judge = reason.strip(), "moderator"
    profile.save(update_fields=["outlier_reason", "outlier_judge"])
    Revision.raise_for(profile.private_to)
