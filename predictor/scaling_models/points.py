"""Measured points, the input of all scaling models: thread counts, and optional sizes and clock ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiles.arrays import FloatArray

N, SIZE, CLOCK_RATIO = "n", "size", "clock_ratio"
MEANING_OF_COLUMN = {
    N: "thread count, at least 1",
    SIZE: "input size, in the unit that the user chose",
    CLOCK_RATIO: "processor clock over memory clock, above 0",
}
LEAST_OF_COLUMN = {N: 1.0, SIZE: -np.inf, CLOCK_RATIO: np.finfo(np.float64).tiny}


class PointsError(ValueError):
    """Error in X or t: the column (`time_s` for t), the row (from 0, None for all rows), and the reason."""

    def __init__(self, column: str, row: int | None, reason: str) -> None:
        self.column, self.row, self.reason = column, row, reason
        super().__init__(f"{column}: {reason}" if row is None else f"{column}, row {row}: {reason}")


@dataclass(frozen=True, eq=False)
class Points:
    """N points. `size` and `clock_ratio` are None if X has no such column."""

    n: FloatArray
    size: FloatArray | None = None
    clock_ratio: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.n)

    def take(self, rows: NDArray[Any]) -> Points:
        return Points(**{name: getattr(self, name)[rows] for name in self.columns})

    def column(self, name: str) -> FloatArray:
        """Return the values of a column, or 1 at every point if X has no such column."""
        values = getattr(self, name)
        return np.ones(len(self)) if values is None else values

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (N, SIZE, CLOCK_RATIO) if getattr(self, name) is not None)

    def matrix(self) -> FloatArray:
        """Return the values as (N, number of columns), in the order of `columns`."""
        return np.stack([getattr(self, name) for name in self.columns], axis=1)


def read_points(X: Any, needed: tuple[str, ...] = (N,), optional: tuple[str, ...] = ()) -> Points:
    """Return X as Points.

    The columns of a data frame are found by name, and further columns are ignored. An array has the needed columns,
    then any number of the optional ones, in that order.
    Errors: PointsError for a missing column, for no points, and for values that are not finite or out of the column's
    range.

    >>> read_points([[1, 100], [2, 100]], (N, SIZE)).size
    array([100., 100.])
    >>> read_points(np.array([[0.0]]))
    Traceback (most recent call last):
        ...
    predictor.scaling_models.points.PointsError: n, row 0: 0 is not a thread count, at least 1
    """
    if hasattr(X, "columns"):
        columns = {name: X[name] for name in (*needed, *optional) if name in X.columns}
        missing = [name for name in needed if name not in columns]
        if missing:
            raise PointsError(missing[0], None, f"required column is missing; given: {', '.join(map(str, X.columns))}")
    else:
        columns = _columns_by_position(X, needed, optional)
    checked = {name: _checked_column(name, values) for name, values in columns.items()}
    return Points(**checked)


def read_times(t: ArrayLike, count: int) -> FloatArray:
    """Return times in seconds, (count,). Raise PointsError unless all are finite and above 0.

    >>> read_times([1, 2], 2)
    array([1., 2.])
    """
    times = _finite_numbers("time_s", t)
    if times.shape != (count,):
        raise PointsError("time_s", None, f"expected {count} times, one per point; got shape {times.shape}")
    _require("time_s", times, times > 0, "a time above 0 s")
    return times


def _columns_by_position(X: Any, needed: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    values = _finite_numbers("X", X)
    names = (*needed, *optional)
    if values.ndim != 2:
        raise PointsError("X", None, f"needs 2 dimensions (points, columns); got {values.ndim}")
    if not len(needed) <= values.shape[1] <= len(names):
        raise PointsError("X", None, f"got {values.shape[1]} columns; the model reads {', '.join(names)}")
    return dict(zip(names, values.T, strict=False))


def _checked_column(name: str, values: Any) -> FloatArray:
    column = _finite_numbers(name, values)
    if not len(column):
        raise PointsError(name, None, "needs at least one point")
    _require(name, column, column >= LEAST_OF_COLUMN[name], f"a {MEANING_OF_COLUMN[name]}")
    return column


def _finite_numbers(name: str, values: Any) -> FloatArray:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise PointsError(name, None, f"not numbers: {error}") from error
    if numbers.ndim == 1:
        _require(name, numbers, np.isfinite(numbers), "a finite number")
    elif not np.isfinite(numbers).all():
        raise PointsError(name, int(np.argwhere(~np.isfinite(numbers))[0][0]), "not a finite number")
    return numbers


def _require(name: str, values: FloatArray, fine: NDArray[np.bool_], what: str) -> None:
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise PointsError(name, row, f"{values[row]:g} is not {what}")
