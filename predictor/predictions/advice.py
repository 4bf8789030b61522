"""Remedies for refused predictions: another request, or a measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Q

from predictor.core.arrays import slug_index
from predictor.core.assembly import SIMULATED
from predictor.core.database import Database
from predictor.core.methods import get_method
from predictor.core.references import MixRuntimes
from predictor.core.scenarios import ScenarioQuery
from predictor.core.two_steps import reached_through
from predictor.predictions.question import DEFAULT_METHOD, NoPrediction, Remedy, refusal_of_query
from predictor.snapshot.building import Snapshot
from predictor.snapshot.cache import read_snapshot
from profiles.arrays import IntArray
from profiles.models import Profile
from profiles.scaling.wording import counted

KIT_COMMAND, KIT_COST = "make quick", " once (a minute or two)"  # the shortest run with all workloads of the kit
STRESS_NG_COMMAND = "make stress-ng"
MIXED_ORIGINS = "origin"  # kind of a Remedy: one side is simulated, the other measured
REPAIRED_BY_KIT = frozenset({"benchmark", "comparable", "shared"})
WIDEST_MIXING: MixRuntimes = "auto"
MOST_OUTLIERS_LOOKED_AT, MOST_OUTLIERS_NAMED = 20, 3


def complete_refusal(error: NoPrediction, query: ScenarioQuery, snapshot: Snapshot, user: Any) -> None:
    """Add a remedy to the refusal, and to its reason the excluded outliers that would have made the prediction
    possible."""
    database = snapshot.database
    error.remedy = find_remedy(error, query, snapshot, user)
    left_out = left_out_outliers(database, [database.workloads[query.workload]], query.target, error.lacks, user)
    if left_out:
        error.left_out = left_out
        error.reason = f"{error.reason}; excluded outliers: {left_out}"
        error.args = (error.reason,)


def left_out_outliers(
    database: Database, workloads: Sequence[str], target: int | None, lacks: str | None, user: Any
) -> str:
    """Return a text that names the excluded outliers with the lacking measurements; empty if there are none.

    These are measurements of the workloads on a platform other than the target, or of other workloads on the target.
    """
    slug = "" if target is None else database.platforms[target]
    as_reference = Q(workload__slug__in=workloads) & ~Q(platform__slug=slug)
    as_benchmark = Q(platform__slug=slug) & ~Q(workload__slug__in=workloads)
    wanted = {"reference": as_reference, "benchmark": as_benchmark, "shared": as_reference | as_benchmark}
    if lacks not in wanted:
        return ""
    outliers = Profile.objects.visible_to(user).exclude(origin="emulated").exclude(outlier_reason="")
    rows = (
        outliers.filter(wanted[lacks]).order_by("pk").values_list("workload__slug", "platform__slug", "outlier_reason")
    )
    left_out = [
        f"{workload} on {platform} ({reason})"
        for workload, platform, reason in rows[:MOST_OUTLIERS_LOOKED_AT]
        if not _holds(database, platform, workload)
    ]
    more = ", ..." if len(left_out) > MOST_OUTLIERS_NAMED else ""
    return ", ".join(left_out[:MOST_OUTLIERS_NAMED]) + more


def _holds(database: Database, platform: str, workload: str) -> bool:
    place = slug_index(database.platforms, platform), slug_index(database.workloads, workload)
    if place[0] is None or place[1] is None:
        return False
    return bool(database.lookup(place[0], place[1], range(len(database.groups))) >= 0)


def find_remedy(error: NoPrediction, query: ScenarioQuery, snapshot: Snapshot, user: Any) -> Remedy | None:
    """Return the cheapest remedy: a change of the request, else a measurement. None if no remedy is known."""
    database = snapshot.database
    workload, target = database.workloads[query.workload], database.platforms[query.target]
    sentences = {
        "scaling": ("scenario", f"predict t(1) only, or measure {workload} with more threads"),
        "change": ("change", "leave this change out: the baseline can be predicted"),
        "strategy": (
            "strategy",
            f"measure a workload of strategy {query.scenario.strategy} on {target} with more than one thread, "
            "or choose another strategy",
        ),
    }
    if error.lacks in sentences:
        return Remedy(*sentences[error.lacks])
    if not error.lacks:
        return None
    return find_request_remedy(query, snapshot, user) or suggest_measurement(query, snapshot, user)


def find_request_remedy(query: ScenarioQuery, snapshot: Snapshot, user: Any) -> Remedy | None:
    """Return the remedy of changing one part of the request, if the prediction is possible then."""
    mixing = getattr(query.settings, "mix_runtimes", WIDEST_MIXING)
    others = []
    if query.references is not None:
        sentence = "omit the references: other machines can be used"
        if query.references == (query.target,):
            sentence = "omit measured, or the references: the times are predicted from other machines then"
        others.append((replace(query, references=None), "references", sentence))
    if mixing != WIDEST_MIXING:
        widest = replace(query.settings, mix_runtimes=WIDEST_MIXING)
        sentence = f"set mix_runtimes to {WIDEST_MIXING}: it also uses workloads of other runtimes"
        others.append((replace(query, settings=widest), "settings", sentence))
    if query.method.name != DEFAULT_METHOD:
        method = get_method(DEFAULT_METHOD)
        sentence = f"use the method {DEFAULT_METHOD}: it needs only workloads measured on a reference and the target"
        others.append((replace(query, method=method, settings=method.settings()), "method", sentence))
    for other, kind, sentence in others:
        if refusal_of_query(other, snapshot) is None:
            return Remedy(kind, sentence)
    return find_simulated_remedy(query, snapshot, user)


def find_simulated_remedy(query: ScenarioQuery, snapshot: Snapshot, user: Any) -> Remedy | None:
    """Return the remedy of including simulated profiles, if the target has no others."""
    target = snapshot.database.platforms[query.target]
    rows = snapshot.database.rows_of_platform(query.target)
    on_target = Profile.objects.candidates_for(user).filter(platform__slug=target, origin__in=SIMULATED)
    if len(rows) or not on_target.exists():
        return None
    everything = read_snapshot(user, origins=("measured", *SIMULATED))
    if everything.database.platforms != snapshot.database.platforms or refusal_of_query(query, everything):
        return None
    return Remedy("simulated", f"include simulated profiles: {target} has no others")


def suggest_measurement(query: ScenarioQuery, snapshot: Snapshot, user: Any) -> Remedy | None:
    """Return the remedy of a measurement after which the workload's platforms and the target share workloads."""
    database = snapshot.database
    workload, target = database.workloads[query.workload], database.platforms[query.target]
    rows = database.without(query.target, query.workload).rows_of_workload(query.workload)
    if query.references is not None:
        rows = rows[np.isin(database.platform_index[rows], query.references)]
    if not len(rows):
        return remedy_without_reference(database, query.workload, query.target)
    if snapshot.is_simulated[rows].all():
        return Remedy("measure", f"measure {workload} on a machine: all its profiles are simulated")
    mixed = mixed_origins_remedy(snapshot, query.target, user)
    if mixed is not None:
        return mixed
    rows = rows[~snapshot.is_simulated[rows]]
    hosts = own_platforms_first([database.platforms[p] for p in np.unique(database.platform_index[rows])], user)
    counts = kit_counts(user, workload, [target, *hosts])
    if target in counts:
        return kit_remedy(hosts, target, counts)
    if not counts and reached_through(database, positions(database, kit_counts(user, workload)))[query.target]:
        through = f"{target} is then predicted through machines that ran both"
        return Remedy("kit", f"run `{KIT_COMMAND}` on {hosts[0]}{KIT_COST}: {through}", hosts[0], KIT_COMMAND)
    return stress_ng_remedy(hosts[0], {target}, user) or kit_remedy(hosts, target, counts)


def remedy_for_all(snapshot: Snapshot, workload: int, lacking: Mapping[str, str], user: Any) -> Remedy | None:
    """Return the remedy of running the kit on a platform with the workload, so that most of the other platforms are
    connected.

    The run is of the kit's own workloads, or of stress-ng, which other owners ran on their fleets. None if all
    platforms are connected.
    """
    database = snapshot.database
    rows = database.rows_of_workload(workload)
    name = database.workloads[workload]
    if not len(rows):
        return Remedy("measure", f"measure {name} on a machine and upload the results")
    absent = absent_platforms(snapshot)
    lacking = {slug: word for slug, word in lacking.items() if word in REPAIRED_BY_KIT and slug not in absent}
    if not lacking:
        return None
    if snapshot.is_simulated[rows].all():
        return Remedy("measure", f"measure {name} on a machine: all its profiles are simulated")
    measured = rows[~snapshot.is_simulated[rows]]
    host, *_ = own_platforms_first([database.platforms[p] for p in np.unique(database.platform_index[measured])], user)
    counts = kit_counts(user, name)
    # If the host has run the kit already, another run there connects no further platform.
    sizes = [] if host in counts else [counts[slug] for slug in lacking if slug in counts]
    without = [slug for slug in lacking if slug not in counts]
    through = 0  # platforms that are then predicted through those that have run the kit
    if sizes:
        reached = reached_through(database, positions(database, counts))
        through = int(reached[positions(database, without)].sum())
    remedy = stress_ng_remedy(host, lacking, user, more_than=len(sizes) + through)
    if remedy is not None or not (sizes or without):
        return remedy
    if not sizes:
        others = "the target machines" if len(without) > 1 else without[0]
        where = others if host in counts else f"{host} and on {others}"
        return Remedy("kit", f"run `{KIT_COMMAND}` of the benchmark kit on {where}", host, KIT_COMMAND)
    platforms = counted(len(sizes), "more machine")
    up_to = "" if min(sizes) == max(sizes) else "up to "
    in_two_steps = f", through which {through:,} others are predicted" if through else ""
    return Remedy(
        "kit",
        f"run `{KIT_COMMAND}` on {host}{KIT_COST}: it then shares {up_to}{counted(max(sizes), 'workload')} with "
        f"{platforms}{in_two_steps}",
        platform=host,
        command=KIT_COMMAND,
        shared_workloads=max(sizes),
    )


def mixed_origins_remedy(snapshot: Snapshot, target: int, user: Any) -> Remedy | None:
    """Return the remark that simulated and measured machines are never mixed, if all profiles of the target that the
    user may use are simulated."""
    name = snapshot.database.platforms[target]
    rows = Profile.objects.candidates_for(user).filter(platform__slug=name)
    if not rows.filter(origin__in=SIMULATED).exists() or rows.exclude(origin__in=SIMULATED).exists():
        return None
    return Remedy(MIXED_ORIGINS, f"simulated and measured machines are never mixed, and {name} is simulated")


def absent_platforms(snapshot: Snapshot) -> set[str]:
    """Return the platforms without a profile in the snapshot: all their profiles have another origin."""
    database = snapshot.database
    return {
        database.platforms[index]
        for index in np.flatnonzero(np.bincount(database.platform_index, minlength=len(database.platforms)) == 0)
    }


def remedy_without_reference(database: Database, workload: int, target: int) -> Remedy:
    """Return the remedy if no other platform has the workload: its measurement on another machine, best on the platform
    that shares most workloads with the target."""
    having = database.workload_index[database.rows_of_platform(target)]
    rows = np.flatnonzero(np.isin(database.workload_index, having[having != workload]) & ~database.hidden)
    pairs = np.unique(np.stack([database.platform_index[rows], database.workload_index[rows]]).astype(np.int64), axis=1)
    shared = np.bincount(pairs[0], minlength=len(database.platforms))
    shared[target] = 0
    name = database.workloads[workload]
    if not shared.any():
        sentence = f"measure {name} on another machine, and run `{KIT_COMMAND}` of the benchmark kit there"
        return Remedy("measure", sentence)
    best, count = database.platforms[int(shared.argmax())], int(shared.max())
    return Remedy(
        "measure",
        f"measure {name} on another machine, such as {best}, which shares {counted(count, 'workload')} with "
        f"{database.platforms[target]}",
        platform=best,
        shares_with=database.platforms[target],
        shared_workloads=count,
    )


def kit_remedy(hosts: Sequence[str], target: str, counts: Mapping[str, int]) -> Remedy | None:
    """Return the remedy of running the kit on the side that has not run it, or on both. None if both sides have run it,
    because another run would change nothing."""
    if target in counts and all(host in counts for host in hosts):
        return None
    if target in counts:
        hosts = [host for host in hosts if host not in counts]
        return sweep_remedy(hosts[0], target, counts[target])
    if known := [host for host in hosts if host in counts]:
        host = max(known, key=lambda name: counts[name])
        return sweep_remedy(target, host, counts[host])
    return Remedy(
        "kit",
        f"run `{KIT_COMMAND}` of the benchmark kit on {hosts[0]} and on {target}: they then share its workloads",
        platform=hosts[0],
        command=KIT_COMMAND,
        shares_with=target,
    )


def sweep_remedy(platform: str, other: str, count: int) -> Remedy:
    """Return the remedy of running the kit on the platform, which then shares workloads with the other one.

    >>> sweep_remedy("laptop", "i9", 34).sentence
    'run `make quick` on laptop once (a minute or two): laptop and i9 then share 34 workloads'
    """
    shares = f"{platform} and {other} then share {counted(count, 'workload')}"
    return Remedy("kit", f"run `{KIT_COMMAND}` on {platform}{KIT_COST}: {shares}", platform, KIT_COMMAND, other, count)


def stress_ng_remedy(host: str, lacking: Container[str], user: Any, *, more_than: int = 0) -> Remedy | None:
    """Return the remedy of running stress-ng on the host, in the version that most of the platforms in `lacking` ran.

    Returns None if that connects no more platforms than the kit's own workloads do (`more_than`).
    """
    rows = Profile.objects.candidates_for(user).filter(origin="measured").of_stress_ng()
    ran = set(rows.values_list("workload__version", "platform__slug"))
    counts = Counter(version for version, slug in ran if slug in lacking and (version, host) not in ran)
    version, count = max(counts.items(), key=itemgetter(1), default=("", 0))
    if count <= more_than:
        return None
    return Remedy(
        "kit",
        f"run `{STRESS_NG_COMMAND}` of the benchmark kit on {host}, with stress-ng {version}: it then shares workloads "
        f"with {counted(count, 'more machine')}",
        platform=host,
        command=STRESS_NG_COMMAND,
    )


def kit_counts(user: Any, workload: str, platforms: Sequence[str] | None = None) -> dict[str, int]:
    """Return the number of the kit's workloads on each platform that has any, without this workload.

    With `platforms` only these are counted, so that the other profiles are not read.
    """
    rows = Profile.objects.workloads_of_kit(user).exclude(workload__slug=workload)
    if platforms is not None:
        rows = rows.filter(platform__slug__in=platforms)
    return {row["platform__slug"]: row["workloads"] for row in rows}


def positions(database: Database, platforms: Iterable[str]) -> IntArray:
    """Return the positions of the platforms that the database has."""
    return np.flatnonzero(np.isin(database.platforms, list(platforms)))


def own_platforms_first(platforms: Sequence[str], user: Any) -> list[str]:
    """Return the platforms sorted by slug. Platforms with profiles that the user delivered come first."""
    measured_by_user: set[str] = set()
    if user is not None and user.is_authenticated:
        delivered = Profile.objects.visible_to(user).filter(source__owner=user, platform__slug__in=platforms)
        measured_by_user = set(delivered.order_by().values_list("platform__slug", flat=True).distinct())
    return sorted(platforms, key=lambda slug: (slug not in measured_by_user, slug))
