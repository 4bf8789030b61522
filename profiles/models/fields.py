"""A column that holds a numpy array."""

from typing import Any

import numpy as np
from django.db import models


class ArrayField(models.BinaryField):
    """A one-dimensional numpy array as little-endian bytes: exact, NaN included, read by the million unparsed."""

    def __init__(self, dtype: str = "<f8", **kwargs: Any) -> None:
        self.dtype = np.dtype(dtype)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple:
        name, path, args, kwargs = super().deconstruct()
        kwargs["dtype"] = self.dtype.str
        return name, path, args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> np.ndarray | None:
        return None if value is None else np.frombuffer(bytes(value), self.dtype)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value, self.dtype).tobytes()
        return super().get_db_prep_value(value, connection, prepared)
