"""Extrapolation of a curve without companions, from the curve itself and the machine's number of cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from predictor.scaling_models.growth import LEAST_GROWTH_RATIO
from profiles.arrays import FloatArray

SMT_YIELD = 0.2  # cores that a core's second thread adds; the median of 84 stressors on 357 servers is 0.25
SMT_YIELD_SPREAD = 0.25
YIELDS = np.linspace(0.025, 1.0, 40)  # values of the SMT yield that are tried
PRIOR_OF_YIELD = 0.4  # weight of the squared deviation from SMT_YIELD against one point beyond n_ht, in log seconds

LAST_SHARE = 1 / 3  # share of the points that determines the slope of the late line
LEAST_FOR_ORIGINS = 4  # thread counts needed to predict later points from earlier ones
FIRST_ORIGIN = 1 / 3  # share of the points before the first origin
MOST_ORIGINS = 6
FARTHEST = 2.01  # range of the predictions from an origin, relative to the cores known there
WORST_LOG_ERROR = 1.5

# Factors of the terms in the error scale of log t: distance beyond the last point, disagreement of the laws,
# uncertainty of the SMT yield, and past errors.
SCALE_OF_REACH, SCALE_OF_DISAGREEMENT, SCALE_OF_YIELD, SCALE_OF_ERROR = 0.18, 0.4, 0.55, 0.52
SCALE_BETWEEN, LEAST_BETWEEN = 0.6, 0.02  # factor of the interpolation error, and smallest scale from it
UNKNOWN_ERROR = 0.1  # assumed with too few points for an origin or an interpolation
LEAST_BEYOND = 0.002
DEGREES_OF_FREEDOM = 4.0  # of Student's distribution, which the ratio of an error to its scale has

CurveLaw = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def cores_in_use(n: FloatArray, n_ht: float | None, smt_yield: float) -> FloatArray:
    """Return the cores that n threads use: n up to n_ht, where every core has one thread, then n_ht + y (n - n_ht).

    y is `smt_yield`. Without n_ht, every thread uses a core.

    >>> cores_in_use(np.array([2.0, 4.0, 8.0]), 4, 0.25)
    array([2., 4., 5.])
    >>> cores_in_use(np.array([8.0]), None, 0.25)
    array([8.])
    """
    return n if n_ht is None else np.where(n > n_ht, n_ht + smt_yield * (n - n_ht), n)


def late_line(cores: FloatArray, log_r: FloatArray, predicted_cores: FloatArray) -> FloatArray:
    """Continue R as a line through the last point, with the median slope of all pairs in the last third (Theil-Sen).

    >>> cores = np.array([1.0, 2.0, 4.0, 8.0, 12.0, 16.0])
    >>> np.exp(late_line(cores, np.log([1.0, 1, 1, 2, 3, 4]), np.array([24.0]))).round(9)
    array([6.])
    """
    count = max(2, round(len(cores) * LAST_SHARE))
    x, r = cores[-count:], np.exp(log_r[-count:])
    i, j = np.triu_indices(count, 1)
    slope = np.median((r[j] - r[i]) / (x[j] - x[i]))
    return np.asarray(np.log(np.maximum(r[-1] + slope * (predicted_cores - x[-1]), LEAST_GROWTH_RATIO * r[-1])))


def amdahl_from_last(cores: FloatArray, log_r: FloatArray, predicted_cores: FloatArray) -> FloatArray:
    """Continue R by Amdahl's law, fitted to all points by least squares of relative errors, through the last point.

    >>> np.exp(amdahl_from_last(np.array([1.0, 2.0, 4.0]), np.log([1.0, 1.1, 1.3]), np.array([11.0]))).round(9)
    array([2.])
    """
    time = np.exp(log_r - log_r[-1]) / cores
    serial, parallel = nnls(np.stack([np.ones(len(cores)), 1 / cores], axis=1) / time[:, None], np.ones(len(cores)))[0]
    last = serial * cores[-1] + parallel
    return np.asarray(log_r[-1] + np.log((serial * predicted_cores + parallel) / last))


CURVE_LAWS: dict[str, CurveLaw] = {"late_line": late_line, "amdahl": amdahl_from_last}


@dataclass(frozen=True, eq=False)
class OwnCurve:
    """A curve over the cores in use, t(n) = exp(log_r(cores))/cores.

    `n`, `cores` and `log_r` (N,) are the thread counts, the cores in use, and the logarithm of cores times seconds.
    `errors` has for each law the mean |log error| of later points predicted from earlier ones, NaN with fewer than four
    thread counts. `chosen` is the law with the smallest error. `error_between` is the mean |log error| of points
    interpolated from their neighbours.
    """

    n: FloatArray
    n_ht: float | None
    smt_yield: float
    cores: FloatArray
    log_r: FloatArray
    errors: dict[str, float]
    chosen: str
    error_between: float

    def times(self, n: FloatArray) -> FloatArray:
        """Return the times in seconds at n, (M,).

        R is linear in the cores between measured points. Beyond the last point, the chosen law continues it.
        """
        return np.asarray(np.exp(self._log_times(n, self.chosen)))

    def log_scales(self, n: FloatArray) -> FloatArray:
        """Return the scale of the error of log t at n, (M,), to be multiplied by a quantile of Student's distribution.

        Beyond the last n,

            s^2 = (a log(c/c_last))^2 + (b d)^2 + (g y)^2 + (e E)^2

        c is the number of cores in use, d the difference between the laws, y the change of log c if the SMT yield were
        higher by `yield_spread`, and E the error of the chosen law on later points of the curve. The factors a, b, g
        and e are SCALE_OF_REACH, SCALE_OF_DISAGREEMENT, SCALE_OF_YIELD and SCALE_OF_ERROR. Between measured n, the
        scale depends on the interpolation error alone.
        """
        cores = cores_in_use(n, self.n_ht, self.smt_yield)
        more = cores_in_use(n, self.n_ht, min(self.smt_yield + self.yield_spread, 1.0))
        laws = [self._log_times(n, law) for law in CURVE_LAWS]
        error = self.errors[self.chosen]
        beyond = np.sqrt(
            (SCALE_OF_REACH * np.log(np.maximum(cores / self.cores[-1], 1.0))) ** 2
            + (SCALE_OF_DISAGREEMENT * np.ptp(laws, axis=0)) ** 2
            + (SCALE_OF_YIELD * np.log(more / cores)) ** 2
            + (SCALE_OF_ERROR * (UNKNOWN_ERROR if np.isnan(error) else error)) ** 2
        )
        between = SCALE_BETWEEN * (UNKNOWN_ERROR if np.isnan(self.error_between) else self.error_between)
        return np.where(n > self.n[-1], np.maximum(beyond, LEAST_BEYOND), max(between, LEAST_BETWEEN))

    @property
    def yield_spread(self) -> float:
        """Return the uncertainty of the SMT yield, which is smaller if points beyond n_ht were measured."""
        measured = 0 if self.n_ht is None else int((self.n > self.n_ht).sum())
        return SMT_YIELD_SPREAD / float(np.sqrt(1 + measured))

    def _log_times(self, n: FloatArray, law: str) -> FloatArray:
        cores = cores_in_use(n, self.n_ht, self.smt_yield)
        log_r = np.log(np.interp(cores, self.cores, np.exp(self.log_r)))
        beyond = cores > self.cores[-1]
        if beyond.any():
            log_r[beyond] = CURVE_LAWS[law](self.cores, self.log_r, cores[beyond])
        return np.asarray(log_r - np.log(cores))


def fit_own_curve(n: FloatArray, t: FloatArray, n_ht: float | None = None) -> OwnCurve:
    """Return the curve through ascending thread counts n (N,), at least two, and times t (N,) in seconds.

    `n_ht` is the largest thread count at which every core has one thread, None without SMT threads. A thread beyond
    n_ht counts as a fraction of a core, the yield. The yield is SMT_YIELD if no such thread was measured. Otherwise it
    is fitted so that the law of the points up to n_ht meets the times measured beyond.

    >>> n = np.array([1.0, 2.0, 3.0, 4.0])
    >>> curve = fit_own_curve(n, 12 / n, n_ht=4)
    >>> curve.chosen, curve.times(np.array([8.0])).round(6)      # four cores and four threads that add 0.2 each
    ('late_line', array([2.5]))
    """
    smt_yield = _learn_yield(n, t, n_ht)
    cores = cores_in_use(n, n_ht, smt_yield)
    log_r = np.log(cores * t)
    errors = errors_on_later_points(cores, log_r)
    chosen = min(errors, key=lambda law: (np.nan_to_num(errors[law]), list(CURVE_LAWS).index(law)))
    return OwnCurve(n, n_ht, smt_yield, cores, log_r, errors, chosen, _error_between(cores, log_r))


def errors_on_later_points(cores: FloatArray, log_r: FloatArray) -> dict[str, float]:
    """Return for each law the mean |log error| of later points predicted from earlier ones.

    The predictions start from up to six origins, the first at a third of the points. From each origin they reach up to
    twice the cores known there, and at least the next point. The errors are NaN with fewer than four points.

    >>> cores = np.array([1.0, 2.0, 4.0, 8.0])
    >>> errors_on_later_points(cores, np.log(1 + 0.1 * cores))["amdahl"] < 1e-9
    True
    """
    count = len(cores)
    if count < LEAST_FOR_ORIGINS:
        return dict.fromkeys(CURVE_LAWS, float("nan"))
    errors: dict[str, list[float]] = {law: [] for law in CURVE_LAWS}
    for origin in sorted({round(at) for at in np.linspace(max(2.0, count * FIRST_ORIGIN), count - 1, MOST_ORIGINS)}):
        later = cores[origin:] <= max(FARTHEST * cores[origin - 1], cores[origin])
        predicted_cores, actual = cores[origin:][later], log_r[origin:][later]
        for name, law in CURVE_LAWS.items():
            missed = np.abs(law(cores[:origin], log_r[:origin], predicted_cores) - actual)
            errors[name].append(float(np.minimum(missed, WORST_LOG_ERROR).mean()))
    return {name: float(np.mean(values)) for name, values in errors.items()}


def _learn_yield(n: FloatArray, t: FloatArray, n_ht: float | None) -> float:
    """Return the yield with which the chosen law of the points up to n_ht meets the points beyond.

    The fewer points there are beyond n_ht, the nearer the yield is kept to SMT_YIELD. It is SMT_YIELD without such
    points, or with fewer than two points up to n_ht.
    """
    beyond = np.zeros(len(n), dtype=np.bool_) if n_ht is None else n > n_ht
    if not beyond.any() or (~beyond).sum() < 2:
        return SMT_YIELD
    known, log_r = n[~beyond], np.log(n[~beyond] * t[~beyond])
    errors = errors_on_later_points(known, log_r)
    law = CURVE_LAWS[min(errors, key=lambda name: np.nan_to_num(errors[name]))]
    costs = []
    for smt_yield in YIELDS:
        cores = cores_in_use(n[beyond], n_ht, smt_yield)
        missed = np.abs(law(known, log_r, cores) - np.log(cores * t[beyond]))
        costs.append(missed.mean() + PRIOR_OF_YIELD * (smt_yield - SMT_YIELD) ** 2 / beyond.sum())
    return float(YIELDS[int(np.argmin(costs))])


def _error_between(cores: FloatArray, log_r: FloatArray) -> float:
    """Return the mean |log error| of inner points interpolated from their neighbours, NaN without an inner point."""
    if len(cores) < 3:
        return float("nan")
    share = (cores[1:-1] - cores[:-2]) / (cores[2:] - cores[:-2])
    r = np.exp(log_r)
    between = r[:-2] + share * (r[2:] - r[:-2])
    return float(np.abs(np.log(between) - log_r[1:-1]).mean())
