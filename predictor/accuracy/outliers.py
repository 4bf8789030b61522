"""Outlier detection for stored profiles. The verdicts are stored with the profiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from predictor.core import outliers as core
from predictor.core.arrays import slug_index
from predictor.core.steps import single_thread
from predictor.snapshot.building import Snapshot
from predictor.snapshot.cache import read_snapshot
from profiles.jobs.executors import Executor
from profiles.judgement.outliers import keep_verdicts, own_reasons, profiles_to_judge
from profiles.models import Profile, Source
from profiles.scaling.runs import stored_curves

JUDGED_AT_ONCE = 500  # profiles and their curves in memory at the same time
MOST_RECONSIDERED = 100  # computed outliers that are judged again after a delivery


def judge_profiles(
    profiles: Sequence[int], progress: Callable[[int], Any] | None = None, executor: Executor | None = None
) -> int:
    """Judge the profiles with these primary keys and store the verdicts. Return the number of changed verdicts."""
    rows = Profile.objects.filter(pk__in=profiles).select_related(
        "platform", "workload", "private_to", "curves", "source"
    )
    groups: dict[tuple[Any, str], list[Profile]] = defaultdict(list)
    for profile in rows:
        groups[profile.private_to, profile.origin].append(profile)
    changed = 0
    for (owner, origin), members in groups.items():
        snapshot = read_snapshot(owner, origins=(origin,))
        others = platforms_of_others(members)
        measured = {member.pk: measured_in_snapshot(snapshot, member, others.get(member.pk)) for member in members}
        located = {key: found for key, found in measured.items() if found is not None}
        with single_thread():
            suspicions = core.find_outliers(
                snapshot.database, list(located.values()), progress=progress, executor=executor
            )
        contradicted = {list(located)[suspicion.position]: suspicion.reason for suspicion in suspicions}
        changed += keep_verdicts(members, contradicted | own_reasons(members), snapshot.database.revision)
    return changed


def platforms_of_others(profiles: Sequence[Profile]) -> dict[int, list[str]]:
    """Return by primary key of each uploaded profile the platforms on which other owners measured its workload.

    A profile must not be judged by measurements of its own owner.
    """
    uploaded = {profile.pk: (profile.source.owner_id, profile.workload_id) for profile in profiles}
    measured: dict[tuple[int, int], list[str]] = {}
    for owner in {owner for owner, _ in uploaded.values() if owner is not None}:
        workloads = {workload for by, workload in uploaded.values() if by == owner}
        rows = Profile.objects.candidates_for(None).filter(workload__in=workloads).exclude(source__owner=owner)
        measured |= {(owner, workload): [] for workload in workloads}
        for workload, slug in rows.order_by().values_list("workload", "platform__slug").distinct():
            measured[owner, workload].append(slug)
    return {key: measured[pair] for key, pair in uploaded.items() if pair in measured}


def measured_in_snapshot(
    snapshot: Snapshot, profile: Profile, references: Sequence[str] | None
) -> core.MeasuredProfile | None:
    """Return a stored profile with its indices in the snapshot, or None if nothing in the snapshot is comparable with
    it.

    `references` are the platforms that it is compared with, or None for all platforms.
    """
    database, curves = snapshot.database, stored_curves(profile)
    workload = slug_index(database.workloads, profile.workload.slug)
    platform = slug_index(database.platforms, profile.platform.slug)
    group = (profile.decomposed, profile.workload.runtime or "", profile.origin)
    if curves is None or workload is None or platform is None or group not in database.groups:
        return None
    judges = (slug_index(database.platforms, slug) for slug in references or ())
    return core.MeasuredProfile(
        workload,
        platform,
        database.groups.index(group),
        curves.n,
        curves.time_s,
        curves.fractions,
        None if references is None else tuple(sorted(position for position in judges if position is not None)),
    )


def judge_delivery(source: Source) -> int:
    """Judge the profiles of a delivery, and computed outliers with the same workloads that the delivery may clear.

    Return the number of changed verdicts.
    """
    profiles = profiles_to_judge().filter(source=source).values_list("pk", flat=True)
    doubtful = Profile.objects.filter(outlier_judge="computed", workload__profiles__source=source).order_by("-pk")
    return judge_profiles(sorted({*profiles, *doubtful.values_list("pk", flat=True)[:MOST_RECONSIDERED]}))


def contradicted_outliers(sources: Sequence[Source]) -> list[int]:
    """Return the primary keys of computed outliers in other deliveries that these sources may have contradicted.

    They must be judged again without these sources.
    """
    keys = [source.pk for source in sources]
    doubtful = Profile.objects.filter(outlier_judge="computed", workload__profiles__source__in=keys)
    others = doubtful.exclude(source__in=keys).order_by("-pk").distinct()
    return list(others.values_list("pk", flat=True)[:MOST_RECONSIDERED])
