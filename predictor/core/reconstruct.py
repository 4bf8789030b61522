"""From a predicted t(1) and feature vector to curves and times (Eq. 3-7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.arrays import evenly_spaced
from predictor.core.database import Database
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import CURVE_NAMES, ELEMENTS, FEATURE_NAMES, FRACTIONS, GAUSSIAN_SUM, evaluate_curves
from profiles.scaling.runs import LEAST_REDUNDANCY, reconstruct

IS_NUMA_ELEMENT = np.array([name.endswith("_nu") for name in FEATURE_NAMES])
IS_SMT_ELEMENT = np.array([name.endswith("_ht") for name in FEATURE_NAMES])
MOST_KNOTS = 12  # thread counts at which methods work; more cost time and gain nothing


class PredictedCurves(NamedTuple):
    """The 14 curves and `utilisation` by name and t(n) in seconds, over n; and what had to be forced."""

    curves: dict[str, FloatArray]
    time_s: FloatArray
    warnings: list[str]


def knots(on_target: IntArray, of_workload: IntArray, n_max: int) -> IntArray:
    """The thread counts at which a method works, ascending: where T's workloads were measured, and outside that range,
    up to T's n_max, the least and the most at which A was on the references. At most 12, evenly in ln n.

    The n that are asked for play no part: an answer at one n is the same whichever others are asked for.

    Parameters: thread counts in any order.

    >>> knots(np.array([2, 4]), np.array([1, 3, 4, 6, 8, 16]), 8).tolist()
    [1, 2, 4, 8]
    """
    own, outside = np.unique(on_target), np.unique(of_workload)
    outside = outside[((outside < own[0]) | (outside > own[-1])) & (outside <= n_max)]
    outside = outside[[0, -1]] if len(outside) > 1 else outside  # T tells little of more, which outweigh its own
    return np.union1d(own[evenly_spaced(np.log(own), MOST_KNOTS - len(outside))], outside)


def impossible_elements(n_nu: float, n_ht: float) -> BoolArray:
    """(84,): elements a platform cannot have: no NUMA effect, no hyperthreads, or both at the same n (no NUMA pair).

    >>> np.array(FEATURE_NAMES)[impossible_elements(np.nan, 8.0)][:2].tolist()
    ['redundancy.m_nu', 'redundancy.b_nu']
    """
    no_numa = np.isnan(n_nu) or n_nu == n_ht
    return np.asarray((no_numa & IS_NUMA_ELEMENT) | (np.isnan(n_ht) & IS_SMT_ELEMENT))


def predicted_curves(
    database: Database, target: int, t1_s: float, features: FloatArray, n: IntArray, *, decomposed: bool
) -> PredictedCurves:
    """Evaluate a feature vector on the target and rebuild its times (Eq. 3-7).

        t(n) = t(1) R(n) / (n U(n)),    U = 1 for time-only profiles

    Without any valid element (no scaling is known) only t(1) itself is given.

    Example: t(1) = 10 s and R(n) = 0.1 n + 0.9 of a time-only profile: t(2) = 10 s * 1.1 / 2 = 5.5 s.

    Where R(n) falls to 0 or below (1e-9 at most) the vector stands for no time: R and t are invalid at that n.

    Parameters: `t1_s` in seconds; `features` (84,), NaN = invalid; `n` (J,), thread counts. Returns curves without unit
    and times in seconds, (J,) each; NaN where a curve that t(n) needs is invalid. Every clamp is named in `warnings`,
    and how many times are invalid.

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
    rebuilt = reconstruct(t1_s, values[0], values[1 : 1 + len(FRACTIONS)] if decomposed else None, n)
    curves = dict(zip(CURVE_NAMES, values, strict=True)) | {"utilisation": rebuilt.utilisation}
    warnings = [f"forced into the possible range: {clamp}" for clamp in rebuilt.clamps]
    if n.max() > database.n_max[target]:
        warnings.append(f"n = {n.max()} is beyond the {database.n_max[target]} threads of the target")
    time_s = np.where((n == 1) & np.isnan(features).all(), t1_s, rebuilt.time_s)
    for invalid, why in (
        (is_impossible, "the predicted redundancy falls to 0 or below there, which no time can have"),
        (np.isnan(time_s) & ~is_impossible, "the predicted curves are invalid there"),
    ):
        if invalid.any():
            warnings.append(f"no time at {invalid.sum()} of {len(n)} thread counts: {why}")
    return PredictedCurves(curves, time_s, warnings)
