"""A second Gaussian process, of the references nearest to T alone: what counts among them, not among all."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.evidence.metadata import PlatformMetadata
from predictor.core.mpet.gaussian.calibration import FEWEST_USABLE_ERRORS
from predictor.core.mpet.gaussian.process import gaussian_transfer
from predictor.core.mpet.hyperparameters import DEFAULTS, TINY, Hyperparameters
from predictor.core.mpet.parts import separate_parts
from predictor.core.mpet.robust import MEAN_TO_SIGMA, finite_median
from predictor.core.mpet.transfer import LeftOutErrors, Transfer, mean_transfer
from profiles.arrays import FloatArray, IntArray

DEPARTURE_WIDENING = 0.5  # how much the distance from what was calibrated adds to half the interval
LEAST_ERROR_RATIO = 0.8  # of errors: thirty references do not tell more
FEWEST_REFERENCES_RATIO = 1.5  # times as many references as are near: with fewer both processes are nearly the same


def mean_with_neighbours(
    wide: Transfer, evidence: Evidence, metadata: PlatformMetadata, level: float, h: Hyperparameters = DEFAULTS
) -> Transfer:
    """The mean of `wide`, which carried A from all references, and of the same from the `h.neighbours` nearest.

    Speeds, correlations and typical distances are theirs there. Distances are those of `wide`, and so is the interval,
    as much narrower as the mean errs less on the nearest: too few are near to calibrate one.
    """
    references = len(evidence.platforms)
    if references < FEWEST_REFERENCES_RATIO * h.neighbours:
        return wide
    nearest = _nearest(wide.platform_distance, evidence, metadata, h)
    among = evidence.nearest(nearest)
    narrow = gaussian_transfer(among, separate_parts(among, h.far_off), metadata, level, h)
    weights = np.zeros((len(evidence.n), references))
    weights[:, nearest] = narrow.platform_weights
    half_width = wide.half_width * _error_ratio(wide.left_out, narrow.left_out, nearest, h)
    distances = {name: getattr(wide, name) for name in ("platform_distance", "workload_distance")}
    both = mean_transfer([wide, replace(narrow, platform_weights=weights, **distances)])
    # The interval was calibrated for `wide`: as far as the answer departs from that, it is less sure.
    return replace(both, half_width=np.hypot(half_width, DEPARTURE_WIDENING * (both.value - wide.value)))


def _error_ratio(
    wide: LeftOutErrors | None, narrow: LeftOutErrors | None, nearest: IntArray, h: Hyperparameters
) -> float:
    """Errors of the mean of both over those of the wide process, on the nearest references in T's position.

    In units of the wide process's deviations, clipped; 1 where there are too few of them.
    """
    if wide is None or narrow is None:
        return 1.0
    usable = wide.usable[:, nearest] & narrow.usable
    if np.count_nonzero(usable) < FEWEST_USABLE_ERRORS:
        return 1.0
    errors, deviations = wide.errors[:, nearest], wide.deviations[:, nearest]
    sizes = [np.abs(each / deviations)[usable] for each in (errors, (errors + narrow.errors) / 2.0)]
    limit = h.clip * MEAN_TO_SIGMA * sizes[0].sum() / sizes[0].size
    alone, both = (float((np.minimum(size, limit) ** 2).sum()) + TINY for size in sizes)
    return min(max(math.sqrt(both / alone), LEAST_ERROR_RATIO), 1.0 / LEAST_ERROR_RATIO)


def _nearest(distance: FloatArray, evidence: Evidence, metadata: PlatformMetadata, h: Hyperparameters) -> IntArray:
    """The references that behave most like T (D_p, back in squares) and are most like it on paper, in their order."""
    squares = -np.log(np.maximum(1.0 - distance, TINY))
    on_paper = metadata.squared_distances(evidence.platforms, evidence.target)
    apart = squares / (finite_median(squares) + TINY) + h.neighbours_paper * on_paper
    return np.sort(np.argsort(apart, kind="stable")[: h.neighbours])
