"""What T's few workloads and its relatives say about the workloads that T lacks, before A is predicted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from predictor.core.database import BoolArray, FloatArray, IntArray
from predictor.core.intervals import left_out
from predictor.core.transfer.calibration import relatives
from predictor.core.transfer.covariance import covariances, on_paper, whole_curve
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.transfer.kriging import krige_once
from predictor.core.transfer.mean_curves import distinct
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.parts import Parts, nearest_references, separate

FEWEST = 20  # platforms


def complete(evidence: Evidence, metadata: PlatformMetadata, most: int, h: Hyperparameters = DEFAULTS) -> Evidence:
    """The evidence of the platforms that have A, with T's missing workloads filled in where that tells anything.

    They are kriged to T from all platforms, of which `most` take part, by the covariance that T's own workloads and
    the metadata give. T's relatives without A help here only: where they do not, nothing is filled in.
    """
    references = np.flatnonzero(evidence.has_workload)
    on_target = np.flatnonzero(evidence.measured_on_target)
    if len(on_target) == len(evidence.workloads):
        return evidence
    alone = evidence.of_workloads(on_target)
    if len(evidence.platforms) < FEWEST or len(references) in (0, len(evidence.platforms)):
        return alone.nearest(references)
    chosen, ones = np.arange(len(evidence.platforms)), np.ones(len(on_target))
    if len(chosen) > most:
        chosen = nearest_references(alone, separate(alone, far_off=math.inf), ones, metadata, most)
    known = alone.nearest(chosen)
    parts = separate(known, h.far_off)
    matrix = covariances(parts, ones, on_paper(known, metadata, h), whole_curve(known), h).matrix[0]
    weights, variance, projection = krige_once(matrix, h)
    with_workload = np.append(np.flatnonzero(known.has_workload), len(chosen))
    if variance > h.worthwhile * krige_once(matrix[np.ix_(with_workload, with_workload)], h)[1]:
        return alone.nearest(references)
    return _filled(evidence, chosen, parts, metadata, kriging=(weights, projection)).nearest(references)


def _filled(
    evidence: Evidence,
    chosen: IntArray,
    parts: Parts,
    metadata: PlatformMetadata,
    *,
    kriging: tuple[FloatArray, FloatArray],
) -> Evidence:
    """With T's missing workloads kriged from the `chosen` platforms, whose `parts` are of T's own workloads alone."""
    weights, projection = kriging
    lacking = np.flatnonzero(~evidence.measured_on_target)
    there = evidence.known[chosen][:, lacking]
    values = (evidence.curves[chosen][:, lacking] - parts.speed[:-1, None]) * there[:, :, None]
    values = _without_gaps(values, there, projection)
    curves, known = evidence.curves.copy(order="K"), evidence.known.copy()
    curves[-1, lacking] = np.einsum("p,pbj->bj", weights, values) + parts.speed[-1]
    known[-1, lacking] = True
    families, _ = relatives(evidence.platforms[chosen], evidence.target, metadata)
    R, B, J = values.shape
    found, _ = left_out(projection[None], (projection @ values.reshape(R, B * J))[None], families)
    errors = np.zeros((J, len(evidence.platforms), len(evidence.workloads)))
    errors[:, chosen[:, None], lacking] = found[0].reshape(R, B, J).transpose(2, 0, 1)
    return replace(evidence, curves=curves, known=known, fill_errors=errors)


def _without_gaps(values: FloatArray, there: BoolArray, projection: FloatArray) -> FloatArray:
    """Values (R, B, J) with those that are not there (R, B) kriged from the others: to T they add nothing."""
    filled = values.copy()
    gaps = (~there).sum(axis=0)
    first = np.argsort(there, axis=0, kind="stable").T  # of every column: what is missing, then what is there
    for size in distinct(gaps[gaps > 0]):
        columns = np.flatnonzero(gaps == size)
        missing = first[columns, :size]
        known = projection[missing] @ values[:, columns].transpose(1, 0, 2)
        block = projection[missing[:, :, None], missing[:, None, :]]
        filled[missing, columns[:, None]] = np.linalg.solve(block, -known)
    return filled
