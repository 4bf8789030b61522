"""The one place where invalid numbers become null on their way out."""

import math
from typing import Any

import numpy as np


def nan_to_null(value: Any) -> Any:
    """Plain JSON values: numpy scalars and arrays become Python's, NaN and infinity become None, at any depth."""
    if isinstance(value, dict):
        return {str(key): nan_to_null(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return nan_to_null(value.tolist())
    if isinstance(value, list | tuple):
        return [nan_to_null(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
