"""Distances of very many vectors with invalid elements, as products of matrices, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from profiles.arrays import FloatArray

BLOCK_ROWS, BLOCK_COLUMNS = 256, 8192  # of a product: it stays in the processor's caches until it is finished
LEAST_PRODUCT_SQUARE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-10}  # below, products lose the digits
ALIKE_AT_ONCE = 1 << 14  # of alike vectors, which are subtracted one by one
MANY_ALIKE = 1 / 64  # of a block in 32 bits: above, its products in 64 bits cost less than the subtractions
BITS_OF_WORD = 64

Elements = NDArray[Any]  # of 32 or 64 bits


@dataclass(frozen=True, eq=False)
class MaskedRows:
    """Vectors (N, E) made ready for products: `factors` (N, 3 E) are [valid, x^2, x], x = 0 where invalid.

    Rows that are compared have the same elements, and the same `centre` (E,), which is taken off: differences do not
    change, and their digits are kept.
    """

    rows: FloatArray  # (N, E), NaN = invalid
    centre: FloatArray
    factors: Elements
    is_whole: bool  # every element of every vector is valid

    @classmethod
    def of(cls, rows: FloatArray, dtype: DTypeLike = np.float64, centre: FloatArray | None = None) -> MaskedRows:
        """O(N E). `dtype`: numpy's float64, or float32, which takes half the time and errs by 1e-6 at most."""
        if centre is None:
            centre = _means(rows)
        valid = ~np.isnan(rows)
        E = rows.shape[1]
        factors = np.zeros((len(rows), 3 * E), dtype=dtype)
        factors[:, :E] = valid
        np.subtract(rows, centre, out=factors[:, 2 * E :], where=valid, casting="same_kind")
        np.multiply(factors[:, 2 * E :], factors[:, 2 * E :], out=factors[:, E : 2 * E])
        return cls(rows, centre, factors, bool(valid.all()))

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """Which elements are valid, a bit each, (words, N); those of a last word that is not full are 0.

        >>> MaskedRows.of(np.array([[0.5, np.nan, 0.25]])).bits.tolist()
        [[5]]
        """
        E = self.rows.shape[1]
        padded = np.zeros((len(self.rows), -(-E // BITS_OF_WORD) * BITS_OF_WORD), dtype=np.bool_)
        padded[:, :E] = ~np.isnan(self.rows)
        words = np.packbits(padded, axis=1, bitorder="little").view("<u8")
        return np.ascontiguousarray(words.T, dtype=np.uint64)

    def distances_to(self, others: MaskedRows) -> Elements:
        """The root mean square difference D (Eq. 13) of every row (K, E) and every other one (M, E), (K, M).

            D^2 = (sum x^2 valid_y + sum valid_x y^2 - 2 sum x y) / sum valid_x valid_y

        NaN where no element is valid in both. Where a difference of rounded products has too few digits, the vectors
        are subtracted from each other. In 32 bits an element errs by at most 1e-6 of 1.

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
        """One block of the distances."""
        E = self.rows.shape[1]
        theirs = others.factors[columns]
        _multiply(left, theirs, block)
        if self.is_whole and others.is_whole:
            block *= 1.0 / E
        else:
            count = self._count(left, others, columns, top)
            with np.errstate(divide="ignore", invalid="ignore"):
                np.divide(block, count, out=block)
            block[count == 0] = np.nan
        alike = np.flatnonzero(block < LEAST_PRODUCT_SQUARE[block.dtype])  # np.argwhere takes 15 times as long
        if block.dtype == np.float32 and len(alike) > MANY_ALIKE * block.size:
            rows = self._in_64_bits(slice(top, top + BLOCK_ROWS))
            block[:] = rows.distances_to(others._in_64_bits(columns))
            return
        with np.errstate(invalid="ignore"):  # what is below 0 is among the alike
            np.sqrt(block, out=block)
        for start in range(0, len(alike), ALIKE_AT_ONCE):
            row, column = np.divmod(alike[start : start + ALIKE_AT_ONCE], block.shape[1])
            block[row, column] = _subtracted(self.rows[top + row], others.rows[columns.start + column])

    def _count(self, left: Elements, others: MaskedRows, columns: slice, top: int) -> Elements:
        """How many elements are valid in both, (K, M). A product for many vectors, bits for one."""
        E = self.rows.shape[1]
        if len(left) > 1:
            return np.asarray(left[:, E : 2 * E] @ others.factors[columns, :E].T)
        both = np.bitwise_count(self.bits[:, top, None] & others.bits[:, columns])
        return np.asarray(both.sum(axis=0, dtype=left.dtype)[None])

    def _in_64_bits(self, rows: slice) -> MaskedRows:
        return MaskedRows.of(self.rows[rows], np.float64, self.centre)


def _multiply(left: Elements, right: Elements, out: Elements) -> None:
    """left right', (K, M). Of one vector row by row: numpy's product of a matrix and a vector takes twice as long."""
    if len(left) == 1:
        np.vecdot(right, left[0], out=out[0])
    else:
        np.matmul(left, right.T, out=out)


def _left_factors(factors: Elements) -> Elements:
    """[x^2, valid, -2 x] of [valid, x^2, x]."""
    E = factors.shape[1] // 3
    left = np.empty_like(factors)
    left[:, :E], left[:, E : 2 * E] = factors[:, E : 2 * E], factors[:, :E]
    np.multiply(factors[:, 2 * E :], -2.0, out=left[:, 2 * E :])
    return left


def _subtracted(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """D of vectors pair by pair; all of them share an element."""
    difference = ours - theirs
    valid = ~np.isnan(difference)
    difference[~valid] = 0.0
    return np.asarray(np.sqrt(np.einsum("pe,pe->p", difference, difference) / valid.sum(axis=1)))


def _means(rows: FloatArray) -> FloatArray:
    """The mean of the valid values of each element; 0 where there is none."""
    valid = ~np.isnan(rows)
    total = np.where(valid, rows, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(valid.sum(axis=0), 1))
