"""Which platforms are most like the target."""

from __future__ import annotations

import numpy as np

from predictor.core.answers import Query
from predictor.core.arrays import evenly_spaced
from predictor.core.curves import evaluated_curves
from predictor.core.database import Database
from predictor.core.metadata import platform_metadata
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, SOME_COUNTS, SOME_REFERENCES
from predictor.core.numerics import TINY, nearest_at_any
from profiles.arrays import IntArray

MOST_EXAMINED = 384  # platforms that have A, workloads of T: of more, so many are looked at closely
MOST_INDEX_PROFILES = 100_000  # of all platforms together: bounds what a question costs, where they allow it


def nearest_platforms(
    database: Database, query: Query, groups: tuple[int, ...], platforms: IntArray, most: int
) -> IntArray:
    """The `most` platforms that are most like T, ascending; all of them where fewer share one of its workloads.

        d_p = var (z(T,b,j) - z(p,b,j)) / median + 0.3 |x_p - x_T|^2 + mean outside_p

    z is ln(n t(n)), the variance is over the workloads b but A that both have and four thread counts j; of T's
    workloads those that p lacks count as the median. x is the metadata, `outside` how far in ln n the thread counts lie
    outside those where A was measured on p. O(R), about 50 profiles of each platform, 5 where there are very many.

    Example: the levels of p are all 2 above those of T, those of q 0 and 1 above: p is nearer, whatever the 2.

    Parameters: `groups`, in which T and the platforms are compared, the first first; `platforms` (R,), ascending, all
    of them not T. Returns (at most R,).
    """
    evaluated = evaluated_curves(database)
    on_target = database.rows_of_platform(query.target)
    on_target = on_target[(evaluated.pattern[on_target] > 0) & np.isin(database.group[on_target], groups)]
    workloads = np.setdiff1d(database.workload_index[on_target], query.workload)
    if not len(workloads):
        return platforms
    last = evaluated.measured_in(evaluated.pattern[on_target])[-1]
    columns = evenly_spaced(evaluated.log_n[: last + 1], SOME_COUNTS)
    most_workloads = min(max(MOST_INDEX_PROFILES // len(platforms), SOME_REFERENCES), ENOUGH)
    workloads = workloads[:: -(-len(workloads) // most_workloads)]
    # The row of every pair of a platform and one of the workloads, A last; of several groups the first.
    order, of_workload = database.rows_by_workload()
    chosen = np.append(workloads, query.workload)
    starts, stops = (np.searchsorted(of_workload, chosen, side=side) for side in ("left", "right"))
    rows = np.concatenate([order[start:stop] for start, stop in zip(starts, stops, strict=True)])
    pairs = database.platform_index[rows] * len(chosen) + np.repeat(np.arange(len(chosen)), stops - starts)
    table = np.full((len(database.platforms), len(chosen)), -1)
    usable = (evaluated.pattern[rows] > 0) & ~database.hidden[rows]
    for group in reversed(groups):
        of_group = usable & (database.group[rows] == group)
        table.ravel()[pairs[of_group]] = rows[of_group]
    platforms = platforms[table[platforms, -1] >= 0]
    own, patterns, table = table[query.target, :-1], evaluated.pattern[table[platforms, -1]], table[platforms, :-1]
    gap = (evaluated.at(own, columns)[:, None] - evaluated.at(table, columns)) * (table >= 0)
    shared = np.count_nonzero(table >= 0, axis=1)
    if np.count_nonzero(shared) < most:
        return platforms
    values = np.maximum(shared * len(columns), 1)
    squares, sums = np.einsum("jrb,jrb->r", gap, gap), np.einsum("jrb->r", gap)
    variance = np.maximum(squares / values - (sums / values) ** 2, 0.0)
    lacking = 1.0 - shared / len(workloads)
    typical = float(np.median(variance[shared > 0])) + TINY
    distance = np.where(shared > 0, variance / typical * (1.0 - lacking) + lacking, np.inf)
    distance += DEFAULTS.paper_share * platform_metadata(database).squared_distances(platforms, query.target)
    return platforms[nearest_at_any(distance + evaluated.outside[columns].take(patterns, axis=1), most)]
