"""Sums of the distances (Eq. 13) of the same two vectors over many platforms, or over many workloads."""

from __future__ import annotations

import numpy as np

from profiles.arrays import BoolArray, FloatArray, IntArray

LARGEST_DISTANCE = 1.0  # of Eq. 13; also of what nothing connects
SUBTRACTED_AT_ONCE = 1 << 14  # are subtracted: what is made of them stays in the processor's caches


def summed_distances(ours: FloatArray, theirs: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distances of K vectors to M others on each of B platforms, added up, and how many there are.

        total[k, m] = sum over b of D(ours[:, b, k], theirs[:, b, m])

    Parameters: `ours` (E, B, K), `theirs` (E, B, M), normalised elements without unit, NaN = invalid. Returns two
    arrays (K, M); a pair without an element that is valid in both adds nothing to either. Of `ours` to `ours` each pair
    is computed once, and both are symmetric to the last bit. O(E K M B), by subtraction: where there are many elements,
    products of matrices cost less (see `MaskedRows`).

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
    """Two of the shape of the vectors: these with 0 for what is invalid, and 1 or 0 for valid or not.

    >>> filled_and_valid(np.array([0.3, np.nan])).tolist()
    [[0.3, 0.0], [1.0, 0.0]]
    """
    valid = ~np.isnan(vectors)
    return np.stack([np.where(valid, vectors, 0.0), valid])


def _distances(ours: FloatArray, theirs: FloatArray) -> tuple[FloatArray, BoolArray]:
    """D (Eq. 13) of what `filled_and_valid` gives of both, with 0 for undefined; and which are defined."""
    shape = np.broadcast_shapes(ours.shape[2:], theirs.shape[2:])
    squares, number = np.zeros(shape), np.zeros(shape)
    for x, x_valid, y, y_valid in zip(*ours, *theirs, strict=True):
        both = x_valid * y_valid
        gap = x - y
        gap *= gap
        gap *= both
        squares += gap
        number += both
    squares /= np.maximum(number, 1.0)
    np.sqrt(squares, out=squares)
    np.minimum(squares, LARGEST_DISTANCE, out=squares)
    return squares, number > 0
