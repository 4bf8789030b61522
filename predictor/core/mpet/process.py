"""A Gaussian process over platforms: which references count for A on T, with what weight, and how sure that is.

A second one, of the references nearest to T alone, finds what counts among them, not among all.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.kriging import (
    CurveParts,
    KrigingResult,
    behaviour_covariances,
    invert_definite,
    krige,
    metadata_covariance,
    nearness_weights,
    separate_parts,
    workload_weights,
)
from predictor.core.mpet.transfer import (
    LeftOutErrors,
    Transfer,
    conformal_factor,
    downward_shift,
    left_out_errors,
    left_out_families,
    mean_transfer,
    noisiness,
)
from predictor.core.robust import MEAN_TO_SIGMA, clip_to, finite_median
from profiles.arrays import FloatArray, IntArray

FEWEST_USABLE_ERRORS = 20  # references times knots: with fewer in T's position all references count
DEPARTURE_WIDENING = 0.5  # how much the distance from what was calibrated adds to half the interval
LEAST_ERROR_RATIO = 0.8  # of errors: thirty references do not tell more
FEWEST_REFERENCES_RATIO = 1.5  # times as many references as are near: with fewer both processes are nearly the same
STACKING_SHRINKAGE = 0.02  # of the errors' covariance, towards equal shares
FILL_RIDGE = 0.05  # of the mean variance of a workload's deviations


class KrigedModel(NamedTuple):
    """A kriged to T at each knot, and to the references in T's position: errors in ln t, and expected deviations."""

    weights: FloatArray  # (J, R)
    deviation: FloatArray  # (J,)
    errors: FloatArray  # (J, R)
    deviations: FloatArray  # (J, R)


def gaussian_transfer(evidence: Evidence, parts: CurveParts, level: float, h: Hyperparameters = DEFAULTS) -> Transfer:
    """Krige A's deviations from the references' speed, then what T's workloads leave unexplained.

        t = s(T) + sum_p u_p (z(p,A) - s(p)) + sum_b v_b (e(T,b) - sum_p u_p e(p,b)),    sum u = 1

    The weights u are a mean of those of two covariances: one for each knot from what is known at near n, one from whole
    curves. The interval is calibrated on the references, each left out like T and predicted:

        score = |error| / (deviation sqrt(noise)),    h = conformal factor * deviation on T * sqrt(noise of T)
    """
    J, R = parts.own.shape
    correlation = parts.correlations()
    weights = workload_weights(correlation, h)
    families, can_be_left_out = left_out_families(evidence.platforms, evidence.target, evidence.metadata)
    units = len(np.unique(families))
    usable = evidence.measured & can_be_left_out
    if np.count_nonzero(usable) < FEWEST_USABLE_ERRORS:
        usable = np.ones(usable.shape, dtype=bool)
    # The covariance of whole curves, and where there are several knots one for each.
    K = 1 + J if J > 1 else 1
    knots = np.append(np.full((1, J), 1.0 / J), nearness_weights(evidence.log_n, h), axis=0)[:K]
    covariances, distance = behaviour_covariances(parts, weights, metadata_covariance(evidence, h), knots, h)
    outside = evidence.outside**2
    outside = np.append(outside.mean(axis=0, keepdims=True), outside, axis=0)[:K]
    kriged = krige(covariances, [parts.own.T, *parts.own[:, :, None]][:K], h.noise + h.outside_noise * outside, h)
    # A and T's workloads by the weights of whole curves; A by those of near n, too.
    values = np.append(parts.rest[:, :-1], parts.own[:, :, None], axis=2)
    products = kriged.projections[0] @ values
    alone = products / kriged.projections[0].diagonal()[:, None]
    whole, in_position = _model(kriged, slice(1), products, families, columns=slice(J), h=h)
    on_target = (parts.rest[:, -1] - (kriged.weights[0] @ values)[:, :-1]) * evidence.measured_on_target
    model = whole
    if K > 1:
        products = kriged.projections[1:] @ parts.own[:, :, None]
        near, _ = _model(kriged, slice(1, None), products, families, columns=slice(J, None), h=h)
        share = stacking_share(whole.errors[usable], near.errors[usable])
        model = KrigedModel(*((1.0 - share) * w + share * n for w, n in zip(whole, near, strict=True)))
    gain, gains = unexplained_gains(alone[:, :, :-1], alone[:, :, -1], on_target, h, on_references=units == R)
    errors, deviations, deviation = model.errors - gains, model.deviations, model.deviation
    if evidence.fill_errors is not None:
        added = carried_fill_errors(evidence.fill_errors, parts)
        square = (added**2).mean(axis=1)
        errors, deviations = errors + added, np.sqrt(deviations**2 + square[:, None])
        deviation = np.sqrt(deviation**2 + square)
    errors = errors + downward_shift(model.deviations**2, h)  # of what would be answered
    noise = np.sqrt(noisiness(evidence, in_position[:, :, :-1], on_target, weights))
    factor = conformal_factor(np.abs(errors) / (deviations * noise[:-1] + TINY), usable, level, units)
    value = parts.speed[:, -1] + np.einsum("jp,jp->j", model.weights, parts.own) + gain
    return Transfer(
        value=value - downward_shift(model.deviation**2, h),
        half_width=factor * deviation * noise[-1],
        platform_weights=model.weights,
        workload_weights=weights**2 / (weights**2).sum(),
        platform_distance=1.0 - np.exp(-distance[-J:].mean(axis=0) / 2),
        workload_distance=1.0 - np.minimum(np.abs(correlation), 1.0),
        errors_on_target=on_target,
        left_out=LeftOutErrors(errors, deviations, usable),
    )


def _model(
    kriged: KrigingResult, of: slice, products: FloatArray, families: IntArray, *, columns: slice, h: Hyperparameters
) -> tuple[KrigedModel, FloatArray]:
    """The model by some of the covariances and their columns of values, and its errors (J, R, C) of all `products`, of
    which A's are the last."""
    errors, variances = left_out_errors(kriged.projections[of], products, families)
    variances = np.maximum(variances - kriged.added[of], h.noise) * kriged.scale[columns, None]
    deviation, deviations = (np.sqrt(np.maximum(each, 0.0)) for each in (kriged.variance[columns], variances))
    return KrigedModel(kriged.weights[of], deviation, errors[:, :, -1], deviations), errors


def unexplained_gains(
    rows: FloatArray, own: FloatArray, on_target: FloatArray, h: Hyperparameters = DEFAULTS, *, on_references: bool
) -> tuple[FloatArray, FloatArray | float]:
    """What A's value gains from what the same kriging gets wrong about the known workloads: on T (J,), and on every
    reference p, learned from the others, (J, R); 0 where that is not wanted.

    By a ridge regression of A's errors y = `own` (J, R) on those of the workloads, X = `rows` (J, R, B) on the
    references and `on_target` (J, B), none of them too large, over the references and knots:

        f = C^-1 X'y,    C = X'X + ridge,    X_p f_p = y_p - (1 - H_pp)^-1 (y_p - X_p f),    H_pp = X_p C^-1 X_p'
    """
    J, R, B = rows.shape
    limit = (h.clip * MEAN_TO_SIGMA / R) * np.abs(rows).sum(axis=1)
    X, x = clip_to(rows, limit[:, None]).reshape(J * R, B), clip_to(on_target, limit)
    y = clip_to(own, (h.clip * MEAN_TO_SIGMA / R) * np.abs(own).sum(axis=1, keepdims=True))
    deviation = np.sqrt(np.einsum("ib,ib->b", X, X) / len(X)) + TINY
    X /= deviation
    inverse = X.T @ X
    inverse.flat[:: B + 1] += h.ridge * len(X)
    invert_definite(inverse)
    f = inverse @ (y.ravel() @ X)
    if not on_references:
        return (x / deviation) @ f, 0.0
    X_p = X.reshape(J, R, B).transpose(1, 0, 2)
    hat = X_p @ (X @ inverse).reshape(J, R, B).transpose(1, 2, 0)
    left = np.linalg.solve(np.eye(J) - hat, (y.T - X_p @ f)[:, :, None])[:, :, 0].T
    return (x / deviation) @ f, y - left


def carried_fill_errors(errors: FloatArray, parts: CurveParts) -> FloatArray:
    """What errors (J, R, B) of filled-in workloads add to those of A (J, R).

    As much as a ridge regression of A on the known workloads says, over the references and knots; and T's speed, which
    is a mean over the workloads, is as much too high as they are.
    """
    rest = parts.rest[:, :-1]
    J, R, B = rest.shape
    X = (rest - rest.sum(axis=(0, 1)) / (J * R)).reshape(J * R, B)
    own = (parts.own - parts.own.mean(axis=1, keepdims=True)).ravel()
    products = X.T @ X
    products.flat[:: B + 1] += FILL_RIDGE * np.trace(products) / B + TINY
    gain = np.linalg.solve(products, own @ X)
    return np.asarray(errors @ (gain - gain.sum() / B + 1.0 / B))


def stacking_share(first: FloatArray, second: FloatArray, clip: float = DEFAULTS.clip) -> float:
    """The share of the second of two models, in 0..1, whose mean has the least squared left-out errors (N,).

        (c_11 - c_12) / (c_11 + c_22 - 2 c_12),    c = covariance of the (clipped) errors

    shrunk a little towards a half.

    >>> round(stacking_share(np.array([2.0, -2.0]), np.array([1.0, 1.0])), 2)
    0.79
    """
    first, second = (
        clip_to(errors, float(clip * MEAN_TO_SIGMA * np.abs(errors).sum() / errors.size)) for errors in (first, second)
    )
    shrink = STACKING_SHRINKAGE * (first @ first + second @ second) / 2 + TINY
    both = first @ second
    own = first @ first - both + shrink, second @ second - both + shrink
    return min(max(float(own[0] / (own[0] + own[1])), 0.0), 1.0)


def mean_with_neighbours(wide: Transfer, evidence: Evidence, level: float, h: Hyperparameters = DEFAULTS) -> Transfer:
    """The mean of `wide`, which carried A from all references, and of the same from the `h.neighbours` nearest.

    Speeds, correlations and typical distances are theirs there. Distances are those of `wide`, and so is the interval,
    as much narrower as the mean errs less on the nearest: too few are near to calibrate one.
    """
    references = len(evidence.platforms)
    if references < FEWEST_REFERENCES_RATIO * h.neighbours:
        return wide
    # Those that behave most like T (D_p, back in squares) and are most like it on paper, in their order.
    squares = -np.log(np.maximum(1.0 - wide.platform_distance, TINY))
    on_paper = evidence.metadata.squared_distances(evidence.platforms, evidence.target)
    apart = squares / (finite_median(squares) + TINY) + h.neighbours_paper * on_paper
    nearest = np.sort(np.argsort(apart, kind="stable")[: h.neighbours])
    among = evidence.nearest(nearest)
    narrow = gaussian_transfer(among, separate_parts(among, h.far_off), level, h)
    weights = np.zeros((len(evidence.n), references))
    weights[:, nearest] = narrow.platform_weights
    half_width = wide.half_width * _error_ratio(wide.left_out, narrow.left_out, nearest, h)
    distances = {name: getattr(wide, name) for name in ("platform_distance", "workload_distance")}
    both = mean_transfer([wide, replace(narrow, platform_weights=weights, **distances)])
    # The interval was calibrated for `wide`: as far as the answer departs from that, it is less sure.
    return replace(both, half_width=np.hypot(half_width, DEPARTURE_WIDENING * (both.value - wide.value)))


def _error_ratio(
    wide: LeftOutErrors | None, narrow: LeftOutErrors | None, nearest: IntArray, h: Hyperparameters
) -> float:
    """Errors of the mean of both over those of the wide process, on the nearest references in T's position.

    In units of the wide process's deviations, clipped; 1 where there are too few of them.
    """
    if wide is None or narrow is None:
        return 1.0
    usable = wide.usable[:, nearest] & narrow.usable
    if np.count_nonzero(usable) < FEWEST_USABLE_ERRORS:
        return 1.0
    errors, deviations = wide.errors[:, nearest], wide.deviations[:, nearest]
    sizes = [np.abs(each / deviations)[usable] for each in (errors, (errors + narrow.errors) / 2.0)]
    limit = h.clip * MEAN_TO_SIGMA * sizes[0].sum() / sizes[0].size
    alone, both = (float((np.minimum(size, limit) ** 2).sum()) + TINY for size in sizes)
    return min(max(math.sqrt(both / alone), LEAST_ERROR_RATIO), 1.0 / LEAST_ERROR_RATIO)
