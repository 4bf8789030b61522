"""Training points of the scaling models from one profile: one for each thread count, input size and clock."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from predictor.scaling_models.task_graph import task_measures
from profiles.arrays import FloatArray
from profiles.measurements import PARTS, RunTable

CREATION, JOIN = PARTS.index("creation"), PARTS.index("join")


@dataclass(frozen=True, eq=False)
class MeasuredPoints:
    """N points, sorted by size, clock and n.

    `size` is NaN if it is unknown, and `clock_mhz` is NaN at the platform's own clocks. `own` marks the points of the
    workload's own size at the platform's own clocks, from which the profile's curves are computed. `parts_s` (N, 7) is
    the thread time n t(n), split into parts as in the profile pass, NaN without one. `tasks` and `waits` are counts,
    NaN if they are unknown.
    """

    n: FloatArray
    size: FloatArray
    clock_mhz: FloatArray
    time_s: FloatArray
    parts_s: FloatArray
    tasks: FloatArray
    waits: FloatArray
    own: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.n)

    def take(self, rows: NDArray[np.bool_]) -> MeasuredPoints:
        return MeasuredPoints(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def sizes(self) -> FloatArray:
        """Return the sizes that were run at the platform's own clocks, ascending."""
        return np.unique(self.size[np.isnan(self.clock_mhz) & ~np.isnan(self.size)])

    @property
    def clocks_mhz(self) -> FloatArray:
        """Return the fixed clocks at which the workload's own size was run, ascending."""
        return np.unique(self.clock_mhz[self._of_own_size & ~np.isnan(self.clock_mhz)])

    @property
    def over_sizes(self) -> MeasuredPoints:
        return self.take(np.isnan(self.clock_mhz) & ~np.isnan(self.size))

    @property
    def over_clocks(self) -> MeasuredPoints:
        return self.take(self._of_own_size & ~np.isnan(self.clock_mhz))

    def frame(self, base_mhz: float | None = None) -> pd.DataFrame:
        """Return X for the models, with the columns that are known at every point: n, size and clock_ratio.

        clock_ratio is the clock over `base_mhz`, or over the highest clock if that is None. It should be the clock over
        the memory's clock, which is not recorded. Another reference only scales k.
        """
        columns = {"n": self.n}
        if not np.isnan(self.size).any():
            columns["size"] = self.size
        if len(self) and not np.isnan(self.clock_mhz).any():
            columns["clock_ratio"] = self.clock_mhz / (base_mhz or self.clock_mhz.max())
        return pd.DataFrame(columns)

    @property
    def _of_own_size(self) -> NDArray[np.bool_]:
        """Return which points have the size of the points in `own`, (N,)."""
        own_size = self.size[self.own]
        if not len(own_size):
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray((self.size == own_size[0]) | (np.isnan(self.size) & np.isnan(own_size[0])))

    def task_measures(self) -> dict[str, FloatArray]:
        """Return the measures of each point that a task graph needs (TASK_MEASURES).

        Work, delay and missing work come from the point's parts. The counts of tasks and waits are those of the kit,
        averaged over the points of the same size. Without counts, the thread seconds of creation and of join at n = 1
        replace them. On one thread, each creation and each wait costs the same time, so these seconds are proportional
        to the counts, and the coefficients c of Eq. 12 absorb the factor.
        NaN: points without a profile pass, or with neither counts nor parts at n = 1 of the same size.
        Source: papers/002, Eq. 8 and 12-14.

        >>> runs = RunTable(np.array([1, 2]), np.array([1, 1]), np.ones(2, bool), np.array([4.0, 3.0]),
        ...                 parts_ns=np.array([[4, 0, 0, 0, 0, 0, 0], [4, 1, 1, 0, 0, 0, 0]]))
        >>> measures = measured_points(runs, 100.0).task_measures()
        >>> measures["work_s"], measures["delay_s"], measures["no_work_s"]
        (array([4., 4.]), array([0., 1.]), array([0., 1.]))
        """
        counts = {"tasks": self.tasks, "waits": self.waits}
        if np.isnan(self.tasks).all() or np.isnan(self.waits).all():
            is_serial = self.n == 1
            stand_ins = {"tasks": CREATION, "waits": JOIN}
            counts = {name: np.where(is_serial, self.parts_s[:, part], np.nan) for name, part in stand_ins.items()}
        return task_measures(self.parts_s) | {name: self._mean_of_each_size(column) for name, column in counts.items()}

    def _mean_of_each_size(self, column: FloatArray) -> FloatArray:
        """Return the mean of the column over the points of the same size, NaN if all values of the size are unknown."""
        means = np.full(len(self), np.nan)
        for size in self.sizes:
            of_size = self.size == size
            is_counted = of_size & ~np.isnan(column)
            if is_counted.any():
                means[of_size] = column[is_counted].mean()
        return means


def measured_points(runs: RunTable, own_size: float | None = None) -> MeasuredPoints:
    """Return the points of a profile's runs, including variations.

    `own_size` is the size of runs without a recorded size, None if it is unknown. The time t of a point is the median
    of its clean runs, or of its profile runs if there is no clean one. The parts of a point are the sums over its
    profile runs, scaled to n t.

    >>> runs = RunTable(np.array([1, 1, 2]), np.array([1, 2, 1]), np.zeros(3, bool), np.array([4.0, 6.0, 3.0]),
    ...                 size=np.array([np.nan, np.nan, 50.0]))
    >>> points = measured_points(runs, 100.0)
    >>> points.n, points.size, points.time_s, points.own
    (array([2., 1.]), array([ 50., 100.]), array([3., 5.]), array([False,  True]))
    """
    nothing = np.full(len(runs), np.nan)
    size, clock = (nothing if column is None else column for column in (runs.size, runs.clock_mhz))
    if own_size is not None:
        size = np.where(np.isnan(size), own_size, size)
    keys = np.stack([size, clock, runs.n.astype(np.float64), ~runs.is_variation], axis=1)
    distinct, of = np.unique(np.nan_to_num(keys, nan=-1.0), axis=0, return_inverse=True)
    at_size, at_clock, n, is_own = distinct.T
    time_s, parts_s = np.empty(len(distinct)), np.full((len(distinct), len(PARTS)), np.nan)
    counts = np.full((2, len(distinct)), np.nan)
    for point in range(len(distinct)):
        rows = np.flatnonzero(of.ravel() == point)
        clean = rows[~runs.is_profile_pass[rows]]
        time_s[point] = np.median(runs.time_s[clean if len(clean) else rows])
        split = rows[runs.is_profile_pass[rows]]
        if len(split) and runs.parts_ns is not None:
            parts = runs.parts_ns[split].astype(np.float64).sum(axis=0)
            parts_s[point] = parts / parts.sum() * n[point] * time_s[point]
        counts[:, point] = _mean_count(runs.tasks, rows), _mean_count(runs.waits, rows)
    return MeasuredPoints(
        n=n,
        size=np.where(at_size < 0, np.nan, at_size),
        clock_mhz=np.where(at_clock < 0, np.nan, at_clock),
        time_s=time_s,
        parts_s=parts_s,
        tasks=counts[0],
        waits=counts[1],
        own=is_own == 1.0,
    )


def _mean_count(column: FloatArray | None, rows: NDArray[np.intp]) -> float:
    counts = np.array([]) if column is None else column[rows][~np.isnan(column[rows])]
    return float(counts.mean()) if len(counts) else float("nan")
