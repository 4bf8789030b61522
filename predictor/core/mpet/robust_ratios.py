"""Transfer from few references: the median ratio of speed, and how A departs from it like the workloads it is like.

Each reference guesses A on T by the median of its ratios over T's workloads; the guesses are averaged, those with even
ratios first. What T's workloads depart from such guesses is a Gaussian process over workloads, in coordinates that are
known of A too: how the references disagree about it, the shape of its curve, and its features on the references.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from predictor.core.database import Database
from predictor.core.mpet.curves import evaluated_curves
from predictor.core.mpet.gathering import Evidence, knots_first, knots_last
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.intervals import FEW_FAMILIES_CORRECTION, family_members, left_out_family_errors
from predictor.core.mpet.transfer import Transfer
from predictor.core.robust import MEDIAN_TO_SIGMA, clip_to, finite_median, known_median
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import CURVE_NAMES, ELEMENTS, FRACTIONS

LEAST_RATIO_SPREAD = 0.02  # of ln t: no reference counts as having more even ratios
SPREAD_POWER = 4  # of the spread of its ratios: how much less an uneven reference counts
MOST_RECENTRED = 16  # families: of more, leaving out one moves no median
WEIGHT_SOFTNESS = 0.25  # robust deviations: ratios this near to the median carry it alike
LARGEST_DEPARTURE = 3.0  # robust deviations of a workload's departure: a larger one counts as so large
LONGEST_COORDINATES = 2.0  # medians of the workloads' lengths, for what is linear in the coordinates
FEATURE_QUANTILES = (5, 95)  # percentiles of the workloads that become 0 and 1 of a feature
DOUBTED_WORKLOADS = 3.0  # so many departures of typical size speak against what the process explains
FEWEST_SCORES = 3  # workloads left out: of fewer no quantile is made
UNCALIBRATED_DEVIATIONS = 3.0
COUNTER_FEATURES = slice((1 + len(FRACTIONS)) * len(ELEMENTS), len(CURVE_NAMES) * len(ELEMENTS))


class Guesses(NamedTuple):
    """What the references say of T's B workloads and of A (last), from the median ratio of each.

    `value` (B + 1, J) is ln(n t(n)) on T, `apart` (B + 1, R, J) how far each reference's guess is from it, times the
    root of its weight, 0 where it has none; `departure` (B, J) measured less guessed. `weights` (R,) and
    `workload_weights` (B,) have sum 1; `spread` (R,) is that of a reference's ratios, `gap` (R, B, J) the ratios and
    `centre` (R, J) their medians.
    """

    value: FloatArray
    apart: FloatArray
    departure: FloatArray
    weights: FloatArray
    workload_weights: FloatArray
    spread: FloatArray
    gap: FloatArray
    centre: FloatArray


def robust_transfer(
    database: Database, evidence: Evidence, level: float, h: Hyperparameters = DEFAULTS, *, explain: bool = True
) -> Transfer:
    """The transfer of A by median ratios, with what a Gaussian process over workloads explains of its departure.

    Without `explain` by the ratios alone, whose weights are all positive. What was filled in on T takes no part: the
    references, of which it was made, say it themselves.
    """
    is_measured = evidence.measured_on_target
    if not is_measured.all():
        measured = evidence.of_workloads(np.flatnonzero(is_measured))
        return _with_workloads(robust_transfer(database, measured, level, h, explain=explain), is_measured)
    guesses = guess_by_medians(held_curves(database, evidence), evidence.is_known)
    families, _ = application_families(database, evidence)
    errors = _recentred_departures(guesses, families)
    value, distance = guesses.value[-1], np.zeros(len(evidence.workloads))
    if explain and len(evidence.workloads) > 1:
        covariance, distance = workload_covariance(database, evidence, guesses, h)
        expected, of_workloads = _explained(covariance, guesses.departure, families, h)
        share = explained_share(errors, of_workloads, guesses.departure)
        value, errors = value + share * expected, errors - share * of_workloads
    deviation = _deviations(guesses)
    scores = np.abs(errors) / deviation[:-1]
    half_width = family_factor(scores, families, level) * deviation[-1]
    spread = guesses.spread**2
    return Transfer(
        value=value - np.minimum(h.few_shift * half_width**2, h.most_few_shift),
        half_width=half_width,
        platform_weights=np.repeat(guesses.weights[None], len(evidence.n), axis=0),
        workload_weights=guesses.workload_weights,
        platform_distance=1.0 - np.exp(spread / (-2 * (finite_median(spread) + TINY))),
        workload_distance=distance,
        errors_on_target=errors.T,
    )


def _with_workloads(transfer: Transfer, is_measured: BoolArray) -> Transfer:
    """The same among more workloads (B,), of which only those that were measured took part."""

    def among_all(values: FloatArray, other: float) -> FloatArray:
        wide = np.full((*values.shape[:-1], len(is_measured)), other)
        wide[..., is_measured] = values
        return wide

    return replace(
        transfer,
        workload_weights=among_all(transfer.workload_weights, 0.0),
        workload_distance=among_all(transfer.workload_distance, 1.0),
        errors_on_target=among_all(transfer.errors_on_target, 0.0),
    )


def held_curves(database: Database, evidence: Evidence) -> FloatArray:
    """ln(n t(n)) of the references and T (last) for T's workloads and A (last), (R + 1, B + 1, J), 0 where unknown.

    Outside of what was measured the last value is held, on T as on the references: of a few platforms no mean curve
    can be made that would tell how A goes on there.
    """
    evaluated = evaluated_curves(database)
    knots = np.searchsorted(evaluated.n, evidence.n)
    is_outside = evaluated.outside[knots].take(evaluated.pattern.take(evidence.rows), axis=1) > 0
    curves = np.zeros(is_outside.shape)
    curves[:, :, :-1] = knots_first(evidence.curves)
    curves[:, :-1, -1] = evidence.of_workload.T
    return knots_last(np.where(is_outside, evaluated.at(evidence.rows, knots), curves))


def guess_by_medians(curves: FloatArray, is_known: BoolArray) -> Guesses:
    """What each reference guesses of T by the median of its ratios, and their mean.

        c(p,n) = median_b (z(T,b,n) - z(p,b,n)),    u_p ~ (0.02 + r_p)^-4,    guess(b,n) = sum_p u_p (z(p,b,n) + c(p,n))

    r_p is the robust deviation of the ratios from their median, mean over n.

    Parameters: `curves` (R + 1, B + 1, J), T and A last; `is_known` (R + 1, B). Every reference has A and one of T's
    workloads.

    Example: T takes 2, 3 and 9 more than the reference for three workloads, so it would take 3 more for A.

    >>> curves = np.array([[0.0, 1.0, 2.0, 5.0], [2.0, 4.0, 11.0, 0.0]])[:, :, None]
    >>> guess_by_medians(curves, np.ones((2, 3), dtype=bool)).value[-1].tolist()
    [8.0]
    """
    known_of, of_references = is_known[:-1], curves[:-1]
    gap = np.where(known_of[:, :, None], curves[-1, :-1] - of_references[:, :-1], np.nan)
    centre = known_median(gap)
    off = np.abs(gap - centre[:, None])
    spread = known_median(off).mean(axis=1) * MEDIAN_TO_SIGMA
    weights = (LEAST_RATIO_SPREAD + spread) ** -SPREAD_POWER
    weights /= weights.sum()
    has = np.append(known_of, np.ones((len(known_of), 1), dtype=bool), axis=1)
    share = weights[:, None] * has
    share /= np.maximum(share.sum(axis=0), TINY)
    guess = of_references + centre[:, None]
    value = np.einsum("rb,rbj->bj", share, guess)
    apart = ((guess - value) * np.sqrt(share)[:, :, None]).transpose(1, 0, 2)
    softened = known_of / (np.where(known_of, off.mean(axis=2), 0.0) + WEIGHT_SOFTNESS * spread[:, None] + TINY)
    by_workload = weights @ (softened / softened.sum(axis=1, keepdims=True))
    has_reference: BoolArray = np.asarray(known_of.any(axis=0))
    departure = (curves[-1, :-1] - value[:-1]) * has_reference[:, None]
    return Guesses(value, apart, departure, weights, by_workload / by_workload.sum(), spread, gap, centre)


def application_families(database: Database, evidence: Evidence) -> tuple[IntArray, int]:
    """What is left out together to put T's workloads (B,) in A's place; and of a stranger, how many applications T has.

    A stranger is of a named application of which T has no workload, while T has several of others. Then whole
    applications are left out, where there are two. Otherwise (0) every workload by itself.
    """
    names = database.workload_table["application"]
    own = names[evidence.workload]
    of_workloads = [names[b] or f"workload {b}" for b in evidence.workloads.tolist()]
    on_target = {name for name, measured in zip(of_workloads, evidence.measured_on_target, strict=True) if measured}
    alone = np.arange(len(of_workloads))
    applications = len(on_target)
    if not own or own in on_target or applications == np.count_nonzero(evidence.measured_on_target):
        return alone, 0
    families = np.unique(np.array(of_workloads), return_inverse=True)[1]
    return (families if applications > 1 else alone), applications


def _recentred_departures(guesses: Guesses, families: IntArray) -> FloatArray:
    """How far T's workloads are from the guess (B, J), each without what its own family does to the medians."""
    count = int(families.max()) + 1
    errors = guesses.departure.copy()
    if count == 1 or count > MOST_RECENTRED:
        return errors
    for family in range(count):
        members = families == family
        moved = guesses.centre - known_median(guesses.gap[:, ~members])
        errors[members] += guesses.weights @ np.nan_to_num(moved, nan=0.0)  # a reference without others stays as it is
    return errors


def workload_covariance(
    database: Database, evidence: Evidence, guesses: Guesses, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray]:
    """How alike the departures of any two workloads are, (B + 1, B + 1), A last, in units of their variance.

        linear x_a x_b / median |x|^2 + near exp(-sqrt(d_ab / median d)) + features exp(-f_ab / (2 0.3^2))

    x are the disagreements of the references about a workload, d the squared distance in them and in the shape of its
    curve, f the mean squared distance in its features on the references. Also the distance of A to the others (B,),
    in 0..1.
    """
    values, apart = guesses.value, guesses.apart
    J = values.shape[1]
    x = apart.reshape(len(apart), -1) / np.sqrt(J)
    shape = values - values.mean(axis=1, keepdims=True)
    shape = (shape - finite_median(shape)) / np.sqrt(J)
    coordinates = np.append(x, shape, axis=1)
    squares = (coordinates**2).sum(axis=1)
    d = np.maximum(squares[:, None] + squares - 2 * coordinates @ coordinates.T, 0.0)
    d /= finite_median(d[np.tril_indices(len(d) - 1, k=-1)]) + TINY
    near = np.exp(-np.sqrt(d))
    covariance = h.near_workloads * near
    length = np.sqrt((x**2).sum(axis=1))
    typical = finite_median(length[:-1])
    if typical > TINY:
        x = x * np.minimum(1.0, LONGEST_COORDINATES * typical / np.maximum(length, TINY))[:, None]
        covariance += h.linear_workloads * x @ x.T / typical**2
    if h.features and any(database.valid_elements(group)[COUNTER_FEATURES].any() for group in evidence.groups):
        covariance += h.features * np.exp(
            _feature_distances(database, evidence, guesses, h) / (-2 * h.features_length**2)
        )
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    alike = covariance[-1, :-1] / (scale[-1] * scale[:-1])
    return covariance, 1.0 - clip_to(np.maximum(alike, 0.0), 1.0)


def _feature_distances(database: Database, evidence: Evidence, guesses: Guesses, h: Hyperparameters) -> FloatArray:
    """Mean squared distances of the workloads' features on the references (B + 1, B + 1), each feature in 0..1."""
    rows = evidence.rows[:-1]
    values = database.features[rows][:, :, COUNTER_FEATURES]
    values[rows < 0] = np.nan
    values = values[:, :, ~np.isnan(values).all(axis=(0, 1))]  # what nobody has tells no workloads apart
    low, high = known_percentiles(values, FEATURE_QUANTILES)
    wide = np.where(high > low, high - low, np.inf)[:, None]
    scaled = np.nan_to_num(np.clip((values - low[:, None]) / wide, 0.0, 1.0), nan=0.5)
    varied = np.ptp(scaled, axis=1) > 0
    weights = guesses.weights[:, None] * varied
    scaled *= np.sqrt(weights / max(weights.sum(), TINY))[:, None]
    flat = scaled.transpose(1, 0, 2).reshape(rows.shape[1], -1)
    squares = (flat**2).sum(axis=1)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * flat @ flat.T, 0.0))


def known_percentiles(values: FloatArray, percentages: tuple[float, ...]) -> FloatArray:
    """Percentiles along the second axis of values (R, B, F), NaN passed over: one (R, F) for each percentage.

    Linear between the values in order, as numpy's; NaN where fewer than two are known. One sort of all instead of
    `numpy.nanpercentile`, which goes through the columns one by one.

    >>> known_percentiles(np.array([[[1.0, 7.0], [3.0, np.nan], [np.nan, np.nan]]]), (0, 50)).tolist()
    [[[1.0, nan]], [[2.0, nan]]]
    """
    ordered = np.sort(values, axis=1)  # NaN last
    last = np.count_nonzero(~np.isnan(values), axis=1) - 1
    found = []
    for percentage in percentages:
        position = np.maximum(last, 0) * (percentage / 100)
        below = position.astype(np.int64)
        start = np.take_along_axis(ordered, below[:, None], axis=1)[:, 0]
        stop = np.take_along_axis(ordered, np.minimum(below + 1, np.maximum(last, 0))[:, None], axis=1)[:, 0]
        found.append(np.where(last > 0, start + (stop - start) * (position - below), np.nan))
    return np.stack(found)


def _explained(
    covariance: FloatArray, departure: FloatArray, families: IntArray, h: Hyperparameters
) -> tuple[FloatArray, FloatArray]:
    """What the process expects A to depart (J,), and each workload, its family left out (B, J)."""
    limit = LARGEST_DEPARTURE * MEDIAN_TO_SIGMA * finite_median(np.abs(departure)) + TINY
    known = clip_to(departure, limit)
    noisy = covariance[:-1, :-1] + h.workload_noise * np.eye(len(known))
    inverse: FloatArray = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
    products: FloatArray = inverse @ known
    errors, _ = left_out_family_errors(inverse[None], products[None], family_members(families))
    of_others = known - errors[0] if families.any() else np.zeros(known.shape)
    return covariance[-1, :-1] @ products, of_others


def explained_share(errors: FloatArray, explained: FloatArray, departure: FloatArray) -> float:
    """Which share of what the process expects would have been right of T's workloads, each left out, in 0..1.

        share = sum e g / (sum g^2 + 3 median e^2),    g clipped expectations, e departures

    The least-squares share, drawn towards 0 as if 3 workloads of typical departure had shown nothing.

    >>> departures = np.array([[0.1], [-0.1], [0.2]])
    >>> [round(explained_share(departures, expected, departures), 2) for expected in (departures, -departures)]
    [0.67, 0.0]
    """
    limit = LARGEST_DEPARTURE * MEDIAN_TO_SIGMA * finite_median(np.abs(departure)) + TINY
    clipped = clip_to(errors, limit)
    doubt = DOUBTED_WORKLOADS * float((finite_median(np.abs(errors)) ** 2).sum())
    share = float((clipped * explained).sum()) / (float((explained**2).sum()) + doubt + TINY)
    return min(max(share, 0.0), 1.0)


def _deviations(guesses: Guesses) -> FloatArray:
    """How far a workload may be from its guess, (B + 1, J): the typical departure, and how the references disagree.

    There, and over the whole curve.
    """
    typical = MEDIAN_TO_SIGMA * finite_median(np.abs(guesses.departure)) + LEAST_RATIO_SPREAD
    disagreement = (guesses.apart**2).sum(axis=1)
    disagreement = (disagreement + disagreement.mean(axis=1, keepdims=True)) / 2
    return np.asarray(np.sqrt(typical**2 + disagreement))


def family_factor(scores: FloatArray, families: IntArray, level: float) -> float:
    """How many deviations hold `level` of the left-out errors (B, J), every family counting alike.

    Workloads that were left out one by one may be exchanged for A: as in `conformal_factor`, few of them ask for more.

    >>> round(family_factor(np.arange(1, 100)[:, None] / 100, np.arange(99), 0.9), 2)
    0.9
    """
    if len(scores) < FEWEST_SCORES:
        return UNCALIBRATED_DEVIATIONS
    sizes = np.bincount(families)
    if len(sizes) == len(families):
        level = min(level * (1.0 + FEW_FAMILIES_CORRECTION / len(families)), 1.0)
    weights: FloatArray = np.repeat(1.0 / sizes[families], scores.shape[1])
    flat = scores.ravel()
    order = np.argsort(flat, kind="stable")
    total = np.cumsum(weights[order])
    reached = int(np.searchsorted(total, level * total[-1] * (1.0 - TINY)))
    return float(flat[order[min(reached, len(flat) - 1)]])
