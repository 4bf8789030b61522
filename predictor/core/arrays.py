"""Checks, sorting and indexing of the arrays of a database."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predictor.core.errors import DatabaseError
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.names import FEATURE_NAMES

Column: TypeAlias = FloatArray | tuple[str, ...]
CHECKED_ROWS = 16_384  # rows checked at a time, 11 MB of features
Scalar = TypeVar("Scalar", bound=np.generic)
SampledT = TypeVar("SampledT", bound=Any)


def stretch_positions(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions of several consecutive ranges of an array, one range after the other.

    >>> stretch_positions(np.array([7, 2]), np.array([3, 1])).tolist()
    [7, 8, 9, 2]
    """
    return np.asarray(np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths))


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the array, contiguous in memory and read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def require(name: str, rule: str, holds: BoolArray) -> None:
    """Raise DatabaseError with the name of the array, the rule and the first entry that breaks it, unless it holds for
    all entries."""
    if not holds.all():
        raise DatabaseError(f"{name} must be {rule}; entry {int(np.argmin(holds))} is not")


def slug_order(name: str, slugs: Sequence[str]) -> tuple[list[int], IntArray]:
    """Return the positions in slug order, and the rank of each position. Raise DatabaseError if a slug occurs twice.

    >>> slug_order("platforms", ["c", "a", "b"])
    ([1, 2, 0], array([2, 0, 1]))
    """
    if len(set(slugs)) != len(slugs):
        raise DatabaseError(f"{name} contains a slug twice")
    order = sorted(range(len(slugs)), key=slugs.__getitem__)
    rank = np.empty(len(slugs), dtype=np.int64)
    rank[order] = np.arange(len(slugs))
    return order, rank


def checked_indices(name: str, values: ArrayLike, size: int) -> IntArray:
    """Return the values as indices below `size`. Raise DatabaseError if one is out of range."""
    array = np.asarray(values, dtype=np.int64)
    require(name, f"in 0..{size - 1}", (array >= 0) & (array < size))
    return array


def checked_column(name: str, values: ArrayLike, length: int) -> FloatArray:
    """Return the values as numbers (length,). Raise DatabaseError for another shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (length,):
        raise DatabaseError(f"{name} has shape {array.shape}, expected ({length},)")
    return array


def checked_features(values: ArrayLike, length: int) -> FloatArray:
    """Return the values as feature vectors (length, 84). Raise DatabaseError for another shape or infinite values."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (length, len(FEATURE_NAMES)):
        raise DatabaseError(f"features have shape {array.shape}, expected ({length}, {len(FEATURE_NAMES)})")
    finite = [~np.isinf(array[start : start + CHECKED_ROWS]).any(axis=1) for start in range(0, length, CHECKED_ROWS)]
    require("features", "finite or NaN", np.concatenate([np.zeros(0, dtype=np.bool_), *finite]))
    return array


def checked_curves(
    offsets: ArrayLike | None, n: ArrayLike, time_s: ArrayLike, rows: IntArray
) -> tuple[IntArray, NDArray[np.int32], FloatArray]:
    """Return the offsets, thread counts and times of the ragged curves in the order of `rows`. Raise DatabaseError for
    curves that are inconsistent or not positive."""
    start = np.asarray(np.zeros(len(rows) + 1) if offsets is None else offsets, dtype=np.int64)
    counts = np.asarray(n, dtype=np.int32)
    seconds = checked_column("curve_time_s", time_s, len(counts))
    if start.shape != (len(rows) + 1,) or start[0] != 0 or start[-1] != len(counts) or (np.diff(start) < 0).any():
        raise DatabaseError(f"curve_offsets must rise from 0 to {len(counts)} in {len(rows) + 1} entries")
    require("curve_n", "at least 1", counts >= 1)
    require("curve_time_s", "positive", seconds > 0)
    lengths = np.diff(start)[rows]
    moved = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    gather = stretch_positions(start[rows], lengths)
    return moved, counts[gather], seconds[gather]


def checked_table(
    columns: Mapping[str, Any], numbers: tuple[str, ...], texts: tuple[str, ...], order: list[int]
) -> dict[str, Column]:
    """Return the metadata columns in slug order. Columns that are missing are filled with NaN or "". Raise
    DatabaseError for unknown columns or wrong lengths."""
    unknown = set(columns) - {*numbers, *texts}
    if unknown:
        raise DatabaseError(f"unknown metadata columns: {', '.join(sorted(unknown))}")
    table: dict[str, Column] = {}
    for name in numbers:
        values = columns.get(name, np.full(len(order), np.nan))
        table[name] = read_only(checked_column(name, values, len(order))[order])
    for name in texts:
        words = columns.get(name, [""] * len(order))
        if len(words) != len(order):
            raise DatabaseError(f"{name} has {len(words)} entries, expected {len(order)}")
        table[name] = tuple(str(words[i] or "") for i in order)
    return table


def slug_index(slugs: tuple[str, ...], slug: str) -> int | None:
    """Return the position of a slug in ascending slugs; None if it is not among them.

    >>> slug_index(("ape", "bee"), "bee"), slug_index(("ape", "bee"), "cat")
    (1, None)
    """
    position = bisect_left(slugs, slug)
    return position if position < len(slugs) and slugs[position] == slug else None


def distinct_codes(codes: IntArray) -> IntArray:
    """Return the distinct codes (0, 1, ...) in ascending order. Faster than sorting if there are few distinct codes.

    >>> distinct_codes(np.array([3, 0, 3])).tolist()
    [0, 3]
    """
    return np.flatnonzero(np.bincount(codes.ravel()))


def evenly_spaced(x: FloatArray, most: int) -> IntArray:
    """Return the positions of at most `most` of the ascending values, as evenly spaced as possible, with both ends.

    >>> evenly_spaced(np.log([1, 2, 3, 4, 6, 8, 12, 16]), 5).tolist()
    [0, 1, 3, 5, 7]
    """
    if len(x) <= most:
        return np.arange(len(x))
    wanted = np.linspace(x[0], x[-1], most)
    return np.unique(np.abs(x[None, :] - wanted[:, None]).argmin(axis=1))


def sampled(values: SampledT, most: int) -> SampledT:
    """Return every k-th of the values, with the least k that leaves at most `most` of them.

    >>> sampled(np.arange(10), 4).tolist(), sampled([5, 6], 4)
    ([0, 3, 6, 9], [5, 6])
    """
    return cast(SampledT, values[:: max(-(-len(values) // most), 1)])
