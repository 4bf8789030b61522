"""The default method `mpet`, and `mpet-log`, its cousin whose weights are all positive."""

from __future__ import annotations

from dataclasses import dataclass

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from predictor.core.transfer.answering import answer
from predictor.core.transfer.evidence import Evidence, gather
from predictor.core.transfer.gaussian import Parts, gaussian_transfer, nearest_references, separate, workload_weights
from predictor.core.transfer.metadata import PlatformMetadata, platform_metadata
from predictor.core.transfer.outliers import without_outliers
from predictor.core.transfer.positive import log_transfer, small_transfer
from predictor.core.transfer.transfer import Transfer, mean_transfer

FEW_REFERENCES = 8  # below, workloads cannot be compared over platforms: their shapes are
LOWEST_LEVEL, HIGHEST_LEVEL = 0.5, 0.99
SOME_REFERENCES = 20  # below, the mean of two transfers is better than either


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


def predict_mpet(database: Database, query: Query, settings: MpetSettings) -> Answer:
    """Predict the curve of A on T with the transfer that suits the number of references. Raises a PredictionError."""
    metadata = platform_metadata(database)
    evidence, parts = _evidence(database, query, settings, metadata)
    return answer(database, evidence, _transfer(evidence, parts, metadata, settings.level))


def predict_mpet_log(database: Database, query: Query, settings: MpetSettings) -> Answer:
    """The same with positive weights only. Raises a PredictionError."""
    metadata = platform_metadata(database)
    evidence, parts = _evidence(database, query, settings, metadata)
    if len(evidence.platforms) < FEW_REFERENCES:
        return answer(database, evidence, small_transfer(evidence, settings.level))
    return answer(database, evidence, log_transfer(evidence, parts, metadata, settings.level))


def _evidence(
    database: Database, query: Query, settings: MpetSettings, metadata: PlatformMetadata
) -> tuple[Evidence, Parts]:
    """What is known, less the outlying profiles and, of many references, those that are least like T."""
    evidence = without_outliers(gather(database, query, settings.mix_runtimes))
    parts = separate(evidence)
    if len(evidence.platforms) <= settings.references:
        return evidence, parts
    order = nearest_references(evidence, parts, workload_weights(parts), metadata, settings.references)
    evidence = evidence.nearest(order)
    return evidence, separate(evidence)


def _transfer(evidence: Evidence, parts: Parts, metadata: PlatformMetadata, level: float) -> Transfer:
    references = len(evidence.platforms)
    if references < FEW_REFERENCES:
        return small_transfer(evidence, level)
    gaussian = gaussian_transfer(evidence, parts, metadata, level)
    if references >= SOME_REFERENCES:
        return gaussian
    return mean_transfer(gaussian, log_transfer(evidence, parts, metadata, level))


MPET = Method(
    name="mpet",
    version="1",
    settings=MpetSettings,
    predict=predict_mpet,
    summary="Whole curves carried over by a Gaussian process over platforms; weights may be negative.",
)
MPET_LOG = Method(
    name="mpet-log",
    version="1",
    settings=MpetSettings,
    predict=predict_mpet_log,
    summary="Whole curves carried over by log ratios to the most alike platforms; all weights are positive.",
)
