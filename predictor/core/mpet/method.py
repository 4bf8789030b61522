"""The default method `mpet`, and `mpet-log`, its cousin whose weights are all positive."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from predictor.core.mpet.answer import answer
from predictor.core.mpet.evidence.gathering import Evidence, gather
from predictor.core.mpet.evidence.metadata import PlatformMetadata, platform_metadata
from predictor.core.mpet.evidence.outlying_profiles import without_outliers
from predictor.core.mpet.gaussian.completion import complete
from predictor.core.mpet.gaussian.neighbours import with_neighbours
from predictor.core.mpet.gaussian.process import gaussian_transfer
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.log_ratios import log_transfer, small_transfer
from predictor.core.mpet.parts import Parts, nearest_references, separate, workload_weights
from predictor.core.mpet.transfer import Transfer, mean_transfer, steadied

VERY_FEW_REFERENCES = 5  # below, covariances between platforms mean nothing
FEW_REFERENCES = 12  # below, correlations over platforms are poor: the shapes of curves help
DEPARTING = 0.5  # how much the distance from what was calibrated adds to half the interval
LOWEST_LEVEL, HIGHEST_LEVEL = 0.5, 0.99
SOME_REFERENCES = 20  # below, the mean with a plainer transfer is better than either
RATIOS_ALIKE = 0.9  # about how the errors of the two transfers by ratios correlate
PROCESS_ALIKE = 0.75  # and those of the Gaussian process with either


@dataclass(frozen=True)
class MpetSettings:
    """`references` at most take part, the nearest. `level` of what is measured shall lie inside the interval.

    `mix_runtimes` compares across runtimes.
    """

    references: int = 128
    level: float = 0.9
    mix_runtimes: bool = False

    def __post_init__(self) -> None:
        if self.references < 1:
            raise SettingsError("references", f"{self.references} is under 1")
        if not LOWEST_LEVEL <= self.level <= HIGHEST_LEVEL:
            raise SettingsError("level", f"{self.level} is not in {LOWEST_LEVEL}..{HIGHEST_LEVEL}")


def predict_mpet(database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS) -> Answer:
    """Predict the curve of A on T with the transfer that suits the number of references. Raises a PredictionError."""
    metadata = platform_metadata(database)
    evidence, parts = _evidence(database, query, settings, metadata, h)
    return answer(database, evidence, _transfer(evidence, parts, metadata, settings.level, h))


def predict_mpet_log(database: Database, query: Query, settings: MpetSettings) -> Answer:
    """The same with positive weights only. Raises a PredictionError."""
    metadata = platform_metadata(database)
    evidence, parts = _evidence(database, query, settings, metadata)
    return answer(database, evidence, _positive_transfer(evidence, parts, metadata, settings.level))


def _positive_transfer(evidence: Evidence, parts: Parts, metadata: PlatformMetadata, level: float) -> Transfer:
    """As `_transfer`, without the Gaussian process."""
    references = len(evidence.platforms)
    if references == 1:
        return small_transfer(evidence, level)
    by_correlation = log_transfer(evidence, parts, metadata, level)
    if references >= FEW_REFERENCES:
        return by_correlation
    return mean_transfer([by_correlation, small_transfer(evidence, level)], RATIOS_ALIKE)


def _evidence(
    database: Database, query: Query, settings: MpetSettings, metadata: PlatformMetadata, h: Hyperparameters = DEFAULTS
) -> tuple[Evidence, Parts]:
    """What is known, less the outlying profiles and, of many references, those that are least like T."""
    evidence = without_outliers(gather(database, query, settings.mix_runtimes))
    evidence = complete(evidence, metadata, settings.references, h)
    if len(evidence.platforms) > settings.references:
        parts = separate(evidence, far_off=math.inf)
        weights = workload_weights(parts.correlation, h)
        evidence = evidence.nearest(nearest_references(evidence, parts, weights, metadata, settings.references))
    return evidence, separate(evidence, h.far_off)


def _transfer(
    evidence: Evidence, parts: Parts, metadata: PlatformMetadata, level: float, h: Hyperparameters
) -> Transfer:
    """The Gaussian process, steadied, where there are references enough; with few, a mean of what fits their number."""
    references = len(evidence.platforms)
    if references == 1:
        return small_transfer(evidence, level)
    plain = log_transfer(evidence, parts, metadata, level, checked=references < SOME_REFERENCES)
    if references >= SOME_REFERENCES:
        wide = gaussian_transfer(evidence, parts, metadata, level, h)
        both = with_neighbours(wide, evidence, metadata, level, h)
        steady = steadied(both, plain, evidence.measured_on_target, h.other_share)
        # The interval was calibrated for `wide`: as far as the answer departs from that, it is less sure.
        departs = DEPARTING * (steady.value - wide.value)
        return replace(steady, half_width=np.hypot(both.half_width, departs))
    transfers = [plain]
    if references < FEW_REFERENCES:
        transfers.append(small_transfer(evidence, level))
    if references >= VERY_FEW_REFERENCES:
        transfers.append(gaussian_transfer(evidence, parts, metadata, level, h))
        return mean_transfer(transfers, PROCESS_ALIKE)
    return mean_transfer(transfers, RATIOS_ALIKE)


MPET = Method(
    name="mpet",
    version="5",
    settings=MpetSettings,
    predict=predict_mpet,
    summary="Whole curves carried over by a Gaussian process over platforms; weights may be negative.",
)
MPET_LOG = Method(
    name="mpet-log",
    version="5",
    settings=MpetSettings,
    predict=predict_mpet_log,
    summary="Whole curves carried over by log ratios to the most alike platforms; all weights are positive.",
)
