"""Statistics that a few absurd values do not move."""

from __future__ import annotations

import numpy as np

from profiles.arrays import FloatArray

MEAN_TO_SIGMA = 1.2533  # a normal distribution's standard deviation in mean absolute deviations
MEDIAN_TO_SIGMA = 1.4826  # and in median absolute deviations


def clip_to(values: FloatArray, limit: FloatArray | float) -> FloatArray:
    """Values beyond +-limit as large as that; much faster than numpy's clip on small arrays.

    >>> clip_to(np.array([-3.0, 0.5, 2.0]), 1.0).tolist()
    [-1.0, 0.5, 1.0]
    """
    clipped = np.maximum(values, -limit)
    return np.asarray(np.minimum(clipped, limit, out=clipped))


def finite_median(values: FloatArray, axis: int = 0) -> FloatArray:
    """The median along an axis of finite values; on small arrays much faster than numpy's, which looks for NaN.

    >>> finite_median(np.array([[4.0, 1.0, 2.0, 9.0], [0.0, 0.0, 1.0, 1.0]]), axis=1).tolist()
    [3.0, 0.5]
    """
    count = values.shape[axis]
    ascending = np.sort(values, axis=axis)
    return np.asarray((ascending.take((count - 1) // 2, axis) + ascending.take(count // 2, axis)) / 2)


def known_median(values: FloatArray) -> FloatArray:
    """The median along the second axis of values (P, B, ...), NaN passed over; NaN where all are. One sort of all
    instead of one for each p.

    >>> known_median(np.array([[4.0, np.nan, 1.0], [np.nan] * 3, [2.0, 9.0, 1.0]])).tolist()
    [2.5, nan, 2.0]
    """
    ascending = np.sort(values, axis=1)  # NaN last
    count = np.maximum(np.count_nonzero(~np.isnan(values), axis=1, keepdims=True), 1)
    middle = [np.take_along_axis(ascending, place, axis=1)[:, 0] for place in ((count - 1) // 2, count // 2)]
    return np.asarray((middle[0] + middle[1]) / 2)
