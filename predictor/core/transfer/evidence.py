"""What the database says about A on T: curves of A on the references, and of the workloads both they and T have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Query
from predictor.core.candidates import check_query, choose_groups, reference_rows, why_no_benchmark
from predictor.core.database import BoolArray, Database, FloatArray, IntArray
from predictor.core.errors import NoReference, TooFewCandidates
from predictor.core.reconstruct import thread_counts
from predictor.core.transfer.evaluated import EvaluatedCurves, evaluated_curves, spread
from predictor.core.transfer.metadata import platform_metadata

MOST_KNOTS = 12
MOST_SUPPORT = 12  # thread counts at which mean curves are known
STEEPEST = 1.0  # beyond everything measured t(n) is at worst constant: ln(n t) rises as ln n
MISSING = 0.5  # times as many workloads as T has: if it lacks more, they are filled in
MOST_RELATIVES = 128
MOST_AVERAGED = 48  # platforms: more of them change a mean curve no more
MOST_PATTERNS = 256  # of measured thread counts: more are worth the time of finding those that occur
LIKE_ALL = 3.0  # a mean step counts as so many profiles of the average workload


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean ln(n t(n)) of a workload, up to a constant, at ln n (G,); `slope` continues it beyond `largest_n`."""

    log_n: FloatArray
    values: FloatArray
    largest_n: int
    slope: float

    def at(self, log_n: FloatArray) -> FloatArray:
        beyond = np.maximum(log_n - np.log(self.largest_n), 0.0)
        return np.asarray(np.interp(log_n, self.log_n, self.values) + beyond * self.slope)


@dataclass(frozen=True, eq=False)
class Evidence:
    """ln(n t(n)) of R references and T (last) for the B workloads known on T, and of A on the references.

    At J thread counts, the knots. `curves` is 0 where `known` is False; in memory it is ordered by knots first, so that
    numpy's loops are long. `outside` is how far in ln n a knot lies
    outside the measured range of (P,A). Everything of (T,A) is absent.

    Where T lacks most workloads that others have, `gather` adds them as columns, and T's relatives without A as rows;
    `complete` (completing.py) fills them in on T, or drops them: afterwards every reference has A.
    """

    groups: tuple[int, ...]
    target: int
    workload: int
    platforms: IntArray  # (R,)
    workloads: IntArray  # (B,)
    rows: IntArray  # (R + 1, B + 1) of the database, -1 = none; A is the last column
    n: IntArray  # (J,)
    log_n: FloatArray  # (J,)
    known: BoolArray  # (R + 1, B)
    curves: FloatArray  # (R + 1, B, J)
    of_workload: FloatArray  # (R, J)
    outside: FloatArray  # (R, J)
    measured: BoolArray  # (R, J): where (P,A) was measured, not interpolated
    asked_n: IntArray  # as the query asks
    mean_curve: MeanCurve  # of A over the references
    measured_at_one: float  # the share of references where A was measured at n = 1
    largest_on_target: int  # n
    outliers: int = 0  # profiles left out
    fill_errors: FloatArray | None = None  # (J, R, B): of the filled-in workloads, were the reference T

    @property
    def measured_on_target(self) -> BoolArray:
        """(B,): known on T by measurement, not filled in."""
        return self.rows[-1, :-1] >= 0

    @property
    def has_workload(self) -> BoolArray:
        """(R,): A was measured there."""
        return self.rows[:-1, -1] >= 0

    def nearest(self, order: IntArray) -> Evidence:
        """Only these references, in this order."""
        with_target = np.append(order, len(self.platforms))
        return replace(
            self,
            fill_errors=None if self.fill_errors is None else self.fill_errors[:, order],
            platforms=self.platforms[order],
            rows=self.rows[with_target],
            known=self.known[with_target],
            curves=by_platform(by_knot(self.curves)[:, with_target]),
            of_workload=self.of_workload[order],
            outside=self.outside[order],
            measured=self.measured[order],
        )

    def of_workloads(self, chosen: IntArray) -> Evidence:
        """Only these workloads, in this order."""
        with_workload = np.append(chosen, len(self.workloads))
        return replace(
            self,
            workloads=self.workloads[chosen],
            rows=self.rows[:, with_workload],
            known=self.known[:, chosen],
            curves=by_platform(by_knot(self.curves)[:, :, chosen]),
        )


def by_knot(curves: FloatArray) -> FloatArray:
    """A view of (P, B, J) as (J, P, B)."""
    return curves.transpose(2, 0, 1)


def by_platform(curves: FloatArray) -> FloatArray:
    """A view of (J, P, B) as (P, B, J)."""
    return curves.transpose(1, 2, 0)


def gather(database: Database, query: Query, mix_runtimes: bool) -> Evidence:
    """Collect the evidence. (T,A) is hidden here, whatever the caller hid before.

    Raises NoReference, TooFewCandidates, UnknownTarget, UnknownWorkload, InvalidThreadCounts.
    """
    check_query(database, query)
    database = database.without(query.target, query.workload)
    groups = choose_groups(database, query, reference_rows(database, query), mix_runtimes)
    evaluated = evaluated_curves(database, groups)
    rows, platforms, workloads = _rows(database, query, groups, evaluated)
    asked = thread_counts(database, query.target, query.n)
    of_workload, on_target = rows[:-1, -1], rows[-1, :-1]
    of_workload, on_target = (evaluated.pattern[some[some >= 0]] for some in (of_workload, on_target))
    patterns = distinct(of_workload)
    knots = _knots(evaluated, patterns, on_target, asked)
    curves = _at_knots(evaluated, rows, _mean_curves(evaluated, rows, _support(evaluated, rows)), knots)
    has_workload = (rows[:-1, -1] >= 0)[:, None]
    pattern = evaluated.pattern[rows[:-1, -1]]
    return Evidence(
        groups=groups,
        target=query.target,
        workload=query.workload,
        platforms=platforms,
        workloads=workloads,
        rows=rows,
        n=evaluated.n[knots],
        log_n=evaluated.log_n[knots],
        known=rows[:, :-1] >= 0,
        curves=curves[:, :-1],
        of_workload=curves[:-1, -1],
        outside=np.where(has_workload, evaluated.outside[pattern][:, knots], 0.0),
        measured=evaluated.measured[pattern][:, knots] & has_workload,
        asked_n=asked,
        mean_curve=_mean_curve(evaluated, rows[:-1, -1:], patterns),
        measured_at_one=float(evaluated.inside[of_workload, 0].mean()),
        largest_on_target=int(evaluated.n[evaluated.measured[on_target].any(axis=0)].max()),
    )


def distinct(codes: IntArray) -> IntArray:
    """The codes (0, 1, ...) that occur, ascending; for few different ones faster than sorting.

    >>> distinct(np.array([3, 0, 3])).tolist()
    [0, 3]
    """
    return np.flatnonzero(np.bincount(codes))


def _rows(
    database: Database, query: Query, groups: tuple[int, ...], evaluated: EvaluatedCurves
) -> tuple[IntArray, IntArray, IntArray]:
    """Rows (R + 1, B + 1) of the references and T for the workloads of T and A, and both sets.

    Where T lacks most workloads: also the others, and relatives of T that lack A.
    """
    rows_a = reference_rows(database, query)
    in_groups = np.isin(database.group[rows_a], groups) if len(groups) > 1 else database.group[rows_a] == groups[0]
    platforms = distinct(database.platform_index[rows_a[in_groups]].astype(np.int64))
    platforms = platforms[platforms != query.target]
    table = _table(database, np.append(platforms, query.target), groups, evaluated)
    has_workload = table[:-1, query.workload] >= 0
    platforms, table = platforms[has_workload], table[np.append(has_workload, True)]
    if not len(platforms):
        raise NoReference(
            database.workloads[query.workload], database.platforms[query.target], " in the group that was asked for"
        )
    workloads = np.flatnonzero(table[-1] >= 0)
    if not len(workloads):
        rows_t = database.rows_of_platform(query.target)
        raise TooFewCandidates(0, 1, why_no_benchmark(database, query, groups, rows_t))
    related = (table[:-1, workloads] >= 0).any(axis=1)
    if not related.any():
        names = ", ".join(database.platforms[p] for p in platforms[:3]) + (", ..." if len(platforms) > 3 else "")
        raise TooFewCandidates(0, 1, f"the reference platforms ({names}) share no workload with the target")
    platforms, table = platforms[related], table[np.append(related, True)]
    missing = _missing(table, query.workload)
    if len(missing) > MISSING * len(workloads):
        others = _relatives(database, query, platforms)
        if len(others):
            more = _table(database, others, groups, evaluated)
            shares = (more[:, workloads] >= 0).any(axis=1)
            platforms = np.append(platforms, others[shares])
            table = np.concatenate([table[:-1], more[shares], table[-1:]])
            workloads = np.append(workloads, missing)
    return table[:, np.append(workloads, query.workload)], platforms, workloads


def _missing(table: IntArray, workload: int) -> IntArray:
    """Workloads but A that most references have, and T (the last row) has not."""
    often = 2 * (table[:-1] >= 0).sum(axis=0) >= len(table) - 1
    often[workload] = False
    return np.flatnonzero(often & (table[-1] < 0))


def _relatives(database: Database, query: Query, references: IntArray) -> IntArray:
    """Other platforms of T's `cpu_model` or microarchitecture, at most 128."""
    metadata = platform_metadata(database)
    alike = np.zeros(len(database.platforms), dtype=bool)
    for codes in (metadata.microarchitecture, metadata.cpu):
        alike |= codes == codes[query.target]
    alike[references] = False
    alike[query.target] = False
    found = np.flatnonzero(alike)
    if query.references is not None:
        found = found[np.isin(found, query.references)]
    return found[np.argsort(metadata.cpu[found] != metadata.cpu[query.target], kind="stable")][:MOST_RELATIVES]


def _table(database: Database, platforms: IntArray, groups: tuple[int, ...], evaluated: EvaluatedCurves) -> IntArray:
    """Visible rows that have a curve, (platforms, W); -1 = none. Of several groups the first that has the pair."""
    starts = np.searchsorted(database.platform_index, platforms)
    stops = np.searchsorted(database.platform_index, platforms, side="right")
    lengths = stops - starts
    at = np.repeat(np.arange(len(platforms)), lengths)
    rows = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    table = np.full((len(platforms), len(database.workloads)), -1, dtype=np.int64)
    usable = ~database.hidden[rows] & (evaluated.pattern[rows] > 0)
    for group in reversed(groups):
        mine = usable & (database.group[rows] == group)
        table[at[mine], database.workload_index[rows[mine]]] = rows[mine]
    return table


def _knots(evaluated: EvaluatedCurves, of_workload: IntArray, on_target: IntArray, asked: IntArray) -> IntArray:
    """Columns to predict at: where T's workloads were measured, A on the references beyond, and what was asked for.

    By the patterns of both. Too many are thinned, but those that were asked for stay if they are few enough.
    """
    at = np.flatnonzero(evaluated.measured[on_target].any(axis=0))
    columns = np.arange(len(evaluated.n))
    beyond = (columns < at[0]) | (columns > at[-1])
    wanted = evaluated.measured[of_workload].any(axis=0) & beyond
    wanted[at] = True
    requested = np.flatnonzero(np.isin(evaluated.n, asked))
    both = np.union1d(np.flatnonzero(wanted), requested)
    if len(both) > MOST_KNOTS and 0 < len(requested) <= MOST_KNOTS:
        return requested
    return both[spread(evaluated.log_n[both], MOST_KNOTS)]


def _values(evaluated: EvaluatedCurves, rows: IntArray, columns: IntArray) -> FloatArray:
    """values[rows, columns] (P, B, J) by flat positions: several times faster than by two index arrays."""
    return by_platform(evaluated.values.ravel().take(rows * len(evaluated.n) + columns[:, None, None]))


def _support(evaluated: EvaluatedCurves, rows: IntArray) -> IntArray:
    """Columns that some row measured, thinned to equal steps of ln n."""
    patterns = distinct(evaluated.pattern[rows[rows >= 0]])
    columns = np.flatnonzero(evaluated.measured[patterns].any(axis=0))
    return columns[spread(evaluated.log_n[columns], MOST_SUPPORT)]


def _mean_curves(evaluated: EvaluatedCurves, rows: IntArray, support: IntArray) -> FloatArray:
    """The mean shape of every workload's curve on the grid, (B + 1, G), from mean steps between supports.

    A step counts where a profile was measured across it, so platforms of any size can be averaged.
    """
    rows = rows[:: -(-len(rows) // MOST_AVERAGED)]
    at = np.where(rows >= 0, rows, 0)
    inside = evaluated.inside[:, support][evaluated.pattern[at]] & (rows >= 0)[..., None]
    values = _values(evaluated, at, support)
    across = inside[..., 1:] & inside[..., :-1]
    steps = np.where(across, values[..., 1:] - values[..., :-1], 0.0).sum(axis=0)
    counts = across.sum(axis=0)
    overall = steps.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    mean = (steps + LIKE_ALL * overall) / (counts + LIKE_ALL)
    curve = np.concatenate([np.zeros((len(mean), 1)), np.cumsum(mean, axis=1)], axis=1)
    x = evaluated.log_n[support]
    return np.stack([np.interp(evaluated.log_n, x, one) for one in curve])


def _mean_curve(evaluated: EvaluatedCurves, rows: IntArray, patterns: IntArray) -> MeanCurve:
    """Of one workload, at every n that was measured; `rows` (P, 1), and the patterns of those that are there."""
    support = np.flatnonzero(evaluated.measured[patterns].any(axis=0))
    values = _mean_curves(evaluated, rows, support)[0]
    slope = 0.0
    if len(support) > 1:
        last = support[-2:]
        slope = float(np.clip(np.diff(values[last])[0] / np.diff(evaluated.log_n[last])[0], 0.0, STEEPEST))
    return MeanCurve(evaluated.log_n, values, int(evaluated.n[support[-1]]), slope)


def _at_knots(evaluated: EvaluatedCurves, rows: IntArray, mean_curves: FloatArray, knots: IntArray) -> FloatArray:
    """Curves (P, B, J) whose deviation from their workload's mean curve is linear in ln n, and held outside; 0 = none.

    value = linear(values) + mean(n) - linear(mean), so that nothing changes where it was measured.
    """
    which = evaluated.pattern[np.where(rows >= 0, rows, 0)]
    patterns = np.arange(len(evaluated.left))
    if len(patterns) > MOST_PATTERNS:
        patterns, which = np.unique(which, return_inverse=True)
    left, right, share = (table[patterns][:, knots] for table in (evaluated.left, evaluated.right, evaluated.share))
    linear = (1.0 - share) * mean_curves[:, left] + share * mean_curves[:, right]  # (B, patterns, J)
    bend = by_knot(mean_curves[:, knots][:, None] - linear).reshape(len(knots), -1)
    values = _values(evaluated, np.where(rows >= 0, rows, 0), knots)
    values += by_platform(bend.take(which.reshape(rows.shape) + len(patterns) * np.arange(rows.shape[1]), axis=1))
    values[rows < 0] = 0.0  # not a product: what stands there may be NaN
    return values
