"""A Gaussian process over platforms: which references count for A on T, with what weight, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from predictor.core.database import FloatArray, IntArray
from predictor.core.transfer.calibration import half_width
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.transfer import Transfer

ROUNDS = 4
MOST_IN_MEDIAN = 48  # platforms
MEAN_TO_SIGMA = 1.2533  # of a normal distribution's mean absolute deviation
TINY = 1e-12


@dataclass(frozen=True)
class Hyperparameters:
    """One set for every database, chosen on public data (docs/method-mpet.md)."""

    workload_floor: float = 0.1  # a workload that tells nothing about A counts as a correlation of so much
    workload_power: float = 2.0
    nearness: float = 0.32  # in (ln n)^2: how far along the curve behaviour is evidence
    linear: float = 2.0
    smooth: float = 1.0
    smooth_length: float = 2.0
    short: float = 0.6
    short_length: float = 0.09
    shape: float = 0.2
    level: float = 0.05
    metadata: float = 0.5
    metadata_length: float = 4.0
    cpu_model: float = 0.1
    twin_cpu_model: float = 0.5  # the same where a reference has T's cpu_model
    twin_microarchitecture: float = 0.2
    noise: float = 0.02
    outside_noise: float = 0.6
    robust: float = 3.5  # residuals beyond so many standard deviations get more noise
    ridge: float = 2.0  # of the workloads' residuals, in units of their variance
    clip: float = 3.0  # standard deviations: larger residuals count as so large
    shift: float = 0.7  # of the variance, towards the median of relative errors
    most_shift: float = 0.35


DEFAULTS = Hyperparameters()


@dataclass(frozen=True, eq=False)
class Parts:
    """curves = workload part (B, J) + speed (P, J) + rest (P, B, J), the rest 0 where unknown."""

    speed: FloatArray
    rest: FloatArray
    own: FloatArray  # (R, J): A's curve on the references less their speed


def separate(evidence: Evidence) -> Parts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating means."""
    known = evidence.known.astype(np.float64)
    per_workload, per_platform = np.maximum(known.sum(axis=0), 1), np.maximum(known.sum(axis=1), 1)
    over_platforms, over_workloads = evidence.curves.sum(axis=0), evidence.curves.sum(axis=1)
    speed = np.zeros_like(over_workloads)
    for _ in range(ROUNDS):
        workload = (over_platforms - known.T @ speed) / per_workload[:, None]
        speed = (over_workloads - known @ workload) / per_platform[:, None]
    rest = evidence.curves - workload - speed[:, None]
    rest *= known[:, :, None]
    return Parts(speed, rest, evidence.of_workload - speed[:-1])


def correlations(parts: Parts) -> FloatArray:
    """Of every workload's deviations from the platforms' speed with A's, over references and knots, (B,)."""
    own = parts.own - parts.own.mean(axis=0)
    rest = parts.rest[:-1] - parts.rest[:-1].mean(axis=0)
    scale = np.sqrt((own**2).sum() * np.einsum("pbj,pbj->b", rest, rest)) + TINY
    return np.asarray(np.einsum("pj,pbj->b", own, rest) / scale)


def workload_weights(parts: Parts, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each known workload counts: by how alike it and A deviate from the platforms' speed, (B,)."""
    weights = (h.workload_floor + np.abs(correlations(parts))) ** h.workload_power
    return np.asarray(weights / np.sqrt((weights**2).mean()))


def nearest_references(
    evidence: Evidence, parts: Parts, weights: FloatArray, metadata: PlatformMetadata, most: int
) -> IntArray:
    """The `most` references most like T in behaviour and on paper, in platform order."""
    gap = parts.rest[:-1] - parts.rest[-1]
    distance = np.einsum("pbj,pbj,b->p", gap, gap, weights**2) / gap[0].size
    shape = parts.speed - parts.speed.mean(axis=1, keepdims=True)
    distance += ((shape[:-1] - shape[-1]) ** 2).mean(axis=1)
    distance /= np.median(distance) + TINY
    on_paper = metadata.vectors[evidence.platforms] - metadata.vectors[evidence.target]
    distance += 0.3 * (on_paper**2).sum(axis=1) + evidence.outside.mean(axis=1)
    return np.sort(np.argsort(distance, kind="stable")[:most])


def gaussian_transfer(
    evidence: Evidence, parts: Parts, metadata: PlatformMetadata, level: float, h: Hyperparameters = DEFAULTS
) -> Transfer:
    """Krige A's deviations from the references' speed, then what T's workloads leave unexplained.

    t = s(T) + sum_p u_p (z(p,A) - s(p)) + sum_b v_b (e(T,b) - sum_p u_p e(p,b)), sum u = 1.
    """
    weights = workload_weights(parts, h)
    near = covariance(evidence, parts, weights, metadata, h)
    kriged = [
        krige(near.matrix[j], parts.own[:, j], h.noise + h.outside_noise * evidence.outside[:, j] ** 2, h)
        for j in range(len(evidence.n))
    ]
    value = np.array([one.value for one in kriged])
    variance = np.array([one.variance for one in kriged])
    projections = np.stack([one.projection for one in kriged])
    platform_weights = np.stack([one.weights for one in kriged])
    rest = (parts.rest @ _nearness(evidence, h).T).transpose(2, 0, 1)
    errors = rest[:, -1] - np.einsum("jp,jpb->jb", platform_weights, rest[:, :-1])
    value += unexplained(projections, parts.own.T, rest[:, :-1], errors, h)
    return Transfer(
        value=parts.speed[-1] + value - np.minimum(h.shift * variance, h.most_shift),
        half_width=half_width(
            evidence,
            metadata,
            projections=projections,
            variances=variance,
            own=parts.own.T,
            rest=rest[:, :-1],
            unexplained=errors,
            weights=weights,
            level=level,
        ),
        platform_weights=platform_weights,
        workload_weights=weights**2 / (weights**2).sum(),
        platform_distance=1.0 - np.exp(-near.distance.mean(axis=0) / 2),
        workload_distance=1.0 - np.abs(np.clip(correlations(parts), -1.0, 1.0)),
    )


def unexplained(
    projections: FloatArray, own: FloatArray, rest: FloatArray, errors: FloatArray, h: Hyperparameters = DEFAULTS
) -> FloatArray:
    """What A's value on T gains from what the same kriging gets wrong about T's known workloads, (J,).

    Each reference is predicted from the others, A and the known workloads alike; a ridge regression of A's errors on
    the workloads' errors, over all references and knots, is applied to the errors on T.

    Parameters: `own` (J, R) of A, `rest` (J, R, B) of the known workloads, `errors` (J, B) theirs on T.
    """
    diagonal = np.diagonal(projections, axis1=1, axis2=2)
    known = (projections @ rest) / diagonal[:, :, None]
    y = (projections @ own[:, :, None])[:, :, 0] / diagonal
    X, x = _clipped(known, errors, h.clip)
    y, _ = _clipped(y, y, h.clip)
    deviation = np.sqrt((X**2).mean(axis=(0, 1))) + TINY
    X = (X / deviation).reshape(-1, X.shape[2])
    products = X.T @ X / len(X) + h.ridge * np.eye(X.shape[1])
    return np.asarray((x / deviation) @ np.linalg.solve(products, X.T @ y.ravel() / len(X)))


def _clipped(residuals: FloatArray, others: FloatArray, most: float) -> tuple[FloatArray, FloatArray]:
    """Both within `most` robust standard deviations of the residuals (J, R, ...), at each knot."""
    limit = most * MEAN_TO_SIGMA * np.abs(residuals).mean(axis=1, keepdims=True)
    inner = limit.reshape(len(residuals), *residuals.shape[2:]) if others.ndim < residuals.ndim else limit
    return np.clip(residuals, -limit, limit), np.clip(others, -inner, inner)


class Covariance(NamedTuple):
    """`matrix` (J, R + 1, R + 1), T last; `distance` (J, R) to T, in units of the median between references."""

    matrix: FloatArray
    distance: FloatArray


def covariance(
    evidence: Evidence, parts: Parts, weights: FloatArray, metadata: PlatformMetadata, h: Hyperparameters = DEFAULTS
) -> Covariance:
    """How alike A behaves on any two platforms, at each knot."""
    R = len(evidence.platforms)
    shape = parts.speed - parts.speed.mean(axis=1, keepdims=True)
    level = parts.speed.mean(axis=1)
    slope = shape @ shape.T / shape.shape[1]
    gram = _behaviour(evidence, parts, weights, h)
    own = np.diagonal(gram, axis1=1, axis2=2)
    distance = gram * -2.0
    distance += own[:, :, None]
    distance += own[:, None, :]
    np.maximum(distance, 0.0, out=distance)
    distance += _squared_distances(slope) + h.level * (level[:, None] - level) ** 2
    typical = _typical(distance[:, :R, :R])[:, None, None]
    to_target = distance[:, :R, R] / typical[:, 0]

    matrix = gram
    matrix *= (h.linear / (own[:, :R].mean(axis=1) + TINY))[:, None, None]
    matrix += h.shape * slope / (np.diag(slope)[:R].mean() + TINY) + _on_paper(evidence, metadata, h)
    distance /= -typical * h.smooth_length
    smooth = np.exp(distance)
    smooth *= h.smooth
    matrix += smooth
    distance *= -h.smooth_length / h.short_length
    np.sqrt(distance, out=distance)
    np.negative(distance, out=distance)
    np.exp(distance, out=distance)
    distance *= h.short
    matrix += distance
    return Covariance(matrix, to_target)


def _typical(distance: FloatArray) -> FloatArray:
    """The median distance between two references, from some of them, (J,)."""
    step = -(-distance.shape[1] // MOST_IN_MEDIAN)
    some = distance[:, ::step, ::step]
    upper = np.triu_indices(some.shape[1], 1)
    return np.asarray(np.median(some[:, upper[0], upper[1]], axis=1) + TINY)


def _behaviour(evidence: Evidence, parts: Parts, weights: FloatArray, h: Hyperparameters) -> FloatArray:
    """Scalar products of the platforms' weighted rests, (J, P, P): at each knot those of near knots count."""
    P, B, J = parts.rest.shape
    weighted = np.ascontiguousarray((parts.rest * weights[:, None]).transpose(2, 0, 1))
    grams = np.stack([one @ one.T for one in weighted])
    return np.asarray((_nearness(evidence, h) @ grams.reshape(J, -1)).reshape(J, P, P) / B)


def _nearness(evidence: Evidence, h: Hyperparameters) -> FloatArray:
    """How much each knot tells about each, (J, J); rows sum to 1."""
    near = np.exp(-((evidence.log_n[:, None] - evidence.log_n) ** 2) / h.nearness)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def _on_paper(evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters) -> FloatArray:
    index = np.append(evidence.platforms, evidence.target)
    vectors, cpu = metadata.vectors[index], metadata.cpu[index]
    alike = np.exp(-_squared_distances(vectors @ vectors.T) / h.metadata_length)
    if not (cpu[:-1] == cpu[-1]).any():
        return np.asarray(h.metadata * alike + h.cpu_model * (cpu[:, None] == cpu))
    family = metadata.microarchitecture[index]
    related = h.twin_cpu_model * (cpu[:, None] == cpu) + h.twin_microarchitecture * (family[:, None] == family)
    return np.asarray(h.metadata * alike + related)


def _squared_distances(products: FloatArray) -> FloatArray:
    own = np.diag(products)
    return np.maximum(own[:, None] + own - 2 * products, 0.0)


class Kriged(NamedTuple):
    """The weights of the references (sum 1), the value they give, its variance.

    `projection` (R, R) takes values to leave-one-out residuals times its own diagonal.
    """

    weights: FloatArray
    value: float
    variance: float
    projection: FloatArray


def krige(covariance: FloatArray, values: FloatArray, noise: FloatArray, h: Hyperparameters = DEFAULTS) -> Kriged:
    """Ordinary kriging of `values` (R,) to T, the last of `covariance`; outlying values get more noise."""
    R = len(values)
    matrix = covariance[:R, :R].copy()
    matrix[np.arange(R), np.arange(R)] += noise
    inverse = _without_outliers(_inverse(matrix), values, h)
    rows = inverse.sum(axis=1)
    total = rows.sum()
    residual = values - rows @ values / total
    scale = float(residual @ inverse @ residual) / R
    to_target = covariance[:R, R]
    through = inverse @ to_target
    free = 1.0 - rows @ to_target
    weights = through + rows * free / total
    variance = float(covariance[R, R] - to_target @ through + h.noise + free**2 / total)
    projection = inverse - rows[:, None] * (rows / total)
    return Kriged(weights, float(weights @ values), max(variance, 1e-9) * scale, projection)


def _without_outliers(inverse: FloatArray, values: FloatArray, h: Hyperparameters) -> FloatArray:
    """The inverse after noise was added where the leave-one-out residual is out of proportion (Woodbury)."""
    rows = inverse.sum(axis=1)
    residual = np.abs(inverse @ values - rows * (rows @ values) / rows.sum())
    own = np.diag(inverse)
    ratio = residual / np.sqrt(own)
    ratio /= h.robust * 1.4826 * np.median(ratio) + 1e-9
    out = np.flatnonzero(ratio > 1)
    if not len(out):
        return inverse
    more = (h.noise + 1.0 / own[out]) * (ratio[out] ** 2 - 1.0) / 2.0
    block = np.diag(1.0 / more) + inverse[np.ix_(out, out)]
    return np.asarray(inverse - inverse[:, out] @ np.linalg.solve(block, inverse[out]))


def _inverse(matrix: FloatArray) -> FloatArray:
    """Of a symmetric positive definite matrix, by Cholesky; a third of the time of a general inverse."""
    factor, failed = dpotrf(matrix.T, lower=1, clean=1)  # transposed: Fortran's order
    if failed:
        return np.asarray(np.linalg.inv(matrix))
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    return np.asarray(lower + np.tril(lower, -1).T)
