"""Numerical helpers of the methods: robust statistics, linear algebra for kriging, measurement noise, and interval
widths calibrated by left-out errors."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import stdtrit

from profiles.arrays import BoolArray, FloatArray, IntArray

TINY = 1e-12  # added to divisors so that they are never 0
MEAN_TO_SIGMA = 1.2533  # standard deviation of a normal distribution in mean absolute deviations
MEDIAN_TO_SIGMA = 1.4826  # standard deviation of a normal distribution in median absolute deviations
CHOICE_POWER = 4.0  # exponent of the inverse mean squared error by which predictions are weighted
FEWEST = 3  # least number of workloads, references or errors for a statistic of them
FEW_FAMILIES_CORRECTION = 0.3  # relative increase of the level, divided by the number of families
DISTURBANCE = 0.2  # relative increase of the time of a disturbed run, in ln t (docs/method-mpet.md)


def clip_to(values: FloatArray, limit: FloatArray | float) -> FloatArray:
    """Return the values clipped to -limit..limit. Much faster than numpy's clip on small arrays.

    >>> clip_to(np.array([-3.0, 0.5, 2.0]), 1.0).tolist()
    [-1.0, 0.5, 1.0]
    """
    clipped = np.maximum(values, -limit)
    return np.asarray(np.minimum(clipped, limit, out=clipped))


def finite_median(values: FloatArray, axis: int = 0) -> FloatArray:
    """Return the median of finite values along an axis. Much faster than numpy's on small arrays, because it does not
    check for NaN.

    >>> finite_median(np.array([[4.0, 1.0, 2.0, 9.0], [0.0, 0.0, 1.0, 1.0]]), axis=1).tolist()
    [3.0, 0.5]
    """
    count = values.shape[axis]
    ascending = np.sort(values, axis=axis)
    return np.asarray((ascending.take((count - 1) // 2, axis) + ascending.take(count // 2, axis)) / 2)


def known_median(values: FloatArray) -> FloatArray:
    """Return the median of values (P, B, ...) along the second axis, ignoring NaN; NaN where all values are NaN.

    All rows are sorted at once.

    >>> known_median(np.array([[4.0, np.nan, 1.0], [np.nan] * 3, [2.0, 9.0, 1.0]])).tolist()
    [2.5, nan, 2.0]
    """
    ascending = np.sort(values, axis=1)  # NaN last
    count = np.maximum(np.count_nonzero(~np.isnan(values), axis=1, keepdims=True), 1)
    middle = [np.take_along_axis(ascending, place, axis=1)[:, 0] for place in ((count - 1) // 2, count // 2)]
    return np.asarray((middle[0] + middle[1]) / 2)


def known_mean(values: FloatArray, weights: FloatArray, axis: int) -> FloatArray:
    """Return the weighted mean of the values over an axis, ignoring NaN; NaN where all values are NaN.

    >>> known_mean(np.array([[1.0, np.nan, 4.0], [np.nan] * 3]), np.array([2.0, 1.0, 1.0]), axis=1).tolist()
    [2.0, nan]
    """
    known = np.ma.array(values, mask=np.isnan(values))
    mean = np.ma.average(known, axis=axis, weights=np.broadcast_to(weights, values.shape))
    return np.asarray(np.ma.filled(mean, np.nan))


def lower_medians(rows: FloatArray, counts: IntArray) -> FloatArray:
    """Return the lower median of the `counts` finite values of each row; 0 where the count is 0. All other values are
    infinite.

    >>> lower_medians(np.array([[3.0, np.inf, 1.0, 2.0], [np.inf] * 4]), np.array([3, 0])).tolist()
    [2.0, 0.0]
    """
    ascending = np.sort(rows, axis=1)
    middle = ascending[np.arange(len(rows)), np.maximum(counts - 1, 0) // 2]
    return np.where(counts > 0, middle, 0.0)


def shares_by_error(log_squares: FloatArray) -> FloatArray:
    """Return the weights of several predictions from the logarithms of their mean squared errors.

    The weights are proportional to (mean squared error)^-4 and have the sum 1.

    >>> shares_by_error(np.log([1.0, 2.0])).round(3).tolist()
    [0.941, 0.059]
    """
    shares = np.exp(CHOICE_POWER * (log_squares.min() - log_squares))
    return np.asarray(shares / shares.sum())


def squared_distances(gram: FloatArray) -> FloatArray:
    """Return the squared distances between P vectors from their scalar products (..., P, P). Those that are not larger
    than rounding errors are 0.

    >>> squared_distances(np.array([[1.0, 2.0], [2.0, 4.0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    squares = diagonal[..., :, None] + diagonal[..., None, :]
    squares -= 2.0 * gram
    squares[squares < TINY * diagonal.max(initial=0.0)] = 0.0
    return squares


def invert_definite(matrix: FloatArray) -> None:
    """Invert a symmetric positive definite matrix in place, by Cholesky decomposition; a matrix that is not positive
    definite is inverted by LU decomposition.

    Blockwise inversion would be faster, but it loses all digits when R is several hundred.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> invert_definite(matrix)
    >>> matrix.round(3).tolist()
    [[0.667, -0.333], [-0.333, 0.667]]
    """
    factor, failed = dpotrf(matrix.T, lower=1)  # transposed for Fortran's memory order
    if failed:
        matrix[:] = np.linalg.inv(matrix)
        return
    half = dpotri(factor, lower=1, overwrite_c=1)[0].T  # one triangle of the inverse; the other is 0
    np.add(half, half.T, out=matrix)
    matrix.flat[:: len(matrix) + 1] /= 2.0


def noisy_inverses(covariances: FloatArray, noise: FloatArray | float) -> FloatArray:
    """Return the inverses of the references' part (J, R, R) of the covariances, symmetric and positive definite, after
    adding noise to its diagonal."""
    matrices = covariances[:, :-1, :-1].copy()
    J, R, _ = matrices.shape
    matrices.reshape(J, R * R)[:, :: R + 1] += noise
    for matrix in matrices:
        invert_definite(matrix)
    return matrices


def left_out_errors(projections: FloatArray, products: FloatArray, families: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the errors of kriging each platform without its own family, and the expected variances of these errors.

    They follow from the projections of the kriging by block deletion, without another fit:

        error_f = Q_ff^-1 (Q y)_f,    variance_f = diag(Q_ff^-1) in units of the process variance

    Parameters: `projections` (J, R, R), Q at each thread count, or (1, R, R), one for all; `products` (J, R, C), Q y
    for known values y; `families` (R,). Returns errors (J, R, C) in the unit of y, and variances (J, R). If one family
    has all platforms, its errors are NaN.

    >>> projection = np.array([[[2.0, -2.0], [-2.0, 2.0]]])
    >>> errors, variances = left_out_errors(projection, projection @ np.array([[1.0], [4.0]]), np.array([0, 1]))
    >>> errors.ravel().tolist(), variances.ravel().tolist()
    ([-3.0, 3.0], [0.5, 0.5])
    """
    variances = 1.0 / np.diagonal(projections, axis1=1, axis2=2)
    errors = products * variances[:, :, None]
    sizes, order = np.bincount(families), np.argsort(families, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 1]).tolist():
        members = order[starts[sizes == size][:, None] + np.arange(size)]  # (families of this size, size)
        if size == len(families):
            errors[:], variances[:] = np.nan, np.nan
        else:
            inverse = np.linalg.inv(projections[:, members[:, :, None], members[:, None, :]])
            errors[:, members] = inverse @ products[:, members]
            variances[:, members] = np.diagonal(inverse, axis1=2, axis2=3)
    return errors, variances


def squares_with_single_runs(errors: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return the squared standard errors of ln t. A pair that was measured once has the variance of one run on the
    platform.

        q(p,b) = e(p,b)^2 if b was repeated on p, else the mean of s(p,b')^2 over the b' that were repeated on p,
        else, if nothing was repeated on p, the mean of s^2 over all platforms

    Runs on the same platform have similar errors (docs/method-mpet.md).

    Parameters: standard errors e and standard deviations s of one run (P, W), of ln t; NaN where nothing was repeated
    or measured.
    Returns (P, W), of ln t squared; 0 if nothing was repeated on any platform.

    >>> nan = np.nan
    >>> squares_with_single_runs(np.array([[0.01, nan], [nan, nan]]), np.array([[0.02, nan], [nan, nan]])).tolist()
    [[0.0001, 0.0004], [0.0004, 0.0004]]
    """
    known = np.isfinite(deviations)
    squares = np.where(known, deviations, 0.0) ** 2
    of_all = squares.sum() / max(known.sum(), 1)
    of_platform = np.where(known.any(axis=1), squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1), of_all)
    return np.where(np.isnan(errors), of_platform[:, None], errors**2)


def variance_of_means(squares: FloatArray, disturbed: FloatArray, v: FloatArray) -> FloatArray:
    """Return the variance that noise causes in the weighted mean over workloads of each platform.

        V_p = sum_b v_b^2 q(p,b) + 0.2^2 (sum_b v_b f(p,b))^2

    q is the squared standard error of each measurement; these errors are independent. f is the share of disturbed runs.
    A disturbance that slows one workload on a platform also slows the others, so disturbances add up.

    Parameters: `squares` q and `disturbed` f (P, B), 0 where unknown; `v` (B,), of sum 1.
    Returns (P,), of ln t squared.

    >>> variance_of_means(np.array([[0.01, 0.03]]), np.array([[0.0, 1.0]]), np.array([0.5, 0.5])).round(9).tolist()
    [0.02]
    """
    return np.asarray(squares @ v**2 + (DISTURBANCE * (disturbed @ v)) ** 2)


def carried_variance(squares: FloatArray, disturbed: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """Return the variance that noise causes in an answer that is transferred from references with workloads.

        t = sum_p u_p (z(p,A) + sum_b v_b (z(T,b) - z(p,b)))
        V = sum_p u_p^2 (q(p,A) + 0.2^2 f(p,A)^2 + sum_b v_b^2 q(p,b)) + V_T

    V_T is the result of `variance_of_means`, which also defines q and f. The disturbances of a reference's other
    workloads are not included; they would cancel a part of those of A.

    Parameters: `squares` q and `disturbed` f (R + 1, B + 1), T and A last, 0 where unknown; `u` (J, R), of sum 1 at
    each knot; `v` (B,), of sum 1. Returns (J,), of ln t squared.

    >>> q, u, v = np.array([[0.0, 0.03], [0.04, 0.0]]) ** 2, np.ones((1, 1)), np.ones(1)
    >>> [carried_variance(q, f, u, v).round(9).tolist() for f in (np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]]))]
    [[0.0025], [0.0425]]
    """
    of_references = squares[:-1, -1] + squares[:-1, :-1] @ v**2 + (DISTURBANCE * disturbed[:-1, -1]) ** 2
    return np.asarray(u**2 @ of_references + variance_of_means(squares[-1:, :-1], disturbed[-1:, :-1], v))


def least_squares_parts(curves: FloatArray, is_known: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Split curves (J, P, B) into workload parts (J, B), platform parts (J, P) and rests (J, P, B) by least squares.

        (diag(k) - N' diag(1 / c) N) workload = sum_p (z_p - mean of z_p over its c_p workloads)

    N (P, B) is 1 where a curve is known and 0 elsewhere; c_p is the number of known curves of platform p, and k_b that
    of workload b. Unknown curves must be 0, and their rests are 0.

    >>> curves = np.array([[[0.0, 2.0, 3.0], [1.0, 3.0, 0.0]]])
    >>> workload, speed, rest = least_squares_parts(curves, np.array([[True, True, True], [True, True, False]]))
    >>> (workload + speed[:, :1]).round(4).tolist(), np.abs(rest).max() < 1e-5
    ([[0.0, 2.0, 3.0]], np.True_)
    """
    counts = is_known.astype(np.float64)
    of_platforms, per_platform = curves.sum(axis=2), np.maximum(counts.sum(axis=1), TINY)
    share = counts.T / per_platform
    # The equations leave the mean of the workload parts open. It is set to 0, so that the platform parts contain it.
    equations = np.diag(counts.sum(axis=0) + math.sqrt(TINY)) - share @ counts + 1.0 / len(share)
    workload = np.linalg.solve(equations, (curves.sum(axis=1) - of_platforms @ share.T).T).T
    speed = (of_platforms - workload @ counts.T) / per_platform
    rest = curves - workload[:, None]
    rest -= speed[:, :, None]
    rest *= is_known
    return workload, speed, rest


def without_gaps(values: FloatArray, is_known: BoolArray, projection: FloatArray) -> FloatArray:
    """Return values (J, R, B), in which those that are not known (R, B) are predicted from the others by a covariance.

    The missing values m of each column (b, j) are those for which (projection value)_m = 0. `projection` (R, R) is the
    inverse of the covariance, or that of ordinary kriging (`ordinary_weights`); in the latter case the filled values do
    not change the prediction for T.

    >>> inverse = np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> without_gaps(np.array([[[4.0, 3.0], [0.0, 5.0]]]), np.array([[True, True], [False, True]]), inverse).tolist()
    [[[4.0, 3.0], [2.0, 5.0]]]
    """
    gaps = np.count_nonzero(~is_known, axis=0)
    order = np.argsort(is_known, axis=0, kind="stable").T  # of each column: missing platforms first
    filled = values.copy()
    for size in np.unique(gaps[gaps > 0]).tolist():
        columns = np.flatnonzero(gaps == size)[:, None]
        missing = order[columns[:, 0], :size]
        products = projection[missing] @ values.transpose(2, 1, 0)[columns[:, 0]]
        block = projection[missing[:, :, None], missing[:, None, :]]
        filled[:, missing, columns] = -np.linalg.solve(block, products).transpose(2, 0, 1)
    return filled


def normal_factor(level: float) -> float:
    """Return the number of standard deviations to each side that contain `level` of a normal distribution.

    >>> round(normal_factor(0.9), 3)
    1.645
    """
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def uncalibrated_factor(level: float) -> float:
    """Return the number of standard deviations that contain `level` if no left-out errors can calibrate them: that of
    Student's t distribution with two degrees of freedom.

    >>> round(uncalibrated_factor(0.9), 2)
    2.92
    """
    return float(stdtrit(FEWEST - 1.0, (1.0 + level) / 2.0))


def conformal_factor(scores: FloatArray, usable: BoolArray, level: float, units: int) -> float:
    """Return the number of standard deviations that contain `level` of the left-out errors.

    A score is |error| / standard deviation of a known value that was predicted as if it were unknown. The factor is the
    smallest score with at least (count + 1) times

        min(level (1 + 0.3 / units), 1)

    scores at or below it. Units are the objects that are exchangeable with the target: platforms, or families of
    platforms that were left out together. If (units + 1) level > units, the factor is multiplied by 1 + 1 / units.

    Parameters: `scores` of any shape; `usable`, which of them count; 0 < `level` < 1.
    Returns a number without unit; with fewer than 3 usable scores or units that of `uncalibrated_factor`.

    >>> scores = np.arange(1, 100)[None] / 100
    >>> round(conformal_factor(scores, scores > 0, 0.9, 99), 2)
    0.91
    """
    pooled = scores[usable]
    if len(pooled) < FEWEST or units < FEWEST:
        return uncalibrated_factor(level)
    wanted = min(level * (1.0 + FEW_FAMILIES_CORRECTION / units), 1.0)
    rank = min(math.ceil((len(pooled) + 1) * wanted), len(pooled)) - 1
    factor = float(np.partition(pooled, rank)[rank])
    return factor * (1.0 + 1.0 / units) if (units + 1) * level > units else factor


def family_factor(scores: FloatArray, families: IntArray, level: float) -> float:
    """Return the number of deviations that contain `level` of the left-out errors (B, J), with equal weight for each
    family.

    If workloads were left out one by one, they are exchangeable with A, and the level is increased as in
    `conformal_factor`.

    >>> round(family_factor(np.arange(1, 100)[:, None] / 100, np.arange(99), 0.9), 2)
    0.9
    """
    if len(scores) < FEWEST:
        return uncalibrated_factor(level)
    sizes = np.bincount(families)
    if len(sizes) == len(families):
        level = min(level * (1.0 + FEW_FAMILIES_CORRECTION / len(families)), 1.0)
    flat, weights = scores.ravel(), np.repeat(1.0 / sizes[families], scores.shape[1])
    order = np.argsort(flat, kind="stable")
    total = np.cumsum(weights[order])
    reached = int(np.searchsorted(total, level * total[-1] * (1.0 - TINY)))
    return float(flat[order[min(reached, len(flat) - 1)]])


def mean_square(errors: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weighted mean square (J,) of errors (J, K) in ln t at each n, ignoring NaN.

    >>> mean_square(np.array([[1.0, np.nan], [3.0, 1.0]]), np.array([1.0, 1.0])).round(6).tolist()
    [1.0, 5.0]
    """
    known = ~np.isnan(errors)
    squares = np.where(known, errors**2, 0.0)
    return np.asarray(squares @ weight / np.maximum(known @ weight, TINY) + TINY)


def deviation_factors(scores: FloatArray, level: float) -> FloatArray:
    """Return the number of standard deviations that contain `level` of the companions' errors (J, B), at each n (J,).

    It is the root mean square of two factors: that of all n together, which is based on many scores, and that at each
    n, which depends on whether errors grow as expected. With too few companions it is the factor of a normal
    distribution.
    """
    known, normal = ~np.isnan(scores), normal_factor(level)
    units = int(known[0].sum()) if len(known) else 0
    if units < FEWEST:
        return np.full(len(scores), normal)
    pooled = conformal_factor(scores[1:], known[1:], level, units)
    factors = [
        np.hypot(pooled, conformal_factor(of_n, usable, level, int(usable.sum()))) / np.sqrt(2.0)
        if usable.sum() >= FEWEST
        else normal
        for of_n, usable in zip(scores, known, strict=True)
    ]
    return np.array(factors)


def explained_share(errors: FloatArray, explained: FloatArray, limit: FloatArray) -> float:
    """Return the share of the process's expectations that would have been right for T's workloads, each left out, in
    0..1.

        share = sum e g / (sum g^2 + median e^2),    g expectations, e departures, clipped to the `limit`

    This is the least-squares share, shrunk towards 0 as if one more workload of typical departure had shown no effect.

    >>> departures = np.array([[0.1], [-0.1], [0.2]])
    >>> [round(explained_share(departures, expected, np.ones(1)), 2) for expected in (departures, -departures)]
    [0.86, 0.0]
    """
    doubt = float((finite_median(np.abs(errors)) ** 2).sum())
    share = float((clip_to(errors, limit) * explained).sum()) / (float((explained**2).sum()) + doubt + TINY)
    return min(max(share, 0.0), 1.0)


def nearest_at_any(distance: FloatArray, most: int) -> IntArray:
    """Return the `most` platforms that are nearest at any thread count by their distances (J, R), as ascending
    positions.

    Each thread count chooses its next nearest platform in turn, so that platforms that were measured with one thread
    only can be chosen for that thread count.

    >>> nearest_at_any(np.array([[1.0, 2.0, 3.0, 9.0], [9.0, 8.0, 7.0, 1.0]]), most=2).tolist()
    [0, 3]
    """
    # All chosen platforms are among the first `most` of some thread count.
    last = min(most, distance.shape[1]) - 1
    nearest = np.flatnonzero((distance <= np.partition(distance, last, axis=1)[:, [last]]).any(axis=0))
    rank = distance[:, nearest].argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    order = np.lexsort((distance[:, nearest].sum(axis=0), rank.min(axis=0)))
    return np.sort(nearest[order[:most]])
