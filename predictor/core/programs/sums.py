"""The time of a whole program, from the times and the intervals of its parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiles.arrays import FloatArray

ERRORS_CORRELATION = 0.75  # between the errors of two parts of one program on one target (docs/programs.md)


class SummedTimes(NamedTuple):
    """t(n) of the whole and its interval, (J,), in the unit of the parts; NaN where a part is not known."""

    time_s: FloatArray
    low_s: FloatArray
    high_s: FloatArray


def sum_times(
    time_s: FloatArray, low_s: FloatArray, high_s: FloatArray, correlation: float = ERRORS_CORRELATION
) -> SummedTimes:
    """Add the times of K parts at J thread counts, and their intervals as errors that are partly the same.

        t = sum t_k,    w_k = t_k / t,    h_k = ln(high_k / low_k) / 2
        h = sqrt(c (sum w_k h_k)^2 + (1 - c) sum (w_k h_k)^2),    low = t e^-h,    high = t e^h

    The speed of the target is in the error of every part, so the errors do not cancel as independent ones would
    (c = 0), nor are they all the same (c = 1).

    Example: two parts of 1 s with an interval of a factor 1.2 to either side. c = 1: a factor of 1.2 for the sum,
    c = 0: exp(ln 1.2 / sqrt 2) = 1.138.

    Parameters: `time_s`, `low_s`, `high_s` (K, J) in one unit, NaN = not known; 0 <= `correlation` <= 1.
    Returns three arrays (J,): NaN where a part is NaN.

    >>> one = np.array([[1.0], [1.0]])
    >>> [round(float(sum_times(one, one / 1.2, one * 1.2, c).high_s[0]) / 2, 3) for c in (1.0, 0.0)]
    [1.2, 1.138]
    """
    total = time_s.sum(axis=0)
    weighted = time_s / total * np.log(high_s / low_s) / 2
    half_width = np.sqrt(correlation * weighted.sum(axis=0) ** 2 + (1 - correlation) * (weighted**2).sum(axis=0))
    return SummedTimes(total, total * np.exp(-half_width), total * np.exp(half_width))
