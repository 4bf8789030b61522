"""How far the repeats of a profile agree, and how many of them were disturbed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.measurements import RunTable

MEDIAN_OF_MANY = math.pi / 2  # the variance of a median over that of a mean; up to two values both are the same
QUARTILES = (25, 75)  # %
FEWEST_REPEATED = 1.5  # runs at each n, on average, from which a deviation is estimated


@dataclass(frozen=True)
class RepeatSummary:
    """The runs of one profile in three numbers. `disturbed_count` None: of no run it is known whether it was disturbed.
    `standard_error` of ln t(n), NaN: nothing was repeated."""

    run_count: int
    disturbed_count: int | None
    standard_error: float


@dataclass(frozen=True, eq=False)
class RepeatSpread:
    """The runs that t(n) is made of, over N thread counts: how many, and how far apart; all arrays (N,).

    `disturbed_count` is -1 where nobody looked; `deviation_s`, the sample standard deviation, NaN for a single run.
    """

    n: IntArray
    count: IntArray
    disturbed_count: IntArray
    deviation_s: FloatArray
    low_quartile_s: FloatArray
    high_quartile_s: FloatArray


def timed_runs(runs: RunTable) -> RunTable:
    """The runs that t(n) is made of: the clean ones, at an n without any the profile runs; ascending in n, then time.

    >>> runs = RunTable(np.array([2, 1, 1]), np.array([1, 1, 2]), np.array([True, False, True]), np.array([5.0, 8, 9]))
    >>> timed_runs(runs).time_s.tolist()
    [8.0, 5.0]
    """
    own = runs.own
    clean = ~own.is_profile_pass
    rows = np.flatnonzero(clean | ~np.isin(own.n, own.n[clean]))
    return own.take(rows[np.lexsort((own.time_s[rows], own.n[rows]))])


def repeat_summary(runs: RunTable) -> RepeatSummary:
    """How many runs there are, how many of them were disturbed, and how well they tell t(n).

        s^2 = sum over n and r of (ln t_r(n) - mean of ln t(n))^2 / sum over n of (k_n - 1)
        e^2 = mean over n of s^2 c_n / k_n

    e is the standard error of ln t(n), which is made of k_n runs; c = 1 up to two of them, pi / 2 beyond, because t(n)
    is their median. s is one number for all n: two or three runs do not tell a deviation.

    Example: two runs at each n that differ by 0.02 in ln t, so s = 0.02 / sqrt(2): e = 0.01.

    Parameters: the runs of a profile (variations take no part; of the rest all are counted).
    Returns: a summary; e without unit.

    >>> t = np.exp([0.0, 0.02, 1.0, 1.02])
    >>> repeat_summary(RunTable(np.array([1, 1, 2, 2]), np.array([1, 2, 1, 2]), np.zeros(4, bool), t))
    RepeatSummary(run_count=4, disturbed_count=None, standard_error=0.01)
    """
    own = runs.own
    if len(np.unique(own.n)) == len(own):
        return RepeatSummary(len(own), disturbed_among(own), math.nan)
    timed = timed_runs(own)
    starts, count = _groups(timed.n)
    logs = np.log(timed.time_s)
    squares = ((logs - np.repeat(np.add.reduceat(logs, starts) / count, count)) ** 2).sum()
    freedom = int((count - 1).sum())
    error = math.nan
    if freedom:
        error = math.sqrt(squares / freedom * _variance_of_middle(count).mean())
    return RepeatSummary(len(own), disturbed_among(own), round(error, 12))


def deviation_of_one(standard_error: FloatArray, count: FloatArray) -> FloatArray:
    """The standard deviation of ln t of a single run: s = e / sqrt(c / k), `repeat_summary` backwards.

    Example: the middle of three runs is known to 0.01, so that one of them errs by 0.01 / sqrt(pi / 2 / 3) = 0.0138.

    Parameters: e (N,), NaN where nothing was repeated; `count` (N,), k at each n, on average.
    Returns (N,), without unit; NaN where e is, or where there are less than 1.5 runs at an n on average: nobody knows
    then how often each was repeated.

    >>> deviation_of_one(np.array([0.01, 0.01, np.nan]), np.array([3.0, 2.0, 1.0])).round(4).tolist()
    [0.0138, 0.0141, nan]
    """
    few = np.where(count >= FEWEST_REPEATED, count, np.nan)
    return np.asarray(standard_error / np.sqrt(_variance_of_middle(few)))


def _variance_of_middle(count: IntArray | FloatArray) -> FloatArray:
    """c / k: the variance of t(n), made of k runs, over that of one of them."""
    return np.asarray(np.where(count > 2, MEDIAN_OF_MANY, 1.0) / count)


def disturbed_among(runs: RunTable) -> int | None:
    """How many of the runs were disturbed; None where nobody looked."""
    if runs.disturbed is None or np.isnan(runs.disturbed).all():
        return None
    return int(np.nansum(runs.disturbed))


def repeat_spread(runs: RunTable) -> RepeatSpread:
    """Count, disturbances, sample standard deviation and quartiles of the runs that t(n) is made of, at each n.

    >>> runs = RunTable(np.array([1, 1, 1]), np.array([1, 2, 3]), np.zeros(3, bool), np.array([1.0, 3.0, 2.0]))
    >>> spread = repeat_spread(runs)
    >>> spread.count.tolist(), spread.deviation_s.tolist(), spread.low_quartile_s.tolist()
    ([3], [1.0], [1.5])
    """
    timed = timed_runs(runs)
    starts, count = _groups(timed.n)
    mean = np.add.reduceat(timed.time_s, starts) / count
    squares = np.add.reduceat((timed.time_s - np.repeat(mean, count)) ** 2, starts)
    deviation_s = np.full(len(count), np.nan)
    np.sqrt(np.divide(squares, count - 1, out=deviation_s, where=count > 1), out=deviation_s, where=count > 1)
    times = np.split(timed.time_s, starts[1:])
    quartiles = np.array([np.percentile(of_n, QUARTILES) for of_n in times]).T
    flags = np.full(len(timed), np.nan) if timed.disturbed is None else timed.disturbed
    is_known = np.add.reduceat(~np.isnan(flags), starts, dtype=np.int64) > 0
    disturbed = np.where(is_known, np.add.reduceat(np.nan_to_num(flags), starts), -1).astype(np.int64)
    return RepeatSpread(timed.n[starts], count, disturbed, deviation_s, *quartiles)


def _groups(ascending: IntArray) -> tuple[IntArray, IntArray]:
    """Where each group of equal values begins, and how many there are."""
    starts = np.flatnonzero(np.append(True, np.diff(ascending) != 0))
    return starts, np.diff(np.append(starts, len(ascending)))
