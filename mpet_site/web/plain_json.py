"""Conversion of values to plain JSON. This is the only place where NaN and infinity become null in responses."""

import math
from typing import Any

import numpy as np


def nan_to_null(value: Any) -> Any:
    """Return the value as plain JSON: numpy values become Python values, NaN and infinity become None, at any depth."""
    if isinstance(value, float):  # the most frequent type first, because documents have thousands of numbers
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(key): nan_to_null(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return nan_to_null(value.tolist())
    if isinstance(value, list | tuple):
        return [
            (item if math.isfinite(item) else None) if type(item) is float else nan_to_null(item)  # avoids a call
            for item in value
        ]
    return nan_to_null(value.item()) if isinstance(value, np.generic) else value
