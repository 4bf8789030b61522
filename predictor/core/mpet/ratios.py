"""Transfer by ratios of speed, which needs one reference.

Each reference gives a guess of A on T, by the median of its ratios over T's workloads. References with similar ratios
for all workloads have larger weights. The departures of T's workloads from such guesses are modelled by a Gaussian
process over workloads. Its coordinates are known for A, too: disagreement of the references, shape, and features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.curves import evaluated_curves
from predictor.core.metadata import workload_name_vectors
from predictor.core.mpet.gathering import Evidence, application_families
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, LEAST_LOG_ERROR, Hyperparameters
from predictor.core.mpet.transfer import Transfer
from predictor.core.numerics import (
    MEDIAN_TO_SIGMA,
    TINY,
    clip_to,
    explained_share,
    family_factor,
    finite_median,
    known_median,
    left_out_errors,
    normal_factor,
    shares_by_error,
    squared_distances,
)
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FRACTIONS

SLOPE_DEVIATION = 0.5  # of ln t for each ln n outside A's measured range, where A may change unlike T's workloads
COUNTER_FEATURES = slice((1 + len(FRACTIONS)) * len(ELEMENTS), len(CURVE_NAMES) * len(ELEMENTS))


class Guesses(NamedTuple):
    """Guesses of T's B workloads and of A (last) from the references, by the median ratio of each.

    `value` (B + 1, J) is the mean guess of ln(n t(n)) on T. `deviations` (B + 1, R, J) are the differences of the
    references' guesses from it, times the root of the reference's weight, 0 without a guess. `departure` (B, J) is
    measured minus guessed. `weights` (R, J) have sum 1 at each knot, `workload_weights` (B,) sum 1. `gap` (R, B, J) are
    the ratios in logarithms, `centre` (R, J) their medians and `spread` (R,) their deviations.
    """

    value: FloatArray
    deviations: FloatArray
    departure: FloatArray
    weights: FloatArray
    workload_weights: FloatArray
    spread: FloatArray
    gap: FloatArray
    centre: FloatArray


def ratio_transfer(evidence: Evidence, level: float, h: Hyperparameters = DEFAULTS) -> Transfer:
    """Return the transfer of A by median ratios, corrected by a Gaussian process over workloads.

        t = guess(A) + share m(A) (3^2 + 1) / (3^2 + max(v, 1)),    m(A) = k' (K + noise)^-1 departures of T's workloads

    K and k are those of `workload_covariance`, and share is the `explained_share`. m is the mean of two such terms,
    without and with the similarity of names added to K and k, weighted by their errors (`shares_by_error`). v is the
    variance of m(A), relative to those for T's workloads.
    Beyond the first and the last n measured on T, A changes as on references: t(last) + sum_p u_p (z(p,A,n) -
    z(p,A,last)).
    """
    guesses = guess_by_medians(extended_curves(evidence), evidence.is_known, slope_deviations(evidence))
    families = application_families(evidence)
    errors = _recentred_departures(guesses, families)
    value, distance = guesses.value[-1], np.zeros(len(errors))
    # The deviation of a workload from its guess has two parts: the typical departure, and the disagreement of the
    # references at the knot and over the whole curve.
    typical = MEDIAN_TO_SIGMA * finite_median(np.abs(guesses.departure))
    disagreement = (guesses.deviations**2).sum(axis=1)
    disagreement = (disagreement + disagreement.mean(axis=1, keepdims=True)) / 2
    unexplained = np.ones(len(errors) + 1)
    if len(errors) > 1:
        limit = h.clip * typical + TINY
        covariance, distance = workload_covariance(evidence, guesses, h)
        names = workload_name_vectors(evidence.database, (*evidence.workloads, evidence.workload))
        known = clip_to(guesses.departure, limit)
        found = [_explained(of, known, families, h) for of in (covariance, covariance + (names @ names.T).toarray())]
        missed = [((clip_to(errors, limit) - of) ** 2).mean() + LEAST_LOG_ERROR**2 for _, of, _ in found]
        weights = shares_by_error(np.log(missed))
        expected, of_workloads, variance = (np.tensordot(weights, np.array(of), 1) for of in zip(*found, strict=True))
        share = explained_share(errors, of_workloads, limit)
        unexplained = 1.0 - share + share * variance / variance.mean()
        # A workload unlike T's is extrapolated. Departures are a priori 0, with a deviation of `clip` times the typical
        # one, so a correction counts the less the more uncertain it is.
        believed = (h.clip**2 + 1.0) / (h.clip**2 + np.maximum(unexplained, 1.0))
        unexplained *= believed
        value, errors = value + share * believed[-1] * expected, errors - share * believed[:-1, None] * of_workloads
    deviation = np.sqrt((typical + LEAST_LOG_ERROR) ** 2 * unexplained[:, None] + disagreement)
    half_width = family_factor(np.abs(errors) / deviation[:-1], families, level) * deviation[-1]
    shift = np.minimum(h.ratio_shift * half_width / normal_factor(level), h.most_shift)
    if evidence.fill_errors is not None:  # filled-in workloads may all be wrong by one factor, which moves the median
        moved = np.median(evidence.fill_errors, axis=2)
        half_width = np.hypot(half_width, normal_factor(level) * np.sqrt((moved**2).mean(axis=1)))
    first = min(evidence.least_on_target, int(evidence.n[-1]))
    last = np.searchsorted(evidence.n, np.clip(evidence.n, first, evidence.largest_on_target))
    change = ((evidence.of_workload - evidence.of_workload[last]) * guesses.weights.T).sum(axis=1)
    return Transfer(
        value=(value - shift)[last] + change,
        half_width=half_width[last],
        platform_weights=guesses.weights.T,
        workload_weights=guesses.workload_weights,
        platform_distance=1.0 - np.exp(guesses.spread**2 / (-2 * (finite_median(guesses.spread**2) + TINY))),
        workload_distance=distance,
        errors_on_target=errors.T[last] * evidence.measured_on_target,
    )


def slope_deviations(evidence: Evidence) -> FloatArray:
    """Return the deviation of A's change outside its measured range on each reference from that of T's workloads, in
    ln t, (J, R).

        0.5 sqrt(max(x(p,A)^2 - mean_b x(p,b)^2, 0))

    x is the distance in ln n from the measured range. The mean is over T's workloads on p if T has a workload of A's
    application: if these were not measured at n either, their ratios deviate by the change, too. Otherwise it is 0.
    """
    names = evidence.database.workload_table["application"]
    on_target = {names[b] for b in evidence.workloads[evidence.measured_on_target].tolist()}
    if not names[evidence.workload] or names[evidence.workload] not in on_target:
        return SLOPE_DEVIATION * evidence.outside
    evaluated = evaluated_curves(evidence.database)
    knots, rows = np.searchsorted(evaluated.n, evidence.n), evidence.rows[:-1, :-1]
    squares = evaluated.outside[knots].take(evaluated.pattern.take(rows), axis=1) ** 2
    of_others = (squares * (rows >= 0)).sum(axis=2) / np.maximum(np.count_nonzero(rows >= 0, axis=1), 1)
    return np.asarray(SLOPE_DEVIATION * np.sqrt(np.maximum(evidence.outside**2 - of_others, 0.0)))


def extended_curves(evidence: Evidence) -> FloatArray:
    """Return ln(n t(n)) of the references and T (last) for T's workloads and A (last), (R + 1, B + 1, J), 0 if unknown.

    Outside the measured range of a reference the last value is used: A changes from there as T's workloads do. Below
    the range A's values change as scaling laws and companions do (`with_growth_below`).
    """
    evaluated = evaluated_curves(evidence.database)
    knots = np.searchsorted(evaluated.n, evidence.n)
    is_outside = evaluated.outside[knots].take(evaluated.pattern.take(evidence.rows), axis=1) > 0
    curves = np.zeros(is_outside.shape)
    curves[:, :, :-1] = evidence.curves
    curves[:, :-1, -1] = evidence.of_workload
    curves = np.where(is_outside, evaluated.at(evidence.rows, knots), curves)
    curves[:, :-1, -1] += evidence.below[0]
    return curves.transpose(1, 2, 0)


def guess_by_medians(curves: FloatArray, is_known: BoolArray, slopes: FloatArray) -> Guesses:
    """Return the guess of each reference by the median of its ratios, and their mean.

        c(p,n) = median_b (z(T,b,n) - z(p,b,n)),    guess(b,n) = sum_p u_p (z(p,b,n) + c(p,n))
        u_p ~ 1 / ((0.02 + r_p)^2 + s_p^2)

    r_p is the robust deviation of the ratios, averaged over n; s_p is that of `slope_deviations`.

    Parameters: `curves` (R + 1, B + 1, J), T and A last; `is_known` (R + 1, B); `slopes` (J, R). Every p has A.

    >>> curves = np.array([[0.0, 1.0, 2.0, 5.0], [2.0, 4.0, 11.0, 0.0]])[:, :, None]
    >>> guess_by_medians(curves, np.ones((2, 3), dtype=bool), np.zeros((1, 1))).value[-1].tolist()
    [8.0]
    """
    known_of, of_references = is_known[:-1], curves[:-1]
    gap = np.where(known_of[:, :, None], curves[-1, :-1] - of_references[:, :-1], np.nan)
    centre = known_median(gap)
    off = np.abs(gap - centre[:, None])
    spread = known_median(off).mean(axis=1) * MEDIAN_TO_SIGMA
    weights = 1.0 / ((LEAST_LOG_ERROR + spread)[:, None] ** 2 + slopes.T**2)
    weights /= weights.sum(axis=0)
    has = np.append(known_of, np.ones((len(known_of), 1), dtype=bool), axis=1)
    share = weights[:, None] * has[:, :, None]
    share /= np.maximum(share.sum(axis=0), TINY)
    guess = of_references + centre[:, None]
    value = (share * guess).sum(axis=0)
    deviations = ((guess - value) * np.sqrt(share)).transpose(1, 0, 2)
    softened = known_of / (np.where(known_of, off.mean(axis=2), 0.0) + spread[:, None] + TINY)
    by_workload = weights.mean(axis=1) @ (softened / softened.sum(axis=1, keepdims=True))
    departure = (curves[-1, :-1] - value[:-1]) * np.asarray(known_of.any(axis=0))[:, None]
    return Guesses(value, deviations, departure, weights, by_workload / by_workload.sum(), spread, gap, centre)


def _recentred_departures(guesses: Guesses, families: IntArray) -> FloatArray:
    """Return the departures of T's workloads (B, J) from guesses whose medians leave out the workload's family."""
    count = int(families.max()) + 1
    errors = guesses.departure.copy()
    for family in range(count) if 1 < count <= ENOUGH else ():
        members = families == family
        moved = guesses.centre - known_median(guesses.gap[:, ~members])  # NaN: a reference without other workloads
        errors[members] += (guesses.weights * np.nan_to_num(moved, nan=0.0)).sum(axis=0)
    return errors


def workload_covariance(
    evidence: Evidence, guesses: Guesses, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray]:
    """Return the covariance of the departures of workloads (B + 1, B + 1), A last, and the distances of A to T's
    workloads (B,), in 0..1.

        x_a x_b / median |x|^2 + exp(-sqrt(d_ab / median d)) + features exp(-f_ab / (2 0.3^2))

    x are the disagreements of the references about a workload, d the squared distances in them and in the shape of the
    curve, f the mean squared distances of the features on the references. |x| of A is limited to the largest |x| of the
    other workloads, beyond which nothing is known of T.
    """
    values, deviations = guesses.value, guesses.deviations
    x = deviations.reshape(len(deviations), -1) / np.sqrt(values.shape[1])
    size = np.linalg.norm(x, axis=1)
    x[-1] *= min(size[:-1].max() / (size[-1] + TINY), 1.0)
    shape = values - values.mean(axis=1, keepdims=True)
    shape = (shape - finite_median(shape)) / np.sqrt(values.shape[1])
    coordinates = np.append(x, shape, axis=1)
    d = squared_distances(coordinates @ coordinates.T)
    d /= finite_median(d[np.tril_indices(len(d) - 1, k=-1)]) + TINY
    covariance = np.exp(-np.sqrt(d))
    linear = x @ x.T
    typical = finite_median(np.diag(linear)[:-1])
    # With fewer values than parameters of `least_squares_parts`, references differ only by rounding errors.
    covariance += linear / (typical if typical > np.sqrt(TINY) else np.inf)
    if h.features and any(evidence.database.valid_elements(group)[COUNTER_FEATURES].any() for group in evidence.groups):
        scaled = _scaled_features(evidence, guesses.weights.mean(axis=1))
        covariance += h.features * np.exp(squared_distances(scaled @ scaled.T) / (-2 * h.features_length**2))
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    correlation = covariance[-1, :-1] / (scale[-1] * scale[:-1])
    return covariance, 1.0 - clip_to(np.maximum(correlation, 0.0), 1.0)


def _scaled_features(evidence: Evidence, weights: FloatArray) -> FloatArray:
    """Return the features of T's workloads and A (last) on the references (B + 1, F), scaled so that the squared
    distance of two rows is the mean over references, by their weights, for features in 0..1."""
    rows = evidence.rows[:-1]
    values = evidence.database.features[rows][:, :, COUNTER_FEATURES]
    values[rows < 0] = np.nan
    values = values[:, :, ~np.isnan(values).all(axis=(0, 1))]  # features that no profile has
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)  # NaN is ignored
    width = np.where(high > low, high - low, np.inf)[:, None]
    scaled = np.nan_to_num(np.clip((values - low[:, None]) / width, 0.0, 1.0), nan=0.5)
    share = weights[:, None] * (np.ptp(scaled, axis=1) > 0)
    scaled *= np.sqrt(share / max(share.sum(), TINY))[:, None]
    return np.asarray(scaled.transpose(1, 0, 2).reshape(rows.shape[1], -1))


def _explained(
    covariance: FloatArray, known: FloatArray, families: IntArray, h: Hyperparameters
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expected departure of A (J,), those of the workloads (B, J), each with its family left out, and the
    variances of both (B + 1,), A last, in units of the process variance; from the `known` departures (B, J)."""
    to_a = covariance[-1, :-1]
    noisy = covariance[:-1, :-1] + h.workload_noise * np.eye(len(known))
    inverse: FloatArray = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
    products = inverse @ known
    if not families.any():  # there is only one family
        return to_a @ products, np.zeros(known.shape), np.ones(len(known) + 1)
    errors, variances = left_out_errors(inverse[None], products[None], families)
    of_a = covariance[-1, -1] + h.workload_noise - to_a @ inverse @ to_a
    return to_a @ products, known - errors[0], np.append(variances[0], max(of_a, TINY))
