"""A Gaussian process over platforms: which references count for A on T, with what weight, and how sure that is.

A second one, of the references nearest to T alone, finds what counts among them, not among all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, MANY_REFERENCES, Hyperparameters
from predictor.core.mpet.kriging import (
    CurveParts,
    behaviour_covariances,
    krige,
    metadata_covariance,
    nearness_weights,
    separate_parts,
    workload_weights,
)
from predictor.core.mpet.transfer import (
    Transfer,
    conformal_factor,
    downward_shift,
    left_out_families,
    mean_transfer,
    noisiness,
)
from predictor.core.numerics import MEAN_TO_SIGMA, TINY, clip_to, finite_median, left_out_errors
from profiles.arrays import FloatArray


def gaussian_transfer(evidence: Evidence, parts: CurveParts, level: float, h: Hyperparameters = DEFAULTS) -> Transfer:
    """Krige A's deviations from the references' speed, then what T's workloads leave unexplained.

        t = s(T) + sum_p u_p (z(p,A) - s(p)) + sum_b v_b (e(T,b) - sum_p u_p e(p,b)),    sum u = 1

    At each knot, by a covariance of what is known at near n. The interval is calibrated on the references, each left
    out like T and predicted:

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
    kriged = krige(covariances, parts.own, h.noise + h.outside_noise * evidence.outside**2, h)
    deviation = np.sqrt(kriged.variance)
    # What the same weights get wrong: on the references about A (last) and T's workloads, on T about these.
    known = np.append(parts.rest[:, :-1], parts.own[:, :, None], axis=2)
    products = kriged.projections @ known
    left_out, variances = left_out_errors(kriged.projections, products, families)
    errors = left_out[:, :, -1]
    deviations = np.sqrt(np.maximum(variances - kriged.added, h.noise) * kriged.scale[:, None])
    alone = products / np.diagonal(kriged.projections, axis1=1, axis2=2)[:, :, None]
    on_target = parts.rest[:, -1] - (kriged.weights[:, None] @ parts.rest[:, :-1])[:, 0]
    on_target *= evidence.measured_on_target
    value = parts.speed[:, -1] + (kriged.weights * parts.own).sum(axis=1)
    value += unexplained_gain(alone[:, :, :-1], alone[:, :, -1], on_target, h)
    shift, shifts = downward_shift(deviation**2, h), downward_shift(deviations**2, h)
    if evidence.fill_errors is not None:
        added = carried_fill_errors(evidence.fill_errors, parts, h)
        square = (added**2).mean(axis=1)
        errors, deviations = errors + added, np.sqrt(deviations**2 + square[:, None])
        deviation = np.sqrt(deviation**2 + square)
    noise = np.sqrt(noisiness(evidence, left_out[:, :, :-1], on_target, weights, h))
    scores = np.abs(errors + shifts) / (deviations * noise[:-1] + TINY)
    factor = conformal_factor(scores, usable, level, units=len(np.unique(families)))
    return Transfer(
        value=value - shift,
        half_width=factor * deviation * noise[-1],
        platform_weights=kriged.weights,
        workload_weights=weights**2 / (weights**2).sum(),
        platform_distance=1.0 - np.exp(distance.mean(axis=0) / -2),
        workload_distance=1.0 - np.minimum(np.abs(correlation), 1.0),
        errors_on_target=on_target,
    )


def unexplained_gain(
    rows: FloatArray, own: FloatArray, on_target: FloatArray, h: Hyperparameters = DEFAULTS
) -> FloatArray:
    """What A's value on T gains from what the same kriging gets wrong about the workloads known there, (J,).

    By a ridge regression of A's errors y = `own` (J, R) on those of the workloads, X = `rows` (J, R, B) on the
    references and x = `on_target` (J, B), none of them too large, over the references and knots:

        x (X'X + ridge)^-1 X'y
    """
    J, R, B = rows.shape
    limit = (h.clip * MEAN_TO_SIGMA / R) * np.abs(rows).sum(axis=1)
    X, x = clip_to(rows, limit[:, None]).reshape(J * R, B), clip_to(on_target, limit)
    y = clip_to(own, (h.clip * MEAN_TO_SIGMA / R) * np.abs(own).sum(axis=1, keepdims=True))
    deviation = np.sqrt(np.einsum("ib,ib->b", X, X) / len(X)) + TINY
    X /= deviation
    products = X.T @ X
    products.flat[:: B + 1] += h.ridge * len(X)
    return np.asarray((x / deviation) @ np.linalg.solve(products, y.ravel() @ X))


def carried_fill_errors(errors: FloatArray, parts: CurveParts, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """What errors (J, R, B) of filled-in workloads add to those of A (J, R).

    As much as a ridge regression of A on the known workloads says, over the references and knots; and T's speed, which
    is a mean over the workloads, is as much too high as they are.
    """
    rest = parts.rest[:, :-1]
    J, R, B = rest.shape
    X = (rest - rest.sum(axis=(0, 1)) / (J * R)).reshape(J * R, B)
    own = (parts.own - parts.own.mean(axis=1, keepdims=True)).ravel()
    products = X.T @ X
    products.flat[:: B + 1] += h.noise * np.trace(products) / B + TINY
    gain = np.linalg.solve(products, own @ X)
    return np.asarray(errors @ (gain - gain.sum() / B + 1.0 / B))


def mean_with_neighbours(wide: Transfer, evidence: Evidence, level: float, h: Hyperparameters = DEFAULTS) -> Transfer:
    """The mean of `wide`, which carried A from all references, and of the same from the `h.neighbours` nearest.

    Speeds, correlations and typical distances are theirs there. The interval is that of `wide`, as too few are near to
    calibrate one, and as much wider as the answer departs from what it was calibrated for; so are the distances.
    """
    references = len(evidence.platforms)
    if references <= h.neighbours:
        return wide
    # Those that behave most like T (D_p, back in squares) and are most like it on paper, in their order.
    squares = -np.log(np.maximum(1.0 - wide.platform_distance, TINY))
    on_paper = evidence.metadata.squared_distances(evidence.platforms, evidence.target)
    apart = squares / (finite_median(squares) + TINY) + h.paper_share * on_paper
    nearest = np.sort(np.argsort(apart, kind="stable")[: h.neighbours])
    among = evidence.nearest(nearest)
    narrow = gaussian_transfer(among, separate_parts(among), level, h)
    weights = np.zeros((len(evidence.n), references))
    weights[:, nearest] = narrow.platform_weights
    distances = {name: getattr(wide, name) for name in ("platform_distance", "workload_distance")}
    both = mean_transfer(wide, replace(narrow, platform_weights=weights, **distances))
    departure = both.value - wide.value
    return replace(both, half_width=np.hypot(wide.half_width, departure))
