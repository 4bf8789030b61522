"""How alike A behaves on any two platforms: the covariance of the Gaussian process."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.evidence.metadata import PlatformMetadata
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.parts import CurveParts
from predictor.core.mpet.robust import finite_median
from profiles.arrays import FloatArray, IntArray

MOST_MEDIAN_PLATFORMS = 48  # platforms
NUMBERS_IN_CACHE = 1 << 14  # numbers
MOST_TRIANGLE_PLATFORMS_KEPT = 256  # platforms: triangles of more are large


class Covariance(NamedTuple):
    """`matrix` (K, R + 1, R + 1), T last; `distance` (K, R) to T, in units of the median between references."""

    matrix: FloatArray
    distance: FloatArray


class Triangle(NamedTuple):
    """The pairs of P platforms on and below the diagonal, row after row, each once: half the work of a square."""

    row: IntArray
    column: IntArray
    flat: IntArray  # in the flat square
    diagonal: IntArray  # (P,) the pairs of a platform with itself
    square: IntArray  # (P, P) which pair stands there
    typical: IntArray  # pairs of two different platforms but the last, of some of them

    @classmethod
    def of(cls, P: int) -> Triangle:
        row, column = np.tril_indices(P)
        square = np.empty((P, P), dtype=np.int64)
        square[row, column] = square[column, row] = np.arange(len(row))
        some = np.arange(P - 1)[:: -(-(P - 1) // MOST_MEDIAN_PLATFORMS)]
        row_of_pair, column_of_pair = np.tril_indices(len(some), k=-1)
        diagonal = np.diagonal(square).copy()
        return cls(row, column, P * row + column, diagonal, square, square[some[row_of_pair], some[column_of_pair]])


_kept = lru_cache(maxsize=32)(Triangle.of)


def triangle_of(P: int) -> Triangle:
    """The pairs of P platforms; those of up to 256 platforms are kept for the next query.

    >>> triangle_of(3).row.tolist(), triangle_of(3).column.tolist()
    ([0, 1, 1, 2, 2, 2], [0, 0, 1, 0, 1, 2])
    """
    return _kept(P) if P <= MOST_TRIANGLE_PLATFORMS_KEPT else Triangle.of(P)


def nearness_weights(log_n: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each knot tells about each by its nearness in ln n.

        exp(-(ln n_j - ln n_i)^2 / 0.32), each row brought to sum 1

    Parameters: `log_n` (J,). Returns (J, J).

    >>> nearness_weights(np.log([1.0, 2.0])).round(3).tolist()
    [[0.818, 0.182], [0.182, 0.818]]
    """
    near = np.exp(-((log_n[:, None] - log_n) ** 2) / h.nearness)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def whole_curve_weights(evidence: Evidence) -> FloatArray:
    """The weights of a covariance from whole curves, to which all knots count alike, (1, J)."""
    return np.full((1, len(evidence.n)), 1.0 / len(evidence.n))


def behaviour_covariances(
    parts: CurveParts, weights: FloatArray, paper: FloatArray, knots: FloatArray, h: Hyperparameters = DEFAULTS
) -> Covariance:
    """A covariance for each row of `knots` (K, J): how much the behaviour at every knot counts.

    `paper` (pairs,) is what metadata alone says.
    """
    P, J = parts.speed.shape
    triangle = triangle_of(P)
    level = parts.speed.sum(axis=1) / J
    shape = parts.speed - level[:, None]
    slope = (shape @ shape.T).ravel().take(triangle.flat) / J
    apart = _squared_distances(slope[None], triangle)[0]
    apart += h.level * (level.take(triangle.row) - level.take(triangle.column)) ** 2
    similarity = slope * (h.shape / (slope[triangle.diagonal[:-1]].sum() / (P - 1) + TINY))
    similarity += paper
    gram = knots @ _behaviour(parts, weights).take(triangle.flat, axis=1)
    return _covariance(gram, apart, similarity, triangle, h)


def _behaviour(parts: CurveParts, weights: FloatArray) -> FloatArray:
    """Scalar products of the platforms' weighted rests at each knot, (J, P P)."""
    P, B, J = parts.rest.shape
    weighted = np.ascontiguousarray((parts.rest * (weights / np.sqrt(B))[:, None]).transpose(2, 0, 1))
    return np.asarray((weighted @ weighted.transpose(0, 2, 1)).reshape(J, P * P))


def _covariance(
    gram: FloatArray, apart: FloatArray, similarity: FloatArray, triangle: Triangle, h: Hyperparameters
) -> Covariance:
    """The sum of the linear, smooth and short-range part of the behaviour `gram` (K, pairs), which is overwritten.

    It is made for so many knots at once that they stay in the processor's cache.
    """
    P = len(triangle.diagonal)
    own = gram.take(triangle.diagonal[:-1], axis=1).sum(axis=1) / (P - 1)
    distance = _squared_distances(gram, triangle)
    distance += apart
    units = 1.0 / (finite_median(distance.take(triangle.typical, axis=1), axis=1) + TINY)
    gram *= (h.linear / (own + TINY))[:, None]
    to_target = distance[:, -P:-1] * units[:, None]
    smooth, short = -units[:, None] / h.smooth_length, -np.sqrt(units / h.short_length)[:, None]
    knots_at_once = max(1, NUMBERS_IN_CACHE // len(apart))
    for k in range(0, len(gram), knots_at_once):
        some = slice(k, k + knots_at_once)
        total, near = gram[some], distance[some]
        total += similarity
        part = near * smooth[some]
        np.exp(part, out=part)
        part *= h.smooth
        total += part
        np.sqrt(near, out=part)
        part *= short[some]
        np.exp(part, out=part)
        part *= h.short
        total += part
    return Covariance(gram.take(triangle.square, axis=1), to_target)


def _squared_distances(gram: FloatArray, triangle: Triangle) -> FloatArray:
    """Squared distances of pairs by their scalar products (K, pairs)."""
    own = gram.take(triangle.diagonal, axis=1)
    squares = own.take(triangle.row, axis=1)
    squares += own.take(triangle.column, axis=1)
    squares -= gram
    squares -= gram
    return np.maximum(squares, 0.0, out=squares)


def metadata_covariance(evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How alike the platforms, T last, are by their metadata and names, (pairs,) of the triangle."""
    index = np.append(evidence.platforms, evidence.target)
    triangle = triangle_of(len(index))
    vectors, cpu = metadata.vectors[index], metadata.cpu[index]
    similarity = _squared_distances((vectors @ vectors.T).ravel().take(triangle.flat)[None], triangle)[0]
    similarity *= -1.0 / h.metadata_length
    np.exp(similarity, out=similarity)
    similarity *= h.metadata
    twin = (cpu[:-1] == cpu[-1]).any()
    similarity += (h.twin_cpu_model if twin else h.cpu_model) * (cpu.take(triangle.row) == cpu.take(triangle.column))
    if twin:
        family = metadata.microarchitecture[index]
        similarity += h.twin_microarchitecture * (family.take(triangle.row) == family.take(triangle.column))
    return np.asarray(similarity)
