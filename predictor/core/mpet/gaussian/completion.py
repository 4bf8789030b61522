"""What T's few workloads and its relatives say about the workloads that T lacks, before A is predicted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from predictor.core.mpet.evidence.curves import distinct_codes
from predictor.core.mpet.evidence.gathering import Evidence, knots_first
from predictor.core.mpet.evidence.metadata import PlatformMetadata
from predictor.core.mpet.gaussian.calibration import left_out_families
from predictor.core.mpet.gaussian.covariance import behaviour_covariances, metadata_covariance, whole_curve_weights
from predictor.core.mpet.gaussian.kriging import krige_once
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.intervals import left_out_errors
from predictor.core.mpet.parts import CurveParts, nearest_references, separate_parts
from profiles.arrays import BoolArray, FloatArray, IntArray

FEWEST_PLATFORMS_TO_FILL_IN = 20  # with fewer, covariances do not tell who is like T


def fill_in_workloads(
    evidence: Evidence, metadata: PlatformMetadata, most: int, h: Hyperparameters = DEFAULTS
) -> Evidence:
    """The evidence of the platforms that have A, with T's missing workloads filled in.

    They are kriged to T from all platforms, of which `most` take part, by the covariance that T's own workloads and
    the metadata give. T's relatives without A help here only.
    """
    references = np.flatnonzero(evidence.has_workload)
    on_target = np.flatnonzero(evidence.measured_on_target)
    if len(on_target) == len(evidence.workloads):
        return evidence
    alone = evidence.of_workloads(on_target)
    if len(evidence.platforms) < FEWEST_PLATFORMS_TO_FILL_IN or len(references) in (0, len(evidence.platforms)):
        return alone.nearest(references)
    chosen, weights = np.arange(len(evidence.platforms)), np.ones(len(on_target))
    if len(chosen) > most:
        chosen = nearest_references(alone, separate_parts(alone, far_off=math.inf), weights, metadata, most)
    nearest = alone.nearest(chosen)
    parts = separate_parts(nearest, h.far_off)
    paper, knots = metadata_covariance(nearest, metadata, h), whole_curve_weights(nearest)
    matrix = behaviour_covariances(parts, weights, paper, knots, h).matrix[0]
    return _fill_in(evidence, chosen, parts, metadata, kriging=krige_once(matrix, h)).nearest(references)


def _fill_in(
    evidence: Evidence,
    chosen: IntArray,
    parts: CurveParts,
    metadata: PlatformMetadata,
    *,
    kriging: tuple[FloatArray, FloatArray],
) -> Evidence:
    """The evidence with T's missing workloads kriged from the `chosen` platforms.

    `parts` are those of T's own workloads alone, `kriging` the weights (R,) and the projection (R, R) of `krige_once`.
    """
    weights, projection = kriging
    lacking = np.flatnonzero(~evidence.measured_on_target)
    gaps = chosen[:, None], lacking
    is_known = evidence.is_known[gaps]
    values = knots_first(evidence.curves)[:, *gaps]
    values -= parts.speed[:-1].T[:, :, None]
    values *= is_known
    values = _without_gaps(values, is_known, projection)
    curves, is_known_now = evidence.curves.copy(order="K"), evidence.is_known.copy()
    knots_first(curves)[:, -1, lacking] = weights @ values + parts.speed[-1][:, None]
    is_known_now[-1, lacking] = True
    families, _ = left_out_families(evidence.platforms[chosen], evidence.target, metadata)
    errors = np.zeros(knots_first(evidence.curves[:-1]).shape)
    errors[:, *gaps], _ = left_out_errors(projection[None], projection @ values, families)
    return replace(evidence, curves=curves, is_known=is_known_now, fill_errors=errors)


def _without_gaps(values: FloatArray, is_known: BoolArray, projection: FloatArray) -> FloatArray:
    """Values (J, R, B) with those that are not known (R, B) kriged from the others: to T they add nothing.

    Of each column (b, j) the missing m are those with (projection value)_m = 0.
    """
    gaps = np.count_nonzero(~is_known, axis=0)
    order = np.argsort(is_known, axis=0, kind="stable").T  # of every column: what is missing, then what is known
    filled = values.copy()
    for size in distinct_codes(gaps[gaps > 0]).tolist():
        columns = np.flatnonzero(gaps == size)[:, None]
        missing = order[columns[:, 0], :size]
        products = projection[missing] @ values.transpose(2, 1, 0)[columns[:, 0]]
        block = projection[missing[:, :, None], missing[:, None, :]]
        filled[:, missing, columns] = -np.linalg.solve(block, products).transpose(2, 0, 1)
    return filled
