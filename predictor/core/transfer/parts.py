"""Curves taken apart: what belongs to the workload, to the platform, and the rest; and who is like whom in the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.database import FloatArray, IntArray
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.robust import MEAN_TO_SIGMA, median

ROUNDS = 4
ROBUST_ROUNDS = 3
FEWEST_TO_JUDGE = 8  # workloads on T: of fewer nobody can tell which is unusual
FAR_OFF = 1.7  # standard deviations of the workload: curves farther off count less


@dataclass(frozen=True, eq=False)
class Parts:
    """curves = workload part (B, J) + speed (P, J) + rest (P, B, J), the rest 0 where unknown."""

    speed: FloatArray
    rest: FloatArray
    own: FloatArray  # (R, J): A's curve on the references less their speed


def separate(evidence: Evidence, *, robust: bool = True) -> Parts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating means."""
    counts = _counts(evidence) if robust else evidence.known.astype(np.float64)
    per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
    over_platforms = (counts.T[:, None] @ evidence.curves.transpose(1, 0, 2))[:, 0]
    over_workloads = (counts[:, None] @ evidence.curves)[:, 0]
    speed = np.zeros_like(over_workloads)
    for _ in range(ROUNDS):
        workload = (over_platforms - counts.T @ speed) / per_workload[:, None]
        speed = (over_workloads - counts @ workload) / per_platform[:, None]
    rest = evidence.curves - workload - speed[:, None]
    rest *= evidence.known[:, :, None]
    return Parts(speed, rest, evidence.of_workload - speed[:-1])


def _counts(evidence: Evidence) -> FloatArray:
    """How much each curve counts in the means (P, B): 0 where unknown, less than 1 where it is far off (Huber).

    So a platform's speed is that of most of its workloads, not of a few that it is unusually bad at, and one absurd
    curve moves neither.
    """
    known = evidence.known.astype(np.float64)
    if evidence.measured_on_target.sum() < FEWEST_TO_JUDGE:
        return known
    level, counts, speed = evidence.curves.mean(axis=2), known, 0.0
    for _ in range(ROBUST_ROUNDS):
        per_workload, per_platform = np.maximum(counts.sum(axis=0), TINY), np.maximum(counts.sum(axis=1), TINY)
        workload = (counts * (level - speed)).sum(axis=0) / per_workload
        speed = ((counts * (level - workload)).sum(axis=1) / per_platform)[:, None]
        off = np.abs(level - workload - speed)
        typical = MEAN_TO_SIGMA * (counts * off).sum(axis=0) / per_workload
        counts = known * np.minimum(1.0, FAR_OFF * typical / np.maximum(off, TINY))
    return counts


def correlations(parts: Parts) -> FloatArray:
    """Of every workload's deviations from the platforms' speed with A's, over references and knots, (B,)."""
    own = parts.own - parts.own.mean(axis=0)
    rest = parts.rest[:-1] - parts.rest[:-1].mean(axis=0)
    scale = np.sqrt((own**2).sum() * np.einsum("pbj,pbj->b", rest, rest)) + TINY
    return np.asarray(np.einsum("pj,pbj->b", own, rest) / scale)


def workload_weights(correlation: FloatArray, h: Hyperparameters = DEFAULTS) -> FloatArray:
    """How much each known workload counts: by how alike it and A deviate from the platforms' speed, (B,)."""
    weights = (h.workload_floor + np.abs(correlation)) ** h.workload_power
    return np.asarray(weights / np.sqrt((weights**2).mean()))


def nearest_references(
    evidence: Evidence, parts: Parts, weights: FloatArray, metadata: PlatformMetadata, most: int
) -> IntArray:
    """The `most` references most like T in behaviour and on paper, in platform order."""
    gap = parts.rest[:-1] - parts.rest[-1]
    distance = np.einsum("pbj,pbj,b->p", gap, gap, weights**2) / gap[0].size
    shape = parts.speed - parts.speed.mean(axis=1, keepdims=True)
    distance += ((shape[:-1] - shape[-1]) ** 2).mean(axis=1)
    distance /= median(distance) + TINY
    on_paper = metadata.vectors[evidence.platforms] - metadata.vectors[evidence.target]
    distance += 0.3 * (on_paper**2).sum(axis=1) + evidence.outside.mean(axis=1)
    return np.sort(np.argsort(distance, kind="stable")[:most])
