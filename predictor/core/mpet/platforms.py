"""Which platforms a question is about: those on which a workload can be predicted, and of thousands the nearest ones.

What is kept with the database is the levels of all profiles at a few thread counts. A question reads those that it may
see, one by one: what is hidden from it changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predictor.core.answers import Query
from predictor.core.arrays import evenly_spaced, stretch_positions
from predictor.core.database import Database
from predictor.core.errors import NoBenchmark, NoReference, NothingComparable, NothingShared
from predictor.core.mpet.curves import evaluated_curves
from predictor.core.mpet.hyperparameters import TINY
from predictor.core.mpet.metadata import platform_metadata
from profiles.arrays import BoolArray, FloatArray, IntArray

# In the order in which `gather_evidence` finds out.
LACKS = ("", NoReference.lacks, NoBenchmark.lacks, NothingComparable.lacks, NothingShared.lacks)


def lacks_by_target(database: Database, workload: int) -> tuple[str, ...]:
    """What is missing to predict A on each platform, by the words of the errors (P,); empty: nothing is.

    T can be predicted where a reference P != T has A, and P and T a workload B != A; of one origin, and with times.
    O(N) for N profiles, whatever the number of platforms.

    >>> from predictor.core.database import Group
    >>> database = Database.build(  # p has a and b, t has b, u nothing
    ...     platforms=("p", "t", "u"), workloads=("a", "b"), platform_index=[0, 0, 1], workload_index=[0, 1, 1],
    ...     groups=[Group(False, "", "measured")], group=[0, 0, 0], features=np.full((3, 84), np.nan),
    ...     t1_s=[1.0, 2.0, 3.0], n_nu=[np.nan] * 3, n_ht=[np.nan] * 3, n_max=[4] * 3)
    >>> lacks_by_target(database, workload=0)
    ('reference', '', 'benchmark')
    """
    group_of_target = groups_of_targets(database, workload)
    origin_of_target = np.where(group_of_target >= 0, np.append(_origin_codes(database), -1)[group_of_target], -1)
    codes = np.full(len(database.platforms), LACKS.index(NoReference.lacks))
    for origin in np.unique(origin_of_target[origin_of_target >= 0]).tolist():
        codes = np.where(origin_of_target == origin, _lacks_in_origin(database, workload, origin), codes)
    return tuple(LACKS[code] for code in codes.tolist())


def answered_pairs(database: Database) -> BoolArray:
    """Where `lacks_by_target` finds nothing missing, for all workloads at once (W, P).

    A benchmark B != A that T and a reference have decides: with H (W, P) the usable profiles of an origin and G = H H^T
    the number of platforms that have both, A on T can be predicted where sum_B (G_AB > H_AT) H_BT > 0. O(W^2 P), not
    W times O(N).
    """
    usable = ~database.hidden & (evaluated_curves(database).pattern[: len(database)] > 0)
    codes = _origin_codes(database)
    found = np.zeros((len(database.workloads), len(database.platforms)), dtype=bool)
    for origin in np.unique(codes).tolist():
        rows = usable & (codes[database.group] == origin)
        has = np.zeros(found.shape, dtype=np.float32)
        has[database.workload_index[rows], database.platform_index[rows]] = 1
        both = has @ has.T
        np.fill_diagonal(both, 0)
        shared = np.where(has > 0, (both > 1).astype(np.float32) @ has, (both > 0).astype(np.float32) @ has) > 0
        if len(np.unique(codes)) > 1:
            groups = np.array([groups_of_targets(database, workload) for workload in range(len(found))])
            shared &= np.where(groups >= 0, np.append(codes, -1)[groups], -1) == origin
        found |= shared
    return found


def _origin_codes(database: Database) -> IntArray:
    """The origin of each group, as the index of the first group that has it (G,)."""
    origins = [group.origin for group in database.groups]
    return np.array([origins.index(origin) for origin in origins], dtype=np.int64)


def groups_of_targets(database: Database, workload: int) -> IntArray:
    """For each target the group that A has most references in, as `choose_group` says (P,); -1: none."""
    rows = database.rows_of_workload(workload)
    has_a = np.zeros((len(database.platforms), len(database.groups)), dtype=np.int64)
    has_a[database.platform_index[rows], database.group[rows]] = 1
    counts = has_a.sum(axis=0) - has_a  # without what T itself has
    order = sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g))
    if not order:
        return np.full(len(database.platforms), -1)
    chosen = np.array(order)[counts[:, order].argmax(axis=1)]
    return np.where(counts.any(axis=1), chosen, -1)


def _lacks_in_origin(database: Database, workload: int, origin: int) -> IntArray:
    """As `lacks_by_target`, from profiles of this origin alone; as indices of LACKS (P,)."""
    platforms = len(database.platforms)
    visible = ~database.hidden
    usable = visible & (_origin_codes(database)[database.group] == origin)
    usable &= evaluated_curves(database).pattern[: len(database)] > 0
    of_workload = database.workload_index == workload
    has_a = _any_of(database.platform_index[usable & of_workload], platforms)
    other = _distinct_pairs(database, usable & ~of_workload)
    on_platform, of_benchmark = np.divmod(other, len(database.workloads))
    having = np.bincount(of_benchmark[has_a[on_platform]], minlength=len(database.workloads))
    shares = having[of_benchmark] - has_a[on_platform] > 0  # with a reference other than the platform itself
    has_reference = has_a.sum() - has_a > 0
    has_benchmark = _any_of(database.platform_index[visible & ~of_workload], platforms)
    conditions = has_reference, has_benchmark, _any_of(on_platform, platforms), _any_of(on_platform[shares], platforms)
    return np.select([~condition for condition in conditions], np.arange(1, len(LACKS)).tolist(), 0)


def _distinct_pairs(database: Database, rows: BoolArray) -> IntArray:
    """platform * W + workload of these rows, each pair once."""
    pairs = database.platform_index[rows].astype(np.int64) * len(database.workloads) + database.workload_index[rows]
    return np.unique(pairs)


def _any_of(indices: IntArray, length: int) -> BoolArray:
    """Which of 0..length-1 occur."""
    occurs = np.zeros(length, dtype=bool)
    occurs[indices] = True
    return occurs


MOST_EXAMINED_REFERENCES = 384  # platforms that have A: of more, so many nearest ones are looked at closely
MOST_INDEX_WORKLOADS, FEWEST_INDEX_WORKLOADS = 48, 8  # of T's: more of them hardly change who is near
MOST_INDEX_PROFILES = 100_000  # of all platforms together: bounds what a question costs, where they allow it
INDEX_COLUMNS, COLUMNS_OF_A_QUESTION = 6, 3  # thread counts of the grid at which levels are known, and compared
PAPER_SHARE = 0.3  # of squared distance on paper, beside that of behaviour in units of its median


class LevelsOfTarget(NamedTuple):
    """Workloads that T has, ascending, (B,), their levels at some columns of the grid, (C, B), and these columns."""

    workloads: IntArray
    levels: FloatArray
    columns: IntArray


def nearest_platforms(
    database: Database, query: Query, groups: tuple[int, ...], platforms: IntArray, most: int
) -> IntArray:
    """The `most` platforms that are most like T, ascending; all of them where fewer share one of its workloads.

        d_p = var (z(T,b,j) - z(p,b,j)) / median + 0.3 |x_p - x_T|^2 + mean outside_p

    z is ln(n t(n)), the variance is over the workloads b but A that both have and three thread counts j; of T's
    workloads those that p lacks count as the median. x is the metadata, `outside` how far in ln n the thread counts lie
    outside those where A was measured on p. O(R), about 50 profiles of each platform, 8 where there are very many.

    Example: the levels of p are all 2 above those of T, those of q 0 and 1 above: p is nearer, whatever the 2.

    Parameters: `groups`, in which T and the platforms are compared, the first first; `platforms` (R,), ascending, all
    of them not T. Returns (at most R,).
    """
    most_workloads = max(MOST_INDEX_PROFILES // len(platforms), FEWEST_INDEX_WORKLOADS)
    target = _levels_of_target(database, query, groups, min(most_workloads, MOST_INDEX_WORKLOADS))
    patterns = evaluated_curves(database).pattern[_rows_on_platforms(database, query, groups)[platforms]]
    platforms, patterns = platforms[patterns > 0], patterns[patterns > 0]
    if not len(target.workloads):
        return platforms
    variance, shared = _variances(database, target, groups, platforms)
    if np.count_nonzero(shared) < most:
        return platforms
    lacking = 1.0 - shared / len(target.workloads)
    typical = float(np.median(variance[shared > 0])) + TINY
    distance = np.where(shared > 0, variance / typical * (1.0 - lacking) + lacking, np.inf)
    distance += PAPER_SHARE * platform_metadata(database).squared_distances(platforms, query.target)
    outside = evaluated_curves(database).outside[target.columns].take(patterns, axis=1)
    return platforms[nearest_at_any(distance + outside, most)]


def nearest_at_any(distance: FloatArray, most: int) -> IntArray:
    """The `most` platforms that are nearest at any thread count, by their distances (J, R) there; ascending positions.

    Each thread count in turn has its next nearest: what was measured with one thread alone is evidence there, however
    little it says of other counts.

    >>> nearest_at_any(np.array([[1.0, 2.0, 3.0, 9.0], [9.0, 8.0, 7.0, 1.0]]), most=2).tolist()
    [0, 3]
    """
    rank = distance.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    order = np.lexsort((distance.sum(axis=0), rank.min(axis=0)))
    return np.sort(order[:most])


def _rows_on_platforms(database: Database, query: Query, groups: tuple[int, ...]) -> IntArray:
    """The row of A on each platform, of several groups the first; -1 = none (P,)."""
    rows = database.rows_of_workload(query.workload)
    row_of = np.full(len(database.platforms), -1)
    for group in reversed(groups):
        of_group = rows[database.group[rows] == group]
        row_of[database.platform_index[of_group]] = of_group
    return row_of


def _levels_of_target(database: Database, query: Query, groups: tuple[int, ...], most: int) -> LevelsOfTarget:
    """At most so many of T's workloads but A, evenly among those that it has; of several groups the first."""
    evaluated = evaluated_curves(database)
    rows = database.rows_of_platform(query.target)
    rows = rows[(evaluated.pattern[rows] > 0) & (database.workload_index[rows] != query.workload)]
    row_of = np.full(len(database.workloads), -1)
    for group in reversed(groups):
        of_group = rows[database.group[rows] == group]
        row_of[database.workload_index[of_group]] = of_group
    workloads = np.flatnonzero(row_of >= 0)
    if not len(workloads):
        return LevelsOfTarget(workloads, np.zeros((0, 0)), workloads)
    columns = evenly_spaced(evaluated.log_n, INDEX_COLUMNS)
    measured = evaluated.measured_in(evaluated.pattern[row_of[workloads]])
    columns = columns[: max(1, int(np.searchsorted(columns, measured[-1], side="right")))]
    columns = columns[evenly_spaced(evaluated.log_n[columns], COLUMNS_OF_A_QUESTION)]
    workloads = workloads[:: -(-len(workloads) // most)]
    return LevelsOfTarget(workloads, evaluated.at(row_of[workloads], columns), columns)


def _levels(database: Database, column: int) -> NDArray[np.float32]:
    """ln(n t(n)) of all profiles at a column of the grid, in the order of `Database.rows_by_workload`."""
    return database.derive(
        ("levels", column),
        lambda: evaluated_curves(database).values[column].take(database.rows_by_workload()[0]).astype(np.float32),
    )


def _platforms_by_workload(database: Database) -> NDArray[np.int32]:
    """The platform of every profile in the order of `Database.rows_by_workload`; -1: it has no curve."""

    def compute() -> NDArray[np.int32]:
        order = database.rows_by_workload()[0]
        usable = evaluated_curves(database).pattern[order] > 0
        return np.where(usable, database.platform_index[order], -1).astype(np.int32)

    return database.derive("platforms_by_workload", compute)


def _variances(
    database: Database, target: LevelsOfTarget, groups: tuple[int, ...], platforms: IntArray
) -> tuple[FloatArray, IntArray]:
    """The variance of T's levels over those of each platform (R,), and how many workloads it shares with T (R,)."""
    order, of_workload = database.rows_by_workload()
    starts, stops = (np.searchsorted(of_workload, target.workloads, side=side) for side in ("left", "right"))
    lengths = stops - starts
    positions, b = stretch_positions(starts, lengths), np.repeat(np.arange(len(starts)), lengths)
    platform_of = _platforms_by_workload(database)
    place = np.full(len(database.platforms) + 1, -1, dtype=np.int32)  # the last is no platform
    place[platforms] = np.arange(len(platforms))
    p = place[platform_of[positions]]
    counts = p >= 0
    if len(database.hidden_rows):
        counts &= ~database.hidden[order[positions]]
    if len(database.groups) > 1:
        counts &= _is_of_first_group(database, order[positions], groups, counts)
    positions, b, p = positions[counts], b[counts], p[counts]
    sums, squares = np.zeros(len(platforms)), np.zeros(len(platforms))
    for column, level in zip(target.columns.tolist(), target.levels, strict=True):
        gap = level[b] - _levels(database, column)[positions]
        sums += np.bincount(p, gap, len(platforms))
        squares += np.bincount(p, gap**2, len(platforms))
    shared = np.bincount(p, minlength=len(platforms))
    values = np.maximum(shared * len(target.columns), 1)
    return np.maximum(squares / values - (sums / values) ** 2, 0.0), shared


def _is_of_first_group(
    database: Database, rows: IntArray, groups: tuple[int, ...], counts: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which rows are of the first of the groups in which their pair has one that counts. Rows of a pair follow each
    other."""
    rank = np.full(len(database.groups), len(groups))
    rank[list(groups)] = np.arange(len(groups))
    ranks = np.where(counts, rank[database.group[rows]], len(groups))
    platform, workload = database.platform_index[rows], database.workload_index[rows]
    begins = np.flatnonzero(np.append(True, (platform[1:] != platform[:-1]) | (workload[1:] != workload[:-1])))
    best = np.minimum.reduceat(ranks, begins) if len(rows) else ranks
    return np.asarray((ranks < len(groups)) & (ranks == np.repeat(best, np.diff(np.append(begins, len(rows))))))
