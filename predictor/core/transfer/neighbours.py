"""A second Gaussian process, of the references nearest to T alone: what counts among them, not among all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predictor.core.database import FloatArray, IntArray
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.gaussian import gaussian_transfer
from predictor.core.transfer.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.transfer.metadata import PlatformMetadata
from predictor.core.transfer.parts import separate
from predictor.core.transfer.robust import median
from predictor.core.transfer.transfer import Transfer, mean_transfer

FEWEST_BESIDE = 1.5  # times as many references as are near: with fewer both processes are nearly the same


def with_neighbours(
    wide: Transfer, evidence: Evidence, metadata: PlatformMetadata, level: float, h: Hyperparameters = DEFAULTS
) -> Transfer:
    """The mean of `wide`, which carried A from all references, and of the same from the `h.neighbours` nearest.

    Speeds, correlations and typical distances are theirs there. Distances and the interval are those of `wide`: too few
    families are near to calibrate one.
    """
    references = len(evidence.platforms)
    if references < FEWEST_BESIDE * h.neighbours:
        return wide
    nearest = _nearest(wide.platform_distance, evidence, metadata, h)
    among = evidence.nearest(nearest)
    narrow = gaussian_transfer(among, separate(among, h.far_off), metadata, level, h)
    weights = np.zeros((len(evidence.n), references))
    weights[:, nearest] = narrow.platform_weights
    narrow = replace(
        narrow,
        half_width=wide.half_width,
        platform_weights=weights,
        platform_distance=wide.platform_distance,
        workload_distance=wide.workload_distance,
    )
    return mean_transfer([wide, narrow])


def _nearest(distance: FloatArray, evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters) -> IntArray:
    """The references that behave most like T (D_p, back in squares) and are most like it on paper, in their order."""
    squares = -np.log(np.maximum(1.0 - distance, TINY))
    on_paper = metadata.vectors[evidence.platforms] - metadata.vectors[evidence.target]
    apart = squares / (median(squares) + TINY) + h.neighbours_paper * (on_paper**2).sum(axis=1)
    return np.sort(np.argsort(apart, kind="stable")[: h.neighbours])
