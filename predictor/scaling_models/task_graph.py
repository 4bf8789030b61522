"""Task-parallel programs: models of work, delay and missing work over size and threads, which add up to the time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoLarsCV

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import SIZE, N, Points, PointsError
from profiles.arrays import FloatArray

TASK_MEASURES = ("work_s", "delay_s", "no_work_s", "tasks", "waits")
LASSO_FOLDS = 5
LEAST_RELATIVE_VALUE = 1e-3  # relative to the largest value; errors of smaller values are relative to this
LEAST_SIZE = 2  # log log x needs more than 1; at 2 it is 0


def task_measures(parts_s: ArrayLike) -> dict[str, FloatArray]:
    """Return work, delay and no_work from the seven parts of the thread time that the kit measures.

    work = use. delay = lock + creation + distribution + switching, the time in which a core does not execute an
    available task. no_work = imbalance + join, the time in which a core has no task. The parts sum to n t, and so do
    the three measures (Eq. 8). The counts of tasks and waits do not follow from the parts.

    Parameters: `parts_s` (N, 7) in the order of profiles.measurements.PARTS, thread seconds.
    Returns: `work_s`, `delay_s`, `no_work_s`, (N,) each.

    >>> {name: float(value[0]) for name, value in task_measures([[10, 1, 2, 1, 1, 1, 3]]).items()}
    {'work_s': 10.0, 'delay_s': 4.0, 'no_work_s': 5.0}
    """
    use, lock, imbalance, creation, distribution, switching, join = np.asarray(parts_s, dtype=np.float64).T
    return {
        "work_s": use,
        "delay_s": lock + creation + distribution + switching,
        "no_work_s": imbalance + join,
    }


class TaskGraphModel(ScalingModel):
    """Task graph model, time(x, p) = (T1(x, p) + delay(x, p) + no_work(x, p))/p (Eq. 9), from six models with
    coefficients >= 0:

        T1'(x)         = b1 + b2 x + b3 x log x + b4 x^2 + b5 x^2 log x + b6 x^3 + b7 x log log x       (Eq. 11)
        T1(x, p)       = T1'(x) (1 + a1 (p - 1)/p + a2 (p - 1))                                        (Eq. 10)
        tasks, waits   = d1 x + d2 x log x + d3 x^2 + d4 x^3 + d5 x log log x                          (Eq. 13, 14)
        delay(x, p)    = tasks(x) (c1 + c2 (p - 1) + c3 (p - 1)/p) + waits(x) (c4 + ...)               (Eq. 12)
        no_work(x, p)  = (p - 1)^2 (f1 + f2 x + f3 x log x + f4 x^2)                                   (Eq. 15)

    Logarithms have base 2. x is the input size, at least 2 (for work that is exponential in n, x = 2^n). Each model is
    a positive LassoLarsCV on columns scaled to 1, as in the paper, and minimises relative errors. With fewer than six
    points, it is non-negative least squares. T1' is fitted to the work at p = 1, tasks and waits to their means at each
    size.

    `fit(X, t, measures={...})` needs the following measures, (N,) each: `work_s`, `delay_s` and `no_work_s` in thread
    seconds, which sum to n t (see `task_measures`), and the counts `tasks` and `waits`.

    Errors: PointsError for a missing measure or a size below 2; TooFewPoints without a point at n = 1.
    Source: papers/002, Eq. 8-15.

    >>> x, p = (grid.ravel() for grid in np.meshgrid(2.0 ** np.arange(6, 13), [1.0, 2.0, 4.0, 8.0]))
    >>> work, delay, idle = 1e-6 * x * np.log2(x), 1e-8 * x * (p - 1), 1e-7 * x * (p - 1) ** 2
    >>> measures = {"work_s": work, "delay_s": delay, "no_work_s": idle, "tasks": x, "waits": x}
    >>> X, t = np.stack([p, x], axis=1), (work + delay + idle) / p
    >>> model = TaskGraphModel().fit(X, t, measures=measures)
    >>> (np.abs(model.predict(X) / t - 1) < 0.01).all()
    np.True_
    """

    title: ClassVar[str] = "Task graph"
    source: ClassVar[str] = "papers/002, Eq. 8-15"
    needed: ClassVar[tuple[str, ...]] = (N, SIZE)
    fold_count: ClassVar[int] = 5

    def _fit(
        self, points: Points, t: FloatArray, *, measures: Mapping[str, ArrayLike] | None = None, **measured: Any
    ) -> None:
        given = _check_measures(measures or {}, len(t))
        size, p = logarithmic_size(points), points.n
        first = p == 1
        if not first.any():
            raise TooFewPoints(self.title, 0, 1, "points at n = 1")
        self.sequential_work_ = positive_fit(work_terms(size[first]), given["work_s"][first])
        work = work_terms(size) @ self.sequential_work_
        self.work_growth_ = positive_fit(work[:, None] * _sharing_terms(p)[:, 1:], given["work_s"] - work)
        self.tasks_, self.waits_ = (self._counts(size, given[name]) for name in ("tasks", "waits"))
        self.delay_ = positive_fit(self._delay_terms(size, p), given["delay_s"])
        self.no_work_ = positive_fit(_no_work_terms(size, p), given["no_work_s"])

    def predict_measures(self, X: Any) -> dict[str, FloatArray]:
        """Return the modelled TASK_MEASURES at the points of X, (N,) each.

        These are the terms of Eq. 9 in thread seconds, and the counts of tasks and waits.

        >>> x, p = (grid.ravel() for grid in np.meshgrid(2.0 ** np.arange(6, 13), [1.0, 2.0, 4.0, 8.0]))
        >>> work, delay, idle = 1e-6 * x * np.log2(x), 1e-8 * x * (p - 1), 1e-7 * x * (p - 1) ** 2
        >>> measures = {"work_s": work, "delay_s": delay, "no_work_s": idle, "tasks": x, "waits": x}
        >>> model = TaskGraphModel().fit(np.stack([p, x], axis=1), (work + delay + idle) / p, measures=measures)
        >>> bool(abs(model.predict_measures([[4, 1024]])["work_s"][0] / (1e-6 * 1024 * 10) - 1) < 0.01)
        True
        """
        points = self._read(X)
        size, p = logarithmic_size(points), points.n
        work = work_terms(size) @ self.sequential_work_
        return {
            "work_s": work * (1.0 + _sharing_terms(p)[:, 1:] @ self.work_growth_),
            "delay_s": self._delay_terms(size, p) @ self.delay_,
            "no_work_s": _no_work_terms(size, p) @ self.no_work_,
            "tasks": _count_terms(size) @ self.tasks_,
            "waits": _count_terms(size) @ self.waits_,
        }

    def _times(self, points: Points) -> FloatArray:
        parts = self.predict_measures(points.matrix())
        return np.asarray((parts["work_s"] + parts["delay_s"] + parts["no_work_s"]) / points.n)

    def _counts(self, size: FloatArray, counts: FloatArray) -> FloatArray:
        sizes, index = np.unique(size, return_inverse=True)
        return positive_fit(_count_terms(sizes), np.bincount(index, weights=counts) / np.bincount(index))

    def _delay_terms(self, size: FloatArray, p: FloatArray) -> FloatArray:
        counts = np.stack([_count_terms(size) @ coefficients for coefficients in (self.tasks_, self.waits_)], axis=1)
        return (counts[:, :, None] * _sharing_terms(p)[:, None, :]).reshape(len(p), -1)

    def parameters(self) -> dict[str, float]:
        """Return the coefficients of the six models, named as in the paper: b1.., a1.., d1.., e1.., c1.., f1.."""
        models = {
            "b": self.sequential_work_,
            "a": self.work_growth_,
            "d": self.tasks_,
            "e": self.waits_,
            "c": self.delay_,
            "f": self.no_work_,
        }
        return {
            f"{letter}{k}": float(value)
            for letter, coefficients in models.items()
            for k, value in enumerate(coefficients, start=1)
        }


def positive_fit(terms: FloatArray, values: FloatArray) -> FloatArray:
    """Return coefficients >= 0 of `values` (N,) in `terms` (N, K), from positive LassoLarsCV without intercept.

    The fit uses scaled columns and minimises relative errors: a row has the weight 1/value, where values below a
    thousandth of the largest count as that thousandth. With absolute errors, the noise of the largest size alone would
    determine the cubic terms, which dominate predictions beyond it. With fewer than six points (too few to
    cross-validate) and with points without noise, the fit is non-negative least squares.

    >>> x = np.array([1.0, 2.0, 4.0])
    >>> positive_fit(np.stack([np.ones(3), x], axis=1), 2 + 3 * x).round(9)
    array([2., 3.])
    """
    top = float(np.abs(values).max())
    coefficients = np.zeros(terms.shape[1])
    if not top:
        return coefficients
    weight = 1.0 / np.maximum(np.abs(values), LEAST_RELATIVE_VALUE * top)
    weighted = terms * weight[:, None]
    scale = np.abs(weighted).max(axis=0)
    used = scale > 0
    if used.any():
        coefficients[used] = _lasso(weighted[:, used] / scale[used], values * weight) / scale[used]
    return coefficients


def _lasso(design: FloatArray, target: FloatArray) -> FloatArray:
    if len(target) <= LASSO_FOLDS:
        return np.asarray(nnls(design, target)[0])
    with warnings.catch_warnings():
        # Nearly collinear columns and equal penalties are expected and cause these warnings.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            model = LassoLarsCV(positive=True, fit_intercept=False, cv=LASSO_FOLDS).fit(design, target)
        except ValueError:
            # Without noise, the last penalty can be -1e-17, at which scikit-learn 1.9 cannot interpolate.
            return np.asarray(nnls(design, target)[0])
    return np.asarray(model.coef_)


def work_terms(x: FloatArray) -> FloatArray:
    log = np.log2(x)
    return np.stack([np.ones(len(x)), x, x * log, x**2, x**2 * log, x**3, x * _log_log(x)], axis=1)


def _count_terms(x: FloatArray) -> FloatArray:
    return np.stack([x, x * np.log2(x), x**2, x**3, x * _log_log(x)], axis=1)


def _no_work_terms(x: FloatArray, p: FloatArray) -> FloatArray:
    return (p - 1)[:, None] ** 2 * np.stack([np.ones(len(x)), x, x * np.log2(x), x**2], axis=1)


def _log_log(x: FloatArray) -> FloatArray:
    return np.asarray(np.log2(np.log2(x)))


def _sharing_terms(p: FloatArray) -> FloatArray:
    """Return the factors 1, (p - 1) and (p - 1)/p of costs that grow with the number of cores, (N, 3)."""
    return np.stack([np.ones(len(p)), p - 1, (p - 1) / p], axis=1)


def logarithmic_size(points: Points) -> FloatArray:
    size = points.column(SIZE)
    small: NDArray[np.intp] = np.flatnonzero(size < LEAST_SIZE)
    if len(small):
        raise PointsError(
            SIZE, int(small[0]), f"{size[small[0]]:g} is below 2, the least size for the logarithms of Eq. 11"
        )
    return size


def _check_measures(given: Mapping[str, ArrayLike], count: int) -> dict[str, FloatArray]:
    measures = {}
    for name in TASK_MEASURES:
        if name not in given:
            raise PointsError(name, None, f"required measure is missing; given: {', '.join(given) or 'none'}")
        values = np.asarray(given[name], dtype=np.float64)
        if values.shape != (count,) or not np.isfinite(values).all() or (values < 0).any():
            raise PointsError(name, None, f"expected {count} finite numbers of at least 0")
        measures[name] = values
    return measures
