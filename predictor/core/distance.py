"""Distances between feature vectors, and their means (Eq. 13-20)."""

from __future__ import annotations

import numpy as np

from profiles.arrays import FloatArray, IntArray


def distance(a: FloatArray, b: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Root mean square difference over the elements valid in both vectors (Eq. 13).

        D(a, b) = ||a - b||_2 / sqrt(dim),    dim = number of elements valid in both;    0 <= D <= 1

    With `weights` (E,), at least 0, of the elements (the paper's future work, Section 4.4) the mean is weighted:
    sqrt(sum w (a - b)^2 / sum w).

    Example (Eq. 14-15): (0.01, 0.04, 0.20) and (0.20, 0.01, invalid) differ by 0.19 and 0.03 in 2 dimensions:
    sqrt((0.0361 + 0.0009) / 2) = 0.136.

    Parameters: `a`, `b` (..., E), normalised to [0, 1], NaN = invalid; broadcast against each other.
    Returns (...) without unit. NaN: undefined, no element (of a weight above 0) is valid in both.

    >>> distance(np.array([0.01, 0.04, 0.20]), np.array([0.20, 0.01, np.nan])).round(3)
    np.float64(0.136)
    >>> distance(np.array([0.0, 0.0]), np.array([0.2, 0.6]), np.array([3.0, 1.0])).round(3)
    np.float64(0.346)
    """
    difference = a - b
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
    return np.where(dim > 0, np.minimum(result, 1.0), np.nan)


def dimensions(a: FloatArray, b: FloatArray) -> IntArray:
    """How many elements are valid in both vectors: the dim of Eq. 13, (...).

    >>> int(dimensions(np.array([0.01, 0.04, 0.20]), np.array([0.20, 0.01, np.nan])))
    2
    """
    return np.asarray((~np.isnan(a) & ~np.isnan(b)).sum(axis=-1))


def mean_distance(distances: FloatArray, axis: int) -> FloatArray:
    """Mean over the distances that are defined (Eq. 18-19).

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
    """The distance of a candidate (P,B) from its two parts (Eq. 20).

        D_t = 1 - (1 - D_p)(1 - D_a)

    Example: D_p = 0.1 and D_a = 0.5 give 1 - 0.9 * 0.5 = 0.55.
    Parameters: D_p and D_a, in 0..1 without unit, broadcast against each other. NaN where either is undefined.

    >>> tuple_distance(np.array([0.1]), np.array([0.5])).round(9)
    array([0.55])
    """
    return np.asarray(1.0 - (1.0 - platform) * (1.0 - workload))
