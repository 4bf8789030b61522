"""How alike A behaves on any two platforms: the covariance of the Gaussian process."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from predictor.core.database import FloatArray, IntArray
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.parts import Parts
from predictor.core.transfer.robust import median

MOST_IN_MEDIAN = 48  # platforms
IN_CACHE = 1 << 14  # numbers


class Covariance(NamedTuple):
    """`matrix` (K, R + 1, R + 1), T last; `distance` (K, R) to T, in units of the median between references."""

    matrix: FloatArray
    distance: FloatArray


def near_in_n(evidence: Evidence, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each knot tells about each by its nearness in ln n, (J, J); rows sum to 1."""
    near = np.exp(-((evidence.log_n[:, None] - evidence.log_n) ** 2) / h.nearness)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def whole_curve(evidence: Evidence) -> FloatArray:
    """All knots tell as much, (1, J)."""
    return np.full((1, len(evidence.n)), 1.0 / len(evidence.n))


def covariances(
    parts: Parts, weights: FloatArray, paper: FloatArray, knots: FloatArray, h: Hyperparameters = DEFAULTS
) -> Covariance:
    """A covariance for each row of `knots` (K, J): how much the behaviour at every knot counts.

    `paper` (R + 1, R + 1) is what metadata alone says.
    """
    P, J = parts.speed.shape
    level = parts.speed.sum(axis=1) / J
    shape = parts.speed - level[:, None]
    slope = shape @ shape.T
    slope /= J
    apart = _squared_distances(slope)
    apart += h.level * (level[:, None] - level) ** 2
    alike = slope * (h.shape / (np.trace(slope[:-1, :-1]) / (P - 1) + TINY))
    alike += paper
    return _covariance((knots @ _behaviour(parts, weights)).reshape(-1, P, P), apart, alike, h)


def _behaviour(parts: Parts, weights: FloatArray) -> FloatArray:
    """Scalar products of the platforms' weighted rests at each knot, (J, P P)."""
    P, B, J = parts.rest.shape
    weighted = np.ascontiguousarray((parts.rest * (weights / np.sqrt(B))[:, None]).transpose(2, 0, 1))
    return np.asarray((weighted @ weighted.transpose(0, 2, 1)).reshape(J, P * P))


def _covariance(gram: FloatArray, apart: FloatArray, alike: FloatArray, h: Hyperparameters) -> Covariance:
    """Of the behaviour `gram` (K, P, P), which it overwrites: linear, smooth and short-range part.

    With so many knots at once that they stay in the processor's cache.
    """
    half = np.diagonal(gram, axis1=1, axis2=2) / 2.0
    half_apart = apart / 2.0
    units = 1.0 / _typical(gram, half, half_apart)[:, None, None]
    references = len(apart) - 1
    linear = (h.linear * references / (2.0 * half[:, :-1].sum(axis=1) + TINY))[:, None, None]
    to_target = np.empty((len(gram), references))
    at_once = max(1, IN_CACHE // apart.size)
    for k in range(0, len(gram), at_once):
        some = slice(k, k + at_once)
        distance = _half_squares(gram[some], half[some], half_apart)
        distance *= units[some]
        to_target[some] = distance[:, :-1, -1]
        total = gram[some]
        total *= linear[some]
        total += alike
        smooth = distance * (-1.0 / h.smooth_length)
        np.exp(smooth, out=smooth)
        smooth *= h.smooth
        total += smooth
        np.sqrt(distance, out=distance)
        distance *= -1.0 / np.sqrt(h.short_length)
        np.exp(distance, out=distance)
        distance *= h.short
        total += distance
    return Covariance(gram, to_target)


def _half_squares(gram: FloatArray, half: FloatArray, half_apart: FloatArray) -> FloatArray:
    """Half the squared distances (K, P, P) by scalar products, halves of their diagonals (K, P), and what is apart."""
    distance = half_apart - gram
    distance += half[:, :, None]
    distance += half[:, None]
    return np.maximum(distance, 0.0, out=distance)


def _typical(gram: FloatArray, half: FloatArray, half_apart: FloatArray) -> FloatArray:
    """The median of half the squared distances between two references, from some of them, (K,)."""
    some = slice(0, -1, -(-(len(half_apart) - 1) // MOST_IN_MEDIAN))
    distance = _half_squares(gram[:, some, some], half[:, some], half_apart[some, some])
    pairs = distance.reshape(len(gram), -1).take(_pairs(distance.shape[1]), axis=1)
    return np.asarray(median(pairs, axis=1) + TINY)


@cache
def _pairs(size: int) -> IntArray:
    """Flat positions of the pairs below the diagonal."""
    return np.flatnonzero(np.tri(size, k=-1, dtype=bool))


def on_paper(evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How alike the platforms are by their metadata and names, (R + 1, R + 1)."""
    index = np.append(evidence.platforms, evidence.target)
    vectors, cpu = metadata.vectors[index], metadata.cpu[index]
    alike = h.metadata * np.exp(-_squared_distances(vectors @ vectors.T) / h.metadata_length)
    if not (cpu[:-1] == cpu[-1]).any():
        return np.asarray(alike + h.cpu_model * (cpu[:, None] == cpu))
    family = metadata.microarchitecture[index]
    alike += h.twin_cpu_model * (cpu[:, None] == cpu) + h.twin_microarchitecture * (family[:, None] == family)
    return np.asarray(alike)


def _squared_distances(products: FloatArray) -> FloatArray:
    own = np.diagonal(products)
    squares = own[:, None] + own
    squares -= products
    squares -= products
    return np.maximum(squares, 0.0, out=squares)
