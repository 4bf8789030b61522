"""Curves taken apart: what belongs to the workload, to the platform, and the rest; and who is like whom in the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from predictor.core.database import FloatArray, IntArray
from predictor.core.transfer.evidence import Evidence, by_knot, by_platform
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.robust import MEAN_TO_SIGMA, median

ROUNDS = 4
ROBUST_ROUNDS = 3
FEWEST_TO_JUDGE = 8  # workloads on T: of fewer nobody can tell which is unusual


@dataclass(frozen=True, eq=False)
class Parts:
    """curves = workload part (B, J) + speed (P, J) + rest (P, B, J), the rest 0 where unknown."""

    speed: FloatArray
    rest: FloatArray
    own: FloatArray  # (R, J): A's curve on the references less their speed

    @cached_property
    def correlation(self) -> FloatArray:
        """Of every workload's deviations from the platforms' speed with A's, over references and knots, (B,)."""
        own = self.own - self.own.mean(axis=0)
        rest = by_knot(self.rest)[:, :-1]
        rest = rest - rest.mean(axis=1, keepdims=True)
        products = (own.T[:, None] @ rest).sum(axis=(0, 1))
        return np.asarray(products / (np.sqrt((own**2).sum() * (rest**2).sum(axis=(0, 1))) + TINY))


def separate(evidence: Evidence, far_off: float = DEFAULTS.far_off) -> Parts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating weighted means.

    `far_off` infinite: plain means.
    """
    counts = _counts(evidence, far_off)
    per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
    curves = by_knot(evidence.curves)
    counted = curves * counts
    over_platforms, over_workloads = counted.sum(axis=1), counted.sum(axis=2)
    speed = np.zeros_like(over_workloads)
    for _ in range(ROUNDS):
        workload = (over_platforms - speed @ counts) / per_workload
        speed = (over_workloads - workload @ counts.T) / per_platform
    rest = curves - workload[:, None]
    rest -= speed[:, :, None]
    rest *= evidence.known
    return Parts(speed.T, by_platform(rest), evidence.of_workload - speed.T[:-1])


def _counts(evidence: Evidence, far_off: float) -> FloatArray:
    """How much each curve counts in the means (P, B): 0 where unknown, less than 1 where it is far off (Huber).

    So a platform's speed is that of most of its workloads, not of a few that it is unusually bad at, and one absurd
    curve moves neither.
    """
    known = evidence.known.astype(np.float64)
    if np.isinf(far_off) or evidence.measured_on_target.sum() < FEWEST_TO_JUDGE:
        return known
    level, counts, speed = evidence.curves.mean(axis=2), known, 0.0
    for _ in range(ROBUST_ROUNDS):
        per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
        workload = (counts * (level - speed)).sum(axis=0) / per_workload
        speed = ((counts * (level - workload)).sum(axis=1) / per_platform)[:, None]
        off = np.abs(level - workload - speed)
        typical = MEAN_TO_SIGMA * (counts * off).sum(axis=0) / per_workload
        counts = known * np.minimum(1.0, far_off * typical / np.maximum(off, TINY))
    return counts


def workload_weights(correlation: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each known workload counts: by how alike it and A deviate from the platforms' speed, (B,)."""
    weights = (h.workload_floor + np.abs(correlation)) ** h.workload_power
    return np.asarray(weights / np.sqrt((weights**2).mean()))


def nearest_references(
    evidence: Evidence, parts: Parts, weights: FloatArray, metadata: PlatformMetadata, most: int
) -> IntArray:
    """The `most` references most like T in behaviour and on paper, in platform order."""
    gap = parts.rest[:-1] - parts.rest[-1]
    gap **= 2
    distance = gap.sum(axis=2) @ weights**2 / gap[0].size
    shape = parts.speed - parts.speed.mean(axis=1, keepdims=True)
    distance += ((shape[:-1] - shape[-1]) ** 2).mean(axis=1)
    distance /= median(distance) + TINY
    distance += 0.3 * metadata.apart(evidence.platforms, evidence.target) + evidence.outside.mean(axis=1)
    return np.sort(np.argsort(distance, kind="stable")[:most])
