"""The overhead fractions and relative measures of A on T, carried by the same weights as its times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.database import Database
from predictor.core.mpet.evidence.gathering import Evidence
from predictor.core.mpet.transfer import Transfer
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.curves import evaluate_curves
from profiles.scaling.features import CURVE_NAMES, ELEMENTS, FRACTIONS, GAUSSIAN_SUM, RELATIVE_MEASURES
from profiles.scaling.times import LEAST_UTILISATION

LEAST_TIME_SHARE = 1e-4  # of the thread time: shares below are alike
LEAST_RELATIVE_MEASURE = 1e-9  # measures below count as so large, and fractions below as nothing
MOST_OVERHEAD_REFERENCES = 16  # the heaviest: the others change the shares no more
CURVE_VALUES_AT_ONCE = 1 << 18  # of the curves: bounds the memory of whole curves
FRACTION_CURVES = slice(1, 1 + len(FRACTIONS))
RELATIVE_MEASURE_CURVES = slice(1 + len(FRACTIONS), len(CURVE_NAMES))


@dataclass(frozen=True, eq=False)
class Overheads:
    """`fractions` (6, J) of the thread time, sum below 1; `measures` name -> (J,), NaN = not measured."""

    fractions: FloatArray
    measures: dict[str, FloatArray]


def predict_overheads(database: Database, evidence: Evidence, transfer: Transfer) -> Overheads:
    """Fractions f and relative measures of A on T at the n asked for, from the heaviest positive references.

        x = ln((f + e) / (U + e)) for fractions, ln(measure) for measures, e = 1e-4
        x(T,A) = sum_p u_p [x(P,A) + sum_b v_b (x(T,b) - x(P,b))]

    Back from log shares, all fractions and U are positive and sum to 1, whatever the weights. A fraction that no
    reference has at all is 0.
    """
    u = np.maximum(transfer.platform_weights.mean(axis=0), 0.0)
    chosen = np.argsort(-u, kind="stable")[:MOST_OVERHEAD_REFERENCES]
    chosen = chosen[u[chosen] > 0]
    platforms = np.append(evidence.platforms[chosen], evidence.target)
    rows = evidence.rows[np.append(chosen, -1)]
    rows[:, :-1][:, ~evidence.measured_on_target] = -1
    at_once = max(1, CURVE_VALUES_AT_ONCE // (rows.size * len(CURVE_NAMES)))
    combined, absent = [], np.ones(len(FRACTIONS), dtype=bool)
    for start in range(0, len(evidence.asked_n), at_once):
        logs, present = log_shares(database, rows, platforms, evidence.asked_n[start : start + at_once])
        gap = _mean(logs[-1:, :-1] - logs[:-1, :-1], transfer.workload_weights[:, None, None], axis=1)
        combined.append(_mean(logs[:-1, -1] + gap, u[chosen][:, None, None], axis=0))
        absent &= ~present[:-1, -1].any(axis=0)
    return _overheads(np.concatenate(combined, axis=1), absent)


def _overheads(combined: FloatArray, absent: BoolArray) -> Overheads:
    """Back from log shares and logs of the measures (13, J)."""
    shares = np.exp(np.minimum(combined[: len(FRACTIONS)], -np.log(LEAST_TIME_SHARE)))
    shares[absent] = 0.0
    fractions = shares / (1.0 + shares.sum(axis=0))
    fractions *= np.minimum(1.0, (1.0 - LEAST_UTILISATION) / np.maximum(fractions.sum(axis=0), LEAST_UTILISATION))
    measures = dict(zip(RELATIVE_MEASURES, np.exp(combined[len(FRACTIONS) :]), strict=True))
    return Overheads(fractions, measures)


def log_shares(database: Database, rows: IntArray, platforms: IntArray, n: IntArray) -> tuple[FloatArray, BoolArray]:
    """Log shares of the six fractions and logs of the seven relative measures of profiles `rows` (P, B) of platforms.

    (P, B, 13, J), NaN where a row is -1; and which fractions are more than nothing at some n, (P, B, 6).
    """
    params = database.features[rows].reshape(*rows.shape, len(CURVE_NAMES), len(ELEMENTS))
    gaussian_sum = np.broadcast_to(GAUSSIAN_SUM, params.shape[:-1])
    n_nu, n_ht = (bends[platforms, None, None] for bends in (database.n_nu, database.n_ht))
    values = evaluate_curves(params, n, n_nu, n_ht, gaussian_sum)
    values[rows < 0] = np.nan
    fractions = np.clip(values[:, :, FRACTION_CURVES], 0.0, 1.0)
    used = np.maximum(1.0 - fractions.sum(axis=2, keepdims=True), LEAST_UTILISATION)
    shares = np.log((fractions + LEAST_TIME_SHARE) / (used + LEAST_TIME_SHARE))
    measures = np.log(np.maximum(values[:, :, RELATIVE_MEASURE_CURVES], LEAST_RELATIVE_MEASURE))
    logs = np.concatenate([shares, measures], axis=2)
    return logs, np.asarray((fractions > LEAST_RELATIVE_MEASURE).any(axis=3))


def _mean(values: FloatArray, weights: FloatArray, axis: int) -> FloatArray:
    """Weighted mean over an axis of what is not NaN; NaN where nothing is."""
    valid = ~np.isnan(values)
    weight = np.where(valid, weights, 0.0)
    total = weight.sum(axis=axis)
    mean = (np.where(valid, values, 0.0) * weight).sum(axis=axis) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, np.nan)
