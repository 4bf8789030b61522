"""Curves taken apart into what belongs to the workload, to the platform, and the rest; and ordinary kriging by how
alike platforms are in the rest: what the references say of A on T, and of workloads that T lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, Hyperparameters
from predictor.core.mpet.platforms import nearest_at_any
from predictor.core.mpet.transfer import left_out_families
from predictor.core.numerics import (
    MEDIAN_TO_SIGMA,
    TINY,
    finite_median,
    invert_definite,
    left_out_errors,
    squared_distances,
)
from profiles.arrays import BoolArray, FloatArray, IntArray

MEAN_ROUNDS = 4  # of alternating means: more change the parts no more
GAP_ROUNDS, GAP_TOLERANCE = 20, 0.02  # of expected rests: at most, and the relative change that ends them


@dataclass(frozen=True, eq=False)
class CurveParts:
    """curves (J, P, B) = workload part (J, B) + `speed` (J, P) + `rest` (J, P, B), the rest 0 where unknown.

    `own` (J, R) is A's curve on the references less their speed.
    """

    speed: FloatArray
    rest: FloatArray
    own: FloatArray

    def correlations(self) -> FloatArray:
        """The correlations of A with every workload (B,), of their deviations from the platforms' speed over the
        references and knots."""
        rest, own = self.rest[:, :-1], self.own - self.own.mean(axis=1, keepdims=True)
        products = np.einsum("jr,jrb->b", own, rest)
        squares = np.einsum("jrb,jrb->b", rest, rest) - (rest.sum(axis=1) ** 2).sum(axis=0) / rest.shape[1]
        return np.asarray(products / (np.sqrt((own**2).sum() * np.maximum(squares, 0.0)) + TINY))


def separate_parts(evidence: Evidence, fill_gaps: bool = True) -> CurveParts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating means.

    Where a platform was not measured with a workload, the rest is the expected one; 0 without `fill_gaps`.
    """
    counts = evidence.is_known.astype(np.float64)
    per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
    over_platforms, over_workloads = evidence.curves.sum(axis=1), evidence.curves.sum(axis=2)
    speed = np.zeros(over_workloads.shape)
    for _ in range(MEAN_ROUNDS):
        workload = (over_platforms - speed @ counts) / per_workload
        speed = (over_workloads - workload @ counts.T) / per_platform
    rest = evidence.curves - workload[:, None]
    rest -= speed[:, :, None]
    rest *= evidence.is_known
    if fill_gaps and not evidence.is_known.all():
        rest = expected_rests(rest, evidence.is_known)
    return CurveParts(speed, rest, evidence.of_workload - speed[:, :-1])


def expected_rests(rest: FloatArray, is_known: BoolArray) -> FloatArray:
    """The rests (J, P, B); those that are not known (P, B) are what the covariance of the platforms predicts.

        C = X X',    K = C + I mean(C_pp),    (K^-1 X)_m = 0 at the missing m

    X (P, J B) are the rests, in ln t. C depends on the missing ones, so both are found in turn, beginning with 0.

    >>> rest = np.array([[[1.0, -1.0, 2.0], [1.0, -1.0, 0.0]]])
    >>> expected_rests(rest, rest[0] != 0.0).round(1).tolist()
    [[[1.0, -1.0, 2.0], [1.0, -1.0, 0.6]]]
    """
    J, P, B = rest.shape
    X, gaps = rest.transpose(1, 0, 2).reshape(P, J * B), np.tile(~is_known, J)
    step = 2.0 / (2.0 - np.count_nonzero(gaps) / gaps.size)  # with 1, it converges slowly where much is missing
    columns = np.flatnonzero(gaps.any(axis=0))
    gaps = gaps[:, columns]
    for _ in range(GAP_ROUNDS):
        K = X @ X.T
        noise = np.trace(K) / P + TINY
        K.flat[:: P + 1] += noise
        invert_definite(K)
        change = step * noise * gaps * (K @ X[:, columns])
        X[:, columns] -= change
        if (change**2).sum() < GAP_TOLERANCE**2 * P * noise:
            break
    return X.reshape(P, J, B).transpose(1, 0, 2)


def workload_weights(correlation: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each known workload counts: by how alike it and A deviate from the platforms' speed.

        w_b = |correlation_b|^power / root mean square of all,    power = 2 by default

    Parameters: `correlation` (B,) in -1..1. Returns (B,) without unit, with mean square 1.

    >>> workload_weights(np.array([0.9, 0.0])).round(3).tolist()
    [1.414, 0.0]
    """
    weights = (np.abs(correlation) + TINY) ** h.workload_power
    return np.asarray(weights / np.sqrt((weights**2).sum() / len(weights)))


def nearest_references(evidence: Evidence, parts: CurveParts, weights: FloatArray, most: int) -> IntArray:
    """The `most` references most like T in behaviour and on paper, in platform order."""
    J, _, B = parts.rest.shape
    gap = parts.rest[:, :-1] - parts.rest[:, -1:]
    distance = np.einsum("jrb,jrb,b->r", gap, gap, weights**2 / (J * B))
    distance += (parts.speed[:, :-1] - parts.speed[:, -1:]).var(axis=0)
    distance /= finite_median(distance) + TINY
    distance += DEFAULTS.paper_share * evidence.metadata.squared_distances(evidence.platforms, evidence.target)
    return nearest_at_any(distance + evidence.outside, most)


def nearness_weights(log_n: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each knot tells about each by its nearness in ln n.

        exp(-(ln n_j - ln n_i)^2 / 0.32), each row brought to sum 1

    Parameters: `log_n` (J,). Returns (J, J).

    >>> nearness_weights(np.log([1.0, 2.0])).round(3).tolist()
    [[0.818, 0.182], [0.182, 0.818]]
    """
    near = np.exp(-((log_n[:, None] - log_n) ** 2) / h.nearness)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def behaviour_covariances(
    parts: CurveParts, weights: FloatArray, paper: FloatArray, knots: FloatArray, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray]:
    """A covariance for each row of `knots` (K, J), by how much the behaviour at every knot counts, (K, P, P), T last.

        linear G_pq / mean G_pp + smooth exp(-d_pq / (2 median d)) + short exp(-sqrt(d_pq / (0.09 median d))) + paper_pq

    G are the scalar products of the platforms' rests, each workload by its `weights` (B,); d the squared distances in
    them and in how the speed changes over n; `paper` (P, P) is what metadata alone says. Also the d to T (K, R), in
    units of the median between references.
    """
    J, P, B = parts.rest.shape
    weighted = parts.rest * (weights / np.sqrt(B))
    gram = (knots @ (weighted @ weighted.transpose(0, 2, 1)).reshape(J, P * P)).reshape(-1, P, P)
    shape = (parts.speed - parts.speed.mean(axis=0)).T / np.sqrt(J)
    distance = squared_distances(gram) + squared_distances(shape @ shape.T)
    some = np.arange(P - 1)[:: -(-(P - 1) // ENOUGH)]
    rows, columns = (some[of_pair] for of_pair in np.tril_indices(len(some), k=-1))
    distance /= finite_median(distance[:, rows, columns], axis=1)[:, None, None] + TINY
    own = np.einsum("kpp->k", gram[:, :-1, :-1]) / (P - 1)
    gram *= (h.linear / (own + TINY))[:, None, None]
    gram += paper
    gram += h.smooth * np.exp(distance / -h.smooth_length)
    to_target = distance[:, -1, :-1].copy()
    distance /= h.short_length
    np.sqrt(distance, out=distance)
    np.exp(np.negative(distance, out=distance), out=distance)
    gram += np.multiply(distance, h.short, out=distance)
    return gram, to_target


def metadata_covariance(evidence: Evidence, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How alike the platforms, T last, are by their metadata and names, (P, P)."""
    index = np.append(evidence.platforms, evidence.target)
    metadata = evidence.metadata
    vectors, cpu, family = metadata.vectors[index], metadata.cpu[index], metadata.microarchitecture[index]
    similarity = h.metadata * np.exp(squared_distances(vectors @ vectors.T) / -h.metadata_length)
    is_twin = (cpu[:-1] == cpu[-1]).any()
    similarity += (h.twin_cpu_model if is_twin else h.cpu_model) * (cpu[:, None] == cpu)
    if is_twin:
        similarity += h.twin_microarchitecture * (family[:, None] == family)
    return np.asarray(similarity)


class KrigingResult(NamedTuple):
    """The weights of the references (J, R), sum 1, and the variance of the value on T (J,) by every covariance.

    `projections` (J, R, R) take values to leave-one-out residuals times their own diagonal. `scale` (J,) is the
    variance of the process, and `added` (J, R) the noise that outlying references got, in units of it.
    """

    weights: FloatArray
    variance: FloatArray
    projections: FloatArray
    scale: FloatArray
    added: FloatArray


def krige(
    covariances: FloatArray, values: FloatArray, noise: FloatArray, h: Hyperparameters = DEFAULTS
) -> KrigingResult:
    """Ordinary kriging of `values` (J, R) to T, the last of each one's `covariances` (J, R + 1, R + 1).

    `noise` (J, R) is added to the references' own; outlying ones get more.

    >>> covariance = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.8, 0.0, 1.0]])
    >>> values = np.array([[1.0, 3.0]])
    >>> kriged = krige(covariance[None], values, noise=np.full((1, 2), 0.02))
    >>> kriged.weights.round(3).tolist(), (kriged.weights * values).sum(axis=1).round(3).tolist()
    ([[0.892, 0.108]], [1.216])
    """
    inverses, added = _without_outliers(noisy_inverses(covariances, noise), values, h)
    weights, variance, projections = ordinary_weights(inverses, covariances, h)
    scale = np.maximum((values * (projections @ values[:, :, None])[:, :, 0]).mean(axis=1), 0.0)
    return KrigingResult(weights, variance * scale, projections, scale, added)


def ordinary_weights(
    inverses: FloatArray, covariances: FloatArray, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights (J, R), variances (J,) in units of the process's, and projections, by the references' inverses.

        u = K^-1 c + K^-1 1 (1 - 1'K^-1 c) / 1'K^-1 1,    Q = K^-1 - K^-1 1 1'K^-1 / 1'K^-1 1
        variance = c_TT - c'K^-1 c + noise + (1 - 1'K^-1 c)^2 / 1'K^-1 1

    with K the references' covariance, noise included, and c that with T. The projections Q take the place of the
    inverses.
    """
    rows = inverses.sum(axis=2)
    to_target = covariances[:, :-1, -1]
    through = (inverses @ to_target[:, :, None])[:, :, 0]
    free = 1.0 - (rows * to_target).sum(axis=1)  # what the weights lack to sum to 1
    shortfall = free / rows.sum(axis=1)
    variance = covariances[:, -1, -1] - (to_target * through).sum(axis=1) + h.noise + free * shortfall
    weights = through + rows * shortfall[:, None]
    inverses -= rows[:, :, None] * (rows / rows.sum(axis=1)[:, None])[:, None]
    return weights, np.maximum(variance, TINY), inverses


def _without_outliers(inverses: FloatArray, values: FloatArray, h: Hyperparameters) -> tuple[FloatArray, FloatArray]:
    """The inverses after noise was added where leave-one-out residuals are out of proportion (Woodbury); the noise."""
    rows = inverses.sum(axis=2)
    squares = (inverses @ values[:, :, None])[:, :, 0]
    squares -= rows * (squares.sum(axis=1) / rows.sum(axis=1))[:, None]
    squares **= 2
    own = np.diagonal(inverses, axis1=1, axis2=2)
    squares /= own
    usual = finite_median(squares, axis=1)[:, None]
    excess = np.maximum(squares / ((h.robust * MEDIAN_TO_SIGMA) ** 2 * usual + TINY**2) - 1.0, 0.0)
    added = (h.noise + 1.0 / own) * excess
    most = int((excess > 0).sum(axis=1).max())
    if most:
        out = np.argsort(-excess, axis=1)[:, :most]
        j = np.arange(len(out))[:, None]
        columns = inverses[j, out]
        block = columns.transpose(0, 2, 1)[j, out]
        block.reshape(len(out), -1)[:, :: most + 1] += 1.0 / np.maximum(added[j, out], TINY)
        inverses -= columns.transpose(0, 2, 1) @ np.linalg.solve(block, columns)
    return inverses, added


def noisy_inverses(covariances: FloatArray, noise: FloatArray | float) -> FloatArray:
    """The inverses of the references' part (J, R, R), symmetric and positive definite, with noise on its diagonal."""
    matrices = covariances[:, :-1, :-1].copy()
    J, R, _ = matrices.shape
    matrices.reshape(J, R * R)[:, :: R + 1] += noise
    for matrix in matrices:
        invert_definite(matrix)
    return matrices


def fill_in_workloads(evidence: Evidence, most: int, h: Hyperparameters = DEFAULTS) -> Evidence:
    """The evidence of the platforms that have A, with T's missing workloads filled in.

    They are kriged to T from all platforms, of which `most` take part, by the covariance that T's own workloads and
    the metadata give. Platforms without A help here only.
    """
    references, R = np.flatnonzero(evidence.has_workload), len(evidence.platforms)
    if evidence.measured_on_target.all():
        return evidence
    alone = evidence.of_workloads(np.flatnonzero(evidence.measured_on_target))
    if len(references) in (0, R):
        return alone.nearest(references)
    # The covariance of whole curves, by T's own workloads.
    chosen, weights = np.arange(R), np.ones(len(alone.workloads))
    if most < R:
        chosen = nearest_references(alone, separate_parts(alone, fill_gaps=False), weights, most)
    # A workload that none of those was measured with cannot be filled in.
    can_be_known = evidence.measured_on_target | evidence.is_known[chosen].any(axis=0)
    evidence = evidence.of_workloads(np.flatnonzero(can_be_known))
    missing = np.flatnonzero(~evidence.measured_on_target)
    nearest = alone.nearest(chosen)
    parts = separate_parts(nearest)
    knots = np.full((1, len(evidence.n)), 1.0 / len(evidence.n))
    covariance, _ = behaviour_covariances(parts, weights, metadata_covariance(nearest, h), knots, h)
    u, _, projections = ordinary_weights(noisy_inverses(covariance, h.noise), covariance, h)
    # The missing workloads less the speeds, kriged to T, and how wrong that would be on the references.
    gaps = chosen[:, None], missing
    values = (evidence.curves[:, *gaps] - parts.speed[:, :-1, None]) * evidence.is_known[gaps]
    values = without_gaps(values, evidence.is_known[gaps], projections[0])
    curves, is_known, errors = evidence.curves.copy(), evidence.is_known.copy(), np.zeros(evidence.curves[:, :-1].shape)
    curves[:, -1, missing] = u[0] @ values + parts.speed[:, -1:]
    is_known[-1, missing] = True
    families, _ = left_out_families(evidence.platforms[chosen], evidence.target, evidence.metadata)
    errors[:, *gaps], _ = left_out_errors(projections, projections @ values, families)
    return replace(evidence, curves=curves, is_known=is_known, fill_errors=errors).nearest(references)


def without_gaps(values: FloatArray, is_known: BoolArray, projection: FloatArray) -> FloatArray:
    """Values (J, R, B) with those that are not known (R, B) kriged from the others: to T they add nothing.

    Of each column (b, j) the missing m are those with (projection value)_m = 0.
    """
    gaps = np.count_nonzero(~is_known, axis=0)
    order = np.argsort(is_known, axis=0, kind="stable").T  # of every column: what is missing, then what is known
    filled = values.copy()
    for size in np.unique(gaps[gaps > 0]).tolist():
        columns = np.flatnonzero(gaps == size)[:, None]
        missing = order[columns[:, 0], :size]
        products = projection[missing] @ values.transpose(2, 1, 0)[columns[:, 0]]
        block = projection[missing[:, :, None], missing[:, None, :]]
        filled[:, missing, columns] = -np.linalg.solve(block, products).transpose(2, 0, 1)
    return filled
