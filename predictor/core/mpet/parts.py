"""Curves taken apart: what belongs to the workload, to the platform, and the rest; and who is like whom in the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from predictor.core.mpet.gathering import Evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.platforms import PAPER_SHARE, nearest_at_any
from predictor.core.robust import MEAN_TO_SIGMA, finite_median
from profiles.arrays import FloatArray, IntArray

MEAN_ROUNDS = 4  # of alternating means: more change the parts no more
ROBUST_MEAN_ROUNDS = 3  # of alternating means after which far curves have their least weight
FEWEST_WORKLOADS_TO_JUDGE = 8  # workloads on T: of fewer nobody can tell which is unusual


@dataclass(frozen=True, eq=False)
class CurveParts:
    """curves (J, P, B) = workload part (J, B) + `speed` (J, P) + `rest` (J, P, B), the rest 0 where unknown.

    `own` (J, R) is A's curve on the references less their speed.
    """

    speed: FloatArray
    rest: FloatArray
    own: FloatArray

    def correlations(self) -> FloatArray:
        """The correlations of A with every workload (B,), of their deviations from the platforms' speed over the
        references and knots."""
        rest, own = self.rest[:, :-1], self.own - self.own.mean(axis=1, keepdims=True)
        products = np.einsum("jr,jrb->b", own, rest)
        squares = np.einsum("jrb,jrb->b", rest, rest) - (rest.sum(axis=1) ** 2).sum(axis=0) / rest.shape[1]
        return np.asarray(products / (np.sqrt((own**2).sum() * np.maximum(squares, 0.0)) + TINY))


def separate_parts(evidence: Evidence, far_off: float = DEFAULTS.far_off) -> CurveParts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating weighted means.

    `far_off` infinite: plain means.
    """
    counts = _counts(evidence, far_off)
    per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
    counted = evidence.curves * counts
    over_platforms, over_workloads = counted.sum(axis=1), counted.sum(axis=2)
    speed = np.zeros(over_workloads.shape)
    for _ in range(MEAN_ROUNDS):
        workload = (over_platforms - speed @ counts) / per_workload
        speed = (over_workloads - workload @ counts.T) / per_platform
    rest = np.subtract(evidence.curves, workload[:, None], out=counted)
    rest -= speed[:, :, None]
    rest *= evidence.is_known
    return CurveParts(speed, rest, evidence.of_workload - speed[:, :-1])


def _counts(evidence: Evidence, far_off: float) -> FloatArray:
    """How much each curve counts in the means (P, B): 0 where unknown, less than 1 where it is far off (Huber).

    So a platform's speed is that of most of its workloads, not of a few that it is unusually bad at, and one absurd
    curve moves neither.
    """
    is_known = evidence.is_known.astype(np.float64)
    if far_off == math.inf or np.count_nonzero(evidence.measured_on_target) < FEWEST_WORKLOADS_TO_JUDGE:
        return is_known
    level, counts = evidence.curves.sum(axis=0) / len(evidence.n), is_known
    speed = np.zeros((len(level), 1))
    for _ in range(ROBUST_MEAN_ROUNDS):
        per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
        off = level - np.einsum("pb,pb->b", counts, level - speed) / per_workload
        speed = (np.einsum("pb,pb->p", counts, off) / per_platform)[:, None]
        off = np.maximum(np.abs(off - speed), TINY)
        typical = np.einsum("pb,pb->b", counts, off) / per_workload
        counts = np.minimum(far_off * MEAN_TO_SIGMA * typical / off, 1.0) * is_known
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


def nearest_references(evidence: Evidence, parts: CurveParts, weights: FloatArray, most: int) -> IntArray:
    """The `most` references most like T in behaviour and on paper, in platform order."""
    J, _, B = parts.rest.shape
    gap = parts.rest[:, :-1] - parts.rest[:, -1:]
    distance = np.einsum("jrb,jrb,b->r", gap, gap, weights**2 / (J * B))
    distance += (parts.speed[:, :-1] - parts.speed[:, -1:]).var(axis=0)
    distance /= finite_median(distance) + TINY
    distance += PAPER_SHARE * evidence.metadata.squared_distances(evidence.platforms, evidence.target)
    return nearest_at_any(distance + evidence.outside, most)
