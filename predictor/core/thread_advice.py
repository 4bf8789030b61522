"""Recommended number of threads, with the probability that it is among the fastest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from profiles.arrays import FloatArray, IntArray

TOLERANCE = 0.05  # times within 5 % of the least time count as equally good
CORRELATION_OCTAVES = 5.0  # the errors of a curve have the correlation exp(-|log2(n / n')| / 5)
REPEATS_SCATTER = 0.02  # relative scatter of one measured time, which decides between n that are equally fast
HALF_WIDTH = float(ndtri(0.95))  # of a 90 % interval, in standard deviations
DRAWS = 1000
MOST_DRAWN_COUNTS = 96  # thread counts of one curve: enough for every octave, and drawn in milliseconds
EQUALLY_FAST = 0.005  # of ln t; smaller differences are random, so that the smaller n is advised


@dataclass(frozen=True)
class ThreadAdvice:
    """The `position` of the advised n in the curve, and the `probability` that it is within 5 % of the fastest n."""

    position: int
    probability: float


def advise_threads(n: IntArray, time_s: FloatArray, low_s: FloatArray, high_s: FloatArray) -> ThreadAdvice:
    """Return the n with the least predicted time, the smallest of those within 0.5 %, with the probability that it is
    within 5 % of the fastest.

        log t(n) = log time(n) + s(n) z(n) + 0.02 e(n),   s(n) = log(high(n) / low(n)) / (2 * 1.645)
        z Gaussian, cov(z(n), z(n')) = exp(-|log2 n - log2 n'| / 5);   e independent

    Errors at neighbouring n are similar, so that the best n may be right even if the whole curve is wrong. The
    probability is the share of 1,000 draws, always the same ones, in which t(n) <= 1.05 min t.

    Parameters: `n` (J,) ascending; `time_s`, `low_s`, `high_s` (J,) in seconds, the 90 % interval; an n without a time
    (NaN) is ignored, and a NaN in the interval counts as an interval of no width. Of more than 96 n, those at equal
    steps of log n are used, with the first, the last and the fastest one. Raises ValueError if no time is known.

    >>> n, time_s = np.array([1, 2, 4, 8]), np.array([8.0, 4.4, 3.0, 3.6])
    >>> advice = advise_threads(n, time_s, time_s / 1.02, time_s * 1.02)
    >>> int(n[advice.position]), advice.probability
    (4, 1.0)
    """
    known = np.flatnonzero(np.isfinite(time_s))
    if not len(known):
        raise ValueError("no time is known at any thread count")
    chosen = spread_out(known, n, int(known[np.argmin(time_s[known])]))
    log_time = np.log(time_s[chosen])
    deviation = np.nan_to_num(np.log(high_s[chosen] / low_s[chosen])) / (2 * HALF_WIDTH)
    octaves = np.log2(n[chosen])
    correlation = np.exp(-np.abs(octaves[:, None] - octaves[None, :]) / CORRELATION_OCTAVES)
    correlation[np.diag_indices(len(chosen))] += 1e-9  # keeps it positive definite at thousands of threads
    z, e = standard_draws()[:, :, : len(chosen)]
    drawn = log_time + deviation * (z @ np.linalg.cholesky(correlation).T) + REPEATS_SCATTER * e
    probability = (drawn <= drawn.min(axis=1, keepdims=True) + np.log1p(TOLERANCE)).mean(axis=0)
    best = int(np.flatnonzero(log_time <= log_time.min() + EQUALLY_FAST)[0])
    return ThreadAdvice(int(chosen[best]), float(probability[best]))


@cache
def standard_draws() -> FloatArray:
    """Return z and e for every advice (2, 1000, 96), for the largest number of n. A shorter curve uses the first
    ones."""
    return np.random.default_rng(0).standard_normal((2, DRAWS, MOST_DRAWN_COUNTS))


def spread_out(known: IntArray, n: IntArray, fastest: int) -> IntArray:
    """Return at most MOST_DRAWN_COUNTS `known` positions at equal steps of log n, with the first, the last and
    `fastest`."""
    if len(known) <= MOST_DRAWN_COUNTS:
        return known
    wanted = np.geomspace(n[known[0]], n[known[-1]], MOST_DRAWN_COUNTS - 1)
    nearest = known[np.searchsorted(n[known], wanted).clip(max=len(known) - 1)]
    return np.unique(np.append(nearest, fastest))
