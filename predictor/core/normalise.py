"""Elements to [0, 1] (Eq. 10-12)."""

from __future__ import annotations

import numpy as np

from predictor.core.database import FloatArray


def normalise(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Every element in units of its range over the database (Eq. 10-12).

        x_norm = (x - min) / (max - min),    0 where max = min

    Example: 30 in the range 10 to 50 is 0.5. An element without spread says nothing: it is 0 for every valid vector,
    and still counts as a dimension.

    Parameters: `values` (..., E); `low`, `high` (E,) in the elements' own units, taken over all vectors that are
    compared (`Database.element_range`). Returns (..., E) without unit. NaN: the element is invalid in that vector.

    >>> normalise(np.array([30.0, 7.0, np.nan]), np.array([10.0, 7.0, 0.0]), np.array([50.0, 7.0, 1.0])).tolist()
    [0.5, 0.0, nan]
    """
    span = high - low
    return np.asarray((values - low) / np.where(span > 0, span, 1.0))
