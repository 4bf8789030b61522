"""Baselines that fit a scaling law to A on the nearest reference and transfer it with one speed ratio."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from predictor.core.baselines.answers import Estimate, NoSettings
from predictor.core.baselines.log_times import LogTimes
from predictor.core.baselines.nearest import nearest_reference, shape_distance, speed_ratio
from predictor.core.database import Database
from profiles.arrays import FloatArray, IntArray

LEAST_WORK_SHARE = 0.01  # least fitted n t(n) over the least measured one, so that no time is 0

Terms = Callable[[FloatArray], FloatArray]


def amdahl_terms(n: FloatArray) -> FloatArray:
    """Return the terms of n t(n) = parallel work + sequential work * n (Amdahl 1967), (2, J).

    >>> amdahl_terms(np.array([1.0, 2.0, 4.0])).tolist()
    [[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]]
    """
    return np.stack([np.ones_like(n), n])


def usl_terms(n: FloatArray) -> FloatArray:
    """Return the terms of n t(n) = t(1) (1 + sigma (n - 1) + kappa n (n - 1)), (3, J): Gunther's universal scalability
    law.

    >>> usl_terms(np.array([1.0, 2.0, 4.0])).tolist()
    [[1.0, 1.0, 1.0], [0.0, 1.0, 3.0], [0.0, 2.0, 12.0]]
    """
    return np.stack([np.ones_like(n), n - 1, n * (n - 1)])


def fit_law(terms: FloatArray, values: FloatArray) -> FloatArray:
    """Return the non-negative coefficients that fit the sum of the terms to the values by relative least squares.

    `terms` (K, J), `values` (J,) positive. Returns (K,), in the unit of the values.

    >>> n = np.array([1.0, 2.0, 4.0])
    >>> fit_law(amdahl_terms(n), 9 + 1 * n).round(9)
    array([9., 1.])
    """
    from scipy.optimize import nnls  # noqa: PLC0415  the import takes 0.3 s and is seldom needed

    coefficients: FloatArray = nnls((terms / values).T, np.ones(len(values)))[0]
    return coefficients


def law_estimator(terms: Terms) -> Callable[[Database, LogTimes, NoSettings], Estimate]:
    def estimate(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
        p = nearest_reference(shape_distance(logs), logs)
        row = int(database.lookup(logs.platforms[p], logs.workload, logs.groups))
        n, time_s = database.curve(row)
        measured_n = n.astype(np.float64)
        law = fit_law(terms(measured_n), measured_n * time_s)
        least = LEAST_WORK_SHARE * (measured_n * time_s).min()

        def curve(n: IntArray) -> FloatArray:
            return np.asarray(np.log(np.maximum(law @ terms(n.astype(np.float64)), least)))

        return Estimate(np.full(len(logs.n), speed_ratio(logs, p)), {p: 1.0}, curve)

    return estimate
