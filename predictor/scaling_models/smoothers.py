"""Smoothers: curves through points (x, y) of one variable, and the automatic choice among them (papers/004, Section 3).

A smoother is a frozen dataclass, and `fit(x, y)` returns a function of x. Smoothers that behave as in R have R's names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.polynomial import Polynomial as Series
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from profiles.arrays import FloatArray

FittedCurve = Callable[[ArrayLike], FloatArray]

STRETCH = 1.005  # factor of loess' h, as in R
SPAN_ROUNDING = 1e-5  # as in R, a span just below a whole number of points counts as that number
LEAST_REACH = 1e-300  # avoids a division by 0
EQUAL_DIGITS = 9  # errors that agree in these decimals count as equal


class Smoother(Protocol):
    """A kind of curve. `least` is the number of points with different x that it needs."""

    @property
    def label(self) -> str: ...

    @property
    def least(self) -> int: ...

    def fit(self, x: FloatArray, y: FloatArray) -> FittedCurve: ...


class SmootherError(ValueError):
    """Error raised when a smoother cannot be fitted to the points."""


class NoSuitableSmoother(SmootherError):
    """Error raised when no smoother and no mean of two is within epsilon of the known value.

    `errors` has the relative error of each smoother that was tried, by label.
    """

    def __init__(self, errors: dict[str, float], epsilon: float) -> None:
        self.errors, self.epsilon = errors, epsilon
        listed = ", ".join(f"{name} {error:+.1%}" for name, error in errors.items()) or "none could be fitted"
        super().__init__(
            f"no smoother predicts the last known value within {epsilon:.1%} ({listed}): measure more, or raise epsilon"
        )


@dataclass(frozen=True)
class Polynomial:
    """Least squares polynomial, R's lm(y ~ poly(x, degree)). Points with x above `largest` are ignored.

    >>> Polynomial(1).fit(np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 8.0]))([8.0]).round(9)
    array([16.])
    """

    degree: int = 3
    largest: float = math.inf

    @property
    def label(self) -> str:
        kept = "" if math.isinf(self.largest) else f" of x <= {self.largest:g}"
        return ("line" if self.degree == 1 else f"polynomial of degree {self.degree}") + kept

    @property
    def least(self) -> int:
        return self.degree + 1

    def fit(self, x: FloatArray, y: FloatArray) -> FittedCurve:
        kept = x <= self.largest
        _require_enough(self, x[kept])
        series = Series.fit(x[kept], y[kept], self.degree)
        return lambda x_new: np.asarray(series(np.asarray(x_new, dtype=np.float64)))


@dataclass(frozen=True)
class NaturalSpline:
    """Cubic spline with second derivative 0 at both ends, continued as straight lines: R's method "natural".

    >>> NaturalSpline().fit(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]))([1.0, 4.0]).round(9)
    array([ 1., -3.])
    """

    label = "natural spline"
    least = 3

    def fit(self, x: FloatArray, y: FloatArray) -> FittedCurve:
        x, y = _sort_and_merge(self, x, y)
        spline = CubicSpline(x, y, bc_type="natural")
        ends = x[[0, -1]]
        slopes = spline(ends, 1)

        def curve(x_new: ArrayLike) -> FloatArray:
            u = np.asarray(x_new, dtype=np.float64)
            inside = np.clip(u, *ends)
            return np.asarray(spline(inside) + np.where(u < inside, slopes[0], slopes[1]) * (u - inside))

        return curve


@dataclass(frozen=True)
class EndCubicSpline:
    """Cubic spline of Forsythe, Malcolm and Moler, R's default `spline(x, y)`.

    The third derivatives at the ends are those of the cubics through the first and last four points. Beyond the last
    point, the last cubic continues; below the first point, the spline is a parabola, as in R. With three points, the
    curve is a parabola.

    >>> EndCubicSpline().fit(np.arange(5.0), np.arange(5.0) ** 3)([2.5, 6.0]).round(9)
    array([ 15.625, 216.   ])
    """

    label = "R's spline"
    least = 3

    def fit(self, x: FloatArray, y: FloatArray) -> FittedCurve:
        x, y = _sort_and_merge(self, x, y)
        if len(x) == 3:
            return Polynomial(2).fit(x, y)
        first, last = (_third_derivative(x[part], y[part]) for part in (slice(None, 4), slice(-4, None)))
        spline = _spline_of_third_derivatives(x, y, first, last)

        def curve(x_new: ArrayLike) -> FloatArray:
            u = np.asarray(x_new, dtype=np.float64)
            below = u - x[0]
            start = y[0] + below * (spline(x[0], 1) + below * spline(x[0], 2) / 2)
            return np.asarray(np.where(u < x[0], start, spline(u)))

        return curve


@dataclass(frozen=True)
class Loess:
    """Local polynomials with tricube weights over the nearest `span` of the points, R's `loess(surface = "direct")`.

    At u, h is the distance of the floor(span * N)th nearest point. Points within h have the weights
    (1 - (|x - u|/h)^3)^3, and the value is that of their weighted least squares polynomial. As in R, h is stretched by
    half a percent, so that the farthest point still has a small weight.

    >>> Loess().fit(np.arange(8.0), np.arange(8.0) ** 2)([3.0, 9.0]).round(6)
    array([ 9., 81.])
    """

    span: float = 0.75
    degree: int = 2
    label = "loess"

    @property
    def least(self) -> int:
        return self.degree + 2

    def fit(self, x: FloatArray, y: FloatArray) -> FittedCurve:
        _require_enough(self, x)
        near = max(math.floor(len(x) * self.span + SPAN_ROUNDING), self.degree + 1)

        def value(u: float) -> float:
            distance = np.abs(x - u)
            bandwidth = np.sort(distance)[near - 1] * STRETCH
            root = np.sqrt((1.0 - np.minimum(distance / max(bandwidth, LEAST_REACH), 1.0) ** 3) ** 3)
            design = np.vander((x - u) / max(bandwidth, LEAST_REACH), self.degree + 1, increasing=True)
            return float(np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0])

        return lambda x_new: np.array([value(u) for u in np.atleast_1d(np.asarray(x_new, dtype=np.float64))])


@dataclass(frozen=True)
class Mean:
    """The mean of two smoothers."""

    first: Smoother
    second: Smoother

    @property
    def label(self) -> str:
        return f"mean of {self.first.label} and {self.second.label}"

    @property
    def least(self) -> int:
        return max(self.first.least, self.second.least)

    def fit(self, x: FloatArray, y: FloatArray) -> FittedCurve:
        first, second = self.first.fit(x, y), self.second.fit(x, y)
        return lambda x_new: (first(x_new) + second(x_new)) / 2.0


SMOOTHERS_BY_NAME: dict[str, Smoother] = {
    "line": Polynomial(1),
    "polynomial_2": Polynomial(2),
    "polynomial_3": Polynomial(3),
    "polynomial_4": Polynomial(4),
    "natural_spline": NaturalSpline(),
    "end_cubic_spline": EndCubicSpline(),
    "loess": Loess(),
}
SMOOTHERS = tuple(SMOOTHERS_BY_NAME.values())


@dataclass(frozen=True)
class Choice:
    """The chosen smoother, its relative error at the known value, and the errors of all smoothers tried, by label."""

    smoother: Smoother
    error: float
    errors: dict[str, float]


def choose_smoother(
    x: FloatArray,
    y: FloatArray,
    epsilon: float,
    *,
    smoothers: Sequence[Smoother] = SMOOTHERS,
    time_of: Callable[[float], float] = lambda value: value,
) -> Choice:
    """Return the smoother that best predicts the last known value (at the largest x) from the others.

    Estimates with a negative time, according to `time_of`, are discarded. The smoother with the smallest relative error
    is chosen if that is below epsilon, or else the mean of the best two if its error is below epsilon. Smoothers that
    need more points than remain are not tried.
    Errors: NoSuitableSmoother if neither error is below epsilon.
    Source: papers/004, Section 3.

    >>> x = np.arange(1.0, 8.0)
    >>> choice = choose_smoother(x, 2 * x**2, 0.05)
    >>> choice.smoother.label, abs(round(choice.error, 9))
    ('polynomial of degree 2', 0.0)
    """
    last = int(np.argmax(x))
    known_x, known_y = np.delete(x, last), np.delete(y, last)
    estimates: dict[Smoother, float] = {}
    for smoother in smoothers:
        if len(np.unique(known_x)) < smoother.least:
            continue
        value = float(np.ravel(smoother.fit(known_x, known_y)([x[last]]))[0])
        if time_of(value) >= 0:
            estimates[smoother] = value
    actual = float(y[last])

    def error_of(value: float) -> float:
        return (value - actual) / abs(actual) if actual else math.copysign(math.inf, value) if value else 0.0

    errors = {smoother.label: error_of(value) for smoother, value in estimates.items()}
    # The sort is stable, so that the simplest of equally good smoothers comes first.
    nearest = sorted(estimates, key=lambda smoother: round(abs(errors[smoother.label]), EQUAL_DIGITS))
    if nearest and abs(errors[nearest[0].label]) < epsilon:
        return Choice(nearest[0], errors[nearest[0].label], errors)
    if len(nearest) > 1:
        error = error_of((estimates[nearest[0]] + estimates[nearest[1]]) / 2)
        if abs(error) < epsilon:
            return Choice(Mean(nearest[0], nearest[1]), error, errors)
    raise NoSuitableSmoother(errors, epsilon)


def _require_enough(smoother: Smoother, x: FloatArray) -> None:
    distinct = len(np.unique(x))
    if distinct < smoother.least:
        raise SmootherError(f"{smoother.label} needs {smoother.least} points with different x; found {distinct}")


def _sort_and_merge(smoother: Smoother, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x in ascending order with the mean y of equal x."""
    _require_enough(smoother, x)
    ascending, index = np.unique(x, return_inverse=True)
    return ascending, np.bincount(index, weights=y) / np.bincount(index)


def _third_derivative(x: FloatArray, y: FloatArray) -> float:
    """Return the third derivative of the cubic through four points."""
    return 6.0 * float(
        sum(value / np.prod(x_i - np.delete(x, i)) for i, (x_i, value) in enumerate(zip(x, y, strict=True)))
    )


def _spline_of_third_derivatives(x: FloatArray, y: FloatArray, first: float, last: float) -> CubicSpline:
    """Return the cubic spline with the given third derivatives in its first and last piece.

    The second derivatives s solve the usual equations at the inner points, and at the ends s_1 - s_0 = h_0 first and
    s_N - s_(N-1) = h_N last.
    """
    h, slope = np.diff(x), np.diff(y) / np.diff(x)
    size = len(x)
    system, right = np.zeros((size, size)), np.zeros(size)
    system[0, :2], right[0] = (-1.0, 1.0), h[0] * first
    system[-1, -2:], right[-1] = (-1.0, 1.0), h[-1] * last
    for i in range(1, size - 1):
        system[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        right[i] = 6.0 * (slope[i] - slope[i - 1])
    s = np.linalg.solve(system, right)
    start = slope[0] - h[0] * (2.0 * s[0] + s[1]) / 6.0
    end = slope[-1] + h[-1] * (s[-2] + 2.0 * s[-1]) / 6.0
    return CubicSpline(x, y, bc_type=((1, start), (1, end)))
