"""A Gaussian process over platforms, which gives the weights of the references and the variance of the prediction.

Curves are split into a part of the workload, a part of the platform, and the rest. The rest of A on T, and of workloads
that T lacks, is predicted by ordinary kriging with a covariance of the similarity of platforms. A second process uses
only the references nearest to T; the prediction is a mean of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.arrays import sampled
from predictor.core.metadata import likeness_of_names, weights_by_name
from predictor.core.mpet.gathering import Evidence, wider_table
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, MANY_REFERENCES, SOME_COUNTS, Hyperparameters
from predictor.core.mpet.transfer import Transfer, downward_shift, left_out_families, mean_transfer, noisiness
from predictor.core.numerics import (
    MEAN_TO_SIGMA,
    MEDIAN_TO_SIGMA,
    TINY,
    clip_to,
    conformal_factor,
    finite_median,
    invert_definite,
    least_squares_parts,
    left_out_errors,
    nearest_at_any,
    noisy_inverses,
    squared_distances,
    without_gaps,
)
from profiles.arrays import BoolArray, FloatArray, IntArray

GAP_TOLERANCE = 0.005  # relative change of expected rests at which the iteration ends


@dataclass(frozen=True, eq=False)
class CurveParts:
    """curves (J, P, B) = workload part (J, B) + `speed` (J, P) + `rest` (J, P, B), the rest 0 where unknown.

    `residual` (J, R) is A's curve on the references minus their speed.
    """

    speed: FloatArray
    rest: FloatArray
    residual: FloatArray

    def correlations(self) -> FloatArray:
        """Return the correlations (B,) of A's and the workloads' deviations from speed, over references and knots."""
        rest, of_workload = self.rest[:, :-1], self.residual - self.residual.mean(axis=1, keepdims=True)
        products = np.einsum("jr,jrb->b", of_workload, rest)
        squares = np.einsum("jrb,jrb->b", rest, rest) - (rest.sum(axis=1) ** 2).sum(axis=0) / rest.shape[1]
        return np.asarray(products / (np.sqrt((of_workload**2).sum() * np.maximum(squares, 0.0)) + TINY))


def separate_parts(evidence: Evidence) -> CurveParts:
    """Return the parts of the curves of the evidence, by `least_squares_parts`."""
    _, speed, rest = least_squares_parts(evidence.curves, evidence.is_known)
    return CurveParts(speed, rest, evidence.of_workload - speed[:, :-1])


def complete_curves(evidence: Evidence) -> Evidence:
    """Return the evidence with expected curves for the pairs of a platform and a workload that were not measured.

    They are estimated from the table of the evidence, or from `wider_table` if pairs are missing that are not outliers
    and two platforms share fewer than 48 workloads on average.
    """
    # Remove workloads that were measured on no reference: they give no information about A.
    on_references = evidence.is_known[:-1].any(axis=0)
    if not on_references.all():
        evidence = evidence.of_workloads(np.flatnonzero(on_references))
    if evidence.is_known.all():
        return evidence
    curves, is_known, (_, P, B) = evidence.curves, evidence.is_known, evidence.curves.shape
    having, rounds = np.count_nonzero(is_known, axis=0), SOME_COUNTS
    if (evidence.rows[:, :-1] < 0).any() and (having * (having - 1)).sum() < ENOUGH * P * (P - 1):
        (curves, is_known), rounds = wider_table(evidence), ENOUGH
    workload, speed, rest = least_squares_parts(curves, is_known)
    expected = workload[:, None, :B] + speed[:, :P, None] + expected_rests(rest, is_known, rounds, B)[:, :P]
    curves = np.where(evidence.is_known, evidence.curves, expected)
    return replace(evidence, curves=curves, is_known=np.ones_like(evidence.is_known))


def expected_rests(rest: FloatArray, is_known: BoolArray, rounds: int, count: int) -> FloatArray:
    """Return the rests of the first `count` workloads (J, P, count), with expected values where `is_known` is False.

        (K^-1 X)_missing = 0,    K = C + noise I,    C = X X',    noise = mean C_pp / 2

    X (P, J B) are the rests in ln t at up to four thread counts. As C depends on the missing values, both are computed
    in turn, in at most `rounds` rounds, starting from 0, with Nesterov's acceleration and restarts.

    >>> rest = np.array([[[1.0, -1.0, 2.0], [1.0, -1.0, 0.0]]])
    >>> expected_rests(rest, rest[0] != 0.0, rounds=48, count=3).round(1).tolist()
    [[[1.0, -1.0, 2.0], [1.0, -1.0, 1.0]]]
    """
    J, P, B = rest.shape
    sample = sampled(rest, SOME_COUNTS)
    X, columns = sample.transpose(1, 0, 2).reshape(P, -1), np.flatnonzero(np.tile((~is_known).any(axis=0), len(sample)))
    gaps = np.tile(~is_known, len(sample))[:, columns]
    last, momentum = X[:, columns], 0
    for _ in range(rounds):
        before = X[:, columns]
        ahead = before + momentum / (momentum + 3.0) * (before - last)
        X[:, columns] = ahead
        K = X @ X.T
        noise = np.trace(K) / (2 * P) + TINY
        K.flat[:: P + 1] += noise
        invert_definite(K)
        X[:, columns] -= noise * gaps * (K @ ahead)
        change, last = X[:, columns] - before, before
        momentum = 0 if ((ahead - X[:, columns]) * change).sum() > 0.0 else momentum + 1
        if (change**2).sum() < GAP_TOLERANCE**2 * 2 * P * noise:
            break
    if len(sample) < J:
        return without_gaps(rest[:, :, :count], is_known[:, :count], K)
    return X.reshape(P, J, B).transpose(1, 0, 2)[:, :, :count]


def workload_weights(correlation: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """Return the weight of each workload (B,), by the correlation (B,) of its deviations from speed with A's.

        w_b = |correlation_b|^power / root mean square over b,    power = 2 by default

    >>> workload_weights(np.array([0.9, 0.0])).round(3).tolist()
    [1.414, 0.0]
    """
    weights = (np.abs(correlation) + TINY) ** h.workload_power
    return np.asarray(weights / np.sqrt((weights**2).sum() / len(weights)))


def nearest_references(
    evidence: Evidence, parts: CurveParts, shares: FloatArray, most: int, h: Hyperparameters = DEFAULTS
) -> IntArray:
    """Return the `most` references most similar to T in metadata and, by `shares` (B,) with sum 1, in behaviour."""
    gap = parts.rest[:, :-1] - parts.rest[:, -1:]
    distance = (gap**2).mean(axis=0) @ shares
    distance += (parts.speed[:, :-1] - parts.speed[:, -1:]).var(axis=0)
    distance /= finite_median(distance) + TINY
    distance += h.paper_share * evidence.metadata.squared_distances(evidence.platforms, evidence.target)
    return nearest_at_any(distance + evidence.outside, most)


def nearness_weights(log_n: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """Return the weight of each knot for each knot (J, J), by their distance in ln n (J,).

        exp(-(ln n_j - ln n_i)^2 / 0.32), each row scaled to sum 1

    >>> nearness_weights(np.log([1.0, 2.0])).round(3).tolist()
    [[0.818, 0.182], [0.182, 0.818]]
    """
    similarity = np.exp(-((log_n[:, None] - log_n) ** 2) / h.nearness)
    return np.asarray(similarity / similarity.sum(axis=1, keepdims=True))


def behaviour_covariances(
    parts: CurveParts, weights: FloatArray, paper: FloatArray, knots: FloatArray, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray]:
    """Return a covariance of the platforms (T last) for each row of `knots` (K, J), (K, P, P), and the distances to T.

        linear G_pq / mean G_pp + smooth exp(-d_pq / (2 median d)) + short exp(-sqrt(d_pq / (0.09 median d))) + paper_pq

    A row of `knots` has the weights of the knots. G are the scalar products of the platforms' rests, with the `weights`
    (B,) of the workloads; d are the squared distances in the rests and in the change of the speed over n; `paper`
    (P, P) is the covariance by metadata. The distances are d to T (K, R) in units of the median between references.
    """
    J, P, B = parts.rest.shape
    weighted = parts.rest * (weights / np.sqrt(B))
    gram = (knots @ (weighted @ weighted.transpose(0, 2, 1)).reshape(J, P * P)).reshape(-1, P, P)
    shape = (parts.speed - parts.speed.mean(axis=0)).T / np.sqrt(J)
    distance = squared_distances(gram) + squared_distances(shape @ shape.T)
    sample = sampled(np.arange(P - 1), ENOUGH)
    rows, columns = (sample[of_pair] for of_pair in np.tril_indices(len(sample), k=-1))
    distance /= finite_median(distance[:, rows, columns], axis=1)[:, None, None] + TINY
    mean_variance = np.einsum("kpp->k", gram[:, :-1, :-1]) / (P - 1)
    gram *= (h.linear / (mean_variance + TINY))[:, None, None]
    gram += paper
    gram += h.smooth * np.exp(distance / -h.smooth_length)
    to_target = distance[:, -1, :-1].copy()
    distance /= h.short_length
    np.sqrt(distance, out=distance)
    np.exp(np.negative(distance, out=distance), out=distance)
    gram += np.multiply(distance, h.short, out=distance)
    return gram, to_target


def metadata_covariance(evidence: Evidence, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """Return the covariance of the platforms (T last) by their metadata and the names of their CPU models, (P, P)."""
    index, metadata = np.append(evidence.platforms, evidence.target), evidence.metadata
    vectors, cpu, family = metadata.vectors[index], metadata.cpu[index], metadata.microarchitecture[index]
    similarity = h.metadata * np.exp(squared_distances(vectors @ vectors.T) / -h.metadata_length)
    is_twin = (cpu[:-1] == cpu[-1]).any()
    similarity += (h.twin_cpu_model if is_twin else h.cpu_model) * (cpu[:, None] == cpu)
    if is_twin:
        similarity += h.twin_microarchitecture * (family[:, None] == family)
    return np.asarray(similarity)


def ordinary_weights(
    inverses: FloatArray, covariances: FloatArray, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weights (J, R), variances (J,) in units of the process variance, and projections (J, R, R).

        u = K^-1 c + K^-1 1 (1 - 1'K^-1 c) / 1'K^-1 1,    Q = K^-1 - K^-1 1 1'K^-1 / 1'K^-1 1
        variance = c_TT - c'K^-1 c + noise + (1 - 1'K^-1 c)^2 / 1'K^-1 1

    K is the covariance of the references, including noise, and c that with T, the last of `covariances` (J, R + 1,
    R + 1). `inverses` (J, R, R) are K^-1; they are overwritten by the projections Q. Q times values are the
    leave-one-out residuals times the diagonal of Q.

    >>> covariances = np.array([[[1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.8, 0.0, 1.0]]])
    >>> ordinary_weights(noisy_inverses(covariances, 0.02), covariances)[0].round(3).tolist()
    [[0.892, 0.108]]
    """
    rows = inverses.sum(axis=2)
    to_target = covariances[:, :-1, -1]
    through = (inverses @ to_target[:, :, None])[:, :, 0]
    free = 1.0 - (rows * to_target).sum(axis=1)  # 1 - sum of the weights so far
    shortfall = free / rows.sum(axis=1)
    variance = covariances[:, -1, -1] - (to_target * through).sum(axis=1) + h.noise + free * shortfall
    weights = through + rows * shortfall[:, None]
    inverses -= rows[:, :, None] * (rows / rows.sum(axis=1)[:, None])[:, None]
    return weights, np.maximum(variance, TINY), inverses


def noise_of_outliers(inverses: FloatArray, values: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """Return the noise to be added to references with outlying residuals, in units of the process variance, (J, R)."""
    rows = inverses.sum(axis=2)
    squares = (inverses @ values[:, :, None])[:, :, 0]
    squares -= rows * (squares.sum(axis=1) / rows.sum(axis=1))[:, None]
    diagonal = np.diagonal(inverses, axis1=1, axis2=2)
    squares = squares**2 / diagonal
    usual = finite_median(squares, axis=1)[:, None]
    excess = np.maximum(squares / ((h.robust * MEDIAN_TO_SIGMA) ** 2 * usual + TINY**2) - 1.0, 0.0)
    return np.asarray((h.noise + 1.0 / diagonal) * excess)


def fill_in_workloads(evidence: Evidence, most: int, h: Hyperparameters = DEFAULTS) -> Evidence:
    """Return the evidence of the platforms that have A, with predictions for the workloads that T lacks.

    These are predicted on T by kriging from at most `most` platforms, with and without A, with the covariance given by
    T's measured workloads and the metadata.
    """
    references, R = np.flatnonzero(evidence.has_workload), len(evidence.platforms)
    if evidence.measured_on_target.all():
        return evidence
    measured = evidence.of_workloads(np.flatnonzero(evidence.measured_on_target))
    if len(references) in (0, R):
        return measured.nearest(references)
    # Choose the platforms that take part.
    chosen, equal = np.arange(R), np.full(len(measured.workloads), 1.0 / len(measured.workloads))
    if most < R:
        chosen = nearest_references(measured, separate_parts(measured), equal, most, h)
    # Keep the workloads that were measured on at least one of them; others cannot be predicted.
    can_be_known = evidence.measured_on_target | evidence.is_known[chosen].any(axis=0)
    evidence = evidence.of_workloads(np.flatnonzero(can_be_known))
    missing = np.flatnonzero(~evidence.measured_on_target)
    # Compute the covariance of whole curves from the workloads measured on T.
    nearest = complete_curves(measured.nearest(chosen))
    parts, weights = separate_parts(nearest), np.ones(len(nearest.workloads))
    knots = np.full((1, len(evidence.n)), 1.0 / len(evidence.n))
    covariance, _ = behaviour_covariances(parts, weights, metadata_covariance(nearest, h), knots, h)
    u, _, projections = ordinary_weights(noisy_inverses(covariance, h.noise), covariance, h)
    # Predict the missing workloads, minus the speeds, on T, and compute the same errors on the references.
    gaps = chosen[:, None], missing
    values = (evidence.curves[:, *gaps] - parts.speed[:, :-1, None]) * evidence.is_known[gaps]
    values = without_gaps(values, evidence.is_known[gaps], projections[0])
    curves, is_known, errors = evidence.curves.copy(), evidence.is_known.copy(), np.zeros(evidence.curves[:, :-1].shape)
    curves[:, -1, missing] = u[0] @ values + parts.speed[:, -1:]
    is_known[-1, missing] = True
    families, _ = left_out_families(evidence.platforms[chosen], evidence.target, evidence.metadata)
    errors[:, *gaps], _ = left_out_errors(projections, projections @ values, families)
    return replace(evidence, curves=curves, is_known=is_known, fill_errors=errors).nearest(references)


def gaussian_transfer(evidence: Evidence, parts: CurveParts, level: float, h: Hyperparameters = DEFAULTS) -> Transfer:
    """Predict A on T by kriging its deviations from the references' speed, corrected by the errors that the same
    weights make for T's workloads.

        t = s(T) + sum_p u_p (z(p,A) - s(p)) + sum_b v_b (e(T,b) - sum_p u_p e(p,b)),    sum u = 1

    s is the speed and e the rest. The covariance at each knot depends on the curves at similar n. The interval is
    calibrated on the errors of the references, each predicted from those that remain when it is left out:

        score = |error| / (deviation sqrt(noise)),    h = conformal factor * deviation on T * sqrt(noise of T)
    """
    correlation = parts.correlations()
    weights = workload_weights(correlation, h)
    families, can_be_left_out = left_out_families(evidence.platforms, evidence.target, evidence.metadata)
    usable = evidence.measured & can_be_left_out
    if np.count_nonzero(usable) < MANY_REFERENCES:
        usable = np.ones(usable.shape, dtype=bool)
    knots, on_paper = nearness_weights(evidence.log_n, h), metadata_covariance(evidence, h)
    covariances, distance = behaviour_covariances(parts, weights, on_paper, knots, h)
    noise = h.noise + h.outside_noise * evidence.outside**2
    added = noise_of_outliers(noisy_inverses(covariances, noise), parts.residual, h)
    u, variance, Q = ordinary_weights(noisy_inverses(covariances, noise + added), covariances, h)
    scale = np.maximum((parts.residual * (Q @ parts.residual[:, :, None])[:, :, 0]).mean(axis=1), 0.0)
    deviation = np.sqrt(variance * scale)
    # Compute the errors of the same kriging: for T's workloads and A (last) on the references, for the former on T.
    known = np.append(parts.rest[:, :-1], parts.residual[:, :, None], axis=2)
    products = Q @ known
    left_out, variances = left_out_errors(Q, products, families)
    errors = left_out[:, :, -1]
    deviations = np.sqrt(np.maximum(variances - added, h.noise) * scale[:, None])
    left_out_alone = products / np.diagonal(Q, axis1=1, axis2=2)[:, :, None]
    on_target = parts.rest[:, -1] - (u[:, None] @ parts.rest[:, :-1])[:, 0]
    on_target *= evidence.measured_on_target
    value = parts.speed[:, -1] + (u * parts.residual).sum(axis=1)
    prior = weights_by_name(likeness_of_names(evidence.database, evidence.workloads, evidence.workload))
    gain = unexplained_gain(left_out_alone[:, :, :-1], left_out_alone[:, :, -1], on_target, prior, h)
    usual = np.sqrt((on_target**2).sum(axis=1) / np.count_nonzero(evidence.measured_on_target))
    value += clip_to(gain, h.clip * usual + TINY)
    shift, shifts = downward_shift(deviation**2, h), downward_shift(deviations**2, h)
    if evidence.fill_errors is not None:
        carried = carried_fill_errors(evidence.fill_errors, parts, h)
        square = (carried**2).mean(axis=1)
        errors, deviations = errors + carried, np.sqrt(deviations**2 + square[:, None])
        deviation = np.sqrt(deviation**2 + square)
    size = np.sqrt(noisiness(evidence, left_out[:, :, :-1], on_target, weights, h))
    scores = np.abs(errors + shifts) / (deviations * size[:-1] + TINY)
    factor = conformal_factor(scores, usable, level, units=len(np.unique(families)))
    return Transfer(
        value=value - shift,
        half_width=factor * deviation * size[-1],
        platform_weights=u,
        workload_weights=weights**2 / (weights**2).sum(),
        platform_distance=1.0 - np.exp(distance.mean(axis=0) / -2),
        workload_distance=1.0 - np.minimum(np.abs(correlation), 1.0),
        errors_on_target=on_target,
    )


def unexplained_gain(
    X: FloatArray, y: FloatArray, x: FloatArray, prior: FloatArray, h: Hyperparameters = DEFAULTS
) -> FloatArray:
    """Return the correction of A's value on T by the errors of the same kriging for the workloads known there, (J,).

        x (X'X + ridge / prior)^-1 X'y

    This is a ridge regression over the references and knots of A's errors `y` (J, R) on those of the workloads, `X`
    (J, R, B), applied to their errors on T, `x` (J, B). All errors are clipped. `prior` (B,) is the prior variance of
    each coefficient, larger for workloads with names similar to A's.
    """
    J, R, B = X.shape
    limit = (h.clip * MEAN_TO_SIGMA / R) * np.abs(X).sum(axis=1)
    X, x = clip_to(X, limit[:, None]).reshape(J * R, B), clip_to(x, limit)
    y = clip_to(y, (h.clip * MEAN_TO_SIGMA / R) * np.abs(y).sum(axis=1, keepdims=True))
    deviation = np.sqrt(np.einsum("ib,ib->b", X, X) / len(X)) + TINY
    X /= deviation
    products = X.T @ X
    products.flat[:: B + 1] += h.ridge * len(X) / prior
    return np.asarray((x / deviation) @ np.linalg.solve(products, y.ravel() @ X))


def carried_fill_errors(errors: FloatArray, parts: CurveParts, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """Return the errors of A (J, R) that errors (J, R, B) of filled-in workloads cause.

    They propagate by the coefficients of a ridge regression of A on the workloads over the references and knots, and by
    T's speed, which is a mean over the workloads.
    """
    rest = parts.rest[:, :-1]
    J, R, B = rest.shape
    X = (rest - rest.sum(axis=(0, 1)) / (J * R)).reshape(J * R, B)
    y = (parts.residual - parts.residual.mean(axis=1, keepdims=True)).ravel()
    products = X.T @ X
    products.flat[:: B + 1] += h.noise * np.trace(products) / B + TINY
    gain = np.linalg.solve(products, y @ X)
    return np.asarray(errors @ (gain - gain.sum() / B + 1.0 / B))


def mean_with_neighbours(
    whole: Transfer, evidence: Evidence, parts: CurveParts, level: float, h: Hyperparameters = DEFAULTS
) -> Transfer:
    """Return the mean of `whole`, the transfer from all references, and the transfer from the `h.neighbours` nearest.

    The latter has its own speeds, correlations and typical distances. The distances and the interval are those of
    `whole`, as the neighbours are too few to calibrate one. It is widened by the difference of the mean from `whole`.
    """
    references = len(evidence.platforms)
    if references <= h.neighbours:
        return whole
    nearest = nearest_references(evidence, parts, whole.workload_weights, h.neighbours, h)
    neighbourhood = evidence.nearest(nearest)
    narrow = gaussian_transfer(neighbourhood, separate_parts(neighbourhood), level, h)
    weights = np.zeros((len(evidence.n), references))
    weights[:, nearest] = narrow.platform_weights
    distances = {name: getattr(whole, name) for name in ("platform_distance", "workload_distance")}
    mean = mean_transfer(whole, replace(narrow, platform_weights=weights, **distances))
    return replace(mean, half_width=np.hypot(whole.half_width, mean.value - whole.value))
