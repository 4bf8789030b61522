"""The standing of a platform: how fast it is compared with all others, for each group of workloads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.database import Database
from profiles.arrays import FloatArray

OTHER_WORKLOADS = "other"


@dataclass(frozen=True)
class GroupStanding:
    """The standing of a platform for one group of workloads. `faster_than` is the share of the other platforms that are
    slower, the median over the workloads; `workloads` is the number of compared workloads, and `platforms` the number
    of other platforms with at least one of them."""

    group: str
    faster_than: float
    workloads: int
    platforms: int

    @property
    def percent(self) -> int:
        return round(100 * self.faster_than)


def standing_of(database: Database, platform: int) -> list[GroupStanding]:
    """Return the standings for the groups of the platform's workloads, the best first. A workload counts with its least
    time at any thread count, and only if another platform has it. A group is a parallel strategy or, if that is
    unknown, the application."""
    best_s: FloatArray = database.derive(("least times",), lambda: least_times(database))
    shares: dict[str, list[float]] = {}
    others: dict[str, set[int]] = {}
    for row in database.rows_of_platform(platform).tolist():
        workload = int(database.workload_index[row])
        rows = database.rows_of_workload(workload)
        rows = rows[(database.platform_index[rows] != platform) & (database.group[rows] == database.group[row])]
        rows = rows[np.isfinite(best_s[rows])]
        if not len(rows) or not np.isfinite(best_s[row]):
            continue
        group = group_of(database, workload)
        shares.setdefault(group, []).append(float((best_s[rows] > best_s[row]).mean()))
        others.setdefault(group, set()).update(database.platform_index[rows].tolist())
    standings = [
        GroupStanding(group, float(np.median(values)), len(values), len(others[group]))
        for group, values in shares.items()
    ]
    return sorted(standings, key=lambda one: (-one.faster_than, one.group))


def least_times(database: Database) -> FloatArray:
    """Return the least time of each profile in s (N,); NaN if none is known."""
    if not len(database.curve_time_s):
        return np.full(len(database.t1_s), np.nan)
    starts = database.curve_offsets[:-1]
    times = np.append(database.curve_time_s, np.nan)
    least: FloatArray = np.fmin.reduceat(times, starts) if len(starts) else np.zeros(0)
    return np.where(np.diff(database.curve_offsets) > 0, least, np.nan)


def group_of(database: Database, workload: int) -> str:
    """Return the strategy of the workload or, if it is unknown, its application."""
    for column in ("strategy", "application"):
        value = str(database.workload_table[column][workload] or "")
        if value and value not in {"unknown", "nan", "None"}:
            return value.replace("_", " ")
    return OTHER_WORKLOADS
