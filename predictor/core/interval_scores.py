"""Scores of prediction intervals, by width and coverage of the measured times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predictor.core.answers import Answer
from profiles.arrays import BoolArray, FloatArray

SCORED_LEVEL = 0.9  # level of the scored intervals, the default of all methods with intervals


class IntervalHits(NamedTuple):
    """The measured times of one prediction that have an interval.

    `covered` of the `with_interval` lie inside; `widths` are (high - low) / predicted, `log_errors` are ln(predicted /
    measured), and `scores` those of `interval_scores`.
    """

    covered: int = 0
    with_interval: int = 0
    widths: tuple[float, ...] = ()
    log_errors: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()


NO_INTERVALS = IntervalHits()


def interval_hits(answer: Answer, time_s: FloatArray) -> IntervalHits:
    """Return the coverage and scores of the answer's intervals for the times `time_s` (J,) measured at its n."""
    if answer.low_s is None or answer.high_s is None:
        return NO_INTERVALS
    has: BoolArray = ~(np.isnan(answer.low_s) | np.isnan(answer.high_s) | np.isnan(answer.time_s))
    low_s, high_s, predicted_s, measured_s = answer.low_s[has], answer.high_s[has], answer.time_s[has], time_s[has]
    is_inside = (low_s <= measured_s) & (measured_s <= high_s)
    return IntervalHits(
        covered=int(is_inside.sum()),
        with_interval=len(measured_s),
        widths=tuple(((high_s - low_s) / predicted_s).tolist()),
        log_errors=tuple(np.log(predicted_s / measured_s).tolist()),
        scores=tuple(interval_scores(np.log(low_s / measured_s), np.log(high_s / measured_s)).tolist()),
    )


def interval_scores(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the interval score of each interval around 0: its width plus a penalty if 0 is outside.

        score = high - low + 2/(1 - level) (max(low, 0) + max(-high, 0)),    level = 0.9

    Lower is better; the expected score is lowest for the true quantiles (Gneiting and Raftery 2007, Eq. 43). Here the
    bounds are logarithms of time, so that scores of short and long times are comparable.

    Example: -0.1..0.3 contains 0 and scores 0.4; 0.1..0.3 misses it by 0.1: 0.2 + 20 * 0.1.

    Parameters: `low`, `high` of any shape, the logarithms of the bounds minus that of the measured time. Returns that
    shape, no unit.

    >>> interval_scores(np.array([-0.1, 0.1]), np.array([0.3, 0.3])).round(9).tolist()
    [0.4, 2.2]
    """
    fine = 2.0 / (1.0 - SCORED_LEVEL)
    return np.asarray(high - low + fine * (np.maximum(low, 0.0) + np.maximum(-high, 0.0)))


def constant_interval_score(predictions: Sequence[tuple[str, IntervalHits]]) -> float | None:
    """Return the mean score of intervals of constant width around the same predictions, as a baseline.

    Half of the width is the conformal quantile of |ln(predicted / measured)| over the predictions of the other half of
    the platforms. A half has every second platform in the order of names.

    Parameters: the platform of each prediction, and its intervals. None with fewer than two platforms.

    >>> one = IntervalHits(log_errors=(0.1,))
    >>> round(constant_interval_score([("p", one), ("q", one)]), 9)
    0.2
    """
    platforms = sorted({platform for platform, intervals in predictions if intervals.log_errors})
    if len(platforms) < 2:
        return None
    halves = [
        np.abs([error for platform, hits in predictions if platform in names for error in hits.log_errors])
        for names in (set(platforms[::2]), set(platforms[1::2]))
    ]
    scores = []
    for errors, others in (halves, halves[::-1]):
        rank = min(math.ceil((len(others) + 1) * SCORED_LEVEL), len(others)) - 1
        half_width = float(np.partition(others, rank)[rank])
        scores.append(interval_scores(errors - half_width, errors + half_width))
    return float(np.concatenate(scores).mean())
