"""Curves taken apart: what belongs to the workload, to the platform, and the rest; and who is like whom in the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from predictor.core.mpet.gathering import Evidence, knots_first, knots_last
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.platforms import PlatformMetadata, nearest_at_any
from predictor.core.robust import MEAN_TO_SIGMA, finite_median
from profiles.arrays import FloatArray, IntArray

MEAN_ROUNDS = 4  # of alternating means: more change the parts no more
ROBUST_MEAN_ROUNDS = 3  # of alternating means after which far curves have their least weight
METADATA_DISTANCE_SHARE = 0.3  # of the squared distance on paper, beside that of behaviour in units of its median
FEWEST_WORKLOADS_TO_JUDGE = 8  # workloads on T: of fewer nobody can tell which is unusual


@dataclass(frozen=True, eq=False)
class CurveParts:
    """curves = workload part (B, J) + speed (P, J) + rest (P, B, J), the rest 0 where unknown."""

    speed: FloatArray
    rest: FloatArray
    own: FloatArray  # (R, J): A's curve on the references less their speed

    @cached_property
    def correlation(self) -> FloatArray:
        """The correlation of every workload's deviations from the platforms' speed with A's, (B,).

        Over the references and knots.
        """
        return np.asarray(self._correlations(self.own.T[:, :, None])[0])

    def correlations(self, workloads: IntArray) -> FloatArray:
        """As `correlation`, with each of these known workloads in the place of A, (C, B)."""
        return self._correlations(knots_first(self.rest)[:, :-1].take(workloads, axis=2))

    def _correlations(self, deviations: FloatArray) -> FloatArray:
        """The correlations of every workload with each of the `deviations` (J, R, C), (C, B)."""
        rest, R = knots_first(self.rest)[:, :-1], deviations.shape[1]
        deviations = deviations - deviations.sum(axis=1, keepdims=True) / R
        products = (deviations.transpose(0, 2, 1) @ rest).sum(axis=0)
        units = np.sqrt(np.einsum("jrc,jrc->c", deviations, deviations)[:, None] * self._squares)
        return np.asarray(products / (units + TINY))

    @cached_property
    def _squares(self) -> FloatArray:
        """The sum of squares of every workload's deviations from their means at each knot, (B,)."""
        rest = knots_first(self.rest)[:, :-1]
        squares = np.einsum("jrb,jrb->b", rest, rest) - (rest.sum(axis=1) ** 2).sum(axis=0) / rest.shape[1]
        return np.asarray(np.maximum(squares, 0.0))


def separate_parts(evidence: Evidence, far_off: float = DEFAULTS.far_off) -> CurveParts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating weighted means.

    `far_off` infinite: plain means.
    """
    counts = _counts(evidence, far_off)
    per_workload, per_platform = _totals(counts)
    curves = knots_first(evidence.curves)
    counted = curves * counts
    over_platforms, over_workloads = counted.sum(axis=1), counted.sum(axis=2)
    workload = over_platforms / per_workload
    for _ in range(MEAN_ROUNDS - 1):
        speed = (over_workloads - workload @ counts.T) / per_platform
        workload = (over_platforms - speed @ counts) / per_workload
    speed = (over_workloads - workload @ counts.T) / per_platform
    rest = np.subtract(curves, workload[:, None], out=counted)
    rest -= speed[:, :, None]
    rest *= evidence.is_known
    return CurveParts(speed.T, knots_last(rest), evidence.of_workload - speed.T[:-1])


def _totals(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sums over platforms (B,) and over workloads (P,), nowhere 0."""
    return np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)


def _counts(evidence: Evidence, far_off: float) -> FloatArray:
    """How much each curve counts in the means (P, B): 0 where unknown, less than 1 where it is far off (Huber).

    So a platform's speed is that of most of its workloads, not of a few that it is unusually bad at, and one absurd
    curve moves neither.
    """
    is_known = evidence.is_known.astype(np.float64)
    if far_off == math.inf or np.count_nonzero(evidence.measured_on_target) < FEWEST_WORKLOADS_TO_JUDGE:
        return is_known
    level, counts = knots_first(evidence.curves).sum(axis=0) / len(evidence.n), is_known
    speed: FloatArray | float = 0.0
    for _ in range(ROBUST_MEAN_ROUNDS):
        per_workload, per_platform = _totals(counts)
        off = level - speed
        workload = np.einsum("pb,pb->b", counts, off) / per_workload
        off = level - workload
        speed = (np.einsum("pb,pb->p", counts, off) / per_platform)[:, None]
        off -= speed
        np.maximum(np.abs(off, out=off), TINY, out=off)
        typical = (far_off * MEAN_TO_SIGMA) * np.einsum("pb,pb->b", counts, off) / per_workload
        counts = np.minimum(np.divide(typical, off, out=off), 1.0, out=off)
        counts *= is_known
    return counts


def workload_weights(correlation: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each known workload counts: by how alike it and A deviate from the platforms' speed.

        w_b = (floor + |correlation_b|)^power / root mean square of all,    floor = 0.1 and power = 2 by default

    Parameters: `correlation` (B,) in -1..1. Returns (B,) without unit, with mean square 1.

    >>> workload_weights(np.array([0.9, 0.0])).round(3).tolist()
    [1.414, 0.014]
    """
    weights = (h.workload_floor + np.abs(correlation)) ** h.workload_power
    return np.asarray(weights / np.sqrt((weights**2).sum() / len(weights)))


def nearest_references(
    evidence: Evidence, parts: CurveParts, weights: FloatArray, metadata: PlatformMetadata, most: int
) -> IntArray:
    """The `most` references most like T in behaviour and on paper, in platform order."""
    rest = knots_first(parts.rest)
    J, _, B = rest.shape
    gap = rest[:, :-1] - rest[:, -1:]
    distance = np.einsum("jrb,jrb,b->r", gap, gap, weights**2 / (J * B))
    gap = parts.speed[:-1] - parts.speed[-1]
    distance += (gap**2).sum(axis=1) / J - (gap.sum(axis=1) / J) ** 2
    distance /= finite_median(distance) + TINY
    distance += METADATA_DISTANCE_SHARE * metadata.squared_distances(evidence.platforms, evidence.target)
    return nearest_at_any(distance + evidence.outside.T, most)
