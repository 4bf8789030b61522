"""Reconstruction of curves and times from a predicted t(1) and feature vector, and back (Eq. 3-9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from predictor.core.arrays import evenly_spaced
from predictor.core.database import Database
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import evaluate_curves, fit_curves
from profiles.scaling.names import (
    CURVE_NAMES,
    ELEMENTS,
    FEATURE_NAMES,
    FRACTION_CURVES,
    FRACTIONS,
    GAUSSIAN_SUM,
    RELATIVE_MEASURE_CURVES,
)
from profiles.scaling.runs import LEAST_REDUNDANCY, LEAST_UTILISATION, reconstruct

IS_NUMA_ELEMENT = np.array([name.endswith("_nu") for name in FEATURE_NAMES])
IS_SMT_ELEMENT = np.array([name.endswith("_ht") for name in FEATURE_NAMES])
LEAST_TIME_SHARE = 1e-4  # of the thread time, added to shares so that smaller ones hardly differ
LEAST_RELATIVE_MEASURE = 1e-9  # least value of a relative measure; smaller fractions count as 0
MOST_KNOTS = 12  # thread counts at which methods work; more take longer without better results


class PredictedCurves(NamedTuple):
    """The 14 curves and `utilisation` by name, t(n) in seconds, both over n, and warnings about clamped and invalid
    values."""

    curves: dict[str, FloatArray]
    time_s: FloatArray
    warnings: list[str]


def knots(on_target: IntArray, of_workload: IntArray, n_max: int) -> IntArray:
    """Return the ascending thread counts at which a method works, at most 12, evenly spaced in ln n.

    They are those at which T's workloads were measured, and the least and the largest of those at which A was measured
    on the references outside that range and up to T's n_max. They do not depend on the requested n, so that the answer
    at one n is the same for any set of requested n.

    Parameters: thread counts in any order.

    >>> knots(np.array([2, 4]), np.array([1, 3, 4, 6, 8, 16]), 8).tolist()
    [1, 2, 4, 8]
    """
    inside, outside = np.unique(on_target), np.unique(of_workload)
    outside = outside[((outside < inside[0]) | (outside > inside[-1])) & (outside <= n_max)]
    outside = outside[[0, -1]] if len(outside) > 1 else outside  # more would outweigh T's own thread counts
    return np.union1d(inside[evenly_spaced(np.log(inside), MOST_KNOTS - len(outside))], outside)


def impossible_elements(n_nu: float, n_ht: float) -> BoolArray:
    """Return which elements (84,) a platform cannot have: NUMA elements if n_nu is NaN or equal to n_ht (no NUMA pair),
    and SMT elements if n_ht is NaN.

    >>> np.array(FEATURE_NAMES)[impossible_elements(np.nan, 8.0)][:2].tolist()
    ['redundancy.m_nu', 'redundancy.b_nu']
    """
    no_numa = np.isnan(n_nu) or n_nu == n_ht
    return np.asarray((no_numa & IS_NUMA_ELEMENT) | (np.isnan(n_ht) & IS_SMT_ELEMENT))


def predicted_curves(
    database: Database, target: int, t1_s: float, features: FloatArray, n: IntArray, *, decomposed: bool
) -> PredictedCurves:
    """Evaluate a feature vector on the target and reconstruct its times (Eq. 3-7).

        t(n) = t(1) R(n) / (n U(n)),    U = 1 for time-only profiles

    If no element is valid (no scaling is known), only the time at n = 1 is given.

    Example: t(1) = 10 s and R(n) = 0.1 n + 0.9 of a time-only profile: t(2) = 10 s * 1.1 / 2 = 5.5 s.

    If R(n) is below 1e-9, no time is possible: R and t are invalid at that n.

    Parameters: `t1_s` in seconds; `features` (84,), NaN = invalid; `n` (J,), thread counts. Returns curves without unit
    and times in seconds, (J,) each; NaN where a curve that t(n) needs is invalid. `warnings` lists every clamp and the
    number of invalid times.

    >>> from predictor.core.database import Group
    >>> database = Database.build(
    ...     platforms=("T",), workloads=("A",), platform_index=[], workload_index=[], group=[], t1_s=[],
    ...     groups=[Group(False, "", "measured")], features=np.zeros((0, 84)), n_nu=[np.nan], n_ht=[np.nan], n_max=[4])
    >>> features = np.full(84, np.nan)
    >>> features[:2] = 0.1, 0.9
    >>> predicted_curves(database, 0, 10.0, features, np.array([1, 2]), decomposed=False).time_s.round(9).tolist()
    [10.0, 5.5]
    """
    n_nu, n_ht = float(database.n_nu[target]), float(database.n_ht[target])
    params = features.reshape(len(CURVE_NAMES), len(ELEMENTS))
    values = evaluate_curves(params, n, n_nu, n_ht, GAUSSIAN_SUM)
    is_impossible = values[0] < LEAST_REDUNDANCY
    values[0, is_impossible] = np.nan
    rebuilt = reconstruct(t1_s, values[0], values[FRACTION_CURVES] if decomposed else None, n)
    curves = dict(zip(CURVE_NAMES, values, strict=True)) | {"utilisation": rebuilt.utilisation}
    warnings = [f"clamped to the possible range: {clamp}" for clamp in rebuilt.clamps]
    if n.max() > database.n_max[target]:
        warnings.append(f"n = {n.max()} is beyond the {database.n_max[target]} threads of the target")
    time_s = np.where((n == 1) & np.isnan(features).all(), t1_s, rebuilt.time_s)
    for invalid, why in (
        (is_impossible, "the predicted redundancy is not positive there"),
        (np.isnan(time_s) & ~is_impossible, "the predicted curves are invalid there"),
    ):
        if invalid.any():
            warnings.append(f"no time at {invalid.sum()} of {len(n)} thread counts: {why}")
    return PredictedCurves(curves, time_s, warnings)


def log_shares(database: Database, rows: IntArray, platforms: IntArray, n: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return the log shares of the six fractions and the logs of the seven relative measures of profiles `rows` (P, B)
    of platforms, (P, B, 13, J), NaN where a row is -1; and which fractions are above 0 at some n, (P, B, 6)."""
    values, fractions, used = _possible_curves(database, rows, platforms, n)
    shares = np.log((fractions + LEAST_TIME_SHARE) / (used + LEAST_TIME_SHARE))
    measures = np.log(np.maximum(values[:, :, RELATIVE_MEASURE_CURVES], LEAST_RELATIVE_MEASURE))
    logs = np.concatenate([shares, measures], axis=2)
    return logs, np.asarray((fractions > LEAST_RELATIVE_MEASURE).any(axis=3))


def log_utilisation(database: Database, rows: IntArray, platforms: IntArray, n: IntArray) -> FloatArray:
    """Return ln U(n) of profiles `rows` (P, B) of platforms, (P, B, J); NaN where a row is -1 or time-only."""
    _, _, used = _possible_curves(database, rows, platforms, n)
    return np.asarray(np.log(used[:, :, 0]))


def _possible_curves(
    database: Database, rows: IntArray, platforms: IntArray, n: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the 14 curves of profiles `rows` (P, B) of platforms by their features, (P, B, 14, J), NaN where a row is
    -1; the fractions clipped to 0..1, (P, B, 6, J); and the utilisation, kept above 0, (P, B, 1, J)."""
    params = database.features[rows].reshape(*rows.shape, len(CURVE_NAMES), len(ELEMENTS))
    gaussian_sum = np.broadcast_to(GAUSSIAN_SUM, params.shape[:-1])
    n_nu, n_ht = (bends[platforms, None, None] for bends in (database.n_nu, database.n_ht))
    values = evaluate_curves(params, n, n_nu, n_ht, gaussian_sum)
    values[rows < 0] = np.nan
    fractions = np.clip(values[:, :, FRACTION_CURVES], 0.0, 1.0)
    return values, fractions, np.maximum(1.0 - fractions.sum(axis=2, keepdims=True), LEAST_UTILISATION)


def consistent_curves(
    n: IntArray, time_s: FloatArray, t1_s: float, overheads: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return the 14 curves and `utilisation` that are consistent with the predicted times (Eq. 3-4).

        U(n) = 1 - sum of the fractions (1 without overheads),    R(n) = n t(n) U(n) / t(1)

    Parameters: `n` (J,); `time_s` (J,) and `t1_s` in seconds; `overheads` of a decomposed profile by name, or none.
    Returns curves (J,) without unit by name, NaN = not predicted.

    >>> consistent_curves(np.array([1, 2]), np.array([10.0, 6.0]), 10.0, {})["redundancy"].tolist()
    [1.0, 1.2]
    """
    curves = {name: np.full(len(n), np.nan) for name in CURVE_NAMES} | dict(overheads)
    used = 1.0 - np.sum([overheads[name] for name in FRACTIONS], axis=0) if overheads else np.ones(len(n))
    return curves | {"redundancy": n * time_s * used / t1_s, "utilisation": used}


def fitted_features(n: IntArray, curves: FloatArray, n_nu: float, n_ht: float) -> FloatArray:
    """Return the 84 elements fitted to the predicted times and curves (Eq. 5-9).

    Parameters: `n` (J,), any order; `curves` (15, J), t(n) first, NaN = invalid; `n_nu`, `n_ht` of the target, NaN = no
    such effect. Returns (84,), NaN = invalid.

    >>> curves = np.full((15, 3), np.nan)
    >>> curves[:2] = [10.0, 5.5, 3.25], [1.0, 1.1, 1.3]
    >>> fitted_features(np.array([1, 2, 4]), curves, np.nan, np.nan)[:3].round(9).tolist()
    [0.1, 0.9, nan]
    """
    counts, positions = np.unique(np.where(np.isnan(curves[0]), 0, n), return_index=True)
    counts, values = counts[counts > 0], curves[1:, positions[counts > 0]]
    given = ~np.isnan(values).all(axis=1)
    features = np.full((len(CURVE_NAMES), len(ELEMENTS)), np.nan)
    features[given], _ = fit_curves(counts, values[given], n_nu, n_ht, GAUSSIAN_SUM[given])
    return features.ravel()
