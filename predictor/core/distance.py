"""Distances between feature vectors, and their means (Eq. 13-20).

Equation 13 has two batch forms for matrices of distances: `summed_distances` subtracts vectors, and `MaskedRows` uses
blockwise matrix products, which are faster for vectors with many elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from profiles.arrays import BoolArray, FloatArray, IntArray

LARGEST_DISTANCE = 1.0  # of Eq. 13; also used for vectors that nothing connects
SUBTRACTED_AT_ONCE = 1 << 14  # differences per block, so that intermediate arrays fit into the processor's caches
BLOCK_ROWS, BLOCK_COLUMNS = 256, 8192  # size of a block of products, which fits into the processor's caches
LEAST_PRODUCT_SQUARE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-10}  # below, products lose digits
ALIKE_AT_ONCE = 1 << 14  # pairs of similar vectors that are subtracted at a time
MANY_ALIKE = 1 / 64  # share of similar pairs of a 32-bit block above which 64-bit products cost less than subtractions

Elements = NDArray[Any]  # of 32 or 64 bits


def distance(a: FloatArray, b: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the root mean square difference over the elements that are valid in both vectors (Eq. 13).

        D(a, b) = ||a - b||_2 / sqrt(dim),    dim = number of elements valid in both;    0 <= D <= 1

    With `weights` (E,), at least 0, for the elements (the paper's future work, Section 4.4) the mean is weighted:
    sqrt(sum w (a - b)^2 / sum w).

    Example (Eq. 14-15): (0.01, 0.04, 0.20) and (0.20, 0.01, invalid) differ by 0.19 and 0.03 in 2 dimensions:
    sqrt((0.0361 + 0.0009) / 2) = 0.136.

    Parameters: `a`, `b` (..., E), normalised to [0, 1], NaN = invalid; broadcast against each other.
    Returns (...) without unit. NaN: undefined, because no element (with a weight above 0) is valid in both.

    >>> distance(np.array([0.01, 0.04, 0.20]), np.array([0.20, 0.01, np.nan])).round(3)
    np.float64(0.136)
    >>> distance(np.array([0.0, 0.0]), np.array([0.2, 0.6]), np.array([3.0, 1.0])).round(3)
    np.float64(0.346)
    """
    return root_mean_square(a - b, weights)


def root_mean_square(difference: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return D (Eq. 13) of two vectors from their difference (..., E), NaN = invalid in one of them; otherwise as
    `distance`.

    >>> root_mean_square(np.array([[0.19, -0.03, np.nan], [np.nan, np.nan, np.nan]])).round(3)
    array([0.136,   nan])
    """
    valid = ~np.isnan(difference)
    difference = np.where(valid, difference, 0.0)
    if weights is None:
        dim = valid.sum(axis=-1)
        squares = np.einsum("...e,...e->...", difference, difference)
        divisor = np.maximum(dim, 1)
    else:
        dim = valid @ weights
        squares = np.einsum("...e,...e,e->...", difference, difference, weights)
        divisor = np.where(dim > 0, dim, 1.0)
    result = np.sqrt(squares / divisor)
    return np.where(dim > 0, np.minimum(result, LARGEST_DISTANCE), np.nan)


def dimensions(a: FloatArray, b: FloatArray) -> IntArray:
    """Return the number of elements that are valid in both vectors: the dim of Eq. 13, (...).

    >>> int(dimensions(np.array([0.01, 0.04, 0.20]), np.array([0.20, 0.01, np.nan])))
    2
    """
    return np.asarray((~np.isnan(a) & ~np.isnan(b)).sum(axis=-1))


def mean_distance(distances: FloatArray, axis: int) -> FloatArray:
    """Return the mean over the distances that are defined (Eq. 18-19).

        D_a(A,B) = mean over platforms of D_a(P,A,B),    D_p(P,T) = mean over workloads of D_p(B,P,T)

    Parameters: `distances` of any shape, in 0..1 without unit, NaN = undefined; `axis` is the one to average over.
    Returns the shape without that axis; NaN where no distance is defined.

    >>> mean_distance(np.array([[0.2, 0.4, np.nan], [np.nan, np.nan, np.nan]]), axis=1).round(9)
    array([0.3, nan])
    """
    defined = ~np.isnan(distances)
    count = defined.sum(axis=axis)
    total = np.where(defined, distances, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def tuple_distance(platform: FloatArray, workload: FloatArray) -> FloatArray:
    """Return the distance of a candidate (P,B) from its two parts (Eq. 20).

        D_t = 1 - (1 - D_p)(1 - D_a)

    Example: D_p = 0.1 and D_a = 0.5 give 1 - 0.9 * 0.5 = 0.55.
    Parameters: D_p and D_a, in 0..1 without unit, broadcast against each other. NaN where either is undefined.

    >>> tuple_distance(np.array([0.1]), np.array([0.5])).round(9)
    array([0.55])
    """
    return np.asarray(1.0 - (1.0 - platform) * (1.0 - workload))


def summed_distances(ours: FloatArray, theirs: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the sums over B platforms of the distances between K and M vectors, and the number of defined distances.

        total[k, m] = sum over b of D(ours[:, b, k], theirs[:, b, m])

    Parameters: `ours` (E, B, K), `theirs` (E, B, M), normalised elements without unit, NaN = invalid. Returns two
    arrays (K, M); a pair without an element that is valid in both adds nothing to either. If `theirs` is `ours`, each
    pair is computed once, and both results are symmetric to the last bit. O(E K M B), by subtraction; for many elements
    the matrix products of `MaskedRows` are faster.

    >>> ours = np.array([[[0.0, 0.5], [0.5, np.nan]]])  # one element, on two platforms, of two vectors
    >>> total, count = summed_distances(ours, ours)
    >>> total.tolist(), count.tolist()
    ([[0.0, 0.5], [0.5, 0.0]], [[2, 1], [1, 1]])
    """
    (B, K), M, is_same = ours.shape[1:], theirs.shape[2], ours is theirs
    total, count = np.zeros((K, M)), np.zeros((K, M), dtype=np.int64)
    left, right = filled_and_valid(ours), filled_and_valid(theirs)
    at_once = max(1, SUBTRACTED_AT_ONCE // max(M * B, 1))
    for top in range(0, K, at_once):
        rows, first = slice(top, top + at_once), top if is_same else 0
        distances, is_defined = _distances(left[..., rows, None], right[..., None, first:])
        total[rows, first:], count[rows, first:] = distances.sum(axis=0), is_defined.sum(axis=0)
        if is_same:
            total[first:, rows], count[first:, rows] = total[rows, first:].T, count[rows, first:].T
    return total, count


def filled_and_valid(vectors: FloatArray) -> FloatArray:
    """Return two stacked arrays of the shape of the vectors: the values with 0 for invalid ones, and 1 for valid and 0
    for invalid.

    >>> filled_and_valid(np.array([0.3, np.nan])).tolist()
    [[0.3, 0.0], [1.0, 0.0]]
    """
    valid = ~np.isnan(vectors)
    return np.stack([np.where(valid, vectors, 0.0), valid])


def _distances(ours: FloatArray, theirs: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return D (Eq. 13) of two results of `filled_and_valid`, 0 if undefined, and which distances are defined."""
    shape = np.broadcast_shapes(ours.shape[2:], theirs.shape[2:])
    squares, number = np.zeros(shape), np.zeros(shape)
    for x, x_valid, y, y_valid in zip(*ours, *theirs, strict=True):
        both_valid = x_valid * y_valid
        gap = x - y
        gap *= gap
        gap *= both_valid
        squares += gap
        number += both_valid
    squares /= np.maximum(number, 1.0)
    np.sqrt(squares, out=squares)
    np.minimum(squares, LARGEST_DISTANCE, out=squares)
    return squares, number > 0


@dataclass(frozen=True, eq=False)
class MaskedRows:
    """Vectors (N, E) prepared for matrix products: `factors` (N, 3 E) are [valid, x^2, x], with x = 0 if invalid.

    Vectors that are compared have the same elements and the same `centre` (E,), which is subtracted to preserve the
    digits of the differences.
    """

    rows: FloatArray  # (N, E), NaN = invalid
    centre: FloatArray
    factors: Elements
    is_whole: bool  # every element of every vector is valid

    @classmethod
    def of(cls, rows: FloatArray, dtype: DTypeLike = np.float64, centre: FloatArray | None = None) -> MaskedRows:
        """Prepare the rows in O(N E). `dtype` is numpy's float64, or float32, which takes half the time and has an
        error of at most 1e-6. `centre` is by default the mean of the valid values."""
        valid = ~np.isnan(rows)
        if centre is None:  # 0 for an element without valid values
            centre = np.where(valid, rows, 0.0).sum(axis=0) / np.maximum(valid.sum(axis=0), 1)
        E = rows.shape[1]
        factors = np.zeros((len(rows), 3 * E), dtype=dtype)
        factors[:, :E] = valid
        np.subtract(rows, centre, out=factors[:, 2 * E :], where=valid, casting="same_kind")
        np.multiply(factors[:, 2 * E :], factors[:, 2 * E :], out=factors[:, E : 2 * E])
        return cls(rows, centre, factors, bool(valid.all()))

    def distances_to(self, others: MaskedRows) -> Elements:
        """Return the root mean square differences D (Eq. 13) of all rows (K, E) and all others (M, E), as (K, M).

            D^2 = (sum x^2 valid_y + sum valid_x y^2 - 2 sum x y) / sum valid_x valid_y

        NaN if no element is valid in both. If the difference of rounded products has too few digits, the vectors are
        subtracted from each other. In 32 bits the error is at most 1e-6.

        >>> rows = np.array([[0.0, 1.0, np.nan], [1.0, 1.0, np.nan], [np.nan, np.nan, 3.0]])
        >>> one = MaskedRows.of(rows[:1])
        >>> one.distances_to(MaskedRows.of(rows[1:], centre=one.centre)).round(3)
        array([[0.707,   nan]])
        """
        found = np.empty((len(self.factors), len(others.factors)), dtype=self.factors.dtype)
        if not self.rows.shape[1]:
            found[:] = np.nan
            return found
        for top in range(0, len(found), BLOCK_ROWS):
            ours = self.factors[top : top + BLOCK_ROWS]
            left = _left_factors(ours)
            for start in range(0, found.shape[1], BLOCK_COLUMNS):
                stop = start + BLOCK_COLUMNS
                block = found[top : top + BLOCK_ROWS, start:stop]
                self._fill(block, left, others, slice(start, stop), top)
        return found

    def _fill(self, block: Elements, left: Elements, others: MaskedRows, columns: slice, top: int) -> None:
        E = self.rows.shape[1]
        theirs = others.factors[columns]
        np.matmul(left, theirs.T, out=block)
        if self.is_whole and others.is_whole:
            block *= 1.0 / E
        else:
            count = left[:, E : 2 * E] @ theirs[:, :E].T  # elements that are valid in both
            with np.errstate(divide="ignore", invalid="ignore"):
                np.divide(block, count, out=block)
            block[count == 0] = np.nan
        nearly_equal = np.flatnonzero(block < LEAST_PRODUCT_SQUARE[block.dtype])  # np.argwhere takes 15 times as long
        if block.dtype == np.float32 and len(nearly_equal) > MANY_ALIKE * block.size:
            rows = self._in_64_bits(slice(top, top + BLOCK_ROWS))
            block[:] = rows.distances_to(others._in_64_bits(columns))
            return
        with np.errstate(invalid="ignore"):  # values below 0 are replaced in the loop
            np.sqrt(block, out=block)
        for start in range(0, len(nearly_equal), ALIKE_AT_ONCE):
            row, column = np.divmod(nearly_equal[start : start + ALIKE_AT_ONCE], block.shape[1])
            block[row, column] = distance(self.rows[top + row], others.rows[columns.start + column])

    def _in_64_bits(self, rows: slice) -> MaskedRows:
        return MaskedRows.of(self.rows[rows], np.float64, self.centre)


def _left_factors(factors: Elements) -> Elements:
    """Return [x^2, valid, -2 x] from [valid, x^2, x]."""
    E = factors.shape[1] // 3
    left = np.empty_like(factors)
    left[:, :E], left[:, E : 2 * E] = factors[:, E : 2 * E], factors[:, :E]
    np.multiply(factors[:, 2 * E :], -2.0, out=left[:, 2 * E :])
    return left
