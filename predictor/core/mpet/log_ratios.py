"""Transfer with strictly positive weights: one speed ratio per n and reference, the more alike the heavier.

`log_transfer` needs enough references to learn which workloads behave like A; `small_transfer` works from one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.mpet.gathering import Evidence, knots_first
from predictor.core.mpet.hyperparameters import TINY
from predictor.core.mpet.intervals import conformal_factor
from predictor.core.mpet.parts import CurveParts
from predictor.core.mpet.platforms import PlatformMetadata
from predictor.core.mpet.transfer import Transfer
from predictor.core.robust import finite_median
from profiles.arrays import BoolArray, FloatArray, IntArray

LEAST_REMAINING_WEIGHT = 0.1  # a workload that is nearly the whole ratio is left out of it as if so much remained
MOST_CHECKED_WORKLOADS = 16  # known workloads: more of them change the interval little
CORRELATION_WEIGHT_FLOOR = 0.05  # added to squared correlations: a workload unlike A still counts so much
METADATA_SPREAD_SHARE = 0.1  # of the median spread: what a unit of squared metadata distance adds to a platform's
RATIO_SLOPE_SHARE = 0.3  # of the squares by which a ratio changes over n: so much of them counts as spread
WIDTH_RANK = 2  # the third workload by distance of shape sets how fast the weights of workloads fall
LEAST_SHAPE_WIDTH = 0.01  # of ln t, added to that distance: curves of the same shape do not make it 0
SHAPE_WEIGHT_FLOOR = 0.001  # added to the weights of workloads by shape, which so are never all 0
LEAST_PLATFORM_DISTANCE = 0.02  # of ln t: no reference is nearer, however well its ratio fits
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
        is_measured = is_measured[checked]
        curves = knots_first(evidence.curves)[:, :-1].take(checked, axis=2).transpose(2, 0, 1)
        of_a = np.ones((1, len(evidence.platforms)), dtype=bool)
        families = np.arange(len(evidence.workloads)) if families is None else families
        return cls(
            checked,
            np.concatenate([evidence.of_workload.T[None], curves]),
            np.concatenate([of_a, is_measured]),
            families[checked, None] == families,
        )

    def without_themselves(self, values: FloatArray, instead: FloatArray | float = 0.0) -> FloatArray:
        """Values (1 + C, B), of which those of a workload for itself and its family are replaced, in place."""
        values[1:][self.is_family] = np.broadcast_to(instead, self.is_family.shape[:1]).repeat(
            self.is_family.sum(axis=1)
        )
        return values


class LogRatios(NamedTuple):
    """Log ratios of T to the references over their common workloads, for every workload that is asked for.

    `mean` (1 + C, J, R); `spread` (1 + C, R), how far single ratios are from it over workloads and n, squared; `gap`
    (J, R, B), the ratio of every workload, 0 where it is unknown.
    """

    mean: FloatArray
    spread: FloatArray
    gap: FloatArray


def log_transfer(
    evidence: Evidence,
    parts: CurveParts,
    metadata: PlatformMetadata,
    level: float,
    families: IntArray | None = None,
) -> Transfer:
    """Workloads weighted by their positive correlation with A; platforms by how well one ratio fits all workloads.

        v_b = max(correlation_b, 0)^2 + 0.05,    D_p = spread_p + 0.1 median(spread) metadata distance_p,
        u_p = exp(-(D_p - least D) / least D),   t(T,A) = sum_p u_p (z(p,A) + sum_b v_b (z(T,b) - z(p,b)))

    with u and v brought to sum 1. With `families` (B,) of the workloads, one that is checked is asked for as if T
    lacked all of its family.
    """
    asked_workloads = AskedWorkloads.choose(evidence, families)
    correlation = parts.correlation
    v = np.concatenate([correlation[None], parts.correlations(asked_workloads.checked)])
    v = asked_workloads.without_themselves(np.maximum(v, 0.0) ** 2 + CORRELATION_WEIGHT_FLOOR)
    ratios = _log_ratios(evidence, v)
    typical = finite_median(ratios.spread, axis=1)[:, None]
    distance = METADATA_SPREAD_SHARE * typical * metadata.squared_distances(evidence.platforms, evidence.target)
    distance += ratios.spread
    least = np.where(asked_workloads.is_measured, distance, np.inf).min(axis=1)[:, None] + TINY
    u = asked_workloads.is_measured * np.exp(-(distance - least) / least)
    workload_distance = 1.0 - np.minimum(np.maximum(correlation, 0.0), 1.0)
    return _transfer(evidence, asked_workloads, u, v, ratios, workload_distance=workload_distance, level=level)


def small_transfer(evidence: Evidence, level: float) -> Transfer:
    """Workloads weighted by how like A's the shape of their curves is; platforms by distance^-2.

    v_b = exp(-shape distance_b / width) + 0.001,    width = the third smallest shape distance + 0.01,
    D_p = 0.02 + sqrt(spread_p (m_p + 2) / m_p),     u_p = D_p^-2,    m_p = workloads that p shares with T
    """
    asked_workloads, is_known = AskedWorkloads.choose(evidence), evidence.is_known[:-1]
    shape_distance = _shape_distances(evidence, asked_workloads)
    rank = min(WIDTH_RANK, shape_distance.shape[1] - 1)
    width = np.sort(shape_distance, axis=1)[:, rank, None] + LEAST_SHAPE_WIDTH
    v = asked_workloads.without_themselves(np.exp(-shape_distance / width) + SHAPE_WEIGHT_FLOOR)
    ratios = _log_ratios(evidence, v)
    common = np.maximum((is_known & (v > 0)[:, None]).sum(axis=2), 1)
    distance = LEAST_PLATFORM_DISTANCE + np.sqrt(ratios.spread) * np.sqrt((common + COMMON_WORKLOADS_PENALTY) / common)
    u = asked_workloads.is_measured * distance**-2
    workload_distance = 1.0 - np.exp(-shape_distance[0] / width[0])
    ratios = ratios._replace(spread=distance**2)
    return _transfer(evidence, asked_workloads, u, v, ratios, workload_distance=workload_distance, level=level)


def _shape_distances(evidence: Evidence, asked_workloads: AskedWorkloads) -> FloatArray:
    """How far the shapes of the known workloads' curves are from those of the asked ones, (1 + C, B), in ln t.

    The root mean square over the references that have both; where none has, the largest of the others.
    """
    shapes = evidence.curves[:-1] - evidence.curves[:-1].mean(axis=2, keepdims=True)
    own = (asked_workloads.curves - asked_workloads.curves.mean(axis=1, keepdims=True)).transpose(0, 2, 1)
    has_both = evidence.is_known[:-1] & asked_workloads.is_measured[:, :, None]
    squares = np.where(has_both, ((shapes - own[:, :, None]) ** 2).mean(axis=3), 0.0)
    shared = has_both.sum(axis=1)
    distances = np.sqrt(squares.sum(axis=1) / np.maximum(shared, 1))
    farthest = distances.max(axis=1)
    return asked_workloads.without_themselves(np.where(shared > 0, distances, farthest[:, None]), farthest[1:])


def _log_ratios(evidence: Evidence, v: FloatArray) -> LogRatios:
    """The ratios with the workloads weighted by `v` (1 + C, B)."""
    curves, J, is_known = knots_first(evidence.curves), len(evidence.n), evidence.is_known[:-1]
    gap = curves[:, -1:] - curves[:, :-1]
    gap *= is_known
    total = np.maximum(v @ is_known.T, TINY)
    mean = (v @ gap.transpose(0, 2, 1)).transpose(1, 0, 2) / total[:, None]
    spread = v @ (gap**2).sum(axis=0).T / total - (mean**2).sum(axis=1)
    spread += RATIO_SLOPE_SHARE * ((mean - mean.sum(axis=1, keepdims=True) / J) ** 2).sum(axis=1)
    return LogRatios(mean, np.maximum(spread, 0.0) / J, gap)


def _transfer(
    evidence: Evidence,
    asked_workloads: AskedWorkloads,
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
    u /= u.sum(axis=1, keepdims=True)
    value, deviation = _carried_values(asked_workloads, u, ratios)
    scores = np.abs(value[1:] - knots_first(evidence.curves)[:, -1].T[asked_workloads.checked]) / deviation[1:]
    factor = conformal_factor(scores, np.ones(scores.shape, dtype=bool), level, len(scores), few=0.0)
    own, spread = v[0] / v[0].sum(), ratios.spread[0]
    return Transfer(
        value=value[0],
        half_width=factor * deviation[0],
        platform_weights=np.repeat(u[:1], len(evidence.n), axis=0),
        workload_weights=own,
        platform_distance=1.0 - np.exp(spread / (-2 * (finite_median(spread) + TINY))),
        workload_distance=workload_distance,
        errors_on_target=_errors_on_target(evidence, u[0], own, ratios) * evidence.measured_on_target,
    )


def _carried_values(asked_workloads: AskedWorkloads, u: FloatArray, ratios: LogRatios) -> tuple[FloatArray, FloatArray]:
    """ln(n t(n)) on T (1 + C, J), and how far that of single references and workloads is from it."""
    each = asked_workloads.curves + ratios.mean
    value = np.einsum("kjr,kr->kj", each, u)
    each -= value[:, :, None]
    each **= 2
    square = np.einsum("kjr,kr->kj", each, u) + (u * ratios.spread).sum(axis=1)[:, None]
    return value, np.sqrt(square + TINY)


def _errors_on_target(evidence: Evidence, u: FloatArray, v: FloatArray, ratios: LogRatios) -> FloatArray:
    """How wrong each known workload would be with the weights of A, left out of the ratio, (J, B).

    A workload's part in the ratio is its weight, so its error without itself is its error / (1 - weight).
    """
    is_known = evidence.is_known[:-1]
    errors = u @ ratios.gap - (ratios.mean[0] * u) @ is_known
    return np.asarray(errors / (np.maximum(u @ is_known, TINY) * np.maximum(1.0 - v, LEAST_REMAINING_WEIGHT)))
