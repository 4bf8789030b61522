"""Curves taken apart: what belongs to the workload, to the platform, and the rest; and who is like whom in the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.database import FloatArray, IntArray
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.robust import median

ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Parts:
    """curves = workload part (B, J) + speed (P, J) + rest (P, B, J), the rest 0 where unknown."""

    speed: FloatArray
    rest: FloatArray
    own: FloatArray  # (R, J): A's curve on the references less their speed


def separate(evidence: Evidence) -> Parts:
    """Split curves into what belongs to the workload, to the platform, and the rest, by alternating means."""
    known = evidence.known.astype(np.float64)
    per_workload, per_platform = np.maximum(known.sum(axis=0), 1), np.maximum(known.sum(axis=1), 1)
    over_platforms, over_workloads = evidence.curves.sum(axis=0), evidence.curves.sum(axis=1)
    speed = np.zeros_like(over_workloads)
    for _ in range(ROUNDS):
        workload = (over_platforms - known.T @ speed) / per_workload[:, None]
        speed = (over_workloads - known @ workload) / per_platform[:, None]
    rest = evidence.curves - workload - speed[:, None]
    rest *= known[:, :, None]
    return Parts(speed, rest, evidence.of_workload - speed[:-1])


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
