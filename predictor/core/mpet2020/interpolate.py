"""Interpolation of the values of A on T from candidates (Eq. 21-23)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiles.arrays import FloatArray

LEAST_DIVISOR = 1e-12  # |v_P,B| must be larger for a factor
EQUAL_WEIGHT_DIFFERENCE = 1e-12  # smaller differences are rounding errors of equal distances


class ValueOrigin(IntEnum):
    """The origin of an interpolated value."""

    INVALID = 0
    INTERPOLATED = 1  # Eq. 23
    TARGET_MEAN = 2  # plain mean of v_T,B
    CARRIED_OVER = 3  # (P,A) of the first candidate


class Interpolation(NamedTuple):
    """`values` (E,) and the `ValueOrigin` of each."""

    values: FloatArray
    origins: NDArray[np.int8]


def candidate_weights(distances: FloatArray, k: int) -> FloatArray:
    """Return the penalty r(w) of each chosen candidate, w = 1 - D (Eq. 22).

        r(w) = ((w - w_min) / (w_max - w_min))^k,    1 for all if k = 0 or w_max = w_min

    Example: distances 0.1, 0.2, 0.3 with k = 3 give 1, 1/8 and 0: the farthest candidate never counts.
    Parameters: `distances` (C,), defined. Returns (C,) in 0..1; differences up to 1e-12 are ignored.

    >>> candidate_weights(np.array([0.1, 0.2, 0.3]), k=3).round(9).tolist()
    [1.0, 0.125, 0.0]
    """
    if k == 0 or not len(distances) or np.ptp(distances) <= EQUAL_WEIGHT_DIFFERENCE:
        return np.ones(len(distances))
    w = 1.0 - distances
    return np.asarray(((w - w.min()) / (w.max() - w.min())) ** k)


def interpolate(v_pa: FloatArray, v_pb: FloatArray, v_tb: FloatArray, weights: FloatArray) -> Interpolation:
    """Return the values of A on T from C candidates, element by element (Eq. 21 and 23).

        v(T,A) = sum[v_T,B * f * r] / sum[r],    f = v_P,A / v_P,B

    over the candidates with three valid values and |v_P,B| > 1e-12. If there are none, or their weights sum to 0, the
    result is the value of the first candidate's (P,A) (carry-over) or, if that lacks the element, the plain mean of
    v_T,B over the candidates that have it.

    Example: two candidates of equal weight, v_P,A = 6, v_P,B = 3 and 2, v_T,B = 5 and 4: (5*2 + 4*3)/2 = 11.

    Parameters: `v_pa`, `v_pb`, `v_tb` (C, E), NaN = invalid; `weights` (C,), r(w) of Eq. 22.
    Returns: values (E,) in the unit of v, NaN = invalid, and the origin of each.

    >>> interpolate(np.array([[6.0], [6.0]]), np.array([[3.0], [2.0]]), np.array([[5.0], [4.0]]), np.ones(2)).values
    array([11.])
    """
    usable = ~(np.isnan(v_pa) | np.isnan(v_pb) | np.isnan(v_tb)) & (np.abs(v_pb) > LEAST_DIVISOR)
    r = np.where(usable, weights[:, None], 0.0)
    total = r.sum(axis=0)
    factor = np.divide(v_pa, v_pb, out=np.zeros_like(v_pa), where=usable)
    weighted = np.where(usable, v_tb, 0.0) * factor * r
    on_target = ~np.isnan(v_tb)
    mean = np.where(on_target, v_tb, 0.0).sum(axis=0) / np.maximum(on_target.sum(axis=0), 1)
    carried = v_pa[0] if len(v_pa) else np.full(v_pa.shape[1], np.nan)

    origins = np.select(
        [total > 0, ~np.isnan(carried), on_target.any(axis=0)],
        [ValueOrigin.INTERPOLATED, ValueOrigin.CARRIED_OVER, ValueOrigin.TARGET_MEAN],
        ValueOrigin.INVALID,
    )
    values = np.select(
        [origins == ValueOrigin.INTERPOLATED, origins == ValueOrigin.CARRIED_OVER, origins == ValueOrigin.TARGET_MEAN],
        [weighted.sum(axis=0) / np.where(total > 0, total, 1.0), carried, mean],
        np.nan,
    )
    return Interpolation(values, origins.astype(np.int8))
