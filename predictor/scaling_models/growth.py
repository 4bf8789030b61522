"""Growth laws: five extrapolations of R(n) = n t(n)/t(1) beyond the last measured n, for many curves at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import Points
from profiles.arrays import FloatArray

LEAST_GROWTH = 1e-3  # smaller overheads count as this value
LARGEST_EXPONENT = 2.0
LEAST_GROWTH_RATIO = 0.05  # lower limit of a falling line, as R(n) over the last measured R

LEAST_VARIANCE_OF_X = 1e-300  # avoids a division by 0

Law = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def constant(n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
    """Continue R as a constant: every further thread helps as much as the last one.

    All laws take `n` (N,) ascending, `log_r` (C, N), the logarithms of R of C curves, and `n_new` (M,). They return log
    R, (C, M).

    >>> np.exp(constant(np.array([1.0, 2.0]), np.log([[1.0, 1.5]]), np.array([4.0]))).round(9)
    array([[1.5]])
    """
    return np.repeat(log_r[:, -1:], len(n_new), axis=1)


def power(n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
    """Continue R as R(n_last) (n/n_last)^c, with c by least squares over all points.

    >>> np.exp(power(np.array([1.0, 2.0]), np.log([[1.0, 1.5]]), np.array([4.0]))).round(9)
    array([[2.25]])
    """
    exponent = _least_squares_slopes(np.log(n), log_r)
    return np.asarray(log_r[:, -1:] + exponent[:, None] * np.log(n_new / n[-1]))


def recent_line(n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
    """Continue R as a straight line through the last point, with the least squares slope of the later half.

    This is the line of Eq. 5 for the segment that the measurements reached. It can be computed without knowing where
    the segment begins.

    >>> np.exp(recent_line(np.array([1.0, 2, 4, 8]), np.log([[1.0, 1, 2, 4]]), np.array([16.0]))).round(9)
    array([[8.]])
    """
    later = max(2, len(n) // 2)
    return _line_through_last(log_r, _least_squares_slopes(n[-later:], np.exp(log_r[:, -later:])), n_new - n[-1])


def chord(n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
    """Continue R as the straight line from the first to the last point, but not falling.

    This is Amdahl's law through both points.

    >>> np.exp(chord(np.array([1.0, 3, 4]), np.log([[1.0, 1.1, 1.6]]), np.array([6.0]))).round(9)
    array([[2.]])
    """
    r = np.exp(log_r[:, [0, -1]])
    return _line_through_last(
        log_r, np.maximum((r[:, 1] - r[:, 0]) / max(n[-1] - n[0], LEAST_GROWTH), 0.0), n_new - n[-1]
    )


def overhead_power(n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
    """Continue R as 1 + c (n - n_1)^e through the last point: the overhead is a power of the number of added threads.

    The exponent e comes from least squares of logarithms and is limited to 0..2. Overheads below 0.001 count as 0.001.

    >>> np.exp(overhead_power(np.array([1.0, 2, 3]), np.log([[1.0, 1.1, 1.4]]), np.array([5.0]))).round(9)
    array([[2.6]])
    """
    added, overhead = np.log(n[1:] - n[0]), np.log(np.maximum(np.expm1(log_r[:, 1:]), LEAST_GROWTH))
    exponent = np.clip(_least_squares_slopes(added, overhead), 0.0, LARGEST_EXPONENT)
    beyond = overhead[:, -1:] + exponent[:, None] * (np.log(n_new - n[0]) - added[-1])
    return np.asarray(np.log1p(np.exp(beyond)))


LAWS: dict[str, Law] = {
    "recent_line": recent_line,
    "constant": constant,
    "power": power,
    "chord": chord,
    "overhead_power": overhead_power,
}


class GrowthLaw(ScalingModel):
    """Growth model, t(n) = t1 R(n)/n, where R passes through the measured points and continues by one of the LAWS.

    Between measured thread counts, R is linear in n. Below the first, R is that of the first. Points at the same n
    count with the mean of their times.

    Settings: `law`. Learned: `n_`, `log_r_` and `t1_s_` = n_1 t(n_1). The fit needs two thread counts.

    >>> model = GrowthLaw("constant").fit([[1], [2], [4]], [8.0, 4.0, 3.0])
    >>> model.predict([[2], [8]]).round(9)
    array([4. , 1.5])
    """

    title: ClassVar[str] = "Growth of R(n)"
    source: ClassVar[str] = "docs/scaling-models.md"

    def __init__(self, law: str = "recent_line") -> None:
        self.law = law

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        if self.law not in LAWS:
            raise ValueError(f"unknown law {self.law!r}; known: {', '.join(LAWS)}")
        self.n_, self.log_r_, self.t1_s_ = measured_growth(points.n, t)
        if len(self.n_) < 2:
            raise TooFewPoints(self.title, len(self.n_), 2, "thread counts")

    def _times(self, points: Points) -> FloatArray:
        return np.asarray(
            self.t1_s_ * np.exp(extend_curves(LAWS[self.law], self.n_, self.log_r_[None], points.n)[0]) / points.n
        )

    def parameters(self) -> dict[str, float]:
        return {"t1_s": self.t1_s_, "r_last": float(np.exp(self.log_r_[-1]))}


def measured_growth(n: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the distinct thread counts, log R at each of them, and the reference n_1 t(n_1) in seconds.

    >>> n, log_r, t1_s = measured_growth(np.array([2.0, 1.0, 1.0]), np.array([3.0, 3.0, 5.0]))
    >>> n, np.exp(log_r).round(9), t1_s
    (array([1., 2.]), array([1. , 1.5]), 4.0)
    """
    distinct, index = np.unique(n, return_inverse=True)
    mean_s = np.bincount(index, weights=t) / np.bincount(index)
    t1_s = float(distinct[0] * mean_s[0])
    return distinct, np.log(distinct * mean_s / t1_s), t1_s


def extend_curves(law: Law, n: FloatArray, log_r: FloatArray, n_new: FloatArray) -> FloatArray:
    """Return log R of C curves at any thread counts, (C, M).

    R is interpolated up to the last measured n, and the law continues it beyond.

    >>> n, log_r = np.array([1.0, 3.0]), np.log([[1.0, 2.0]])
    >>> np.exp(extend_curves(constant, n, log_r, np.array([2.0, 4.0]))).round(9)
    array([[1.5, 2. ]])
    """
    values = np.empty((len(log_r), len(n_new)))
    beyond = n_new > n[-1]
    if beyond.any():
        values[:, beyond] = law(n, log_r, n_new[beyond])
    for curve, r in zip(values, np.exp(log_r), strict=True):
        curve[~beyond] = np.log(np.interp(n_new[~beyond], n, r))
    return values


def _least_squares_slopes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the least squares slopes of y (C, N) over x (N,), 0 for a single point."""
    centred = x - x.mean()
    return np.asarray((y * centred).sum(axis=1) / max(float((centred**2).sum()), LEAST_VARIANCE_OF_X))


def _line_through_last(log_r: FloatArray, slope: FloatArray, beyond: FloatArray) -> FloatArray:
    last = np.exp(log_r[:, -1:])
    return np.asarray(np.log(np.maximum(last + slope[:, None] * beyond, LEAST_GROWTH_RATIO * last)))
