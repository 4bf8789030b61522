"""Parallel penalty: the time in excess of an even share of the sequential work, extrapolated by smoothers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import SIZE, Points, read_times
from predictor.scaling_models.smoothers import SMOOTHERS_BY_NAME, Choice, FittedCurve, Smoother, choose_smoother
from profiles.arrays import FloatArray

AUTO = "auto"
SmootherOrName = Smoother | str


def parallel_penalty(n: ArrayLike, time_s: ArrayLike, sequential_s: ArrayLike) -> FloatArray:
    """Return the parallel overhead per processing element, in seconds (papers/004, Section 3):

        A(x, p) = T(x, p) - T(x)/p

    If A rises with p, the program does not scale. If A is negative, the speedup is superlinear.

    Worked example: T = 100 s and T(., 8) = 14 s give A = 14 - 12.5 = 1.5 s.

    Parameters: `n`, the thread counts p; `time_s` and `sequential_s`, the measured and sequential times in seconds. All
    broadcast.

    >>> parallel_penalty([1, 8], [100.0, 14.0], 100.0)
    array([0. , 1.5])
    """
    p, t = np.asarray(n, dtype=np.float64), np.asarray(time_s, dtype=np.float64)
    return np.asarray(t - np.asarray(sequential_s, dtype=np.float64) / p)


def serial_fraction(n: ArrayLike, time_s: ArrayLike, sequential_s: ArrayLike) -> FloatArray:
    """Return the experimentally determined serial fraction of Karp and Flatt (papers/004, Section 5), without unit:

        f(x, p) = (T(x, p)/T(x) - 1/p) / (1 - 1/p)

    A constant f means that the loss is serial work, a rising f that the overhead grows with p, and a falling f that the
    sequential time is too long. Worked example: T = 100 s and T(., 8) = 14 s give f = (0.14 - 0.125)/0.875 = 0.0171.

    Parameters: see `parallel_penalty`.
    NaN: at p = 1, where f is not defined.

    >>> serial_fraction([1, 8], [100.0, 14.0], 100.0).round(4)
    array([   nan, 0.0171])
    """
    share = 1.0 / np.asarray(n, dtype=np.float64)
    excess = np.asarray(time_s, dtype=np.float64) / np.asarray(sequential_s, dtype=np.float64) - share
    return np.asarray(np.where(share < 1, excess / np.where(share < 1, 1.0 - share, 1.0), np.nan))


class ParallelPenalty(ScalingModel):
    """Parallel penalty model, T(x, p) = T(x)/p + A(x, p) (Eq. 1).

    The two terms are extrapolated separately, because they differ in nature. With `over="n"`, the penalty at each size
    x is a curve over p, and T(x) is known. With `over="size"`, T is a curve over x, and so is the penalty at each p, so
    that predictions are limited to measured p. The reference T(x) is either absolute or relative. It is absolute, the
    time of the sequential program, if `fit` gets `sequential_s` (N,), the time at the size of each point. Otherwise it
    is relative, the time T(x, 1) of the parallel program at the points with n = 1.

    `sequential` and `penalty` are smoothers or their names (`smoothers.py`), or "auto". "auto" selects for each curve
    the smoother that best predicts the last known value from the others, within `epsilon` (papers/004, Section 3).

    Worked example: T(x, 1) = 8 s and A = 0.25 (p - 1) s give T(x, 16) = 0.5 + 3.75 s.

    Learned: `reasons_`, the Choice of each automatically chosen curve by the curve's name. Predictions may be negative.
    Errors: NoSuitableSmoother if no smoother is within epsilon; TooFewPoints without a reference time; ValueError for a
    prediction at a size (with `over="n"`) or at an n (with `over="size"`) that was not measured.
    Source: papers/004 (Lobachev, Guthe, Loogen: Estimating parallel performance), Eq. 1 and Sections 3, 5.

    >>> n = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 8.0])
    >>> model = ParallelPenalty().fit(n[:, None], 8 / n + 0.25 * (n - 1))
    >>> model.predict([[16]]).round(9), [choice.smoother.label for choice in model.reasons_.values()]
    (array([4.25]), ['line'])
    """

    title: ClassVar[str] = "Parallel penalty"
    source: ClassVar[str] = "papers/004, Eq. 1 and Section 3"
    optional: ClassVar[tuple[str, ...]] = (SIZE,)
    needs_one_thread: ClassVar[bool] = True

    def __init__(
        self,
        over: Literal["n", "size"] = "n",
        sequential: SmootherOrName = AUTO,
        penalty: SmootherOrName = AUTO,
        epsilon: float = 0.1,
    ) -> None:
        self.over = over
        self.sequential = sequential
        self.penalty = penalty
        self.epsilon = epsilon

    def _fit(self, points: Points, t: FloatArray, *, sequential_s: ArrayLike | None = None, **measured: Any) -> None:
        if self.over not in {"n", "size"}:
            raise ValueError(f"over is {self.over!r}; expected 'n' or 'size'")
        size = points.column(SIZE)
        sequential_of = _reference_times(points, t, sequential_s)
        self.reference_ = "relative" if sequential_s is None else "absolute"
        self.reasons_: dict[str, Choice] = {}
        self.sequential_s_ = sequential_of
        self.sequential_curve_: FittedCurve | None = None
        if self.over == "size":
            sizes = np.array(sorted(sequential_of))
            sequential_times = np.array([sequential_of[x] for x in sizes.tolist()])
            self.sequential_curve_ = self._curve(
                "sequential time", self.sequential, sizes, sequential_times, lambda value: value
            )
        groups, along = (size, points.n) if self.over == "n" else (points.n, size)
        self.penalty_curves_: dict[float, FittedCurve] = {}
        for value in np.unique(groups).tolist():
            of_group = (groups == value) & np.isin(size, list(sequential_of))
            if of_group.any() and not (self.over == "size" and value == 1 and sequential_s is None):
                self.penalty_curves_[value] = self._penalty_curve(
                    value, along[of_group], points.n[of_group], size[of_group], t[of_group]
                )

    def _penalty_curve(
        self, group: float, x: FloatArray, n: FloatArray, size: FloatArray, t: FloatArray
    ) -> FittedCurve:
        sequential_s = np.array([self.sequential_s_[point_size] for point_size in size.tolist()])
        values = parallel_penalty(n, t, sequential_s)
        last = int(np.argmax(x))
        share = sequential_s[last] / n[last]
        name = f"penalty at size {group:g}" if self.over == "n" else f"penalty at n = {group:g}"
        return self._curve(name, self.penalty, x, values, lambda value: share + value)

    def _curve(
        self, name: str, smoother: SmootherOrName, x: FloatArray, y: FloatArray, time_of: Callable[[float], float]
    ) -> FittedCurve:
        smoother = getattr(self, "held_", {}).get(name, smoother)
        if smoother != AUTO and isinstance(smoother, str):
            if smoother not in SMOOTHERS_BY_NAME:
                raise ValueError(f"unknown smoother {smoother!r}; known: auto, {', '.join(SMOOTHERS_BY_NAME)}")
            smoother = SMOOTHERS_BY_NAME[smoother]
        if isinstance(smoother, str):
            self.reasons_[name] = choose_smoother(x, y, self.epsilon, time_of=time_of)
            smoother = self.reasons_[name].smoother
        return smoother.fit(x, y)

    def _times(self, points: Points) -> FloatArray:
        size = points.column(SIZE)
        groups, along = (size, points.n) if self.over == "n" else (points.n, size)
        times = self._sequential_times(size) / points.n
        for value in np.unique(groups).tolist():
            of_group = groups == value
            if value in self.penalty_curves_:
                times[of_group] += self.penalty_curves_[value](along[of_group])
            elif not (self.over == "size" and value == 1 and self.reference_ == "relative"):
                fixed = "size" if self.over == "n" else "n"
                measured = ", ".join(f"{curve_of:g}" for curve_of in self.penalty_curves_)
                raise ValueError(
                    f"{fixed} = {value:g} was not measured (measured: {measured}); the model is over {self.over} only"
                )
        return times

    def _sequential_times(self, size: FloatArray) -> FloatArray:
        if self.sequential_curve_ is not None:
            return np.asarray(self.sequential_curve_(size), dtype=np.float64)
        return np.array([self.sequential_s_.get(point_size, np.nan) for point_size in size.tolist()])

    def refittable(self) -> ParallelPenalty:
        """Return an unfitted copy that keeps the chosen curves, because fewer points might select others, or none."""
        refit: ParallelPenalty = clone(self)
        refit.held_ = {name: choice.smoother for name, choice in self.reasons_.items()}
        return refit

    def parameters(self) -> dict[str, float]:
        """Return the relative errors of the automatic choices. The curves have no parameters of their own."""
        return {f"error of {name}": choice.error for name, choice in self.reasons_.items()}


def _reference_times(points: Points, t: FloatArray, sequential_s: ArrayLike | None) -> dict[float, float]:
    """Return T(x) by size: the given times, or the means of the times at n = 1."""
    size = points.column(SIZE)
    is_reference = points.n == 1 if sequential_s is None else np.ones(len(t), dtype=np.bool_)
    times = t if sequential_s is None else read_times(sequential_s, len(t))
    if not is_reference.any():
        raise TooFewPoints(ParallelPenalty.title, 0, 1, "points at n = 1, or sequential_s")
    return {
        known_size: float(times[is_reference & (size == known_size)].mean())
        for known_size in np.unique(size[is_reference]).tolist()
    }
