"""The default method `mpet`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import SettingsError
from predictor.core.mpet.answer import answer_from_transfer
from predictor.core.mpet.beyond import growth_beyond, growth_to_one, with_growth_below
from predictor.core.mpet.gathering import Evidence, check_evidence, gather_evidence, without_outliers
from predictor.core.mpet.hyperparameters import DEFAULTS, MANY_REFERENCES, SOME_REFERENCES, Hyperparameters
from predictor.core.mpet.kriging import (
    CurveParts,
    complete_curves,
    fill_in_workloads,
    gaussian_transfer,
    mean_with_neighbours,
    nearest_references,
    separate_parts,
    workload_weights,
)
from predictor.core.mpet.ratios import ratio_transfer, slope_deviations
from predictor.core.mpet.transfer import mean_transfer, widen_by_noise, with_departures_of_others

LOWEST_INTERVAL_LEVEL, HIGHEST_INTERVAL_LEVEL = 0.5, 0.99  # outside, there are too few errors to calibrate the interval


@dataclass(frozen=True)
class MpetSettings:
    """The maximum number of references, and the share of measurements that the interval should contain."""

    references: int = 128
    level: float = 0.9

    def __post_init__(self) -> None:
        if self.references < 1:
            raise SettingsError("references", f"{self.references} is below 1")
        if not LOWEST_INTERVAL_LEVEL <= self.level <= HIGHEST_INTERVAL_LEVEL:
            raise SettingsError("level", f"{self.level} is not in {LOWEST_INTERVAL_LEVEL}..{HIGHEST_INTERVAL_LEVEL}")


def predict_mpet(database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS) -> Answer:
    """Return the predicted curve of A on T. Raises a PredictionError.

    With R = 1 reference the curve is predicted by ratios, from R = 40 on by the process over platforms, and in between
    by the mean of both with the weights

        ratios min(2 - R / 20, 1),    process min(R (R - 1) / 20, 1)

    The latter increases with the number of pairs of references, from which the covariance is learned. The interval of
    the process is divided by the root of its weight. In proportion to the weight of ratios, the interval of the answer
    is widened by the deviations that other machines and applications have from ratios.
    """
    level = settings.level
    evidence, parts = evidence_with_parts(database, query, settings, h)
    references = len(evidence.platforms)
    of_ratios = min(max(2.0 - references / MANY_REFERENCES, 0.0), 1.0)
    of_process = min(references * (references - 1) / (SOME_REFERENCES * (SOME_REFERENCES - 1)), 1.0)
    if of_process:
        transfer = mean_with_neighbours(gaussian_transfer(evidence, parts, level, h), evidence, parts, level, h)
    if of_ratios:
        by_ratios = ratio_transfer(evidence, level, h)
        if of_process:
            by_process = replace(transfer, half_width=transfer.half_width / math.sqrt(of_process))
            unlike = slope_deviations(evidence)  # A may change unlike T's workloads, alike on all references
            changes = [(each.platform_weights * unlike).sum(axis=1) for each in (by_ratios, by_process)]
            transfer = mean_transfer(by_ratios, by_process, of_ratios / of_process, np.square(changes).mean(axis=1))
            change = (transfer.platform_weights * unlike * (evidence.below[1] == 0.0)).sum(axis=1)
            transfer = replace(transfer, half_width=np.hypot(transfer.half_width, change))
        else:
            transfer = by_ratios
        wider = with_departures_of_others(evidence, transfer.half_width, level)
        half_width = np.sqrt(of_ratios * wider**2 + (1.0 - of_ratios) * transfer.half_width**2)
        transfer = replace(transfer, half_width=half_width)
    transfer = widen_by_noise(evidence, transfer, level, of_ratios)
    return answer_from_transfer(
        evidence, transfer, growth_beyond(evidence, level), growth_to_one(evidence, level), level
    )


def evidence_with_parts(
    database: Database, query: Query, settings: MpetSettings, h: Hyperparameters = DEFAULTS
) -> tuple[Evidence, CurveParts]:
    """Return the evidence without outlying profiles, for the references most similar to T, with expected values where
    profiles are missing; and the parts of its curves."""
    evidence = without_outliers(gather_evidence(database, query))
    evidence = fill_in_workloads(evidence, settings.references, h)
    if len(evidence.platforms) > settings.references:
        parts = separate_parts(evidence)
        shares = workload_weights(parts.correlations(), h) ** 2 / len(evidence.workloads)
        evidence = evidence.nearest(nearest_references(evidence, parts, shares, settings.references, h))
    evidence = complete_curves(with_growth_below(evidence, settings.level))
    return evidence, separate_parts(evidence)


MPET = Method(
    name="mpet",
    version="40",
    settings=MpetSettings,
    predict=predict_mpet,
    summary="A Gaussian process over machines transfers whole curves; weights may be negative.",
    check=check_evidence,
)
