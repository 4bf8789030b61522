"""Comparisons of two to six platforms on shared workloads and of workloads on one platform, distance matrices, and a
map."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from predictor.core.arrays import sampled
from predictor.core.comparisons.mean_distances import (
    Kind,
    MeanDistances,
    distances_to_all,
    map_by_landmarks,
    map_in_plane,
)
from predictor.core.database import Database
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.names import FEATURE_NAMES

# How a profile is compared with that of the first platform: by the fastest times of whole machines, at an equal n, or
# not at all for one of two reasons.
Compared = Literal["whole", "equal_n", "no_common_n", "not_on_first"]

LARGEST_MATRIX = 40
LARGEST_MAP = 400  # workloads above which a map is made by landmarks
MOST_MAPPED = 20_000  # workloads
LANDMARKS = 200

# The characteristics of Figure 9 of the paper, in percent. Its L1-LDM/L1-LD is not one of the 84 elements and is
# replaced by the miss rate of stores.
COMPARED_CHARACTERISTICS = {
    "work_imbalance.m": ("Work imbalance w", "slope (% per thread)"),
    "redundancy.m": ("Redundancy R", "slope (% per thread)"),
    "BR/INSTR.b": ("Branches per instruction", "BR/INSTR at n = 1 (%)"),
    "L1-STM/L1-ST.b": ("Misses per L1 store", "L1-STM/L1-ST at n = 1 (%)"),
}


@dataclass(frozen=True, eq=False)
class ProfileSummary:
    """One profile: t(1), its fastest time and thread count, its measured curve (N,), and the characteristics of Figure
    9.

    `whole` is whether it was measured at `whole_n` threads or more, which use every physical core: only then is its
    fastest time that of the whole machine. `speed` is the first platform's fastest time divided by this one's, both of
    whole machines: 2 is twice as fast. `core_time_s` is the fastest time multiplied by the number of physical cores in
    use, and `speed_per_core` compares core times of whole machines. `equal_n_time_s` is the time at the largest n that
    all compared profiles have, and `speed_at_equal_n` compares these. NaN: cannot be compared, for the reason in
    `compared`.
    """

    platform: str
    workload: str
    simulated: bool
    t1_s: float
    fastest_s: float
    fastest_n: int | None
    n: IntArray
    time_s: FloatArray
    characteristics: Mapping[str, float]
    whole_n: int
    whole: bool
    core_time_s: float = math.nan
    equal_n_time_s: float = math.nan
    compared: Compared = "not_on_first"
    speed: float = math.nan
    speed_per_core: float = math.nan
    speed_at_equal_n: float = math.nan


@dataclass(frozen=True, eq=False)
class SharedWorkload:
    """A workload that at least two of the platforms have in one group. `winner` has the smallest time of all whole
    machines, `winner_per_core` the smallest core time of these, and `winner_at_equal_n` the smallest time at `equal_n`,
    the largest n that all profiles have. They are None unless at least two values are known."""

    workload: str
    decomposed: bool
    runtime: str | None
    winner: str | None
    winner_per_core: str | None
    winner_at_equal_n: str | None
    equal_n: int | None
    platforms: tuple[ProfileSummary, ...]

    def on(self, platform: str) -> ProfileSummary | None:
        """Return the profile of the platform with this slug."""
        return next((profile for profile in self.platforms if profile.platform == platform), None)


@dataclass(frozen=True)
class ComparedPlatform:
    """One platform's summary over all shared workloads. Means are NaN if no workload was compared."""

    platform: str
    compared_whole: Annotated[int, "Number of workloads with a `speed`."]
    compared_at_equal_n: Annotated[int, "Number of workloads that are compared only at `equal_n`."]
    left_out_no_common_n: Annotated[
        int, "Number of workloads that are not compared, because no n was measured on all platforms."
    ]
    left_out_not_on_first: Annotated[
        int, "Number of workloads that are not compared, because the first platform did not run them."
    ]
    wins: Annotated[int, "Number of workloads on which this is the fastest whole machine."]
    mean_speed: Annotated[float, "Geometric mean of `speed` over the `compared_whole` workloads."]
    wins_per_core: int
    mean_speed_per_core: float
    wins_at_equal_n: int
    mean_speed_at_equal_n: float

    @property
    def left_out(self) -> int:
        return self.left_out_no_common_n + self.left_out_not_on_first


@dataclass(frozen=True, eq=False)
class PlatformComparison:
    """Platforms in the requested order, and the workloads that at least two of them share, ordered by slug."""

    revision: int
    platforms: tuple[ComparedPlatform, ...]
    workloads: tuple[SharedWorkload, ...]


@dataclass(frozen=True, eq=False)
class WorkloadComparison:
    """The profiles of workloads on one platform."""

    revision: int
    platform: str
    workloads: tuple[ProfileSummary, ...]


def positions_with_most_profiles(database: Database, kind: Kind, count: int) -> list[int]:
    """Return the positions of the at most `count` platforms or workloads with the most profiles, ordered by slug."""
    index = database.platform_index if kind == "platforms" else database.workload_index
    profiles = np.bincount(index[~database.hidden], minlength=1)
    most = np.argsort(-profiles, kind="stable")[:count]
    return sorted(int(position) for position in most if profiles[position])


def pair_that_shares_most(database: Database, kind: Kind) -> list[int]:
    """Return two positions as a default selection: the one with the most profiles, and the one that shares most with
    it."""
    first = positions_with_most_profiles(database, kind, 1)
    shared = distances_to_all(database, kind, first[0]).count[0].copy() if first else np.zeros(0)
    shared[first] = 0
    return [*first, int(shared.argmax())] if shared.any() else first


def matrix_of(database: Database, kind: Kind, chosen: Sequence[int], distances: MeanDistances) -> dict[str, Any]:
    """Return the document of the distance matrix of the K platforms or workloads at these positions: the mean distances
    (K, K), NaN = undefined, and the number of individual distances in each mean."""
    slugs = database.platforms if kind == "platforms" else database.workloads
    return {
        "revision": database.revision,
        "of": kind,
        "slugs": [slugs[position] for position in chosen],
        "mean": distances.mean,
        "count": distances.count,
    }


def mapped_positions(database: Database) -> tuple[list[int], list[int]]:
    """Return the workloads on the map, and the landmarks among them: all workloads up to LARGEST_MAP."""
    chosen = positions_with_most_profiles(database, "workloads", MOST_MAPPED)
    return chosen, chosen if len(chosen) <= LARGEST_MAP else sampled(chosen, LANDMARKS)


def map_of(database: Database, chosen: Sequence[int], landmarks: Sequence[int], mean: FloatArray) -> dict[str, Any]:
    """Return the document of the map of the workloads at these positions, on which workloads with similar behaviour are
    near each other. `mean` are their mean distances (K, L) to the landmarks among them.

    `stress` is Kruskal's: 0 exact, 0.2 poor. The coordinates are in units of the distance, NaN if the workload has no
    distance to any other.
    """
    places = np.searchsorted(chosen, landmarks)
    if len(places) < len(chosen):
        points, stress = map_by_landmarks(mean, places)
    else:
        others = mean + np.where(np.eye(len(chosen), dtype=bool), np.nan, 0.0)
        comparable = np.isfinite(others).any(axis=1)
        points = np.full((len(chosen), 2), np.nan)
        points[comparable], stress = map_in_plane(mean[np.ix_(comparable, comparable)])
    strategies = database.workload_table["strategy"]
    workloads = [
        {"workload": database.workloads[position], "strategy": strategies[position] or "unknown", "x": x, "y": y}
        for position, (x, y) in zip(chosen, points.tolist(), strict=True)
    ]
    return {"revision": database.revision, "stress": stress, "workloads": workloads}


def compare_platforms(
    database: Database, platforms: Sequence[int], simulated: BoolArray | None = None
) -> PlatformComparison:
    """Return the speed of each platform on every workload that at least two of them have in one group.

    Parameters: `platforms`, positions in `database.platforms`; `simulated` (N,), which profiles are simulated, None =
    none. The `fastest_s` of a profile is its smallest measured time over all n; `speed` compares it with the first
    platform's if both were measured on every core. A profile at n = 1 only has no speed of a whole machine.
    """
    rows_of: dict[tuple[int, int], dict[int, int]] = {}
    for platform in platforms:
        for row in database.rows_of_platform(platform).tolist():
            pair = (int(database.workload_index[row]), int(database.group[row]))
            rows_of.setdefault(pair, {})[platform] = row
    shared = tuple(
        compare_on_workload(database, platforms, pair, rows, simulated)
        for pair, rows in sorted(rows_of.items())
        if len(rows) > 1
    )
    slugs = [database.platforms[platform] for platform in platforms]
    return PlatformComparison(database.revision, tuple(compare_with_first(shared, slug) for slug in slugs), shared)


def compare_on_workload(
    database: Database,
    platforms: Sequence[int],
    pair: tuple[int, int],
    rows: Mapping[int, int],
    simulated: BoolArray | None = None,
) -> SharedWorkload:
    """Return the comparison of the platforms' profiles of one (workload, group); `rows` maps platforms to rows."""
    profiles = [summarise_profile(database, rows[platform], simulated) for platform in platforms if platform in rows]
    equal_n = max(set.intersection(*(set(profile.n.tolist()) for profile in profiles)), default=None)
    if equal_n is not None:
        profiles = [replace(one, equal_n_time_s=float(one.time_s[one.n == equal_n][0])) for one in profiles]
    first = next((one for one in profiles if one.platform == database.platforms[platforms[0]]), None)
    group = database.groups[pair[1]]
    return SharedWorkload(
        workload=database.workloads[pair[0]],
        decomposed=group.decomposed,
        runtime=group.runtime or None,
        winner=least_of_two([profile for profile in profiles if profile.whole], "fastest_s"),
        winner_per_core=least_of_two([profile for profile in profiles if profile.whole], "core_time_s"),
        winner_at_equal_n=least_of_two(profiles, "equal_n_time_s"),
        equal_n=equal_n,
        platforms=tuple(with_speeds(one, first) for one in profiles),
    )


def least_of_two(profiles: Sequence[ProfileSummary], name: str) -> str | None:
    """Return the platform with the least known value; None unless at least two values are known."""
    known = [profile for profile in profiles if math.isfinite(getattr(profile, name))]
    return min(known, key=lambda profile: float(getattr(profile, name))).platform if len(known) > 1 else None


def with_speeds(profile: ProfileSummary, first: ProfileSummary | None) -> ProfileSummary:
    """Return the profile with its speeds relative to the first platform's profile, which may be missing."""
    if first is None:
        return profile
    speed_at_equal_n = first.equal_n_time_s / profile.equal_n_time_s
    if not (profile.whole and first.whole):
        compared: Compared = "equal_n" if math.isfinite(speed_at_equal_n) else "no_common_n"
        return replace(profile, compared=compared, speed_at_equal_n=speed_at_equal_n)
    return replace(
        profile,
        compared="whole",
        speed=first.fastest_s / profile.fastest_s,
        speed_per_core=first.core_time_s / profile.core_time_s,
        speed_at_equal_n=speed_at_equal_n,
    )


def compare_with_first(shared: Sequence[SharedWorkload], slug: str) -> ComparedPlatform:
    """Return one platform's summary over all shared workloads."""
    profiles = [profile for workload in shared if (profile := workload.on(slug)) is not None]
    compared = Counter(profile.compared for profile in profiles)
    return ComparedPlatform(
        platform=slug,
        compared_whole=compared["whole"],
        compared_at_equal_n=compared["equal_n"],
        left_out_no_common_n=compared["no_common_n"],
        left_out_not_on_first=compared["not_on_first"],
        wins=sum(workload.winner == slug for workload in shared),
        mean_speed=geometric_mean([profile.speed for profile in profiles]),
        wins_per_core=sum(workload.winner_per_core == slug for workload in shared),
        mean_speed_per_core=geometric_mean([profile.speed_per_core for profile in profiles]),
        wins_at_equal_n=sum(workload.winner_at_equal_n == slug for workload in shared),
        mean_speed_at_equal_n=geometric_mean([profile.speed_at_equal_n for profile in profiles]),
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of the values that are finite and above 0; NaN if there are none.

    >>> geometric_mean([0.5, 2.0, float("nan")])
    1.0
    """
    usable = np.array([value for value in values if np.isfinite(value) and value > 0])
    return float(np.exp(np.log(usable).mean())) if len(usable) else math.nan


def summarise_profile(database: Database, row: int, simulated: BoolArray | None = None) -> ProfileSummary:
    """Return the summary of the profile in this row; `simulated` (N,), which profiles are simulated, None = none."""
    n, time_s = database.curve(row)
    fastest = int(np.argmin(time_s)) if len(time_s) else 0
    platform = int(database.platform_index[row])
    cores = float(database.platform_table["physical_cores"][platform])
    whole_n = int(np.fmin(cores, database.n_max[platform]))
    return ProfileSummary(
        platform=database.platforms[platform],
        workload=database.workloads[int(database.workload_index[row])],
        simulated=simulated is not None and bool(simulated[row]),
        t1_s=float(database.t1_s[row]),
        fastest_s=float(time_s[fastest]) if len(time_s) else math.nan,
        fastest_n=int(n[fastest]) if len(n) else None,
        n=n.astype(np.int64),
        time_s=time_s,
        whole_n=whole_n,
        whole=bool(len(n)) and int(n.max()) >= whole_n,
        core_time_s=float(time_s[fastest]) * min(float(n[fastest]), cores) if len(n) and cores > 0 else math.nan,
        characteristics={
            name: 100 * float(database.features[row, FEATURE_NAMES.index(name)]) for name in COMPARED_CHARACTERISTICS
        },
    )


def compare_workloads(
    database: Database, platform: int, workloads: Sequence[int], simulated: BoolArray | None = None
) -> WorkloadComparison:
    """Return the profiles of the workloads on the platform in the requested order, without those that are missing."""
    groups = sorted(range(len(database.groups)), key=lambda group: not database.groups[group].decomposed)
    rows = database.lookup(np.full(len(workloads), platform), list(workloads), groups)
    profiles = tuple(summarise_profile(database, row, simulated) for row in rows.tolist() if row >= 0)
    return WorkloadComparison(database.revision, database.platforms[platform], profiles)
