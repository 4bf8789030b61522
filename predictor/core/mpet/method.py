"""The default method `mpet`, and `mpet-log`, its cousin with positive weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from predictor.core.mpet.answer import answer_from_transfer
from predictor.core.mpet.beyond import growth_beyond
from predictor.core.mpet.estimates import estimate_targets
from predictor.core.mpet.gathering import (
    Evidence,
    application_families,
    check_evidence,
    gather_evidence,
    without_outliers,
)
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.intervals import stranger_variance, with_departures_of_others
from predictor.core.mpet.kriging import fill_in_workloads
from predictor.core.mpet.parts import CurveParts, nearest_references, separate_parts, workload_weights
from predictor.core.mpet.platforms import lacks_by_target
from predictor.core.mpet.process import gaussian_transfer, mean_with_neighbours
from predictor.core.mpet.ratios import log_transfer, robust_transfer, small_transfer
from predictor.core.mpet.transfer import Transfer, mean_transfer, widen_by_noise

FEWEST_PROCESS_REFERENCES = 5  # below, covariances between platforms mean nothing
FEWEST_CORRELATION_REFERENCES = 12  # below, correlations over platforms are poor: the shapes of curves help
FEWEST_ALONE_REFERENCES = 20  # below, the mean with a plainer transfer is better than either
LOWEST_INTERVAL_LEVEL, HIGHEST_INTERVAL_LEVEL = 0.5, 0.99  # beyond, too few errors calibrate the interval
LOG_WIDENING = 1.25  # of the interval of positive weights, calibrated on other applications than A's
FEW_APPLICATIONS = 4  # on T, and none is A's: then its workloads do not tell which transfer is the best for A
RATIO_ERRORS_CORRELATION = 0.9  # about how the errors of the two transfers by ratios correlate
PROCESS_ERRORS_CORRELATION = 0.75  # and those of the Gaussian process with either


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


def predict_mpet(
    database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS, *, positive: bool = False
) -> Answer:
    """Predict the curve of A on T with the transfer that suits the number of references. Raises a PredictionError.

    `positive`: with positive weights only, so without the Gaussian processes.
    """
    level = settings.level
    evidence, parts = evidence_with_parts(database, query, settings, h)
    if len(evidence.platforms) < FEWEST_ALONE_REFERENCES:
        transfer = _transfer_from_few(evidence, parts, level, h, positive=positive)
    elif positive:
        transfer = log_transfer(evidence, parts, level, application_families(evidence)[0])
        strange = stranger_variance(evidence)
        if strange:
            transfer = replace(transfer, half_width=np.hypot(LOG_WIDENING * transfer.half_width, math.sqrt(strange)))
    else:
        transfer = gaussian_transfer(evidence, parts, level, h)
        transfer = mean_with_neighbours(transfer, evidence, level, h)
    transfer = widen_by_noise(evidence, transfer, level)
    return answer_from_transfer(evidence, transfer, growth_beyond(evidence, level))


def predict_mpet_log(database: Database, query: Query, settings: MpetSettings) -> Answer:
    """Predict the curve of A on T with positive weights only. Raises a PredictionError."""
    return predict_mpet(database, query, settings, positive=True)


def check_mpet(database: Database, query: Query, settings: MpetSettings) -> None:
    """Raise the PredictionError with which `predict_mpet` and `predict_mpet_log` refuse; settings change nothing."""
    check_evidence(database, query)


def evidence_with_parts(
    database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS
) -> tuple[Evidence, CurveParts]:
    """What is known, less the outlying profiles and, of many references, those that are least like T."""
    evidence = without_outliers(gather_evidence(database, query))
    evidence = fill_in_workloads(evidence, settings.references, h)
    if len(evidence.platforms) > settings.references:
        parts = separate_parts(evidence, far_off=math.inf)
        weights = workload_weights(parts.correlations()[0], h)
        evidence = evidence.nearest(nearest_references(evidence, parts, weights, settings.references))
    return evidence, separate_parts(evidence, h.far_off)


def _transfer_from_few(
    evidence: Evidence, parts: CurveParts, level: float, h: Hyperparameters, *, positive: bool
) -> Transfer:
    """A mean of the transfers that fit the number of references; of a stranger where T has few applications, that of
    the medians alone."""
    references = len(evidence.platforms)
    transfer = robust_transfer(evidence, level, h, explain=not positive)
    if not 0 < application_families(evidence)[1] <= FEW_APPLICATIONS:
        transfers, alike = [], RATIO_ERRORS_CORRELATION
        if references > 1:
            transfers.append(log_transfer(evidence, parts, level))
        if references < FEWEST_CORRELATION_REFERENCES:
            transfers.append(small_transfer(evidence, level))
        transfers.append(transfer)
        if references >= FEWEST_PROCESS_REFERENCES and not positive:
            transfers.append(gaussian_transfer(evidence, parts, level, h))
            alike = PROCESS_ERRORS_CORRELATION
        transfer = mean_transfer(transfers, alike)
    return replace(transfer, half_width=with_departures_of_others(evidence, transfer.half_width, level))


MPET = Method(
    name="mpet",
    version="15",
    settings=MpetSettings,
    predict=predict_mpet,
    summary="Whole curves carried over by a Gaussian process over machines; weights may be negative.",
    check=check_mpet,
    lacks_by_target=lacks_by_target,
    estimate=estimate_targets,
)
MPET_LOG = replace(
    MPET,
    name="mpet-log",
    predict=predict_mpet_log,
    summary="Whole curves carried over by log ratios to the most alike machines; all weights are positive.",
)
