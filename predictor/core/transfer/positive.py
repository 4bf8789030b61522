"""Transfer with strictly positive weights: one speed ratio per n and reference, the more alike the heavier.

`log_transfer` needs enough references to learn which workloads behave like A; `small_transfer` works from one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.database import FloatArray
from predictor.core.intervals import conformal_factor
from predictor.core.transfer.evidence import Evidence, by_knot
from predictor.core.transfer.hyperparameters import TINY
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.parts import Parts
from predictor.core.transfer.robust import median
from predictor.core.transfer.transfer import Transfer

LEAST_REST = 0.1  # of the weight: a workload that is the whole ratio cannot be left out of it


class Ratios(NamedTuple):
    """Log ratios of T to the references over their common workloads: their means (J, R), how far each workload is from
    it (J, R, B), and how far they spread, squared (R,).
    """

    mean: FloatArray
    gap: FloatArray
    spread: FloatArray


def log_transfer(evidence: Evidence, parts: Parts, metadata: PlatformMetadata, level: float) -> Transfer:
    """Workloads weighted by their positive correlation with A; platforms by how one ratio fits all workloads."""
    correlation = parts.correlation
    v = np.maximum(correlation, 0.0) ** 2 + 0.05
    ratios = _ratios(evidence, v)
    distance = ratios.spread + 0.1 * median(ratios.spread) * metadata.apart(evidence.platforms, evidence.target)
    least = distance.min() + TINY
    u = np.exp(-(distance - least) / least)
    apart = 1.0 - np.minimum(np.maximum(correlation, 0.0), 1.0)
    return _transfer(evidence, u, v, ratios, apart=apart, level=level)


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
    ratios = _ratios(evidence, v)
    together = known.sum(axis=1)
    distance = 0.02 + np.sqrt(ratios.spread) * np.sqrt((together + 2) / together)
    apart = 1.0 - np.exp(-shape_distance / width)
    ratios = ratios._replace(spread=distance**2)
    return _transfer(evidence, distance**-2, v, ratios, apart=apart, level=level)


def _ratios(evidence: Evidence, v: FloatArray) -> Ratios:
    curves, J = by_knot(evidence.curves), len(evidence.n)
    weight = evidence.known[:-1] * v
    weight /= weight.sum(axis=1, keepdims=True)
    gap = curves[:, -1:] - curves[:, :-1]
    ratio = np.einsum("rb,jrb->jr", weight, gap)
    gap -= ratio[:, :, None]
    spread = np.einsum("rb,jrb,jrb->r", weight, gap, gap)
    spread += 0.3 * ((ratio - ratio.sum(axis=0) / J) ** 2).sum(axis=0)
    return Ratios(ratio, gap, spread / J)


def _transfer(
    evidence: Evidence,
    u: FloatArray,
    v: FloatArray,
    ratios: Ratios,
    *,
    apart: FloatArray,
    level: float,
) -> Transfer:
    ratio, gap, spread = ratios
    u, v = u / u.sum(), v / v.sum()
    each = evidence.of_workload.T + ratio
    value = each @ u
    each -= value[:, None]
    deviation = np.sqrt(u @ spread + each**2 @ u + TINY)
    measured = evidence.measured_on_target
    errors = _errors_on_target(evidence, u, v, gap) * measured
    scores = (np.abs(errors) / deviation[:, None])[:, measured]
    factor = conformal_factor(scores, np.ones(scores.shape, dtype=bool), level, scores.shape[1], few=0.0)
    return Transfer(
        value=value,
        half_width=factor * deviation,
        platform_weights=np.repeat(u[None], len(value), axis=0),
        workload_weights=v,
        platform_distance=1.0 - np.exp(spread / (-2 * (median(spread) + TINY))),
        workload_distance=apart,
        errors_on_target=errors,
    )


def _errors_on_target(evidence: Evidence, u: FloatArray, v: FloatArray, gap: FloatArray) -> FloatArray:
    """How wrong each known workload would be predicted on T without itself, (J, B).

    A workload's part in the ratio is its weight, so its error without itself is its error / (1 - weight).
    """
    share = evidence.known[:-1] * u[:, None]
    share /= np.maximum(share.sum(axis=0), TINY) * np.maximum(1.0 - v, LEAST_REST)
    return np.asarray(np.einsum("rb,jrb->jb", share, gap))
