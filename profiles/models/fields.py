"""A column that holds a numpy array."""

from typing import Any

import numpy as np
from django.db import models
from django.db.models import Q

from profiles.measurements.bounds import RANGES, Range


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
        """What is no whole number of elements is read without its end: who reads checks the length."""
        if value is None:
            return None
        stored = bytes(value)
        return np.frombuffer(stored, self.dtype, count=len(stored) // self.dtype.itemsize)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value, self.dtype).tobytes()
        return super().get_db_prep_value(value, connection, prepared)


def bounds_constraint(name: str, *columns: str, **bounds: Range) -> models.CheckConstraint:
    """That the columns are inside the table of bounds, or null; those of `bounds` inside these. One constraint for all
    columns of a table: SQLite copies the table for each."""
    condition = Q()
    for column, bound in ({column: RANGES[column] for column in columns} | bounds).items():
        inside = Q(**{f"{column}__gte": bound.least, f"{column}__lte": bound.most})
        zero = Q(**{column: 0}) if bound.or_zero else Q()
        condition &= Q(**{f"{column}__isnull": True}) | inside | zero
    return models.CheckConstraint(condition=condition, name=name)
