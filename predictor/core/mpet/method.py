"""The default method `mpet`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from predictor.core.mpet.answer import answer_from_transfer
from predictor.core.mpet.beyond import growth_beyond
from predictor.core.mpet.gathering import Evidence, check_evidence, gather_evidence, without_outliers
from predictor.core.mpet.hyperparameters import DEFAULTS, MANY_REFERENCES, SOME_REFERENCES, Hyperparameters
from predictor.core.mpet.kriging import (
    CurveParts,
    fill_in_workloads,
    nearest_references,
    separate_parts,
    workload_weights,
)
from predictor.core.mpet.process import gaussian_transfer, mean_with_neighbours
from predictor.core.mpet.ratios import ratio_transfer
from predictor.core.mpet.transfer import mean_transfer, widen_by_noise, with_departures_of_others

LOWEST_INTERVAL_LEVEL, HIGHEST_INTERVAL_LEVEL = 0.5, 0.99  # beyond, too few errors calibrate the interval


@dataclass(frozen=True)
class MpetSettings:
    """`references` at most take part, the nearest. `level` of what is measured shall lie inside the interval."""

    references: int = 128
    level: float = 0.9

    def __post_init__(self) -> None:
        if self.references < 1:
            raise SettingsError("references", f"{self.references} is under 1")
        if not LOWEST_INTERVAL_LEVEL <= self.level <= HIGHEST_INTERVAL_LEVEL:
            raise SettingsError("level", f"{self.level} is not in {LOWEST_INTERVAL_LEVEL}..{HIGHEST_INTERVAL_LEVEL}")


def predict_mpet(database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS) -> Answer:
    """Predict the curve of A on T with the transfer that suits the number of references. Raises a PredictionError."""
    level = settings.level
    evidence, parts = evidence_with_parts(database, query, settings, h)
    references = len(evidence.platforms)
    if references < MANY_REFERENCES:
        transfer = ratio_transfer(evidence, level, h)
        if references >= SOME_REFERENCES:
            transfer = mean_transfer(transfer, gaussian_transfer(evidence, parts, level, h))
        transfer = replace(transfer, half_width=with_departures_of_others(evidence, transfer.half_width, level))
    else:
        transfer = gaussian_transfer(evidence, parts, level, h)
        transfer = mean_with_neighbours(transfer, evidence, level, h)
    transfer = widen_by_noise(evidence, transfer, level)
    return answer_from_transfer(evidence, transfer, growth_beyond(evidence, level), level)


def check_mpet(database: Database, query: Query, settings: MpetSettings) -> None:
    """Raise the PredictionError with which `predict_mpet` refuses; settings change nothing."""
    check_evidence(database, query)


def evidence_with_parts(
    database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS
) -> tuple[Evidence, CurveParts]:
    """What is known, less the outlying profiles and, of many references, those that are least like T."""
    evidence = without_outliers(gather_evidence(database, query))
    evidence = fill_in_workloads(evidence, settings.references, h)
    if len(evidence.platforms) > settings.references:
        parts = separate_parts(evidence)
        weights = workload_weights(parts.correlations(), h)
        evidence = evidence.nearest(nearest_references(evidence, parts, weights, settings.references))
    return evidence, separate_parts(evidence)


MPET = Method(
    name="mpet",
    version="21",
    settings=MpetSettings,
    predict=predict_mpet,
    summary="Whole curves carried over by a Gaussian process over machines; weights may be negative.",
    check=check_mpet,
)
