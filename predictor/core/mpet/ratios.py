"""Transfer by ratios of speed, which works from one reference on, and with weights that are all positive.

`log_transfer` needs enough references to learn which workloads behave like A; `small_transfer` works from one, by the
shapes of curves. `robust_transfer` has each reference guess A on T by the median of its ratios over T's workloads, the
references with even ratios first. What T's workloads depart from such guesses is a Gaussian process over workloads, in
coordinates that are known of A too: how the references disagree about it, the shape of its curve, and its features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.curves import evaluated_curves
from predictor.core.mpet.gathering import Evidence, application_families
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.intervals import conformal_factor, family_factor, left_out_errors
from predictor.core.mpet.kriging import squared_distances
from predictor.core.mpet.parts import CurveParts
from predictor.core.mpet.transfer import Transfer
from predictor.core.robust import MEDIAN_TO_SIGMA, clip_to, finite_median, known_median
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import CURVE_NAMES, ELEMENTS, FRACTIONS

LEAST_REMAINING_WEIGHT = 0.1  # a workload that is nearly the whole ratio is left out of it as if so much remained
MOST_CHECKED_WORKLOADS = 16  # or families: more of them change the interval little, and leaving one out no median
CORRELATION_WEIGHT_FLOOR = 0.05  # added to squared correlations: a workload unlike A still counts so much
METADATA_SPREAD_SHARE = 0.1  # of the median spread: what a unit of squared metadata distance adds to a platform's
RATIO_SLOPE_SHARE = 0.3  # of the squares by which a ratio changes over n: so much of them counts as spread
WIDTH_RANK = 2  # the third workload by distance of shape sets how fast the weights of workloads fall
LEAST_SHAPE_WIDTH = 0.01  # of ln t, added to that distance: curves of the same shape do not make it 0
SHAPE_WEIGHT_FLOOR = 0.001  # added to the weights of workloads by shape, which so are never all 0
COMMON_WORKLOADS_PENALTY = 2  # (m + 2) / m multiplies the spread over m common workloads: few of them agree by chance


class AskedWorkloads(NamedTuple):
    """A, and after it C known workloads, asked for as if T lacked them: how wrong that is tells how wrong A may be.

    `checked` (C,): the positions of these workloads; `curves` (1 + C, J, R) on the references, and where the
    references have them, `is_measured` (1 + C, R). `is_family` (C, B): what T would lack together with each.
    """

    checked: IntArray
    curves: FloatArray
    is_measured: BoolArray
    is_family: BoolArray

    @classmethod
    def choose(cls, evidence: Evidence, families: IntArray | None = None) -> AskedWorkloads:
        """A and at most 16 workloads of T that references have, which also have another one of T's."""
        is_measured = evidence.is_known[:-1].T & (evidence.is_known[:-1].sum(axis=1) > 1)
        checked = np.flatnonzero(evidence.measured_on_target & is_measured.any(axis=1))
        checked = checked[:: max(-(-len(checked) // MOST_CHECKED_WORKLOADS), 1)]
        curves = np.append(evidence.of_workload[:, :, None], evidence.curves[:, :-1, checked], axis=2)
        of_a = np.ones((1, len(evidence.platforms)), dtype=bool)
        families = np.arange(len(evidence.workloads)) if families is None else families
        return cls(
            checked,
            curves.transpose(2, 0, 1).copy(),
            np.append(of_a, is_measured[checked], axis=0),
            families[checked, None] == families,
        )

    def without_themselves(self, values: FloatArray, instead: FloatArray | float = 0.0) -> FloatArray:
        """Values (1 + C, B), of which those of a workload for itself and its family are replaced."""
        return np.append(values[:1], np.where(self.is_family, instead, values[1:]), axis=0)


class LogRatios(NamedTuple):
    """Log ratios of T to the references over their common workloads, for every workload that is asked for.

    `mean` (1 + C, J, R); `spread` (1 + C, R), how far single ratios are from it over workloads and n, squared; `gap`
    (J, R, B), the ratio of every workload, 0 where it is unknown.
    """

    mean: FloatArray
    spread: FloatArray
    gap: FloatArray


def log_transfer(evidence: Evidence, parts: CurveParts, level: float, families: IntArray | None = None) -> Transfer:
    """Workloads weighted by their positive correlation with A; platforms by how well one ratio fits all workloads.

        v_b = max(correlation_b, 0)^2 + 0.05,    D_p = spread_p + 0.1 median(spread) metadata distance_p,
        u_p = exp(-(D_p - least D) / least D),   t(T,A) = sum_p u_p (z(p,A) + sum_b v_b (z(T,b) - z(p,b)))

    with u and v brought to sum 1. With `families` (B,) of the workloads, one that is checked is asked for as if T
    lacked all of its family.
    """
    asked = AskedWorkloads.choose(evidence, families)
    correlations = np.maximum(parts.correlations(asked.checked), 0.0)
    v = asked.without_themselves(correlations**2 + CORRELATION_WEIGHT_FLOOR)
    ratios = _log_ratios(evidence, v)
    typical = finite_median(ratios.spread, axis=1)[:, None]
    distance = (
        METADATA_SPREAD_SHARE * typical * evidence.metadata.squared_distances(evidence.platforms, evidence.target)
    )
    distance += ratios.spread
    least = np.where(asked.is_measured, distance, np.inf).min(axis=1)[:, None] + TINY
    u = asked.is_measured * np.exp(-(distance - least) / least)
    workload_distance = 1.0 - np.minimum(correlations[0], 1.0)
    return _transfer(evidence, asked, u, v, ratios, workload_distance=workload_distance, level=level)


def small_transfer(evidence: Evidence, level: float) -> Transfer:
    """Workloads weighted by how like A's the shape of their curves is; platforms by distance^-2.

    v_b = exp(-shape distance_b / width) + 0.001,    width = the third smallest shape distance + 0.01,
    D_p = 0.02 + sqrt(spread_p (m_p + 2) / m_p),     u_p = D_p^-2,    m_p = workloads that p shares with T

    The shape distance is the root mean square over the references that have both, in ln t; where none has, the largest
    of the others.
    """
    asked, is_known = AskedWorkloads.choose(evidence), evidence.is_known[:-1]
    shapes = (evidence.curves[:, :-1] - evidence.curves[:, :-1].mean(axis=0)).transpose(1, 2, 0)
    own = (asked.curves - asked.curves.mean(axis=1, keepdims=True)).transpose(0, 2, 1)
    has_both = is_known & asked.is_measured[:, :, None]
    squares = np.where(has_both, ((shapes - own[:, :, None]) ** 2).mean(axis=3), 0.0)
    shared = has_both.sum(axis=1)
    shape_distance = np.sqrt(squares.sum(axis=1) / np.maximum(shared, 1))
    farthest = shape_distance.max(axis=1, keepdims=True)
    shape_distance = asked.without_themselves(np.where(shared > 0, shape_distance, farthest), farthest[1:])
    rank = min(WIDTH_RANK, shape_distance.shape[1] - 1)
    width = np.sort(shape_distance, axis=1)[:, rank, None] + LEAST_SHAPE_WIDTH
    v = asked.without_themselves(np.exp(-shape_distance / width) + SHAPE_WEIGHT_FLOOR)
    ratios = _log_ratios(evidence, v)
    common = np.maximum((is_known & (v > 0)[:, None]).sum(axis=2), 1)
    distance = LEAST_RATIO_SPREAD + np.sqrt(ratios.spread) * np.sqrt((common + COMMON_WORKLOADS_PENALTY) / common)
    ratios = ratios._replace(spread=distance**2)
    workload_distance = 1.0 - np.exp(-shape_distance[0] / width[0])
    u = asked.is_measured * distance**-2
    return _transfer(evidence, asked, u, v, ratios, workload_distance=workload_distance, level=level)


def _log_ratios(evidence: Evidence, v: FloatArray) -> LogRatios:
    """The ratios with the workloads weighted by `v` (1 + C, B)."""
    J, is_known = len(evidence.n), evidence.is_known[:-1]
    gap = (evidence.curves[:, -1:] - evidence.curves[:, :-1]) * is_known
    total = np.maximum(v @ is_known.T, TINY)
    mean = (v @ gap.transpose(0, 2, 1)).transpose(1, 0, 2) / total[:, None]
    spread = v @ (gap**2).sum(axis=0).T / total - (mean**2).sum(axis=1)
    spread += RATIO_SLOPE_SHARE * ((mean - mean.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return LogRatios(mean, np.maximum(spread, 0.0) / J, gap)


def _transfer(
    evidence: Evidence,
    asked: AskedWorkloads,
    u: FloatArray,
    v: FloatArray,
    ratios: LogRatios,
    *,
    workload_distance: FloatArray,
    level: float,
) -> Transfer:
    """The transfer of A by weights `u` (1 + C, R) of the references and `v` (1 + C, B) of the workloads.

    Both have a row for A and one for each workload that is checked.
    """
    u = u / u.sum(axis=1, keepdims=True)
    value, deviation = _carried_values(asked, u, ratios)
    scores = np.abs(value[1:] - evidence.curves[:, -1].T[asked.checked]) / deviation[1:]
    factor = conformal_factor(scores, np.ones(scores.shape, dtype=bool), level, len(scores), few=0.0)
    own, is_known = v[0] / v[0].sum(), evidence.is_known[:-1]
    # A workload's part in the ratio is its weight, so its error without itself is its error / (1 - weight).
    errors = u[0] @ ratios.gap - (ratios.mean[0] * u[0]) @ is_known
    errors /= np.maximum(u[0] @ is_known, TINY) * np.maximum(1.0 - own, LEAST_REMAINING_WEIGHT)
    return Transfer(
        value=value[0],
        half_width=factor * deviation[0],
        platform_weights=np.repeat(u[:1], len(evidence.n), axis=0),
        workload_weights=own,
        platform_distance=_platform_distance(ratios.spread[0]),
        workload_distance=workload_distance,
        errors_on_target=errors * evidence.measured_on_target,
    )


def _platform_distance(spread: FloatArray) -> FloatArray:
    """D_p by the squared spread of the ratios of each reference (R,)."""
    return np.asarray(1.0 - np.exp(spread / (-2 * (finite_median(spread) + TINY))))


def _carried_values(asked: AskedWorkloads, u: FloatArray, ratios: LogRatios) -> tuple[FloatArray, FloatArray]:
    """ln(n t(n)) on T (1 + C, J), and how far that of single references and workloads is from it."""
    each = asked.curves + ratios.mean
    value = np.einsum("kjr,kr->kj", each, u)
    square = np.einsum("kjr,kr->kj", (each - value[:, :, None]) ** 2, u) + (u * ratios.spread).sum(axis=1)[:, None]
    return value, np.sqrt(square + TINY)


LEAST_RATIO_SPREAD = 0.02  # of ln t: no reference counts as having more even ratios
SPREAD_POWER = 4  # of the spread of its ratios: how much less an uneven reference counts
WEIGHT_SOFTNESS = 0.25  # robust deviations: ratios this near to the median carry it alike
LONGEST_COORDINATES = 2.0  # medians of the workloads' lengths, for what is linear in the coordinates
FEATURE_QUANTILES = (5, 95)  # percentiles of the workloads that become 0 and 1 of a feature
DOUBTED_WORKLOADS = 3.0  # so many departures of typical size speak against what the process explains
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
    evidence: Evidence, level: float, h: Hyperparameters = DEFAULTS, *, explain: bool = True
) -> Transfer:
    """The transfer of A by median ratios, with what a Gaussian process over workloads explains of its departure.

    Without `explain` by the ratios alone, whose weights are all positive. What was filled in on T takes no part: the
    references, of which it was made, say it themselves.
    """
    is_measured = evidence.measured_on_target
    known = evidence if is_measured.all() else evidence.of_workloads(np.flatnonzero(is_measured))
    guesses = guess_by_medians(held_curves(known), known.is_known)
    families, _ = application_families(known)
    errors = _recentred_departures(guesses, families)
    value, distance = guesses.value[-1], np.zeros(len(errors))
    # How far a workload may be from its guess: the typical departure, and how the references disagree there and over
    # the whole curve.
    typical = MEDIAN_TO_SIGMA * finite_median(np.abs(guesses.departure))
    disagreement = (guesses.apart**2).sum(axis=1)
    disagreement = (disagreement + disagreement.mean(axis=1, keepdims=True)) / 2
    deviation = np.sqrt((typical + LEAST_RATIO_SPREAD) ** 2 + disagreement)
    if explain and len(errors) > 1:
        limit = h.clip * typical + TINY
        covariance, distance = workload_covariance(known, guesses, h)
        expected, of_workloads = _explained(covariance, clip_to(guesses.departure, limit), families, h)
        share = explained_share(errors, of_workloads, limit)
        value, errors = value + share * expected, errors - share * of_workloads
    half_width = family_factor(np.abs(errors) / deviation[:-1], families, level) * deviation[-1]
    transfer = Transfer(
        value=value - np.minimum(h.few_shift * half_width**2, h.most_few_shift),
        half_width=half_width,
        platform_weights=np.repeat(guesses.weights[None], len(evidence.n), axis=0),
        workload_weights=guesses.workload_weights,
        platform_distance=_platform_distance(guesses.spread**2),
        workload_distance=distance,
        errors_on_target=errors.T,
    )
    if known is evidence:
        return transfer

    def among_all(values: FloatArray, other: float) -> FloatArray:
        wide = np.full((*values.shape[:-1], len(is_measured)), other)
        wide[..., is_measured] = values
        return wide

    return replace(
        transfer,
        workload_weights=among_all(transfer.workload_weights, 0.0),
        workload_distance=among_all(distance, 1.0),
        errors_on_target=among_all(errors.T, 0.0),
    )


def held_curves(evidence: Evidence) -> FloatArray:
    """ln(n t(n)) of the references and T (last) for T's workloads and A (last), (R + 1, B + 1, J), 0 where unknown.

    Outside of what was measured the last value is held, on T as on the references: of a few platforms no mean curve
    can be made that would tell how A goes on there.
    """
    evaluated = evaluated_curves(evidence.database)
    knots = np.searchsorted(evaluated.n, evidence.n)
    is_outside = evaluated.outside[knots].take(evaluated.pattern.take(evidence.rows), axis=1) > 0
    curves = np.zeros(is_outside.shape)
    curves[:, :, :-1] = evidence.curves
    curves[:, :-1, -1] = evidence.of_workload
    return np.where(is_outside, evaluated.at(evidence.rows, knots), curves).transpose(1, 2, 0)


def guess_by_medians(curves: FloatArray, is_known: BoolArray) -> Guesses:
    """What each reference guesses of T by the median of its ratios, and their mean.

        c(p,n) = median_b (z(T,b,n) - z(p,b,n)),    u_p ~ (0.02 + r_p)^-4,    guess(b,n) = sum_p u_p (z(p,b,n) + c(p,n))

    r_p is the robust deviation of the ratios from their median, mean over n.

    Parameters: `curves` (R + 1, B + 1, J), T and A last; `is_known` (R + 1, B). Every reference has A and one of T's
    workloads.

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
    departure = (curves[-1, :-1] - value[:-1]) * np.asarray(known_of.any(axis=0))[:, None]
    return Guesses(value, apart, departure, weights, by_workload / by_workload.sum(), spread, gap, centre)


def _recentred_departures(guesses: Guesses, families: IntArray) -> FloatArray:
    """How far T's workloads are from the guess (B, J), each without what its own family does to the medians."""
    count = int(families.max()) + 1
    errors = guesses.departure.copy()
    for family in range(count) if 1 < count <= MOST_CHECKED_WORKLOADS else ():
        members = families == family
        moved = guesses.centre - known_median(guesses.gap[:, ~members])
        errors[members] += guesses.weights @ np.nan_to_num(moved, nan=0.0)  # a reference without others stays as it is
    return errors


def workload_covariance(
    evidence: Evidence, guesses: Guesses, h: Hyperparameters = DEFAULTS
) -> tuple[FloatArray, FloatArray]:
    """How alike the departures of any two workloads are, (B + 1, B + 1), A last, in units of their variance.

        linear x_a x_b / median |x|^2 + exp(-sqrt(d_ab / median d)) + features exp(-f_ab / (2 0.3^2))

    x are the disagreements of the references about a workload, d the squared distance in them and in the shape of its
    curve, f the mean squared distance in its features on the references. Also the distance of A to the others (B,),
    in 0..1.
    """
    values, apart = guesses.value, guesses.apart
    x = apart.reshape(len(apart), -1) / np.sqrt(values.shape[1])
    shape = values - values.mean(axis=1, keepdims=True)
    shape = (shape - finite_median(shape)) / np.sqrt(values.shape[1])
    coordinates = np.append(x, shape, axis=1)
    d = squared_distances(coordinates @ coordinates.T)
    d /= finite_median(d[np.tril_indices(len(d) - 1, k=-1)]) + TINY
    covariance = np.exp(-np.sqrt(d))
    length = np.sqrt((x**2).sum(axis=1))
    typical = finite_median(length[:-1])
    if typical > TINY:
        x = x * np.minimum(1.0, LONGEST_COORDINATES * typical / np.maximum(length, TINY))[:, None]
        covariance += h.linear_workloads * x @ x.T / typical**2
    if h.features and any(evidence.database.valid_elements(group)[COUNTER_FEATURES].any() for group in evidence.groups):
        scaled = _scaled_features(evidence, guesses.weights)
        covariance += h.features * np.exp(squared_distances(scaled @ scaled.T) / (-2 * h.features_length**2))
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    alike = covariance[-1, :-1] / (scale[-1] * scale[:-1])
    return covariance, 1.0 - clip_to(np.maximum(alike, 0.0), 1.0)


def _scaled_features(evidence: Evidence, weights: FloatArray) -> FloatArray:
    """The features of T's workloads and A (last) on the references, each in 0..1, such that their squared distances are
    means by the references' weights, (B + 1, any)."""
    rows = evidence.rows[:-1]
    values = evidence.database.features[rows][:, :, COUNTER_FEATURES]
    values[rows < 0] = np.nan
    values = values[:, :, ~np.isnan(values).all(axis=(0, 1))]  # what nobody has tells no workloads apart
    low, high = known_percentiles(values, FEATURE_QUANTILES)
    wide = np.where(high > low, high - low, np.inf)[:, None]
    scaled = np.nan_to_num(np.clip((values - low[:, None]) / wide, 0.0, 1.0), nan=0.5)
    share = weights[:, None] * (np.ptp(scaled, axis=1) > 0)
    scaled *= np.sqrt(share / max(share.sum(), TINY))[:, None]
    return np.asarray(scaled.transpose(1, 0, 2).reshape(rows.shape[1], -1))


def known_percentiles(values: FloatArray, percentages: tuple[float, ...]) -> FloatArray:
    """Percentiles along the second axis of values (R, B, F), NaN passed over: one (R, F) for each percentage.

    Linear between the values in order, as numpy's; NaN where fewer than two are known. One sort of all instead of
    `numpy.nanpercentile`, which goes through the columns one by one.

    >>> known_percentiles(np.array([[[1.0, 7.0], [3.0, np.nan], [np.nan, np.nan]]]), (0, 50)).tolist()
    [[[1.0, nan]], [[2.0, nan]]]
    """
    ordered = np.sort(values, axis=1)  # NaN last
    last = np.count_nonzero(~np.isnan(values), axis=1, keepdims=True) - 1
    found = []
    for percentage in percentages:
        position = np.maximum(last, 0) * (percentage / 100)
        below = position.astype(np.int64)
        ends = below, np.minimum(below + 1, np.maximum(last, 0))
        start, stop = (np.take_along_axis(ordered, end, axis=1) for end in ends)
        found.append(np.where(last > 0, start + (stop - start) * (position - below), np.nan)[:, 0])
    return np.stack(found)


def _explained(
    covariance: FloatArray, known: FloatArray, families: IntArray, h: Hyperparameters
) -> tuple[FloatArray, FloatArray]:
    """What the process expects A to depart (J,), and each workload, its family left out, by `known` ones (B, J)."""
    noisy = covariance[:-1, :-1] + h.workload_noise * np.eye(len(known))
    inverse: FloatArray = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
    products = inverse @ known
    errors, _ = left_out_errors(inverse[None], products[None], families)
    return covariance[-1, :-1] @ products, known - errors[0] if families.any() else np.zeros(known.shape)


def explained_share(errors: FloatArray, explained: FloatArray, limit: FloatArray) -> float:
    """Which share of what the process expects would have been right of T's workloads, each left out, in 0..1.

        share = sum e g / (sum g^2 + 3 median e^2),    g expectations, e departures, none of them beyond the `limit`

    The least-squares share, drawn towards 0 as if 3 workloads of typical departure had shown nothing.

    >>> departures = np.array([[0.1], [-0.1], [0.2]])
    >>> [round(explained_share(departures, expected, np.ones(1)), 2) for expected in (departures, -departures)]
    [0.67, 0.0]
    """
    doubt = DOUBTED_WORKLOADS * float((finite_median(np.abs(errors)) ** 2).sum())
    share = float((clip_to(errors, limit) * explained).sum()) / (float((explained**2).sum()) + doubt + TINY)
    return min(max(share, 0.0), 1.0)
