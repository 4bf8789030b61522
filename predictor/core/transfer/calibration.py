"""Which errors of known things tell how wrong the answer may be, and how wide its interval must be for that."""

from __future__ import annotations

import numpy as np

from predictor.core.database import BoolArray, FloatArray, IntArray
from predictor.core.intervals import conformal_factors, left_out
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.metadata import PlatformMetadata

FEWEST_CELLS = 20
LIKE_ALL = 3.0  # a platform is as noisy as usual until so many workloads say otherwise
MOST = 4.0  # typical errors: a larger one counts as so large
MEAN_OF_NORMAL = 0.8  # mean absolute deviation in standard deviations
LEAST = 1e-12


def relatives(evidence: Evidence, metadata: PlatformMetadata) -> tuple[IntArray, BoolArray]:
    """What has to be left out together with a reference to put it in T's position: (R,) families, and who can be.

    T has a twin (cpu_model) among the references: each reference alone, of those that have a twin. T has relatives of
    its microarchitecture: all of a cpu_model. T has none: all of a microarchitecture.
    """
    cpu, family = metadata.cpu[evidence.platforms], metadata.microarchitecture[evidence.platforms]
    everybody = np.ones(len(cpu), dtype=bool)
    if (cpu == metadata.cpu[evidence.target]).any():
        _, at, counts = np.unique(cpu, return_inverse=True, return_counts=True)
        return np.arange(len(cpu)), counts[at] > 1
    return (cpu if (family == metadata.microarchitecture[evidence.target]).any() else family), everybody


def half_width(
    evidence: Evidence,
    metadata: PlatformMetadata,
    *,
    projections: FloatArray,
    variances: FloatArray,
    own: FloatArray,
    rest: FloatArray,
    unexplained: FloatArray,
    weights: FloatArray,
    level: float,
) -> FloatArray:
    """Half the interval of ln t at each knot, (J,).

    The references are left out like T (`relatives`) and predicted; their errors, in units of their own standard
    deviation and of how noisy the platform is for the known workloads, are the scores.

    Parameters: `projections` (J, R, R), `variances` (J,) of the answer and `own` (J, R) A's values as they were
    kriged; `rest` (J, R, B) of the known workloads on the references, `unexplained` (J, B) their errors on T.
    """
    families, can_be = relatives(evidence, metadata)
    errors, spread = left_out(projections, np.concatenate([own[:, :, None], rest], axis=2), families)
    if np.isnan(errors).any():
        families = np.arange(len(families))
        errors, spread = left_out(projections, np.concatenate([own[:, :, None], rest], axis=2), families)
    scale = np.einsum("jp,jpq,jq->j", own, projections, own) / own.shape[1]
    noise, noise_of_target = _noisiness(evidence, errors[:, :, 1:], unexplained, weights)
    deviation = np.sqrt(spread * scale[:, None] * noise) + LEAST
    usable = evidence.measured.T & can_be
    if usable.sum() < FEWEST_CELLS:
        usable = np.ones_like(usable)
    units = len(np.unique(families))
    factors = conformal_factors(np.abs(errors[:, :, 0]) / deviation, usable, level, units)
    return np.asarray(factors * np.sqrt(variances * noise_of_target))


def _noisiness(
    evidence: Evidence, errors: FloatArray, of_target: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    """How large a platform's errors are for workloads like A, of the references (R,) and T; 1 = as usual."""
    typical = np.abs(errors).mean(axis=1) / MEAN_OF_NORMAL + LEAST
    found = []
    for relative, known in (
        (errors / typical[:, None], evidence.known[:-1]),
        (of_target / typical, evidence.known[-1]),
    ):
        count = known * weights**2
        total = count.sum(axis=-1) + LEAST
        mean = (np.minimum(np.abs(relative), MOST).mean(axis=0) * count).sum(axis=-1) / total
        effective = total**2 / ((count**2).sum(axis=-1) + LEAST)
        found.append((LIKE_ALL + effective * mean / MEAN_OF_NORMAL) / (LIKE_ALL + effective))
    return found[0], float(found[1])
