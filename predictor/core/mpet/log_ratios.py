"""Transfer with strictly positive weights: one speed ratio per n and reference, the more alike the heavier.

`log_transfer` needs enough references to learn which workloads behave like A; `small_transfer` works from one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.mpet.evidence.gathering import Evidence, knots_first
from predictor.core.mpet.evidence.metadata import PlatformMetadata
from predictor.core.mpet.hyperparameters import TINY
from predictor.core.mpet.intervals import conformal_factor
from predictor.core.mpet.parts import CurveParts
from predictor.core.mpet.robust import finite_median
from predictor.core.mpet.transfer import Transfer
from profiles.arrays import BoolArray, FloatArray, IntArray

LEAST_REMAINING_WEIGHT = 0.1  # of the weight: a workload that is the whole ratio cannot be left out of it
MOST_CHECKED_WORKLOADS = 16  # known workloads: more of them change the interval little


class AskedWorkloads(NamedTuple):
    """A, and after it C known workloads, asked for as if T lacked them: how wrong that is tells how wrong A may be.

    `known` (C,) which they are; `curves` (1 + C, J, R) on the references, and where they are `there` (1 + C, R).
    """

    known: IntArray
    curves: FloatArray
    there: BoolArray

    @classmethod
    def of(cls, evidence: Evidence, checked: bool) -> AskedWorkloads:
        """A alone, or with at most 16 workloads of T that references have, which also have another one of T's."""
        chosen, there = np.zeros(0, dtype=np.int64), evidence.known.T[:0, :-1]
        if checked:
            there = evidence.known[:-1].T & (evidence.known[:-1].sum(axis=1) > 1)
            chosen = np.flatnonzero(evidence.measured_on_target & there.any(axis=1))
            chosen = chosen[:: max(-(-len(chosen) // MOST_CHECKED_WORKLOADS), 1)]
            there = there[chosen]
        curves = knots_first(evidence.curves)[:, :-1].take(chosen, axis=2).transpose(2, 0, 1)
        every = np.ones((1, len(evidence.platforms)), dtype=bool)
        return cls(chosen, np.concatenate([evidence.of_workload.T[None], curves]), np.concatenate([every, there]))

    def without_themselves(self, values: FloatArray, instead: FloatArray | float = 0.0) -> FloatArray:
        """Of values (1 + C, B), those of a workload for itself replaced, in place."""
        values[1 + np.arange(len(self.known)), self.known] = instead
        return values


class LogRatios(NamedTuple):
    """Log ratios of T to the references over their common workloads, for every workload asked for: their means
    (1 + C, J, R), and how far they spread over workloads and n, squared (1 + C, R). `gap` (J, R, B) of every workload,
    0 where unknown.
    """

    mean: FloatArray
    spread: FloatArray
    gap: FloatArray


def log_transfer(
    evidence: Evidence, parts: CurveParts, metadata: PlatformMetadata, level: float, checked: bool = True
) -> Transfer:
    """Workloads weighted by their positive correlation with A; platforms by how one ratio fits all workloads.

    Not `checked`: half the interval is three standard deviations.
    """
    asked = AskedWorkloads.of(evidence, checked)
    correlation = parts.correlation
    v = np.concatenate([correlation[None], parts.correlations(asked.known)])
    v = asked.without_themselves(np.maximum(v, 0.0) ** 2 + 0.05)
    ratios = _ratios(evidence, v)
    distance = 0.1 * finite_median(ratios.spread, axis=1)[:, None] * metadata.apart(evidence.platforms, evidence.target)
    distance += ratios.spread
    least = np.where(asked.there, distance, np.inf).min(axis=1)[:, None] + TINY
    u = asked.there * np.exp(-(distance - least) / least)
    apart = 1.0 - np.minimum(np.maximum(correlation, 0.0), 1.0)
    return _transfer(evidence, asked, u, v, ratios, apart=apart, level=level)


def small_transfer(evidence: Evidence, level: float) -> Transfer:
    """Workloads weighted by the likeness of their curves' shape to A's; platforms by distance^-2."""
    asked, known = AskedWorkloads.of(evidence, checked=True), evidence.known[:-1]
    shapes = evidence.curves[:-1] - evidence.curves[:-1].mean(axis=2, keepdims=True)
    own = (asked.curves - asked.curves.mean(axis=1, keepdims=True)).transpose(0, 2, 1)
    both = known & asked.there[:, :, None]
    squares = np.where(both, ((shapes - own[:, :, None]) ** 2).mean(axis=3), 0.0)
    shared = both.sum(axis=1)
    shape_distance = np.sqrt(squares.sum(axis=1) / np.maximum(shared, 1))
    farthest = shape_distance.max(axis=1)
    shape_distance = np.where(shared > 0, shape_distance, farthest[:, None])
    shape_distance = asked.without_themselves(shape_distance, farthest[1:])
    width = np.sort(shape_distance, axis=1)[:, min(2, shape_distance.shape[1] - 1), None] + 0.01
    v = asked.without_themselves(np.exp(-shape_distance / width) + 0.001)
    ratios = _ratios(evidence, v)
    together = np.maximum((known & (v > 0)[:, None]).sum(axis=2), 1)
    distance = 0.02 + np.sqrt(ratios.spread) * np.sqrt((together + 2) / together)
    apart = 1.0 - np.exp(-shape_distance[0] / width[0])
    u = asked.there * distance**-2
    return _transfer(evidence, asked, u, v, ratios._replace(spread=distance**2), apart=apart, level=level)


def _ratios(evidence: Evidence, v: FloatArray) -> LogRatios:
    """With the workloads weighted by `v` (1 + C, B)."""
    curves, J, known = knots_first(evidence.curves), len(evidence.n), evidence.known[:-1]
    gap = curves[:, -1:] - curves[:, :-1]
    gap *= known
    total = np.maximum(v @ known.T, TINY)
    mean = (v @ gap.transpose(0, 2, 1)).transpose(1, 0, 2) / total[:, None]
    spread = v @ (gap**2).sum(axis=0).T / total - (mean**2).sum(axis=1)
    spread += 0.3 * ((mean - mean.sum(axis=1, keepdims=True) / J) ** 2).sum(axis=1)
    return LogRatios(mean, np.maximum(spread, 0.0) / J, gap)


def _transfer(
    evidence: Evidence,
    asked: AskedWorkloads,
    u: FloatArray,
    v: FloatArray,
    ratios: LogRatios,
    *,
    apart: FloatArray,
    level: float,
) -> Transfer:
    """By weights of the references `u` (1 + C, R) and of the workloads `v` (1 + C, B), for A and what is checked."""
    u /= u.sum(axis=1, keepdims=True)
    value, deviation = _carried(asked, u, ratios)
    scores = np.abs(value[1:] - knots_first(evidence.curves)[:, -1].T[asked.known]) / deviation[1:]
    factor = conformal_factor(scores, np.ones(scores.shape, dtype=bool), level, len(scores), few=0.0)
    own, spread = v[0] / v[0].sum(), ratios.spread[0]
    return Transfer(
        value=value[0],
        half_width=factor * deviation[0],
        platform_weights=np.repeat(u[:1], len(evidence.n), axis=0),
        workload_weights=own,
        platform_distance=1.0 - np.exp(spread / (-2 * (finite_median(spread) + TINY))),
        workload_distance=apart,
        errors_on_target=_errors_on_target(evidence, u[0], own, ratios) * evidence.measured_on_target,
    )


def _carried(asked: AskedWorkloads, u: FloatArray, ratios: LogRatios) -> tuple[FloatArray, FloatArray]:
    """ln(n t(n)) on T (1 + C, J), and how far that of single references and workloads is from it."""
    each = asked.curves + ratios.mean
    value = np.einsum("kjr,kr->kj", each, u)
    each -= value[:, :, None]
    each **= 2
    square = np.einsum("kjr,kr->kj", each, u) + (u * ratios.spread).sum(axis=1)[:, None]
    return value, np.sqrt(square + TINY)


def _errors_on_target(evidence: Evidence, u: FloatArray, v: FloatArray, ratios: LogRatios) -> FloatArray:
    """How wrong each known workload would be with the weights of A, left out of the ratio, (J, B).

    A workload's part in the ratio is its weight, so its error without itself is its error / (1 - weight).
    """
    known = evidence.known[:-1]
    errors = u @ ratios.gap - (ratios.mean[0] * u) @ known
    return np.asarray(errors / (np.maximum(u @ known, TINY) * np.maximum(1.0 - v, LEAST_REMAINING_WEIGHT)))
