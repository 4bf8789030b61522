"""Two to six platforms on the workloads that they share, or workloads on one platform, as documents of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from predictor.core.comparisons.mean_distances import Kind, mean_distances, neighbours, plane
from predictor.core.database import Database
from profiles.scaling.features import FEATURE_NAMES

LARGEST_MATRIX = 40
LARGEST_MAP = 400

# What Figure 9 of the paper shows, in percent; its L1-LDM/L1-LD is none of the 84 elements, the stores' miss rate is.
CHARACTERISTICS = {
    "work_imbalance.m": ("Work imbalance w", "slope (% per thread)"),
    "redundancy.m": ("Redundancy R", "slope (% per thread)"),
    "BR/INSTR.b": ("Branches per instruction", "BR/INSTR at n = 1 (%)"),
    "L1-STM/L1-ST.b": ("Misses per L1 store", "L1-STM/L1-ST at n = 1 (%)"),
}


def with_most_profiles(database: Database, kind: Kind, count: int) -> list[int]:
    """Positions, in the order of the slug, of the platforms or workloads that have profiles; at most `count`."""
    index = database.platform_index if kind == "platforms" else database.workload_index
    profiles = np.bincount(index[~database.hidden], minlength=1)
    most = np.argsort(-profiles, kind="stable")[:count]
    return sorted(int(at) for at in most if profiles[at])


def most_alike(database: Database, kind: Kind) -> list[int]:
    """Two to begin with: the one with the most profiles, and the one that shares the most with it."""
    first = with_most_profiles(database, kind, 1)
    shared = neighbours(database, kind, first[0]).count[0].copy() if first else np.zeros(0)
    shared[first] = 0
    return [*first, int(shared.argmax())] if shared.any() else first


def distance_matrix(database: Database, kind: Kind) -> dict[str, Any]:
    """Mean distances of all pairs (Eq. 18-19), of those with most profiles where there are many."""
    return database.derive(("matrix", kind), lambda: _distance_matrix(database, kind))  # type: ignore[no-any-return]


def _distance_matrix(database: Database, kind: Kind) -> dict[str, Any]:
    chosen = with_most_profiles(database, kind, LARGEST_MATRIX)
    slugs = database.platforms if kind == "platforms" else database.workloads
    found = mean_distances(database, kind, chosen, chosen)
    return {
        "revision": database.revision,
        "of": kind,
        "slugs": [slugs[at] for at in chosen],
        "mean": found.mean,
        "count": found.count,
    }


def workload_map(database: Database) -> dict[str, Any]:
    """A place in the plane for each workload, so that those that behave alike are near (see `plane`); NaN for one that
    has no distance to any other."""
    return database.derive("map", lambda: _workload_map(database))  # type: ignore[no-any-return]


def _workload_map(database: Database) -> dict[str, Any]:
    chosen = with_most_profiles(database, "workloads", LARGEST_MAP)
    mean = mean_distances(database, "workloads", chosen, chosen).mean
    others = mean + np.where(np.eye(len(chosen), dtype=bool), np.nan, 0.0)
    comparable = np.isfinite(others).any(axis=1)
    points = np.full((len(chosen), 2), np.nan)
    points[comparable], stress = plane(mean[np.ix_(comparable, comparable)])
    strategies = database.workload_table["strategy"]
    return {
        "revision": database.revision,
        "stress": stress,
        "workloads": [
            {"workload": database.workloads[at], "strategy": strategies[at] or "unknown", "x": float(x), "y": float(y)}
            for at, (x, y) in zip(chosen, points, strict=True)
        ],
    }


def compared_platforms(
    database: Database, platforms: Sequence[int], simulated: np.ndarray | None = None
) -> dict[str, Any]:
    """Who is how fast on every workload that at least two of the platforms have in one group.

    A platform's `fastest_s` is its smallest measured time over all n; `speed` is the first platform's fastest time
    over it: 2 is twice as fast as the first. NaN: the first platform lacks the workload. `mean_speed` is the geometric
    mean of it over the workloads that both have. `simulated` (N,), which profiles are, is told with each.
    """
    rows_of: dict[tuple[int, int], dict[int, int]] = {}
    for platform in platforms:
        for row in database.rows_of_platform(platform).tolist():
            pair = (int(database.workload_index[row]), int(database.group[row]))
            rows_of.setdefault(pair, {})[platform] = row
    shared = [
        shared_workload(database, platforms, pair, rows, simulated)
        for pair, rows in sorted(rows_of.items())
        if len(rows) > 1
    ]
    slugs = [database.platforms[at] for at in platforms]
    return {
        "revision": database.revision,
        "platforms": [
            {
                "platform": slug,
                "wins": sum(workload["winner"] == slug for workload in shared),
                "mean_speed": geometric_mean([one["speed"] for one in rows_named(shared, slug)]),
            }
            for slug in slugs
        ],
        "workloads": shared,
    }


def shared_workload(
    database: Database,
    platforms: Sequence[int],
    pair: tuple[int, int],
    rows: dict[int, int],
    simulated: np.ndarray | None = None,
) -> dict[str, Any]:
    measured = [
        described(database, rows[at], simulated) | {"platform": database.platforms[at]}
        for at in platforms
        if at in rows
    ]
    base = next((one["fastest_s"] for one in measured if one["platform"] == database.platforms[platforms[0]]), np.nan)
    group = database.groups[pair[1]]
    return {
        "workload": database.workloads[pair[0]],
        "decomposed": group.decomposed,
        "runtime": group.runtime or None,
        "winner": min(measured, key=lambda one: one["fastest_s"])["platform"],
        "platforms": [one | {"speed": base / one["fastest_s"]} for one in measured],
    }


def rows_named(shared: Sequence[dict[str, Any]], slug: str) -> list[dict[str, Any]]:
    return [one for workload in shared for one in workload["platforms"] if one["platform"] == slug]


def geometric_mean(values: Sequence[float]) -> float:
    """Over the values that are known; NaN where none is.

    >>> geometric_mean([0.5, 2.0, float("nan")])
    1.0
    """
    known = np.array([value for value in values if np.isfinite(value) and value > 0])
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")


def described(database: Database, row: int, simulated: np.ndarray | None = None) -> dict[str, Any]:
    """One profile: t(1), its fastest time, its measured curve, and what Figure 9 shows of it."""
    n, time_s = database.curve(row)
    best = int(np.argmin(time_s)) if len(time_s) else 0
    return {
        "simulated": simulated is not None and bool(simulated[row]),
        "t1_s": float(database.t1_s[row]),
        "fastest_s": float(time_s[best]) if len(time_s) else np.nan,
        "fastest_n": int(n[best]) if len(n) else None,
        "curve": [{"n": int(at), "time_s": float(value)} for at, value in zip(n, time_s, strict=True)],
        "characteristics": {
            name: 100 * float(database.features[row, FEATURE_NAMES.index(name)]) for name in CHARACTERISTICS
        },
    }


def compared_workloads(
    database: Database, platform: int, workloads: Sequence[int], simulated: np.ndarray | None = None
) -> dict[str, Any]:
    """The profiles of the workloads on the one platform, in the order asked for; those without one are left out."""
    groups = sorted(range(len(database.groups)), key=lambda at: not database.groups[at].decomposed)
    rows = database.lookup(np.full(len(workloads), platform), list(workloads), groups)
    return {
        "revision": database.revision,
        "platform": database.platforms[platform],
        "workloads": [
            described(database, row, simulated) | {"workload": database.workloads[at]}
            for at, row in zip(workloads, rows.tolist(), strict=True)
            if row >= 0
        ],
    }
