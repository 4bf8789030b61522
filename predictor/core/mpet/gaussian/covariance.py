"""How alike A behaves on any two platforms: the covariance of the Gaussian process."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.evidence.metadata import PlatformMetadata
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.parts import CurveParts
from predictor.core.mpet.robust import finite_median
from profiles.arrays import FloatArray

MOST_MEDIAN_PLATFORMS = 48  # platforms whose distances from each other say what is typical


class Covariance(NamedTuple):
    """`matrix` (K, R + 1, R + 1), T last; `distance` (K, R) to T, in units of the median between references."""

    matrix: FloatArray
    distance: FloatArray


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
    """A covariance for each row of `knots` (K, J), by how much the behaviour at every knot counts.

        linear G_pq / mean G_pp + short exp(-sqrt(d_pq / (0.09 median d))) + paper_pq

    G are the scalar products of the platforms' rests, each workload by its `weights` (B,); d the squared distances in
    them and in how the speed changes over n; `paper` (P, P) is what metadata alone says.
    """
    P, B, J = parts.rest.shape
    weighted = np.ascontiguousarray((parts.rest * (weights / np.sqrt(B))[:, None]).transpose(2, 0, 1))
    gram = (knots @ (weighted @ weighted.transpose(0, 2, 1)).reshape(J, P * P)).reshape(-1, P, P)
    shape = (parts.speed - parts.speed.sum(axis=1, keepdims=True) / J) / np.sqrt(J)
    distance = squared_distances(gram) + squared_distances(shape @ shape.T)
    some = np.arange(P - 1)[:: -(-(P - 1) // MOST_MEDIAN_PLATFORMS)]
    rows, columns = (some[of_pair] for of_pair in np.tril_indices(len(some), k=-1))
    distance /= finite_median(distance[:, rows, columns], axis=1)[:, None, None] + TINY
    own = np.einsum("kpp->k", gram[:, :-1, :-1]) / (P - 1)
    gram *= (h.linear / (own + TINY))[:, None, None]
    gram += paper
    to_target = distance[:, -1, :-1].copy()
    distance /= h.short_length
    np.sqrt(distance, out=distance)
    np.exp(np.negative(distance, out=distance), out=distance)
    gram += np.multiply(distance, h.short, out=distance)
    return Covariance(gram, to_target)


def squared_distances(gram: FloatArray) -> FloatArray:
    """Squared distances of P vectors by their scalar products (..., P, P).

    >>> squared_distances(np.array([[1.0, 2.0], [2.0, 4.0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    own = np.diagonal(gram, axis1=-2, axis2=-1)
    squares = own[..., :, None] + own[..., None, :]
    squares -= 2.0 * gram
    return np.maximum(squares, 0.0, out=squares)


def metadata_covariance(evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How alike the platforms, T last, are by their metadata and names, (P, P)."""
    index = np.append(evidence.platforms, evidence.target)
    vectors, cpu, family = metadata.vectors[index], metadata.cpu[index], metadata.microarchitecture[index]
    similarity = h.metadata * np.exp(squared_distances(vectors @ vectors.T) / -h.metadata_length)
    is_twin = (cpu[:-1] == cpu[-1]).any()
    similarity += (h.twin_cpu_model if is_twin else h.cpu_model) * (cpu[:, None] == cpu)
    if is_twin:
        similarity += h.twin_microarchitecture * (family[:, None] == family)
    return np.asarray(similarity)
