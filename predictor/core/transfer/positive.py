"""Transfer with strictly positive weights: one speed ratio per n and reference, the more alike the heavier.

`log_transfer` needs enough references to learn which workloads behave like A; `small_transfer` works from one.
"""

from __future__ import annotations

import numpy as np

from predictor.core.database import FloatArray
from predictor.core.intervals import conformal_factor
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.hyperparameters import TINY
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.parts import Parts
from predictor.core.transfer.robust import median
from predictor.core.transfer.transfer import Transfer

LEAST_REST = 0.1  # of the weight: a workload that is the whole ratio cannot be left out of it


def log_transfer(evidence: Evidence, parts: Parts, metadata: PlatformMetadata, level: float) -> Transfer:
    """Workloads weighted by their positive correlation with A; platforms by how one ratio fits all workloads."""
    correlation = parts.correlation
    v = np.maximum(correlation, 0.0) ** 2 + 0.05
    ratio, spread = _ratios(evidence, v)
    distance = spread + 0.1 * median(spread) * metadata.apart(evidence.platforms, evidence.target)
    least = distance.min() + TINY
    u = np.exp(-(distance - least) / least)
    return _transfer(evidence, u, v, ratio, spread=spread, apart=1.0 - np.clip(correlation, 0.0, 1.0), level=level)


def small_transfer(evidence: Evidence, level: float) -> Transfer:
    """Workloads weighted by the likeness of their curves' shape to A's; platforms by distance^-2."""
    shapes = evidence.curves[:-1] - evidence.curves[:-1].mean(axis=2, keepdims=True)
    own = evidence.of_workload - evidence.of_workload.mean(axis=1, keepdims=True)
    known = evidence.known[:-1]
    squares = np.where(known, ((shapes - own[:, None]) ** 2).mean(axis=2), 0.0)
    shared = known.sum(axis=0)
    shape_distance = np.sqrt(squares.sum(axis=0) / np.maximum(shared, 1))
    shape_distance = np.where(shared > 0, shape_distance, shape_distance.max(initial=0.0))
    width = np.sort(shape_distance)[min(2, len(shape_distance) - 1)] + 0.01
    v = np.exp(-shape_distance / width) + 0.001
    ratio, spread = _ratios(evidence, v)
    together = known.sum(axis=1)
    distance = 0.02 + np.sqrt(spread) * np.sqrt((together + 2) / together)
    apart = 1.0 - np.exp(-shape_distance / width)
    return _transfer(evidence, distance**-2, v, ratio, spread=distance**2, apart=apart, level=level)


def _ratios(evidence: Evidence, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean log ratio T to reference (R, J) over their common workloads, and its mean squared spread (R,)."""
    weight = evidence.known[:-1] * v
    weight /= weight.sum(axis=1, keepdims=True)
    gap = evidence.curves[-1] - evidence.curves[:-1]
    ratio = np.einsum("pb,pbj->pj", weight, gap)
    gap -= ratio[:, None]
    spread = np.einsum("pb,pbj,pbj->p", weight, gap, gap) / gap.shape[2]
    return ratio, spread + 0.3 * ratio.var(axis=1)


def _transfer(
    evidence: Evidence,
    u: FloatArray,
    v: FloatArray,
    ratio: FloatArray,
    *,
    spread: FloatArray,
    apart: FloatArray,
    level: float,
) -> Transfer:
    u, v = u / u.sum(), v / v.sum()
    each = evidence.of_workload + ratio
    value = u @ each
    deviation = np.sqrt(u @ spread + u @ (each - value) ** 2 + TINY)
    measured = evidence.measured_on_target
    errors = _errors_on_target(evidence, u, v, ratio) * measured
    scores = np.abs(errors) / deviation[:, None]
    usable = np.broadcast_to(measured, scores.shape)
    factor = conformal_factor(scores, usable, level, int(measured.sum()), few=0.0)
    return Transfer(
        value=value,
        half_width=factor * deviation,
        platform_weights=np.broadcast_to(u, (len(value), len(u))),
        workload_weights=v,
        platform_distance=1.0 - np.exp(-spread / (2 * (median(spread) + TINY))),
        workload_distance=apart,
        errors_on_target=errors,
    )


def _errors_on_target(evidence: Evidence, u: FloatArray, v: FloatArray, ratio: FloatArray) -> FloatArray:
    """How wrong each known workload would be predicted on T without itself, (J, B).

    A workload's part in the ratio is its weight, so its error without itself is its error / (1 - weight).
    """
    share = evidence.known[:-1] * u[:, None]
    share /= np.maximum(share.sum(axis=0), TINY)
    gap = evidence.curves[-1] - evidence.curves[:-1] - ratio[:, None]
    return np.asarray(np.einsum("pb,pbj->jb", share, gap) / np.maximum(1.0 - v, LEAST_REST))
