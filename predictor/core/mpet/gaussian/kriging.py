"""Ordinary kriging: values on T from the values on the references, for several covariances at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.robust import MEDIAN_TO_SIGMA, finite_median
from profiles.arrays import FloatArray, IntArray

LEAST_ADDED_NOISE = 1e-9  # in units of the process's variance: adding it changes nothing
LEAST_KRIGING_VARIANCE = 1e-9  # in the same units: rounding must not make a variance 0 or less
LEAST_TYPICAL_SQUARE = 1e-18  # of leave-one-out residuals: where all are 0 none is out of proportion
EXCESS_NOISE_SHARE = 0.5  # of the noise that would bring a residual out of proportion back to the limit
FEWEST_CHOLESKY_REFERENCES = 40  # below, one call for all matrices costs less than a faster algorithm for each


class KrigingResult(NamedTuple):
    """The weights of the references (K, R), sum 1, and what they give for each covariance's values.

    `projections` (K, R, R) take values to leave-one-out residuals times their own diagonal, and `added` (K, R) is the
    noise that outlying references got, in units of the process's variance. Of all F columns of values, one covariance
    after the other: `scale` (F,), the variance of the process, and `variance` (F,), that of the value on T.
    """

    weights: FloatArray
    variance: FloatArray
    projections: FloatArray
    scale: FloatArray
    added: FloatArray


def krige(
    covariances: FloatArray, values: Sequence[FloatArray], noise: FloatArray, h: Hyperparameters = DEFAULTS
) -> KrigingResult:
    """Ordinary kriging to T, the last of `covariances` (K, R + 1, R + 1), of each one's own `values` (R, any).

    `noise` (K, R) is added to the references' own; outlying ones get more.

    Example: T is like the first of two references, whose values are 1 and 3: it is nearly 1.

    >>> covariance = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.8, 0.0, 1.0]])
    >>> values = np.array([[1.0], [3.0]])
    >>> kriged = krige(covariance[None], [values], noise=np.full((1, 2), 0.02))
    >>> kriged.weights.round(3).tolist(), (kriged.weights @ values).round(3).tolist()
    ([[0.892, 0.108]], [[1.216]])
    """
    covariance_of = np.repeat(np.arange(len(values)), [columns.shape[1] for columns in values])
    inverses, added = _without_outliers(_noisy_inverses(covariances, noise), values, covariance_of, h)
    weights, variance, projections = ordinary_weights(inverses, covariances, h)
    rows = np.concatenate([columns.T for columns in values])
    scale = np.einsum("fr,fr->f", rows, _products(projections, values)) / rows.shape[1]
    return KrigingResult(weights, variance[covariance_of] * scale, projections, scale, added)


def _products(matrices: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
    """Each symmetric matrix times the columns of its values (R, any), as rows (F, R)."""
    return np.concatenate([columns.T @ matrix for columns, matrix in zip(values, matrices, strict=True)])


def krige_once(covariance: FloatArray, h: Hyperparameters = DEFAULTS) -> tuple[FloatArray, FloatArray]:
    """Weights (R,) and projection (R, R), whatever the values.

    >>> weights, _ = krige_once(np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.8, 0.0, 1.0]]))
    >>> weights.round(3).tolist()
    [0.892, 0.108]
    """
    noise = np.full((1, len(covariance) - 1), h.noise)
    weights, _, projections = ordinary_weights(_noisy_inverses(covariance[None], noise), covariance[None], h)
    return weights[0], projections[0]


def ordinary_weights(
    inverses: FloatArray, covariances: FloatArray, h: Hyperparameters
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights (K, R), variances (K,) in units of the process's, and projections, by the references' inverses.

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
    return weights, np.maximum(variance, LEAST_KRIGING_VARIANCE), inverses


def _without_outliers(
    inverses: FloatArray, values: Sequence[FloatArray], covariance_of: IntArray, h: Hyperparameters
) -> tuple[FloatArray, FloatArray]:
    """The inverses after noise was added where leave-one-out residuals are out of proportion (Woodbury); the noise."""
    rows = inverses.sum(axis=2)
    squares = _products(inverses, values)
    squares -= rows[covariance_of] * (squares.sum(axis=1) / rows.sum(axis=1)[covariance_of])[:, None]
    squares **= 2
    own = np.diagonal(inverses, axis1=1, axis2=2)
    squares /= own[covariance_of]
    squares /= h.robust**2 * MEDIAN_TO_SIGMA**2 * finite_median(squares, axis=1)[:, None] + LEAST_TYPICAL_SQUARE
    count = np.bincount(covariance_of)
    excess = np.add.reduceat(squares, np.cumsum(count) - count, axis=0) / count[:, None] - 1.0
    excess = np.maximum(excess, 0.0, out=excess)
    added = (h.noise + 1.0 / own) * excess * EXCESS_NOISE_SHARE
    most = int((excess > 0).sum(axis=1).max())
    if most:
        out = np.argsort(-excess, axis=1)[:, :most]
        k = np.arange(len(out))[:, None]
        columns = inverses[k, out]
        block = columns.transpose(0, 2, 1)[k, out]
        block.reshape(len(out), -1)[:, :: most + 1] += 1.0 / np.maximum(added[k, out], LEAST_ADDED_NOISE)
        inverses -= columns.transpose(0, 2, 1) @ np.linalg.solve(block, columns)
    return inverses, added


def _noisy_inverses(covariances: FloatArray, noise: FloatArray) -> FloatArray:
    """The inverses of the references' part (K, R, R), symmetric and positive definite, with noise on its diagonal.

    They are made by Cholesky: inverting by halves is faster, but loses all digits where R is some hundreds.
    """
    matrices = _noisy(covariances, noise)
    R = matrices.shape[1]
    if R < FEWEST_CHOLESKY_REFERENCES:
        return np.asarray(np.linalg.inv(matrices))
    for k, matrix in enumerate(matrices):
        if not invert_definite(matrix):
            matrix[:] = np.linalg.inv(_noisy(covariances[k : k + 1], noise[k : k + 1]))[0]
    return matrices


def invert_definite(matrix: FloatArray) -> bool:
    """Invert a symmetric positive definite matrix in its place, by Cholesky. False: it is not definite, and spoilt.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> invert_definite(matrix), matrix.round(3).tolist()
    (True, [[0.667, -0.333], [-0.333, 0.667]])
    """
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # transposed: Fortran's order
    if failed:
        return False
    half = dpotri(factor, lower=1, overwrite_c=1)[0].T  # one triangle, the other is 0
    np.add(half, half.T, out=matrix)
    matrix.flat[:: len(matrix) + 1] /= 2.0
    return True


def _noisy(covariances: FloatArray, noise: FloatArray) -> FloatArray:
    matrices = covariances[:, :-1, :-1].copy()
    K, R, _ = matrices.shape
    matrices.reshape(K, R * R)[:, :: R + 1] += noise
    return matrices
