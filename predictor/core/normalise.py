"""Normalisation of elements to [0, 1] (Eq. 10-12), by their range or by a robust range."""

from __future__ import annotations

from typing import Literal

import numpy as np

from predictor.core.database import Database
from profiles.arrays import FloatArray

Normalisation = Literal["range", "robust"]

LARGEST_STRETCH = 10.0  # outer values are dropped if the range is more than this times the span of the others
FEWEST_VALUES_FOR_ROBUST_RANGE = 20  # values of an element below which the whole range is used
LARGEST_DROPPED_SHARE, MOST_DROPPED_VALUES = 0.01, 8  # limits for the dropped values of an element, both ends together


def normalise(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return every element in units of its range over the database (Eq. 10-12).

        x_norm = (x - min) / (max - min),    0 if max = min

    Example: 30 in the range 10 to 50 is 0.5. An element with max = min gives no information: it is 0 for every valid
    vector, but still counts as a dimension.

    Parameters: `values` (..., E); `low`, `high` (E,) in the elements' own units, the range over all vectors that are
    compared (`Database.element_range`). Returns (..., E) without unit. NaN: the element is invalid in that vector.

    >>> normalise(np.array([30.0, 7.0, np.nan]), np.array([10.0, 7.0, 0.0]), np.array([50.0, 7.0, 1.0])).tolist()
    [0.5, 0.0, nan]
    """
    return np.asarray((values - low) / element_spans(low, high))


def element_spans(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the divisors of `normalise`: the range of each element (E,) in its own unit, and 1 if it is 0 or unknown.

    >>> element_spans(np.array([10.0, 7.0, np.nan]), np.array([50.0, 7.0, np.nan])).tolist()
    [40.0, 1.0, 1.0]
    """
    span = high - low
    return np.where(span > 0, span, 1.0)


def normaliser_range(database: Database, origin: str, normalisation: Normalisation) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum of every element (84,), or those of `robust_range` if the normalisation is
    "robust".

    Values outside a robust range count as its nearest end: clip the result of `normalise` to [0, 1].
    """
    if normalisation == "range":
        return database.element_range(origin)
    # Count the profiles of the origin that have each element. Hidden ones may count, because this is only a limit.
    groups = [g for g, group in enumerate(database.groups) if group.origin == origin]
    counted = database.valid_counts()[groups].sum(axis=0)
    most = int(np.clip(LARGEST_DROPPED_SHARE * counted.max(initial=0), 1, MOST_DROPPED_VALUES))
    low, high = robust_range(*database.element_extremes(origin, most + 1))
    few = counted < FEWEST_VALUES_FOR_ROBUST_RANGE
    if few.any():
        whole = database.element_range(origin)
        low, high = np.where(few, whole[0], low), np.where(few, whole[1], high)
    return low, high


def robust_range(smallest: FloatArray, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the range without values that stretch it more than tenfold.

        (low, high) = (x_(i+1), x_(N-j)) with the least span over i + j <= k,
        if max - min > 10 (high - low) > 0;    else (min, max)

    For data without such values it is identical to the range, to the last bit (Eq. 10-11).
    Example: 1, 2, 3, 1e6 and k = 1 give 1 to 3, but 1, 2, 3, 9 give 1 to 9. In 0, 0, 0, 5 the value 5 is kept, because
    the element would have no spread without it.

    Parameters: `smallest`, `largest` (k + 1, E): the outermost values, from the ends inwards, NaN if there are fewer.
    Returns low and high (E,), NaN = no value.

    >>> low, high = robust_range(np.array([[1.0], [2.0]]), np.array([[1e6], [3.0]]))
    >>> low.tolist(), high.tolist()
    ([1.0], [3.0])
    """
    dropped = [(i, j) for i in range(len(smallest)) for j in range(len(largest) - i)]
    lows, highs = smallest[[i for i, _ in dropped]], largest[[j for _, j in dropped]]
    spans = highs - lows
    spans = np.where(spans > 0, spans, np.inf)
    least, elements = spans.argmin(axis=0), np.arange(spans.shape[1])
    with np.errstate(invalid="ignore"):
        stretched = highs[0] - lows[0] > LARGEST_STRETCH * spans[least, elements]
    return np.where(stretched, lows[least, elements], lows[0]), np.where(stretched, highs[least, elements], highs[0])
