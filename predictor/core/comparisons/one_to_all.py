"""Mean distances of one platform or workload to all of its kind, in one pass over the profiles they share with it."""

from __future__ import annotations

import numpy as np

from predictor.core.comparisons.mean_distances import Kind, MeanDistances
from predictor.core.comparisons.summed_distances import LARGEST_DISTANCE
from predictor.core.database import Database
from predictor.core.normalise import element_spans
from profiles.arrays import FloatArray, IntArray

KEPT_DISTANCES = 64  # of one to all: 160 kB each among 10,000 platforms
COMPARED_AT_ONCE = 1 << 14  # of the pass: their differences stay in the processor's caches


def distances_to_all(database: Database, kind: Kind, of: int) -> MeanDistances:
    """The distances of one platform or workload to all, (1, all); those computed last are kept."""
    return database.derive_one_of("neighbours", (kind, of), lambda: _one_to_all(database, kind, of), KEPT_DISTANCES)


def _one_to_all(database: Database, kind: Kind, of: int) -> MeanDistances:
    """A row of `mean_distances`, by subtraction: each profile from the one of `of` in its group on the same workload or
    platform. A product of matrices for each of these, as for many pairs, would find little to multiply."""
    own, other, size = database.platform_index, database.workload_index, len(database.platforms)
    if kind == "workloads":
        own, other, size = other, own, len(database.workloads)
    key = other.astype(np.int64) * max(len(database.groups), 1) + database.group
    mine = np.flatnonzero((own == of) & ~database.hidden)
    partner = np.full(int(key.max(initial=0)) + 1, -1, dtype=np.int64)
    partner[key[mine]] = mine
    rows = np.flatnonzero((partner[key] >= 0) & ~database.hidden)
    total, count = np.zeros(size), np.zeros(size, dtype=np.int64)
    columns = np.flatnonzero(~np.isnan(database.features[mine]).all(axis=0))
    spans = _spans_of_groups(database)[:, columns]
    for start in range(0, len(rows), COMPARED_AT_ONCE):
        chunk = rows[start : start + COMPARED_AT_ONCE]
        distances = _distances_of_pairs(database, chunk, partner[key[chunk]], columns, spans)
        total += np.bincount(own[chunk], np.minimum(np.nan_to_num(distances), LARGEST_DISTANCE), size)
        count += np.bincount(own[chunk], ~np.isnan(distances), size).astype(np.int64)
    return MeanDistances(np.where(count > 0, total / np.maximum(count, 1), np.nan)[None], count[None])


def _distances_of_pairs(
    database: Database, rows: IntArray, partners: IntArray, columns: IntArray, spans: FloatArray
) -> FloatArray:
    """D (Eq. 13) of rows (K,) and their partners, both of the group of the row, at some elements; NaN where none is
    valid in both."""
    difference = database.features[rows[:, None], columns] - database.features[partners[:, None], columns]
    difference /= spans[database.group[rows]]
    valid = ~np.isnan(difference)
    difference[~valid] = 0.0
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(np.einsum("ke,ke->k", difference, difference) / valid.sum(axis=1)))


def _spans_of_groups(database: Database) -> FloatArray:
    """What the elements of each group's origin are divided by (Eq. 10-12), (G, 84)."""
    spans = [element_spans(*database.element_range(group.origin)) for group in database.groups]
    return np.array(spans).reshape(-1, database.features.shape[1])
