"""Measured curves at common thread counts, as ln(n t(n)): the logarithm of the thread time, constant for ideal scaling.

Between measured thread counts a curve follows a scaling law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.arrays import distinct_codes, evenly_spaced, stretch_positions
from predictor.core.database import Database
from predictor.core.numerics import TINY
from profiles.arrays import BoolArray, FloatArray, IntArray

FEWEST_GRID_COLUMNS, MOST_GRID_COLUMNS = 48, 192  # bounds of the number of thread counts of the grid
MOST_GRID_VALUES = 1 << 22  # limit of rows x columns, unless FEWEST_GRID_COLUMNS exceeds it
BLOCK_ROWS = 1 << 12  # rows interpolated together, so that intermediate arrays fit into the processor's cache
MACHINE_LOSS = 0.6  # rise of ln(n t) on a busy machine by lower clocks and by second threads of cores
PATTERN_TABLES = ("measured", "inside", "outside", "left", "right")
DENSE_PAIRS_RATIO = 4  # ratio of pairs to profiles up to which a table of all pairs is kept


@dataclass(frozen=True, eq=False)
class EvaluatedCurves:
    """The curves of all profiles on a grid of G thread counts.

    `values` (G, N + 1) is ln(n t(n)), interpolated by `interpolate_rows` between measured thread counts and constant
    outside them. Rows that were measured at the same n share a pattern: `pattern` (N + 1,) is an index into the tables
    (G, patterns), which contain which columns were measured, which are inside the measured range, the distance of the
    others from it in ln n, and the measured columns (`left`, `right`) between which each column was interpolated. Row
    -1 represents a missing profile and is 0; rows without a curve or time are 0, too, and have pattern 0.
    """

    n: IntArray  # (G,)
    log_n: FloatArray  # (G,)
    values: FloatArray
    pattern: IntArray
    measured: BoolArray
    inside: BoolArray
    outside: FloatArray
    left: IntArray
    right: IntArray

    def at(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the values of rows of any shape at the given columns, with columns as the first axis."""
        values = np.empty((len(columns), *rows.shape))
        for column, of_column in zip(columns.tolist(), values, strict=True):
            self.values[column].take(rows, out=of_column, mode="wrap")
        return values

    def measured_in(self, patterns: IntArray) -> IntArray:
        """Return the columns that rows with any of these patterns measured."""
        return np.flatnonzero(self.measured[:, distinct_codes(patterns)].any(axis=1))


def evaluated_curves(database: Database) -> EvaluatedCurves:
    """Return the evaluated curves of all profiles, computed once for a database and all its views."""
    return database.derive(("evaluated",), lambda: _evaluate(database))


def share_evaluated_curves(database: Database, changed: Database, platform: int) -> None:
    """Set the evaluated curves of `changed`, which differs from the database in the curves of one platform only: those
    of the database, and the changed ones on the same grid."""
    whole = evaluated_curves(database)
    rows = slice(*np.searchsorted(database.platform_index, [platform, platform + 1]).tolist())
    part = _evaluate(changed.part(np.arange(rows.start, rows.stop)), whole.n)
    values, pattern = whole.values.copy(), whole.pattern.copy()
    values[:, rows] = part.values[:, :-1]
    pattern[rows] = np.where(part.pattern[:-1] > 0, part.pattern[:-1] + whole.measured.shape[1], 0)
    tables = {name: np.append(getattr(whole, name), getattr(part, name), axis=1) for name in PATTERN_TABLES}
    changed.derive(("evaluated",), lambda: EvaluatedCurves(whole.n, whole.log_n, values, pattern, **tables))


def _evaluate(database: Database, grid: IntArray | None = None) -> EvaluatedCurves:
    # Collect the points of all curves by row and n. A profile without a curve has the point t(1).
    lengths = np.diff(database.curve_offsets)
    single = np.flatnonzero((lengths == 0) & ~np.isnan(database.t1_s))
    row = np.append(np.repeat(np.arange(len(lengths)), lengths), single)
    n = np.append(database.curve_n.astype(np.int64), np.ones(len(single), dtype=np.int64))
    order = np.lexsort((n, row))
    n, log_time = n[order], np.log(np.append(database.curve_time_s, database.t1_s[single])[order])
    lengths[single] = 1
    starts = np.cumsum(lengths) - lengths
    # The grid has all measured thread counts or, if they are too many, those nearest to equal steps of ln n.
    if grid is None:
        grid = distinct_codes(np.append(n, 1))
        most = int(np.clip(MOST_GRID_VALUES // max(len(database), 1), FEWEST_GRID_COLUMNS, MOST_GRID_COLUMNS))
        grid = grid[evenly_spaced(np.log(grid), most)]
    # Group the rows by the bytes of their thread counts.
    rows_of: dict[bytes, list[int]] = {}
    counts, size = n.tobytes(), n.itemsize
    for at, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        if length:
            rows_of.setdefault(counts[start * size : (start + length) * size], []).append(at)
    values = np.zeros((len(grid), len(database) + 1))
    pattern = np.zeros(len(database) + 1, dtype=np.int64)
    tables = [tuple(np.zeros(len(grid), dtype=kind) for kind in (bool, bool, float, np.int64, np.int64))]
    for rows in rows_of.values():
        members = np.array(rows)
        points = starts[members][:, None] + np.arange(lengths[rows[0]])
        pattern[members] = len(tables)
        tables.append(_pattern(grid, n[points[0]]))
        known_n = n[points[0]]
        for first in range(0, len(members), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            values[:, members[block]] = interpolate_rows(np.log(known_n) + log_time[points[block]], known_n, grid).T
    columns = (np.stack(column, axis=1) for column in zip(*tables, strict=True))
    return EvaluatedCurves(grid, np.log(grid), values, pattern, *columns)


def _pattern(grid: IntArray, n: IntArray) -> tuple[BoolArray, BoolArray, FloatArray, IntArray, IntArray]:
    """Return the tables of `EvaluatedCurves`, in its order, for rows measured at `n`."""
    x, ends = np.log(grid), np.log([n[0], n[-1]])
    inside = (grid >= n[0]) & (grid <= n[-1])
    on_grid = np.isin(grid, n)
    measured = on_grid if np.isin(n, grid).all() else on_grid | inside
    if not measured.any():
        measured = np.abs(x - ends[0]) == np.abs(x - ends[0]).min()
    supports = np.flatnonzero(measured)
    columns = np.arange(len(grid))
    following = np.searchsorted(supports, columns)
    right = supports[np.minimum(following, len(supports) - 1)]
    left = np.where(right == columns, columns, supports[np.maximum(following - 1, 0)])
    left = np.where(columns > supports[-1], supports[-1], left)
    return measured, inside, np.maximum(ends[0] - x, 0.0) + np.maximum(x - ends[1], 0.0), left, right


def interpolate_rows(values: FloatArray, n: IntArray, wanted: IntArray) -> FloatArray:
    """Return rows (R, K) of ln(n t(n)), measured at ascending `n` (K,), at the thread counts `wanted` (G,), as (R, G).

    Values are constant outside the measured range. The result for a row does not depend on the other rows, not even in
    its last bit.

    >>> interpolate_rows(np.log([[1.0, 1.5, 6.0]]), np.array([1, 4, 64]), np.array([1, 2, 8, 99])).round(3).tolist()
    [[0.0, 0.203, 0.632, 1.792]]
    """
    if len(n) == 1:
        return np.repeat(values, len(wanted), axis=1)
    right = np.minimum(np.maximum(np.searchsorted(n, wanted), 1), len(n) - 1)
    left = right - 1
    found = values[:, np.where(wanted < n[right], left, right)]
    between = np.flatnonzero((n[left] < wanted) & (wanted < n[right]))
    left, right = left[between], right[between]
    found[:, between] += risen(values[:, right] - values[:, left], n[left], n[right], wanted[between])
    return found


def risen(rise: FloatArray, left: IntArray, right: IntArray, n: IntArray) -> FloatArray:
    """Return the part of the rise r of ln(n t(n)) from one measured thread count to the next that is reached at n.

        q m + ln(1 + s^max(1, 2 r / d - 1) (exp(r - m) - 1)),    at least r - ln(right / n) if r <= d

        m = min(r, 0.6 min(max(4 - 4 r / d, 0), 1)),    d = ln(right / left)
        q = ln(n / left) / d,    s = (n - left) / (right - left)

    The loss m of a busy machine rises linearly in ln n. The rest is linear in n, as in Amdahl's law, so that a serial
    program (r = d) stays serial. If the program gets slower (r > d), the rest is steeper at the end, as in the
    universal scalability law; if not, no n in between is faster than the right one. Below `left` the result is 0, above
    `right` it is r.

    Parameters: `rise` (..., G); `left`, `right` and `n` (G,), or shapes that broadcast with it.

    >>> risen(np.log([8.0, 16.0]), np.array([1]), np.array([16]), np.array([4])).round(2).tolist()  # ln 2.3, ln 4
    [0.82, 1.39]
    """
    n = np.clip(n, left, right)
    distance, to_end = np.maximum(np.log(right / left), TINY), np.log(right / n)
    of_machine = np.minimum(rise, MACHINE_LOSS * np.clip(4.0 - 4.0 * rise / distance, 0.0, 1.0))
    share = ((n - left) / np.maximum(right - left, TINY)) ** np.maximum(1.0, 2.0 * rise / distance - 1.0)
    expected = (1.0 - to_end / distance) * of_machine + np.log1p(share * np.expm1(rise - of_machine))
    return np.asarray(np.where(rise <= distance, np.maximum(expected, rise - to_end), expected))


def shape_range(rise: FloatArray, left: IntArray, right: IntArray, n: IntArray) -> FloatArray:
    """Return the largest difference in ln(n t(n)) at n of two curves with the same rise r between two measured thread
    counts.

        min(r, s ln(n / left)) - max(r - s ln(right / n), 0),    s = max(1, 2 r / ln(right / left)), r at least 0

    One curve rises as early as possible, the other as late as possible. Neither rises more steeply in ln n than a curve
    of constant time or, if that is more, twice the average slope.

    >>> shape_range(np.full(2, np.log(2.0)), np.array([1, 1]), np.array([8, 8]), np.array([2, 8])).round(3).tolist()
    [0.693, 0.0]
    """
    n, rise = np.clip(n, left, right), np.maximum(rise, 0.0)
    steepest = np.maximum(1.0, 2.0 * rise / np.maximum(np.log(right / left), TINY))
    early, late = np.minimum(rise, steepest * np.log(n / left)), np.maximum(rise - steepest * np.log(right / n), 0.0)
    return np.asarray(np.maximum(early - late, 0.0))


def platforms_of_groups(database: Database, groups: tuple[int, ...]) -> IntArray:
    """Return the platforms with a profile in these groups, ascending, computed once for a database and all its
    views."""

    def compute() -> IntArray:
        return distinct_codes(database.platform_index[np.isin(database.group, groups)].astype(np.int64))

    return database.derive(("platforms", tuple(sorted(groups))), compute)


def visible_table(database: Database, platforms: IntArray, groups: tuple[int, ...]) -> IntArray:
    """Return the visible rows that have a curve, (platforms, W); -1 = none. Of several groups the first that has the
    pair counts."""
    positions = np.arange(len(database.platforms))
    if len(positions) * len(database.workloads) > DENSE_PAIRS_RATIO * len(database):
        table = _all_rows(database, platforms, groups)
    else:
        table = database.derive(("table", groups), lambda: _all_rows(database, positions, groups))[platforms]
    hidden = database.hidden_rows  # a pair is hidden in all groups
    table_rows = np.full(len(positions), -1)
    table_rows[platforms] = np.arange(len(platforms))
    table_rows = table_rows[database.platform_index[hidden]]
    is_listed = table_rows >= 0
    table[table_rows[is_listed], database.workload_index[hidden[is_listed]]] = -1
    return table


def _all_rows(database: Database, platforms: IntArray, groups: tuple[int, ...]) -> IntArray:
    starts, stops = (np.searchsorted(database.platform_index, platforms, side=side) for side in ("left", "right"))
    table_rows = np.repeat(np.arange(len(platforms)), stops - starts)
    rows = stretch_positions(starts, stops - starts)
    table = np.full((len(platforms), len(database.workloads)), -1, dtype=np.int64)
    usable = evaluated_curves(database).pattern[rows] > 0
    for group in reversed(groups):
        of_group = usable & (database.group[rows] == group)
        table[table_rows[of_group], database.workload_index[rows[of_group]]] = rows[of_group]
    return table
