"""The mean curve of a workload over the references, and what curves are between measured thread counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.arrays import evenly_spaced
from predictor.core.mpet.evidence.curves import EvaluatedCurves, distinct_codes, interpolate_rows
from profiles.arrays import FloatArray, IntArray

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
