"""The overhead fractions and relative measures of A on T, carried by the same weights as its times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.database import BoolArray, Database, FloatArray, IntArray
from predictor.core.transfer.evidence import Evidence
from predictor.core.transfer.transfer import Transfer
from profiles.scaling.curves import evaluate_curves
from profiles.scaling.features import CURVE_NAMES, ELEMENTS, FRACTIONS, GAUSSIAN_SUM, RELATIVE_MEASURES

LEAST_SHARE = 1e-4  # of the thread time: shares below are alike
LEAST_MEASURE = 1e-9
LEAST_UTILISATION = 0.01  # as in reconstruction
MOST_PLATFORMS = 16
PARTS = slice(1, 1 + len(FRACTIONS))
MEASURES = slice(1 + len(FRACTIONS), len(CURVE_NAMES))


@dataclass(frozen=True, eq=False)
class Overheads:
    """`fractions` (6, J) of the thread time, sum below 1; `measures` name -> (J,), NaN = not measured."""

    fractions: FloatArray
    measures: dict[str, FloatArray]


def overheads(database: Database, evidence: Evidence, transfer: Transfer) -> Overheads:
    """Fractions f and relative measures of A on T at the n asked for, from the heaviest positive references.

        x = ln((f + e) / (U + e)) for fractions, ln(measure) for measures, e = 1e-4
        x(T,A) = sum_p u_p [x(P,A) + sum_b v_b (x(T,b) - x(P,b))]

    Back from log shares, all fractions and U are positive and sum to 1, whatever the weights. A fraction that no
    reference has at all is 0.
    """
    u = np.maximum(transfer.platform_weights.mean(axis=0), 0.0)
    chosen = np.argsort(-u, kind="stable")[:MOST_PLATFORMS]
    chosen = chosen[u[chosen] > 0]
    n = evidence.asked_n
    target, _ = log_shares(database, evidence.rows[-1, :-1], evidence.target, n)
    each = np.full((len(chosen), *target.shape[1:]), np.nan)
    absent = np.ones(len(FRACTIONS), dtype=bool)
    for at, p in enumerate(chosen.tolist()):
        rows = evidence.rows[p]
        known = np.flatnonzero((rows[:-1] >= 0) & evidence.measured_on_target)
        of_platform, present = log_shares(database, rows[np.append(known, -1)], int(evidence.platforms[p]), n)
        weights = transfer.workload_weights[known][:, None, None]
        each[at] = of_platform[-1] + _mean(target[known] - of_platform[:-1], weights)
        absent &= ~present[-1]
    combined = _mean(each, u[chosen][:, None, None])
    shares = np.exp(np.minimum(combined[: len(FRACTIONS)], -np.log(LEAST_SHARE)))
    shares[absent] = 0.0
    fractions = shares / (1.0 + shares.sum(axis=0))
    fractions *= np.minimum(1.0, (1.0 - LEAST_UTILISATION) / np.maximum(fractions.sum(axis=0), LEAST_UTILISATION))
    measures = dict(zip(RELATIVE_MEASURES, np.exp(combined[len(FRACTIONS) :]), strict=True))
    return Overheads(fractions, measures)


def log_shares(database: Database, rows: IntArray, platform: int, n: IntArray) -> tuple[FloatArray, BoolArray]:
    """Log shares of the six fractions and logs of the seven relative measures of profiles, (rows, 13, J).

    And which fractions are more than nothing at some n, (rows, 6).
    """
    params = database.features[rows].reshape(len(rows), len(CURVE_NAMES), len(ELEMENTS))
    gaussian_sum = np.broadcast_to(GAUSSIAN_SUM, params.shape[:2])
    values = evaluate_curves(params, n, float(database.n_nu[platform]), float(database.n_ht[platform]), gaussian_sum)
    fractions = np.clip(values[:, PARTS], 0.0, 1.0)
    used = np.maximum(1.0 - fractions.sum(axis=1, keepdims=True), LEAST_UTILISATION)
    shares = np.log((fractions + LEAST_SHARE) / (used + LEAST_SHARE))
    logs = np.concatenate([shares, np.log(np.maximum(values[:, MEASURES], LEAST_MEASURE))], axis=1)
    return logs, np.asarray((fractions > LEAST_MEASURE).any(axis=2))


def _mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean over the first axis of what is not NaN; NaN where nothing is."""
    valid = ~np.isnan(values)
    weight = np.where(valid, weights, 0.0)
    total = weight.sum(axis=0)
    mean = (np.where(valid, values, 0.0) * weight).sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, np.nan)
