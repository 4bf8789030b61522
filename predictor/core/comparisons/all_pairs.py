"""Mean distances of all pairs of a database, part by part: for databases whose whole matrix nobody wants in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from predictor.core.comparisons.mean_distances import Kind, mean_distances
from predictor.core.database import Database
from profiles.arrays import FloatArray, IntArray
from profiles.jobs.executors import Executor

MATRIX_ROWS_PER_BATCH = 128  # the same wherever they are computed, so that rounding errors are


@dataclass(frozen=True, eq=False)
class DistancePairs:
    """Pairs of platforms or workloads by their positions, `first` < `second` (K,): the mean distance of each, without
    unit, and how many individual distances are in it. Pairs that nothing connects are left out."""

    first: IntArray
    second: IntArray
    mean: FloatArray
    count: IntArray


def pair_distances(database: Database, kind: Kind, executor: Executor | None = None) -> Iterator[DistancePairs]:
    """All pairs, MATRIX_ROWS_PER_BATCH first members at once, in their order; `mean_distances` has the formula.

    >>> from predictor.core.database import Group
    >>> features = np.full((2, 84), np.nan); features[:, :2] = [[0.0, 1.0], [2.0, 1.0]]
    >>> two = Database.build(
    ...     platforms=["p", "q"], workloads=["w"], platform_index=[0, 1], workload_index=[0, 0],
    ...     groups=(Group(True, "", "measured"),), group=[0, 0], features=features, t1_s=[1.0, 1.0],
    ...     n_nu=[np.nan] * 2, n_ht=[np.nan] * 2, n_max=[4] * 2)
    >>> [pairs.mean.round(3).tolist() for pairs in pair_distances(two, "platforms")]
    [[0.707]]
    """
    database.prepare()
    total = len(database.platforms if kind == "platforms" else database.workloads)
    batches = [(kind, start, total) for start in range(0, total, MATRIX_ROWS_PER_BATCH)]
    return (executor or Executor()).map(_pairs_of_rows, database, batches)


def _pairs_of_rows(database: Database, batch: tuple[Kind, int, int]) -> DistancePairs:
    kind, start, total = batch
    left, right = np.arange(start, min(start + MATRIX_ROWS_PER_BATCH, total)), np.arange(start, total)
    distances = mean_distances(database, kind, left, right)
    row, column = np.nonzero((left[:, None] < right) & (distances.count > 0))
    return DistancePairs(left[row], right[column], distances.mean[row, column], distances.count[row, column])
