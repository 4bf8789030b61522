"""Data of the studies: the runs of one workload on one platform, with several sizes or at several clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from predictor.scaling_models.measured import MeasuredPoints, measured_points
from profiles.arrays import FloatArray
from profiles.measurements import Measurements, RunTable


@dataclass(frozen=True)
class MeasuredWorkload:
    """The runs of one workload on one platform, including variations.

    `own_size` is the size of runs that do not state one; None if it is unknown.
    """

    workload: str
    platform: str
    strategy: str
    runs: RunTable
    own_size: float | None = None
    base_mhz: float | None = None

    @cached_property
    def points(self) -> MeasuredPoints:
        return measured_points(self.runs, self.own_size)

    def single_runs(self) -> tuple[FloatArray, FloatArray]:
        """Return n and size (N, 2), and the time in seconds (N,), of every clean run at the platform's own clocks.

        Runs of unknown size are left out.
        """
        runs = self.runs
        nothing = np.full(len(runs), np.nan)
        size, clock = (nothing if column is None else column for column in (runs.size, runs.clock_mhz))
        if self.own_size is not None:
            size = np.where(np.isnan(size), self.own_size, size)
        rows = ~runs.is_profile_pass & np.isnan(clock) & ~np.isnan(size)
        return np.stack([runs.n[rows].astype(np.float64), size[rows]], axis=1), runs.time_s[rows]

    def between(self, smallest: float, largest: float) -> MeasuredWorkload:
        """Return the workload with only the runs of these sizes. Runs of unknown size are left out."""
        own = np.nan if self.own_size is None else self.own_size
        nothing = np.full(len(self.runs), np.nan)
        size = nothing if self.runs.size is None else self.runs.size
        size = np.where(np.isnan(size), own, size)
        return replace(self, runs=self.runs.take(np.flatnonzero((size >= smallest) & (size <= largest))))

    def __str__(self) -> str:
        return f"{self.workload} on {self.platform}"


def measured_workloads(measurements: Measurements) -> list[MeasuredWorkload]:
    """Return one MeasuredWorkload for each profile."""
    workloads = []
    for record in measurements.profiles:
        workload, platform = measurements.workloads[record.workload], measurements.platforms[record.platform]
        workloads.append(
            MeasuredWorkload(
                workload.name, platform.name, workload.strategy, record.runs, workload.size, platform.base_mhz
            )
        )
    return workloads
