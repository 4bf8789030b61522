"""The one place where invalid numbers become null on their way out."""

import math
from typing import Any

import numpy as np


def nan_to_null(value: Any) -> Any:
    """Plain JSON values: numpy scalars and arrays become Python's, NaN and infinity become None, at any depth."""
    if isinstance(value, float):  # the most frequent first: documents have thousands of numbers
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(key): nan_to_null(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        values = value.tolist()
        return values if value.dtype.kind in "biu" or _is_finite(value) else nan_to_null(values)
    if isinstance(value, list | tuple):
        return [nan_to_null(item) for item in value]
    return nan_to_null(value.item()) if isinstance(value, np.generic) else value


def _is_finite(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())
