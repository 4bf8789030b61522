"""A changed workload on the platform where the workload itself was measured (Figure 7c)."""

from __future__ import annotations

import numpy as np

from predictor.core.answers import Answer
from predictor.core.reconstruct import predicted_thread_counts
from predictor.core.scenarios.outcome import MEDIUM, ScenarioOutcome, refit_features
from predictor.core.scenarios.scenario import Inquiry
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import CURVE_NAMES, FRACTIONS
from profiles.scaling.runs import CurveTable


def measured_curves(inquiry: Inquiry) -> CurveTable | None:
    """The measured curves of A on T, decomposed if possible, where T is the only reference asked for; else None."""
    database, query = inquiry.database, inquiry.query
    if query.references != (query.target,) or inquiry.facts.curves is None:
        return None
    order = sorted(range(len(database.groups)), key=lambda group: not database.groups[group].decomposed)
    row = int(database.lookup(query.target, query.workload, order))
    return None if row < 0 else inquiry.facts.curves(row)


def measured_answer(inquiry: Inquiry, curves: CurveTable) -> ScenarioOutcome:
    """Measured curves at any n, as an answer without candidates and without interval.

    Between thread counts ln(n t) and the fractions are linear in ln n, beyond them they are held; R follows from
    Eq. 3, so that Eq. 3-4 hold at every n.
    """
    n = predicted_thread_counts(inquiry.database, inquiry.query.target, inquiry.query.n)
    time_s = np.exp(interpolate_over_log_n(curves.n, np.log(curves.n * curves.time_s), n)) / n
    values = {name: interpolate_over_log_n(curves.n, curves.curve(name), n) for name in CURVE_NAMES[1:]}
    used = 1.0 - np.sum([values[name] for name in FRACTIONS], axis=0) if curves.decomposed else np.ones(len(n))
    values |= {"redundancy": n * time_s * used / curves.t1_s, "utilisation": used}
    answer = refit_features(Answer(curves.t1_s, n, time_s, np.empty(0), values, [], []), *inquiry.bends)
    return ScenarioOutcome(
        answer,
        changes=(f"based on what was measured on {inquiry.target}",),
        lowered=_reasons_beyond_measured(curves, n),
        largest_measured_n=int(curves.n[-1]),
        is_measured=True,
    )


def interpolate_over_log_n(measured_n: IntArray, values: FloatArray, n: IntArray) -> FloatArray:
    """Values at n, linear in ln n, held outside what was measured. NaN where nothing was.

    >>> interpolate_over_log_n(np.array([1, 4]), np.array([0.0, 2.0]), np.array([1, 2, 8])).tolist()
    [0.0, 1.0, 2.0]
    """
    is_measured = np.isfinite(values)
    if not is_measured.any():
        return np.full(len(n), np.nan)
    return np.asarray(np.interp(np.log(n), np.log(measured_n[is_measured]), values[is_measured]))


def _reasons_beyond_measured(curves: CurveTable, n: IntArray) -> tuple[tuple[int, str], ...]:
    if n.max() <= curves.n[-1]:
        return ()
    return ((MEDIUM, f"over n = {curves.n[-1]} the last measured value is kept"),)
