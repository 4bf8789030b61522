"""A Gaussian process over platforms: which references count for A on T, with what weight, and how sure that is.

A second one, of the references nearest to T alone, finds what counts among them, not among all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gathering import Evidence, knots_first
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.intervals import (
    FEWEST_USABLE_ERRORS,
    TargetPosition,
    calibrated_half_width,
    left_out_family_errors,
    left_out_single_errors,
    noisiness,
    position_of_target,
)
from predictor.core.mpet.kriging import (
    KrigingResult,
    behaviour_covariances,
    invert_definite,
    krige,
    metadata_covariance,
    nearness_weights,
    whole_curve_weights,
)
from predictor.core.mpet.parts import CurveParts, separate_parts, workload_weights
from predictor.core.mpet.platforms import PlatformMetadata
from predictor.core.mpet.transfer import LeftOutErrors, Transfer, downward_shift, mean_transfer
from predictor.core.robust import MEAN_TO_SIGMA, clip_to, finite_median
from profiles.arrays import FloatArray, IntArray


class KnownErrors(NamedTuple):
    """Errors of kriging with one covariance, in ln t, where the truth is known.

    Of A (J, R) and of T's workloads (J, R, B) on each reference without itself; of the workloads in T's position
    (J, R, B); and on T (J, B), 0 where nothing was measured.
    """

    own: FloatArray
    alone: FloatArray
    in_position: FloatArray
    on_target: FloatArray


@dataclass(frozen=True, eq=False)
class ResidualRegression:
    """A ridge regression of A's errors on those of the known workloads, over the references and knots.

    X (J, R, B) and x (J, B) are the workloads' errors on the references and T, `y` (J, R) those of A, none of them too
    large; `inverse` is C^-1 with C = X'X + ridge, and f (B,) the coefficients.
    """

    X: FloatArray
    x: FloatArray
    y: FloatArray
    inverse: FloatArray
    f: FloatArray

    @classmethod
    def fit(cls, errors: KnownErrors, h: Hyperparameters = DEFAULTS) -> ResidualRegression:
        J, R, B = errors.alone.shape
        limit = (h.clip * MEAN_TO_SIGMA / R) * np.abs(errors.alone).sum(axis=1)
        rows, x = clip_to(errors.alone, limit[:, None]).reshape(J * R, B), clip_to(errors.on_target, limit)
        y = clip_to(errors.own, (h.clip * MEAN_TO_SIGMA / R) * np.abs(errors.own).sum(axis=1, keepdims=True))
        deviation = np.sqrt(np.einsum("ib,ib->b", rows, rows) / len(rows)) + TINY
        rows /= deviation
        inverse = rows.T @ rows
        inverse.flat[:: B + 1] += h.ridge * len(rows)
        invert_definite(inverse)  # definite, by the ridge
        return cls(rows.reshape(J, R, B), x / deviation, y, inverse, inverse @ (y.ravel() @ rows))

    def on_target(self) -> FloatArray:
        """What A's value on T gains from what the same kriging gets wrong about T's known workloads, (J,)."""
        return np.asarray(self.x @ self.f)

    def on_references(self) -> FloatArray:
        """What A's value on every reference p would gain in the same way, learned from the others, (J, R).

        X_p f_p = y_p - (1 - H_pp)^-1 r_p,    r_p = y_p - X_p f,    H_pp = X_p C^-1 X_p'
        """
        left = self.y - self.X @ self.f
        hat = self.X.transpose(1, 0, 2) @ (self.X @ self.inverse).transpose(1, 2, 0)
        return np.asarray(self.y - np.linalg.solve(np.eye(len(left)) - hat, left.T[:, :, None])[:, :, 0].T)


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


def gaussian_transfer(
    evidence: Evidence, parts: CurveParts, metadata: PlatformMetadata, level: float, h: Hyperparameters = DEFAULTS
) -> Transfer:
    """Krige A's deviations from the references' speed, then what T's workloads leave unexplained.

        t = s(T) + sum_p u_p (z(p,A) - s(p)) + sum_b v_b (e(T,b) - sum_p u_p e(p,b)),    sum u = 1

    The weights u are a mean of those of two covariances: one for each knot from what is known at near n, one from whole
    curves.
    """
    weights = workload_weights(parts.correlation, h)
    position = position_of_target(evidence, metadata)
    knots = whole_curve_weights(evidence)
    if len(evidence.n) > 1:
        knots = np.concatenate([knots, nearness_weights(evidence.log_n, h)])
    covariances = behaviour_covariances(parts, weights, metadata_covariance(evidence, metadata, h), knots, h)
    values = [parts.own, *parts.own.T[:, :, None]][: len(knots)]
    outside = evidence.outside.T**2
    outside = np.concatenate([outside.sum(axis=0, keepdims=True) / len(outside), outside])[: len(knots)]
    kriged = krige(covariances.matrix, values, h.noise + h.outside_noise * outside, h)
    whole, known_errors = whole_curve_model(kriged, evidence, parts, position, h)
    model = whole
    if len(knots) > 1:
        near = near_knots_model(kriged, parts.own, position, h)
        share = stacking_share(whole.errors[position.usable], near.errors[position.usable])
        pairs = zip(whole, near, strict=True)
        model = KrigedModel(*((1.0 - share) * of_whole + share * of_near for of_whole, of_near in pairs))
    regression = ResidualRegression.fit(known_errors, h)
    value = np.einsum("jp,pj->j", model.weights, parts.own) + regression.on_target()
    noise = noisiness(evidence, known_errors.in_position, known_errors.on_target, weights)
    if position.is_alone:
        model = model._replace(errors=model.errors - regression.on_references())
    errors, deviations, deviation = add_filling_errors(evidence.fill_errors, parts, model)
    errors = errors + downward_shift(model.deviations**2, h)
    return Transfer(
        value=parts.speed[-1] + value - downward_shift(model.deviation**2, h),
        half_width=calibrated_half_width(
            position, noise, level, errors=errors, deviations=deviations, deviation=deviation
        ),
        platform_weights=model.weights,
        workload_weights=weights**2 / (weights**2).sum(),
        platform_distance=1.0 - np.exp(-covariances.distance[-len(evidence.n) :].mean(axis=0) / 2),
        workload_distance=1.0 - np.minimum(np.abs(parts.correlation), 1.0),
        errors_on_target=known_errors.on_target,
        left_out=LeftOutErrors(errors, deviations, position.usable),
    )


def whole_curve_model(
    kriged: KrigingResult, evidence: Evidence, parts: CurveParts, position: TargetPosition, h: Hyperparameters
) -> tuple[KrigedModel, KnownErrors]:
    """The model of the first covariance, for all knots, and how wrong T's known workloads would be with it."""
    rest, J = knots_first(parts.rest), len(evidence.n)
    values = np.concatenate([rest[:, :-1], parts.own.T[:, :, None]], axis=2)
    products = kriged.projections[0] @ values
    errors, variances = alone, _ = left_out_single_errors(kriged.projections[:1], products)
    if not position.is_alone:
        errors, variances = left_out_family_errors(kriged.projections[:1], products, position.members)
    variances = np.maximum(variances - kriged.added[:1], h.noise)
    on_target = rest[:, -1] - (kriged.weights[0] @ values)[:, :-1]
    on_target *= evidence.measured_on_target
    model = KrigedModel(
        weights=kriged.weights[:1],
        deviation=np.sqrt(np.maximum(kriged.variance[:J], 0.0)),
        errors=errors[:, :, -1],
        deviations=np.sqrt(np.maximum(variances * kriged.scale[:J, None], 0.0)),
    )
    return model, KnownErrors(alone[:, :, -1], alone[:, :, :-1], errors[:, :, :-1], on_target)


def near_knots_model(
    kriged: KrigingResult, own: FloatArray, position: TargetPosition, h: Hyperparameters
) -> KrigedModel:
    """The model of the other covariances, one for each knot."""
    projections, J = kriged.projections[1:], own.shape[1]
    errors, variances = left_out_family_errors(projections, projections @ own.T[:, :, None], position.members)
    variances = np.maximum(variances - kriged.added[1:], h.noise)
    return KrigedModel(
        weights=kriged.weights[1:],
        deviation=np.sqrt(np.maximum(kriged.variance[J:], 0.0)),
        errors=errors[:, :, 0],
        deviations=np.sqrt(np.maximum(variances * kriged.scale[J:, None], 0.0)),
    )


def add_filling_errors(
    errors: FloatArray | None, parts: CurveParts, model: KrigedModel
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Errors, deviations and T's deviation of the model, with what errors (J, R, B) of filled-in workloads add to them.

    As much as a ridge regression of A on the known workloads says, over the references and knots; and T's speed, which
    is a mean over the workloads, is as much too high as they are.
    """
    if errors is None:
        return model.errors, model.deviations, model.deviation
    rest = knots_first(parts.rest)[:, :-1]
    J, R, B = rest.shape
    X = (rest - rest.sum(axis=(0, 1)) / (J * R)).reshape(J * R, B)
    own = (parts.own - parts.own.sum(axis=0) / R).T.ravel()
    products = X.T @ X
    products.flat[:: B + 1] += FILL_RIDGE * np.trace(products) / B + TINY
    gain = np.linalg.solve(products, own @ X)
    added = errors @ (gain - gain.sum() / B + 1.0 / B)
    square = (added**2).sum(axis=1) / R
    deviations = np.sqrt(model.deviations**2 + square[:, None])
    return model.errors + added, deviations, np.sqrt(model.deviation**2 + square)


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


def mean_with_neighbours(
    wide: Transfer, evidence: Evidence, metadata: PlatformMetadata, level: float, h: Hyperparameters = DEFAULTS
) -> Transfer:
    """The mean of `wide`, which carried A from all references, and of the same from the `h.neighbours` nearest.

    Speeds, correlations and typical distances are theirs there. Distances are those of `wide`, and so is the interval,
    as much narrower as the mean errs less on the nearest: too few are near to calibrate one.
    """
    references = len(evidence.platforms)
    if references < FEWEST_REFERENCES_RATIO * h.neighbours:
        return wide
    nearest = _nearest(wide.platform_distance, evidence, metadata, h)
    among = evidence.nearest(nearest)
    narrow = gaussian_transfer(among, separate_parts(among, h.far_off), metadata, level, h)
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


def _nearest(distance: FloatArray, evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters) -> IntArray:
    """The references that behave most like T (D_p, back in squares) and are most like it on paper, in their order."""
    squares = -np.log(np.maximum(1.0 - distance, TINY))
    on_paper = metadata.squared_distances(evidence.platforms, evidence.target)
    apart = squares / (finite_median(squares) + TINY) + h.neighbours_paper * on_paper
    return np.sort(np.argsort(apart, kind="stable")[: h.neighbours])
