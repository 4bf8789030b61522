"""Base class of the scaling models, and prediction intervals by the jackknife."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from predictor.scaling_models.points import N, Points, read_points, read_times
from profiles.arrays import FloatArray

FEWEST_GROUPS = 3  # groups of points that are left out in turn; fewer do not show a spread


class TooFewPoints(ValueError):
    """Error raised when the given points do not determine the model."""

    def __init__(self, model: str, found: int, needed: int, what: str = "points") -> None:
        self.found, self.needed = found, needed
        super().__init__(f"{model} needs {needed} {what}; found {found}")


class ScalingModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of estimators of times in seconds.

    Subclasses declare the columns that they read, and implement `_fit`, `_times` and `parameters`. `fit(X, t)` learns
    from N points, and `predict(X)` returns seconds, (N,). X is a data frame with named columns, or an array with the
    columns in the order of `needed`, then `optional`.
    """

    title: ClassVar[str] = ""
    source: ClassVar[str] = ""
    needed: ClassVar[tuple[str, ...]] = (N,)
    optional: ClassVar[tuple[str, ...]] = ()
    fold_count: ClassVar[int] = 10  # most refits for an interval
    needs_one_thread: ClassVar[bool] = False  # whether the points at n = 1 are a reference that every refit needs

    def fit(self, X: Any, t: ArrayLike, **measured: Any) -> Self:
        """Fit the model to points X and times t (N,) in seconds. `measured` holds further data for some models."""
        points = self._read(X)
        times = read_times(t, len(points))
        self._remember_columns(points)
        self._fit(points, times, **measured)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the times in seconds at the points of X, (N,)."""
        check_is_fitted(self)
        return self._times(self._read(X))

    def parameters(self) -> dict[str, float]:
        """Return the learned parameters by name. NaN means that the points do not determine the parameter."""
        raise NotImplementedError

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        raise NotImplementedError

    def _times(self, points: Points) -> FloatArray:
        raise NotImplementedError

    def refittable(self) -> ScalingModel:
        """Return an unfitted copy for refits to some of the points. Subclasses keep choices made for all points."""
        unfitted: ScalingModel = clone(self)
        return unfitted

    def _read(self, X: Any) -> Points:
        return read_points(X, self.needed, self.optional)

    def _remember_columns(self, points: Points) -> None:
        """Set the attributes that scikit-learn expects of a fitted estimator."""
        self.n_features_in_ = len(points.columns)
        self.feature_names_in_ = np.array(points.columns, dtype=object)


def prediction_interval(
    model: ScalingModel, X: Any, t: ArrayLike, X_new: Any, level: float = 0.9, **measured: Any
) -> tuple[FloatArray, FloatArray]:
    """Return an interval for the times by the delete-a-group jackknife on the logarithms of the times.

    The points are divided into G = min(N, fold_count) groups. The model is refitted without each group, which gives G
    logarithms p_g(x) at every new point:

        variance(x) = (G - 1)/G sum_g (p_g(x) - mean p(x))^2 + s^2,    low, high = p(x) exp(-+ q sqrt(variance(x)))

    s is the root mean square of the logarithmic errors at the left-out points, and q is Student's quantile with G - 1
    degrees of freedom. The interval is wide where the prediction depends on few points. It does not account for effects
    that no point shows. The points at n = 1 stay in every refit if the model `needs_one_thread`. `measured` holds the
    further arguments of `fit`. Arrays of N values in it are split like the points.

    Returns: low and high, (M,) each, in seconds.
    NaN: with fewer than 3 groups, if a refit raises ValueError, or where a refit does not predict a positive time.
    `jackknife` also returns the reason.

    >>> from predictor.scaling_models.amdahl import Amdahl
    >>> n = np.array([[1.0], [2.0], [4.0], [8.0]]); t = 1.0 + 8.0 / n[:, 0]
    >>> low, high = prediction_interval(Amdahl().fit(n, t), n, t, [[16.0]])
    >>> bool(low[0] <= 1.5 <= high[0]), bool(high[0] - low[0] < 1e-6)
    (True, True)
    """
    return jackknife(model, X, t, X_new, level, **measured)[:2]


def jackknife(
    model: ScalingModel, X: Any, t: ArrayLike, X_new: Any, level: float = 0.9, **measured: Any
) -> tuple[FloatArray, FloatArray, str]:
    """Return `prediction_interval` and the reason why it is NaN, an empty string if it is not.

    Errors: ValueError unless `level` is between 0 and 1.

    >>> from predictor.scaling_models.amdahl import Amdahl
    >>> jackknife(Amdahl().fit([[1], [2]], [4.0, 2.0]), [[1], [2]], [4.0, 2.0], [[4]])[2]
    'an interval needs 3 points that can be left out one at a time; found 2'
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1")
    points, new = model._read(X), model._read(X_new)
    times = read_times(t, len(points))
    unknown = np.full(len(new), np.nan)
    dealt = np.flatnonzero(points.n > 1) if model.needs_one_thread else np.arange(len(points))
    count = min(len(dealt), model.fold_count)
    if count < FEWEST_GROUPS:
        return unknown, unknown.copy(), f"an interval needs 3 points that can be left out one at a time; found {count}"
    groups = np.full(len(points), -1)
    groups[dealt] = np.arange(len(dealt)) % count
    try:
        logs, errors = _refit_without_groups(model, points, times, new, groups=groups, measured=measured)
    except ValueError as error:
        return unknown, unknown.copy(), f"the model cannot be refitted without some of the points: {error}"
    missed = (errors**2).mean() if len(errors) else np.nan
    variance = (count - 1) / count * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0) + missed
    half_width = stats.t.ppf(0.5 + level / 2, count - 1) * np.sqrt(variance)
    middle = model.predict(X_new)
    is_unknown = np.isnan(half_width).any()
    reason = "refitted without some of the points, the model predicts no positive time" if is_unknown else ""
    return middle * np.exp(-half_width), middle * np.exp(half_width), reason


def _refit_without_groups(
    model: ScalingModel, points: Points, t: FloatArray, new: Points, *, groups: Any, measured: Mapping[str, Any]
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms at the new points without each group, (G, M), and the log errors of the left-out points."""
    logs, errors = [], np.full(len(t), np.nan)
    for group in range(int(groups.max()) + 1):
        out = groups == group
        refit = model.refittable()
        refit.fit(points.take(~out).matrix(), t[~out], **_take_measured(measured, ~out))
        left_out = refit.predict(points.take(out).matrix())
        at_new = refit.predict(new.matrix())
        logs.append(np.log(np.where(at_new > 0, at_new, np.nan)))
        errors[out] = np.log(np.where(left_out > 0, left_out, np.nan) / t[out])
    return np.array(logs), errors[~np.isnan(errors)]


def _take_measured(measured: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Return the part of `measured` that belongs to these rows.

    Arrays with one value per point, at any depth, are reduced to these rows. Everything else is unchanged.
    """
    taken: dict[str, Any] = {}
    for name, value in measured.items():
        if isinstance(value, Mapping):
            taken[name] = _take_measured(value, rows)
        else:
            one_a_row = name != "companions" and value is not None and np.shape(value) == rows.shape
            taken[name] = np.asarray(value)[rows] if one_a_row else value
    return taken
