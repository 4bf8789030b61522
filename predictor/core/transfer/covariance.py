"""How alike A behaves on any two platforms: the covariance of the Gaussian process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predictor.core.database import FloatArray
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.parts import Parts
from predictor.core.transfer.robust import median

MOST_IN_MEDIAN = 48  # platforms


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
    parts: Parts,
    weights: FloatArray,
    paper: FloatArray,
    knots: Sequence[FloatArray],
    *,
    h: Hyperparameters = DEFAULTS,
) -> list[Covariance]:
    """A covariance for each row of each of `knots` (K, J): how much the behaviour at every knot counts.

    `paper` (R + 1, R + 1) is what metadata alone says.
    """
    grams = _behaviour(parts, weights)
    shape = parts.speed - parts.speed.mean(axis=1, keepdims=True)
    slope = shape @ shape.T / shape.shape[1]
    level = parts.speed.mean(axis=1)
    apart = _squared_distances(slope) + h.level * (level[:, None] - level) ** 2
    alike = h.shape * slope / (np.diag(slope)[:-1].mean() + TINY) + paper
    P = len(slope)
    return [_covariance((near @ grams).reshape(-1, P, P), apart, alike, h) for near in knots]


def _behaviour(parts: Parts, weights: FloatArray) -> FloatArray:
    """Scalar products of the platforms' weighted rests at each knot, (J, P P)."""
    P, B, J = parts.rest.shape
    weighted = np.ascontiguousarray((parts.rest * (weights / np.sqrt(B))[:, None]).transpose(2, 0, 1))
    return np.asarray((weighted @ weighted.transpose(0, 2, 1)).reshape(J, P * P))


def _covariance(gram: FloatArray, apart: FloatArray, alike: FloatArray, h: Hyperparameters) -> Covariance:
    """Of the behaviour `gram` (K, P, P), which it overwrites: linear, smooth and short-range part."""
    R = gram.shape[1] - 1
    own = np.diagonal(gram, axis1=1, axis2=2).copy()
    distance = gram * -2.0
    distance += own[:, :, None]
    distance += own[:, None, :]
    np.maximum(distance, 0.0, out=distance)
    distance += apart
    typical = _typical(distance[:, :R, :R])[:, None, None]
    to_target = distance[:, :R, R] / typical[:, 0]
    gram *= (h.linear / (own[:, :R].mean(axis=1) + TINY))[:, None, None]
    gram += alike
    distance /= -typical * h.smooth_length
    smooth = np.exp(distance)
    smooth *= h.smooth
    gram += smooth
    distance *= -h.smooth_length / h.short_length
    np.sqrt(distance, out=distance)
    np.negative(distance, out=distance)
    np.exp(distance, out=distance)
    distance *= h.short
    gram += distance
    return Covariance(gram, to_target)


def _typical(distance: FloatArray) -> FloatArray:
    """The median distance between two references, from some of them, (K,)."""
    step = -(-distance.shape[1] // MOST_IN_MEDIAN)
    some = distance[:, ::step, ::step]
    return np.asarray(median(some[:, np.tri(some.shape[1], k=-1, dtype=bool)], axis=1) + TINY)


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
    own = np.diag(products)
    return np.maximum(own[:, None] + own - 2 * products, 0.0)
