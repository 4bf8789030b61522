"""Measured curves at common thread counts, as ln(n t(n)): the log of the thread time, constant for ideal scaling.

Between measured counts they follow the mean curve of their workload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from predictor.core.arrays import evenly_spaced
from predictor.core.database import Database
from profiles.arrays import BoolArray, FloatArray, IntArray

FEWEST_GRID_COLUMNS, MOST_GRID_COLUMNS = 48, 192  # thread counts of the grid, where so many were measured
MOST_CODES = 1 << 40  # of rows; times as many thread counts as there can be they still are numbers of 64 bits
BLOCK_ROWS = 1 << 12  # interpolated together: what that needs stays in the processor's cache
MOST_GRID_VALUES = 1 << 22  # of rows x columns, where FEWEST_GRID_COLUMNS allows it


@dataclass(frozen=True, eq=False)
class EvaluatedCurves:
    """Every profile's curve on a grid of G thread counts.

    `values` (G, N + 1) is ln(n t(n)), linear in ln n between measured thread counts and held outside them. Rows that
    were measured at the same n share a pattern: `pattern` (N + 1,) points into the tables (G, patterns) of which
    columns were measured, which lie inside the measured range, how far in ln n the others are outside it, and between
    which measured columns (`left`, `right`, `share` of the right one) each column was interpolated. Row -1, a profile
    that there is not, is all 0; so are rows without any curve or time, and pattern 0, which is theirs.
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
    share: FloatArray

    def at(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """The values of rows of any shape at some columns, columns first."""
        values = np.empty((len(columns), *rows.shape))
        for column, of_column in zip(columns.tolist(), values, strict=True):
            self.values[column].take(rows, out=of_column, mode="wrap")
        return values

    def measured_in(self, patterns: IntArray) -> IntArray:
        """Columns that rows of some of these patterns measured."""
        return np.flatnonzero(self.measured[:, patterns].any(axis=1))


def evaluated_curves(database: Database) -> EvaluatedCurves:
    """The evaluated curves of all profiles, computed once for a database and all its views."""
    return database.derive(("evaluated",), lambda: _evaluate(database))


def _evaluate(database: Database) -> EvaluatedCurves:
    curves = _FlatCurves.of(database)
    n = _grid(np.append(curves.n, 1), len(database))
    values = np.zeros((len(n), len(database) + 1))
    pattern = np.zeros(len(database) + 1, dtype=np.int64)
    log_time = np.log(curves.time_s)
    tables = [_Pattern.of_nothing(n)]
    for members, points in curves.alike():
        counts = curves.n[points[0]]
        pattern[members] = len(tables)
        tables.append(_Pattern.of(n, counts))
        for first in range(0, len(members), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            measured = np.log(counts) + log_time[points[block]]
            values[:, members[block]] = interpolate_rows(measured, np.log(counts), np.log(n)).T
    columns = {name: np.stack([getattr(table, name) for table in tables], axis=1) for name in _Pattern._fields}
    return EvaluatedCurves(n=n, log_n=np.log(n), values=values, pattern=pattern, **columns)


class _FlatCurves(NamedTuple):
    """Curves one after the other, each by ascending n: t(n) in seconds; t(1) alone where no curve was kept."""

    n: IntArray
    time_s: FloatArray
    starts: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, database: Database) -> _FlatCurves:
        lengths = np.diff(database.curve_offsets)
        sequential = np.flatnonzero((lengths == 0) & ~np.isnan(database.t1_s))
        row = np.append(np.repeat(np.arange(len(lengths)), lengths), sequential)
        n = np.append(database.curve_n.astype(np.int64), np.ones(len(sequential), dtype=np.int64))
        time_s = np.append(database.curve_time_s, database.t1_s[sequential])
        lengths[sequential] = 1
        starts = np.cumsum(lengths) - lengths
        if np.all((row[1:] > row[:-1]) | (n[1:] >= n[:-1])) and not len(sequential):
            return cls(n, time_s, starts, lengths)
        order = np.lexsort((n, row))
        return cls(n[order], time_s[order], starts, lengths)

    def alike(self) -> list[tuple[IntArray, IntArray]]:
        """Which curves have the same n (members,), and where their points are (members, n); empty ones are left out.

        In the order of the first member.
        """
        found = []
        for length in distinct_codes(self.lengths[self.lengths > 0]).tolist():
            members = np.flatnonzero(self.lengths == length)
            points = self.starts[members][:, None] + np.arange(length)
            kind = codes_of_rows(self.n[points])
            order = np.argsort(kind, kind="stable")
            parts = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
            found += [(members[part], points[part]) for part in parts]
        return sorted(found, key=lambda same: int(same[0][0]))


def _grid(n: IntArray, rows: int) -> IntArray:
    """All thread counts, or where they are too many those nearest to equal steps of ln n."""
    counts = distinct_codes(n)
    most = int(np.clip(MOST_GRID_VALUES // max(rows, 1), FEWEST_GRID_COLUMNS, MOST_GRID_COLUMNS))
    return counts[evenly_spaced(np.log(counts), most)]


def distinct_codes(codes: IntArray) -> IntArray:
    """The codes (0, 1, ...) that occur, ascending; for few different ones faster than sorting.

    >>> distinct_codes(np.array([3, 0, 3])).tolist()
    [0, 3]
    """
    return np.flatnonzero(np.bincount(codes.ravel()))


def codes_of_rows(rows: IntArray) -> IntArray:
    """Equal rows (R, K) of numbers >= 0 have equal codes (R,), others have not: a tenth of the time of `np.unique`,
    which sorts rows.

    >>> codes_of_rows(np.array([[1, 9], [4, 2], [1, 9], [1, 2]])).tolist()
    [1, 2, 1, 0]
    """
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        present = distinct_codes(column)
        rank = np.zeros(present.max(initial=0) + 1, dtype=np.int64)
        rank[present] = np.arange(len(present))
        codes = codes * len(present) + rank[column]
        if codes.max(initial=0) > MOST_CODES:
            codes = np.unique(codes, return_inverse=True)[1]
    return codes


class _Pattern(NamedTuple):
    """What all rows measured at the same thread counts share, over the grid."""

    measured: BoolArray
    inside: BoolArray
    outside: FloatArray
    left: IntArray
    right: IntArray
    share: FloatArray

    @classmethod
    def of_nothing(cls, grid: IntArray) -> _Pattern:
        none, zero = np.zeros(len(grid), dtype=bool), np.zeros(len(grid), dtype=np.int64)
        return cls(none, none, np.zeros(len(grid)), zero, zero, np.zeros(len(grid)))

    @classmethod
    def of(cls, grid: IntArray, n: IntArray) -> _Pattern:
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
        width = x[right] - x[left]
        share = np.where(width > 0, (x - x[left]) / np.where(width > 0, width, 1.0), 0.0)
        outside = np.maximum(ends[0] - x, 0.0) + np.maximum(x - ends[1], 0.0)
        return cls(measured, inside, outside, left, right, np.clip(share, 0.0, 1.0))


def interpolate_rows(values: FloatArray, x: FloatArray, wanted: FloatArray) -> FloatArray:
    """Rows (R, K) measured at ascending `x` (K,), as values (R, G) at `wanted` (G,): linear between, held outside.

    A row's result does not depend on the other rows, not even in the last bit.

    >>> interpolate_rows(np.array([[1.0, 3.0]]), np.array([0.0, 2.0]), np.array([-1.0, 0.5, 9.0])).tolist()
    [[1.0, 1.5, 3.0]]
    """
    if len(x) == 1:
        return np.repeat(values, len(wanted), axis=1)
    right = np.minimum(np.maximum(np.searchsorted(x, wanted), 1), len(x) - 1)
    left = right - 1
    start = x[left]
    share = np.minimum(np.maximum((wanted - start) / (x[right] - start), 0.0), 1.0)
    return np.asarray(values[:, left] * (1.0 - share) + values[:, right] * share)


MOST_MEAN_CURVE_COUNTS = 12  # thread counts at which mean curves are known
MOST_AVERAGED_PLATFORMS = 48  # platforms: more of them change a mean curve no more
MOST_PATTERNS = 256  # of measured thread counts: more are worth the time of finding those that occur
AVERAGE_WORKLOAD_PROFILES = 3.0  # a mean step counts as so many profiles of the average workload
STEEPEST_CONTINUATION = 1.0  # beyond everything measured t(n) is at worst constant: ln(n t) rises as ln n


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean ln(n t(n)) of a workload, up to a constant, at ln n (G,); `slope` continues it beyond `largest_n`.

    >>> curve = MeanCurve(np.log([1.0, 2.0]), np.array([0.0, 0.5]), largest_n=2, slope=0.1)
    >>> curve.at(np.log([1.0, 2.0, 4.0])).round(3).tolist()
    [0.0, 0.5, 0.569]
    """

    log_n: FloatArray
    values: FloatArray
    largest_n: int
    slope: float

    def at(self, log_n: FloatArray) -> FloatArray:
        """The mean curve at any ln n, of any shape."""
        beyond = np.maximum(log_n - np.log(self.largest_n), 0.0)
        return np.asarray(np.interp(log_n, self.log_n, self.values) + beyond * self.slope)


def curves_at(
    evaluated: EvaluatedCurves, rows: IntArray, patterns: IntArray, knots: IntArray
) -> tuple[FloatArray, MeanCurve]:
    """Curves (J, P, B) at the knots, 0 where there is no profile, and the mean curve of A, the last of the workloads.

        value = linear(values) + mean(n) - linear(mean)

    so that nothing changes where it was measured, and the deviation from the mean curve is held outside.
    """
    support = evaluated.measured_in(distinct_codes(patterns))
    support = support[evenly_spaced(evaluated.log_n[support], MOST_MEAN_CURVE_COUNTS)]
    means = _means(evaluated, rows, patterns, support)
    values = evaluated.at(rows, knots)
    _add_bends(values, evaluated, patterns, means, knots)
    own = evaluated.measured_in(distinct_codes(patterns[:, -1]))
    if not np.array_equal(own, support):
        means = _means(evaluated, rows[:, -1:], patterns[:, -1:], own)
    return values, _mean_curve(evaluated, means[:, -1], own)


def _add_bends(
    values: FloatArray, evaluated: EvaluatedCurves, patterns: IntArray, means: FloatArray, knots: IntArray
) -> None:
    """Add what the mean curves are above straight lines between where a pattern was measured."""
    kinds = np.arange(evaluated.measured.shape[1])
    if len(kinds) > MOST_PATTERNS:
        kinds = distinct_codes(patterns)
        patterns = np.searchsorted(kinds, patterns)
    flat = patterns * means.shape[1] + np.arange(means.shape[1])
    for value, knot in zip(values, knots.tolist(), strict=True):
        left, right, share = evaluated.left[knot], evaluated.right[knot], evaluated.share[knot]
        between = np.flatnonzero((left[kinds] != knot) & (kinds > 0))
        if len(between):
            left, right, share = (table[kinds[between]] for table in (left, right, share))
            bends = np.zeros((len(kinds), means.shape[1]))
            bends[between] = means[knot] - means[left] - share[:, None] * (means[right] - means[left])
            np.add(value, bends.take(flat), out=value)


def _mean_curve(evaluated: EvaluatedCurves, values: FloatArray, support: IntArray) -> MeanCurve:
    slope = 0.0
    if len(support) > 1:
        (x, end), (y, last) = evaluated.log_n[support[-2:]].tolist(), values[support[-2:]].tolist()
        slope = min(max((last - y) / (end - x), 0.0), STEEPEST_CONTINUATION)
    return MeanCurve(evaluated.log_n, values, int(evaluated.n[support[-1]]), slope)


def _means(evaluated: EvaluatedCurves, rows: IntArray, patterns: IntArray, support: IntArray) -> FloatArray:
    """The mean shape of every workload's curve on the grid, (G, B), from mean steps between supports.

    A step counts where a profile was measured across it, so platforms of any size can be averaged.
    """
    step = -(-len(rows) // MOST_AVERAGED_PLATFORMS)
    rows, patterns = (np.ascontiguousarray(some[::step]) for some in (rows, patterns))  # or every `take` copies them
    inside = evaluated.inside[support]
    across = (inside[1:] & inside[:-1]).astype(np.float64).take(patterns, axis=1)
    values = evaluated.at(rows, support)
    steps = np.einsum("gpb,gpb->gb", values[1:] - values[:-1], across)
    counts = across.sum(axis=1)
    overall = steps.sum(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    curve = np.zeros((len(support), rows.shape[1]))
    np.cumsum(
        (steps + AVERAGE_WORKLOAD_PROFILES * overall[:, None]) / (counts + AVERAGE_WORKLOAD_PROFILES),
        axis=0,
        out=curve[1:],
    )
    x = evaluated.log_n
    return interpolate_rows(curve.T, x[support], x).T
