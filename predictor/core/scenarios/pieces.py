"""Segments of logarithmic curves between breakpoints, moved to other breakpoints, for methods that predict curves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Answer, fractions_of, is_decomposed
from predictor.core.reconstruct import consistent_curves
from predictor.core.scenarios.scenario import PlatformTopology
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import FRACTION_CURVES, FRACTIONS, RELATIVE_MEASURE_CURVES, RELATIVE_MEASURES

LEAST_LOGGED_SHARE = 1e-4  # of the thread time, added to shares so that 0 has a logarithm
LEAST_LOGGED_MEASURE = 1e-12
LOG_ROWS = 1 + len(FRACTIONS) + len(RELATIVE_MEASURES)


@dataclass(frozen=True, eq=False)
class Piece:
    """The change of the curves after a breakpoint: `steps` (LOG_ROWS, D) at the numbers of further threads `after`
    (D,), ascending, and beyond these `slope` (LOG_ROWS,) for each ln n."""

    after: IntArray
    steps: FloatArray
    slope: FloatArray

    @property
    def length(self) -> int:
        return int(self.after[-1]) if len(self.after) else 0

    def within(self, threads: IntArray) -> FloatArray:
        """Return the change after these numbers of threads, (LOG_ROWS, K), constant beyond its end."""
        padded = np.concatenate([np.zeros((len(self.steps), 1)), self.steps], axis=1)
        return rows_between(np.append(0, self.after) + 1, padded, np.minimum(threads, self.length) + 1)

    def at(self, threads: IntArray, start: float) -> FloatArray:
        """Return the change after these numbers of threads beyond a breakpoint at `start`, (LOG_ROWS, K)."""
        beyond = np.log((start + np.maximum(threads, self.length)) / (start + self.length))
        return np.asarray(self.within(threads) + np.where(beyond > 0, self.slope[:, None] * beyond, 0.0))


def rows_between(known: IntArray, rows: FloatArray, wanted: IntArray) -> FloatArray:
    """Return rows (R, D) of values at `known` (D,) at the counts `wanted` (K,), interpolated linearly in ln n unless
    all are known.

    >>> rows_between(np.array([1, 4]), np.array([[0.0, 1.0]]), np.array([1, 2, 4])).tolist()
    [[0.0, 0.5, 1.0]]
    """
    position = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    if (known[position] == wanted).all():
        return rows[:, position]
    return np.stack([np.interp(np.log(wanted), np.log(known), row) for row in rows])


def logs_of_answer(answer: Answer) -> FloatArray:
    """Return the curves of an answer as logarithms, (LOG_ROWS, J). They are added where the curves are multiplied.

        ln(n t(n) / t(1)),    ln((f + e) / (U + e)) for each of the six fractions,    ln of each relative measure

    with e = 1e-4, so that a fraction of 0 has a logarithm. NaN where a curve is not predicted.

    >>> curves = dict.fromkeys((*FRACTIONS, *RELATIVE_MEASURES), np.full(2, np.nan))
    >>> logs_of_answer(Answer(8.0, np.array([1, 4]), np.array([8.0, 4.0]), np.empty(0), curves, [], []))[0].round(3)
    array([0.   , 0.693])
    """
    fractions = fractions_of(answer)
    used = 1.0 - fractions.sum(axis=0)
    measures = np.stack([answer.curves[name] for name in RELATIVE_MEASURES])
    return np.concatenate(
        [
            np.log(answer.n * answer.time_s / answer.t1_s)[None],
            np.log((fractions + LEAST_LOGGED_SHARE) / (np.maximum(used, 0.0) + LEAST_LOGGED_SHARE)),
            np.log(np.maximum(measures, LEAST_LOGGED_MEASURE)),
        ]
    )


def answer_from_logs(answer: Answer, n: IntArray, logs: FloatArray) -> Answer:
    """Return the answer with these logarithms (LOG_ROWS, K) at n (K,), in seconds: the inverse of `logs_of_answer`.

    U and the fractions sum to 1, and R = n t U / t(1) (Eq. 3). The answer has no interval, and its features are
    unchanged.

    >>> curves = dict.fromkeys((*FRACTIONS, *RELATIVE_MEASURES), np.full(2, np.nan))
    >>> answer = Answer(8.0, np.array([1, 4]), np.array([8.0, 4.0]), np.empty(0), curves, [], [])
    >>> back = answer_from_logs(answer, answer.n, logs_of_answer(answer))
    >>> back.time_s.round(9).tolist(), back.curves["redundancy"].round(9).tolist()
    ([8.0, 4.0], [1.0, 2.0])
    """
    time_s = answer.t1_s / n * np.exp(logs[0])
    overheads = {}
    if is_decomposed(answer):
        shares = np.exp(logs[FRACTION_CURVES])
        total = shares.sum(axis=0)
        used = (1.0 + len(FRACTIONS) * LEAST_LOGGED_SHARE - LEAST_LOGGED_SHARE * total) / (1.0 + total)
        fractions = np.maximum((used + LEAST_LOGGED_SHARE) * shares - LEAST_LOGGED_SHARE, 0.0)
        overheads = dict(zip(FRACTIONS, fractions, strict=True))
    measures = dict(zip(RELATIVE_MEASURES, np.exp(logs[RELATIVE_MEASURE_CURVES]), strict=True))
    curves = answer.curves | consistent_curves(n, time_s, answer.t1_s, overheads) | measures
    return replace(answer, n=n, time_s=time_s, curves=curves, low_s=None, high_s=None)


def cut_piece(n: IntArray, logs: FloatArray, start: int, end: int) -> Piece:
    """Return the piece from `start` to `end` of curves (LOG_ROWS, J), known at thread counts n from 1 on.

    Beyond its end the thread time continues with the slope in ln n of its second half, limited to 0..1: it never falls,
    nor rises faster than n (t(n) is at worst constant). Shares and measures are constant there.

    >>> logs = np.zeros((LOG_ROWS, 4)); logs[0] = np.log([1.0, 1.0, 1.0, 1.5])
    >>> piece = cut_piece(np.arange(1, 5), logs, 2, 4)
    >>> np.exp(piece.steps[0]).round(3).tolist(), round(float(piece.slope[0]), 3)
    ([1.0, 1.5], 1.0)
    """
    inside = np.append(n[(n > start) & (n < end)], [end] if end > start else []).astype(np.int64)
    steps = rows_between(n, logs, inside) - rows_between(n, logs, np.array([start]))
    slope = np.zeros(len(logs))
    middle = (start + end) // 2
    if end > middle >= 1:
        below, above = (rows_between(n, logs[:1], np.array([count]))[0, 0] for count in (middle, end))
        slope[0] = (above - below) / np.log(end / middle)
    slope[0] = np.clip(np.nan_to_num(slope[0]), 0.0, 1.0)
    return Piece(inside - start, steps, slope)


def mean_piece(pieces: list[Piece]) -> Piece:
    """Return the mean of pieces of any length; shorter ones are constant beyond their ends.

    >>> short = Piece(np.array([1]), np.ones((1, 1)), np.zeros(1))
    >>> long = Piece(np.array([1, 2]), np.full((1, 2), 3.0), np.ones(1))
    >>> mean_piece([short, long]).steps.tolist(), mean_piece([short, long]).slope.tolist()
    ([[2.0, 2.0]], [0.5])
    """
    after = np.unique(np.concatenate([piece.after for piece in pieces]))
    steps = [piece.within(after) for piece in pieces]
    return Piece(after, np.mean(steps, axis=0), np.mean([piece.slope for piece in pieces], axis=0))


def move_pieces(
    answer: Answer, old: PlatformTopology, new: PlatformTopology, n: IntArray, borrowed: dict[int, Piece]
) -> Answer:
    """Return the answer, known at thread counts of the old platform from 1 to n_max, at counts n of the new one.

        q'(n) = q'(s') + q(s + n - s') - q(s)    s, s' the last breakpoint before n, old and new

    for each q of `logs_of_answer`: the change by a number of threads after a breakpoint is the same after the new
    breakpoint. `cut_piece` defines the continuation if a segment gets longer. Up to the first moved breakpoint nothing
    changes.

    Parameters: `n` (K,); `borrowed`: pieces of the segments (1 NUMA, 2 SMT threads) that the old platform lacks. NaN
    stays NaN. Source: docs/scenarios.md; the paper gives no equation for it.

    Example: n t is 8 s up to n_ht = 4, and 10 s at n = 5; with n_ht = 6 it is 8 s up to n = 6, and 10 s at n = 7.

    >>> names = ("redundancy", "utilisation", *FRACTIONS, *RELATIVE_MEASURES)
    >>> n, curves = np.arange(1, 6), dict.fromkeys(names, np.full(5, np.nan))
    >>> answer = Answer(8.0, n, np.array([8, 8, 8, 8, 10]) / n, np.empty(0), curves, [], [])
    >>> old, new = PlatformTopology(np.nan, 4.0, 5), PlatformTopology(np.nan, 6.0, 7)
    >>> moved = move_pieces(answer, old, new, np.array([6, 7]), {})
    >>> (moved.n * moved.time_s).round(9)
    array([ 8., 10.])
    """
    logs = logs_of_answer(answer)
    pieces = _cut_all_pieces(answer.n, logs, old) | borrowed
    order = [segment for segment in np.argsort(new.starts).tolist() if new.starts[segment] < n.max()]
    starts = [max(new.starts[segment], 1.0) for segment in order]
    moved = np.full((LOG_ROWS, len(n)), np.nan)
    level = logs[:, :1]
    for index, (segment, start) in enumerate(zip(order, starts, strict=True)):
        end = starts[index + 1] if index + 1 < len(starts) else np.inf
        inside = (n >= start) & (n <= end)
        moved[:, inside] = level + pieces[segment].at((n[inside] - start).astype(np.int64), start)
        if np.isfinite(end):
            level = level + pieces[segment].at(np.array([int(end - start)]), start)
    changed = answer_from_logs(answer, n, moved)
    return _keep_unmoved(answer, changed, unchanged_until(old, new))


def unchanged_until(old: PlatformTopology, new: PlatformTopology) -> float:
    """Return the largest n up to which both platforms are the same.

    >>> unchanged_until(PlatformTopology(np.nan, 4.0, 8), PlatformTopology(np.nan, 6.0, 8))
    4.0
    """
    pairs = zip((*old.starts, float(old.n_max)), (*new.starts, float(old.n_max)), strict=True)
    return float(min([old.n_max, *(min(before, after) for before, after in pairs if before != after)]))


def _cut_all_pieces(n: IntArray, logs: FloatArray, topology: PlatformTopology) -> dict[int, Piece]:
    """Return the pieces of the segments that the platform has."""
    has = [segment for segment in np.argsort(topology.starts).tolist() if topology.starts[segment] < topology.n_max]
    starts = [int(max(topology.starts[segment], 1.0)) for segment in has]
    ends = [*starts[1:], topology.n_max]
    return {segment: cut_piece(n, logs, start, end) for segment, start, end in zip(has, starts, ends, strict=True)}


def _keep_unmoved(before: Answer, after: Answer, until: float) -> Answer:
    """Return `after` with the exact values of `before` up to n = `until`, where nothing changed."""
    mine = np.flatnonzero(after.n <= until)
    theirs = np.searchsorted(before.n, after.n[mine])
    time_s = after.time_s.copy()
    time_s[mine] = before.time_s[theirs]
    curves = {name: values.copy() for name, values in after.curves.items()}
    for name, values in curves.items():
        unmoved = before.curves[name][theirs]
        values[mine] = np.where(np.isnan(unmoved), values[mine], unmoved)
    return replace(after, time_s=time_s, curves=curves)
