"""The default method `mpet`, and `mpet-log`, its cousin with positive weights.

`ablation_methods` are `mpet` with one ingredient changed: what each of them gives, measured with the method itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from predictor.core.mpet.answer import answer_from_transfer
from predictor.core.mpet.beyond import growth_beyond
from predictor.core.mpet.departures import stranger_variance, with_departures_of_others
from predictor.core.mpet.estimates import estimate_targets
from predictor.core.mpet.gathering import Evidence, check_evidence, gather_evidence, without_outliers
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.kriging import fill_in_workloads
from predictor.core.mpet.log_ratios import log_transfer, small_transfer
from predictor.core.mpet.parts import CurveParts, nearest_references, separate_parts, workload_weights
from predictor.core.mpet.platforms import PlatformMetadata, lacks_by_target, platform_metadata
from predictor.core.mpet.process import gaussian_transfer, mean_with_neighbours
from predictor.core.mpet.robust_ratios import application_families, robust_transfer
from predictor.core.mpet.transfer import Transfer, mean_transfer, widen_by_noise

FEWEST_PROCESS_REFERENCES = 5  # below, covariances between platforms mean nothing
FEWEST_CORRELATION_REFERENCES = 12  # below, correlations over platforms are poor: the shapes of curves help
LOWEST_INTERVAL_LEVEL, HIGHEST_INTERVAL_LEVEL = 0.5, 0.99  # beyond, too few errors calibrate the interval
LOG_WIDENING = 1.25  # of the interval of positive weights, calibrated on other applications than A's
FEW_APPLICATIONS = 4  # on T, and none is A's: then its workloads do not tell which transfer is the best for A
FEWEST_ALONE_REFERENCES = 20  # below, the mean with a plainer transfer is better than either
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


def predict_mpet(database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS) -> Answer:
    """Predict the curve of A on T with the transfer that suits the number of references. Raises a PredictionError."""
    metadata = platform_metadata(database)
    evidence, parts = evidence_with_parts(database, query, settings, metadata, h)
    transfer = _transfer(database, evidence, parts, settings.level, h)
    transfer = widen_by_noise(database, evidence, transfer, settings.level)
    return answer_from_transfer(database, evidence, transfer, growth_beyond(database, evidence, settings.level, h))


def predict_mpet_log(database: Database, query: Query, settings: MpetSettings) -> Answer:
    """Predict the curve of A on T with positive weights only. Raises a PredictionError."""
    metadata = platform_metadata(database)
    evidence, parts = evidence_with_parts(database, query, settings, metadata)
    transfer = _positive_transfer(database, evidence, parts, metadata, settings.level)
    transfer = widen_by_noise(database, evidence, transfer, settings.level)
    return answer_from_transfer(database, evidence, transfer, growth_beyond(database, evidence, settings.level))


def check_mpet(database: Database, query: Query, settings: MpetSettings) -> None:
    """Raise the PredictionError with which `predict_mpet` and `predict_mpet_log` refuse; settings change nothing."""
    check_evidence(database, query)


def _positive_transfer(
    database: Database, evidence: Evidence, parts: CurveParts, metadata: PlatformMetadata, level: float
) -> Transfer:
    """As `_transfer`, without the Gaussian processes."""
    families, applications = application_families(database, evidence)
    if len(evidence.platforms) >= FEWEST_ALONE_REFERENCES:
        transfer = log_transfer(evidence, parts, metadata, level, families)
        strange = stranger_variance(database, evidence)
        if not strange:
            return transfer
        return replace(transfer, half_width=np.sqrt((LOG_WIDENING * transfer.half_width) ** 2 + strange))
    transfer = robust_transfer(database, evidence, level, explain=False)
    if not 0 < applications <= FEW_APPLICATIONS:
        transfer = _mean_of_few([transfer], evidence, parts, metadata, level)
    return replace(transfer, half_width=with_departures_of_others(database, evidence, transfer.half_width, level))


def _mean_of_few(
    transfers: list[Transfer], evidence: Evidence, parts: CurveParts, metadata: PlatformMetadata, level: float
) -> Transfer:
    """The mean of `transfers` and of those by ratios that suit the number of references."""
    references = len(evidence.platforms)
    of_ratios = []
    if references > 1:
        of_ratios.append(log_transfer(evidence, parts, metadata, level))
    if references < FEWEST_CORRELATION_REFERENCES:
        of_ratios.append(small_transfer(evidence, level))
    alike = PROCESS_ERRORS_CORRELATION if len(transfers) > 1 else RATIO_ERRORS_CORRELATION
    return mean_transfer([*of_ratios, *transfers], alike)


def evidence_with_parts(
    database: Database, query: Query, settings: MpetSettings, metadata: PlatformMetadata, h: Hyperparameters = DEFAULTS
) -> tuple[Evidence, CurveParts]:
    """What is known, less the outlying profiles and, of many references, those that are least like T."""
    evidence = without_outliers(gather_evidence(database, query))
    evidence = fill_in_workloads(evidence, metadata, settings.references, h)
    if len(evidence.platforms) > settings.references:
        parts = separate_parts(evidence, far_off=math.inf)
        weights = workload_weights(parts.correlation, h)
        evidence = evidence.nearest(nearest_references(evidence, parts, weights, metadata, settings.references))
    return evidence, separate_parts(evidence, h.far_off)


def _transfer(
    database: Database,
    evidence: Evidence,
    parts: CurveParts,
    level: float,
    h: Hyperparameters,
) -> Transfer:
    """The Gaussian process where there are references enough; with few, a mean of what fits their number."""
    references, metadata = len(evidence.platforms), platform_metadata(database)
    if references >= FEWEST_ALONE_REFERENCES:
        wide = gaussian_transfer(evidence, parts, metadata, level, h)
        return mean_with_neighbours(wide, evidence, metadata, level, h)
    transfer = robust_transfer(database, evidence, level, h)
    if not 0 < application_families(database, evidence)[1] <= FEW_APPLICATIONS:
        transfers = [transfer]
        if references >= FEWEST_PROCESS_REFERENCES:
            transfers.append(gaussian_transfer(evidence, parts, metadata, level, h))
        transfer = _mean_of_few(transfers, evidence, parts, metadata, level)
    return replace(transfer, half_width=with_departures_of_others(database, evidence, transfer.half_width, level, h))


MPET = Method(
    name="mpet",
    version="14",
    settings=MpetSettings,
    predict=predict_mpet,
    summary="Whole curves carried over by a Gaussian process over machines; weights may be negative.",
    check=check_mpet,
    lacks_by_target=lacks_by_target,
    estimate=estimate_targets,
)
MPET_LOG = Method(
    name="mpet-log",
    version="14",
    settings=MpetSettings,
    predict=predict_mpet_log,
    summary="Whole curves carried over by log ratios to the most alike machines; all weights are positive.",
    check=check_mpet,
    lacks_by_target=lacks_by_target,
    estimate=estimate_targets,
)


CHANGED_HYPERPARAMETERS: dict[str, Hyperparameters] = {
    "plain means as speed": replace(DEFAULTS, far_off=math.inf),
    "no process of the nearest alone": replace(DEFAULTS, neighbours=1_000_000),
    "the 48 nearest": replace(DEFAULTS, neighbours=48),
    "nearest on paper": replace(DEFAULTS, neighbours_paper=1e6),
    "without unexplained workloads": replace(DEFAULTS, ridge=1e9),
    "twins as others of one cpu_model": replace(
        DEFAULTS, twin_cpu_model=DEFAULTS.cpu_model, twin_microarchitecture=0.0
    ),
    "no cpu_model": replace(DEFAULTS, cpu_model=0.0, twin_cpu_model=0.0, twin_microarchitecture=0.0),
    "no metadata": replace(DEFAULTS, metadata=0.0),
    "no linear part": replace(DEFAULTS, linear=0.0),
    "no smooth part": replace(DEFAULTS, smooth=0.0),
    "no short-range part": replace(DEFAULTS, short=0.0),
    "all workloads alike": replace(DEFAULTS, workload_power=0.0),
    "all n alike": replace(DEFAULTS, nearness=1e6),
    "no extra noise for outliers": replace(DEFAULTS, robust=1e6),
    "no shift": replace(DEFAULTS, shift=0.0),
}
CHANGED_FEW_REFERENCES: dict[str, Hyperparameters] = {  # change nothing where there are many references
    "no features": replace(DEFAULTS, features=0.0),
    "no process over workloads": replace(DEFAULTS, workload_noise=1e9),
}
REFERENCE_LIMITS = {"64 references": 64, "96 references": 96, "all references": 1_000_000}


def ablation_methods() -> list[Method[Any]]:
    """A method for each change, named `mpet: <change>`; not among METHODS.

    >>> [method.name for method in ablation_methods()][:2]
    ['mpet: plain means as speed', 'mpet: no process of the nearest alone']
    """
    changed = {
        name: partial(predict_mpet, h=changes)
        for name, changes in (CHANGED_HYPERPARAMETERS | CHANGED_FEW_REFERENCES).items()
    }

    def limited(database: Database, query: Query, settings: MpetSettings, *, most: int) -> Answer:
        return predict_mpet(database, query, replace(settings, references=most))

    counted = {name: partial(limited, most=most) for name, most in REFERENCE_LIMITS.items()}
    return [
        replace(MPET, name=f"{MPET.name}: {name}", predict=predict) for name, predict in (changed | counted).items()
    ]
