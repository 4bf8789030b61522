"""The extended Amdahl model: Amdahl's law with a sequential time that is a polynomial of the input size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import SIZE, N, Points, PointsError, read_times
from profiles.arrays import FloatArray

NEGLIGIBLE_SINGULAR_VALUE = 1e-13  # relative to the largest singular value of X'X


class ExtendedAmdahl(ScalingModel):
    """Extended Amdahl model, T_p(x) = a T_seq(x)/p + (1 - a) T_seq(x), with a polynomial T_seq of the input size x.

    T_seq has the known degree k. It is fitted by least squares to the observations at p = 1. Solving the model for a at
    one observation gives

        a = p/(1 - p) (T_p(x)/T_seq(x) - 1)

    (the printed formula lacks the "- 1"). a is averaged over the observations at the highest p and, among these, at the
    largest x, because noise has the least weight where the time is longest. `partial_fit` gives the same result in
    constant space. It keeps the sums X'X and X'y of T_seq, and the count and the mean time at the highest observation.
    Both are reset by a higher observation, where p is compared before x (Section 3.4).

    Worked example: T_seq(x) = x and a = 0.8 give T_4(10) = 2 + 2 = 4 s. Conversely, a = 4/(1 - 4) (4/10 - 1) = 0.8.

    With `errors` "absolute", as in the paper, the fit minimises errors in seconds, so that small inputs hardly
    influence it. With "relative", each time has the weight 1/x^k, so that small and large inputs count alike. This
    needs sizes above 0, the largest at most some thousand times the smallest.

    Settings: `degree`, `errors`.
    Learned: `polynomial_` (k+1,), T_seq in the Legendre basis on `domain_`; `parallel_fraction_`, NaN until a point at
    p > 1 is learned. Predictions at p > 1 are NaN until then as well.
    Errors: TooFewPoints if fewer than k + 1 sizes were measured at p = 1. After `partial_fit`, predictions raise it
    until a point at p = 1 is learned. PointsError for a size at or below 0 with relative errors.
    Source: papers/000, Sections 3.1-3.5.

    >>> x = np.array([1.0, 2.0, 3.0, 4.0]); n = np.ones(4)
    >>> X = np.array([*zip(n, x), (4, 3.0), (4, 4.0)])
    >>> model = ExtendedAmdahl(degree=1).fit(X, [1, 2, 3, 4, 99, 1.6])
    >>> round(model.parallel_fraction_, 9), model.predict([[2, 10]]).round(9)
    (0.8, array([6.]))
    """

    title: ClassVar[str] = "Extended Amdahl model"
    source: ClassVar[str] = "papers/000, Sections 3.1-3.5"
    needed: ClassVar[tuple[str, ...]] = (N, SIZE)

    def __init__(self, degree: int = 3, errors: str = "absolute") -> None:
        self.degree = degree
        self.errors = errors

    def _fit(self, points: Points, t: FloatArray, **measured: Any) -> None:
        size = points.column(SIZE)
        weight = self._row_weights(size)[points.n == 1]
        sequential = points.n == 1
        size_count = len(np.unique(size[sequential]))
        if size_count <= self.degree:
            raise TooFewPoints(self.title, size_count, self.degree + 1, "sizes at n = 1")
        self.domain_ = _domain_of_sizes(size[sequential])
        basis = legendre.legvander(_to_unit_interval(size[sequential], self.domain_), self.degree)
        self.polynomial_ = np.linalg.lstsq(basis * weight[:, None], t[sequential] * weight, rcond=None)[0]
        self.sums_ = _Sums.empty(self.degree, self.domain_).add(size[sequential], t[sequential], weight)
        self.highest_ = _Highest().add(points, t)
        self.parallel_fraction_ = self._learn_fraction()

    def partial_fit(self, X: Any, t: ArrayLike) -> Self:
        """Learn from further points. The result is the same as if all points had been learned at once.

        >>> model = ExtendedAmdahl(degree=1).partial_fit([[1, 1.0], [1, 2.0]], [1.0, 2.0])
        >>> round(model.partial_fit([[4, 2.0]], [0.8]).parallel_fraction_, 9)
        0.8
        """
        points = self._read(X)
        times = read_times(t, len(points))
        if not hasattr(self, "highest_"):
            self._remember_columns(points)
            self.highest_ = _Highest()
        size, sequential = points.column(SIZE), points.n == 1
        if sequential.any():
            sums = getattr(self, "sums_", None) or _Sums.empty(self.degree, _domain_of_sizes(size[sequential]))
            self.sums_ = sums.add(size[sequential], times[sequential], self._row_weights(size)[sequential])
            self.domain_, self.polynomial_ = self.sums_.domain, self.sums_.solve()
        self.highest_ = self.highest_.add(points, times)
        self.parallel_fraction_ = self._learn_fraction()
        return self

    def sequential_time(self, size: ArrayLike) -> FloatArray:
        """Return T_seq(x) in seconds, in the shape of `size`. Raise TooFewPoints if no point at n = 1 was learned.

        >>> model = ExtendedAmdahl(degree=1).fit([[1, 1.0], [1, 2.0]], [1.0, 2.0])
        >>> model.sequential_time([4.0]).round(9)
        array([4.])
        """
        if not hasattr(self, "polynomial_"):
            raise TooFewPoints(self.title, 0, 1, "points at n = 1")
        return np.asarray(
            legendre.legval(_to_unit_interval(np.asarray(size, dtype=np.float64), self.domain_), self.polynomial_)
        )

    def _times(self, points: Points) -> FloatArray:
        sequential_s = self.sequential_time(points.column(SIZE))
        shared = np.where(points.n > 1, self.parallel_fraction_, 0.0)
        return np.asarray(sequential_s * (shared / points.n + 1.0 - shared))

    def parameters(self) -> dict[str, float]:
        """Return the parallel fraction, and the coefficients of T_seq in powers of x, in seconds per unit^k."""
        series = legendre.Legendre(self.polynomial_, domain=self.domain_)
        powers = series.convert(kind=np.polynomial.Polynomial, domain=(-1, 1), window=(-1, 1)).coef
        named = {f"seconds_per_size_{k}": float(value) for k, value in enumerate(np.resize(powers, self.degree + 1))}
        return {"parallel_fraction": self.parallel_fraction_} | named

    def _row_weights(self, size: FloatArray) -> FloatArray:
        """Return the weight of each point in the least squares fit, (N,)."""
        if self.errors == "absolute":
            return np.ones(len(size))
        if self.errors != "relative":
            raise ValueError(f"errors is {self.errors!r}; expected 'absolute' or 'relative'")
        low = np.flatnonzero(size <= 0)
        if len(low):
            raise PointsError(SIZE, int(low[0]), f"{size[low[0]]:g} is not above 0, which relative errors require")
        return np.asarray(size ** -float(self.degree))

    def _learn_fraction(self) -> float:
        highest = self.highest_
        if highest.n <= 1 or not hasattr(self, "polynomial_"):
            return float("nan")
        sequential_s = float(self.sequential_time(highest.size))
        if sequential_s == 0.0:
            return float("nan")
        return highest.n / (1.0 - highest.n) * (highest.mean_s / sequential_s - 1.0)


@dataclass(frozen=True)
class _Highest:
    """The count and the mean time of the observations at the highest p and, among these, at the largest x."""

    n: float = 1.0
    size: float = -np.inf
    count: int = 0
    mean_s: float = 0.0

    def add(self, points: Points, t: FloatArray) -> _Highest:
        size = points.column(SIZE)
        top = points.n == points.n.max()
        n, largest = float(points.n.max()), float(size[top].max())
        if (n, largest) < (self.n, self.size):
            return self
        is_highest = top & (size == largest)
        before = self.count if (n, largest) == (self.n, self.size) else 0
        count = before + int(is_highest.sum())
        return _Highest(n, largest, count, float((before * self.mean_s + t[is_highest].sum()) / count))


@dataclass(frozen=True, eq=False)
class _Sums:
    """The sums X'X and X'y of the polynomial in the Legendre basis, on a domain that contains every size so far.

    For x up to 1e6, a basis of powers would lose all digits in X'X. The Legendre basis keeps X'X well conditioned. If a
    size is outside the domain, the domain grows to at least twice its length and the sums are converted exactly.
    """

    domain: tuple[float, float]
    xx: FloatArray
    xy: FloatArray

    @classmethod
    def empty(cls, degree: int, domain: tuple[float, float]) -> _Sums:
        return cls(domain, np.zeros((degree + 1, degree + 1)), np.zeros(degree + 1))

    def add(self, size: FloatArray, t: FloatArray, weight: FloatArray) -> _Sums:
        sums = self._carry_to(_grow_domain(self.domain, float(size.min()), float(size.max())))
        basis = legendre.legvander(_to_unit_interval(size, sums.domain), len(sums.xy) - 1) * weight[:, None]
        return _Sums(sums.domain, sums.xx + basis.T @ basis, sums.xy + basis.T @ (t * weight))

    def solve(self) -> FloatArray:
        """Return the least squares polynomial, that with the smallest norm while the sizes do not determine it."""
        return np.asarray(np.linalg.lstsq(self.xx, self.xy, rcond=NEGLIGIBLE_SINGULAR_VALUE)[0])

    def _carry_to(self, domain: tuple[float, float]) -> _Sums:
        if domain == self.domain:
            return self
        degree = len(self.xy) - 1
        nodes = np.polynomial.chebyshev.chebpts1(degree + 1)
        on_new_domain = legendre.legvander(_to_unit_interval(_from_unit_interval(nodes, self.domain), domain), degree)
        change = np.linalg.solve(legendre.legvander(nodes, degree), on_new_domain).T
        return _Sums(domain, change @ self.xx @ change.T, change @ self.xy)


def _domain_of_sizes(size: FloatArray) -> tuple[float, float]:
    low, high = float(size.min()), float(size.max())
    half = max((high - low) / 2, abs(low + high) / 4, 0.5)
    return (low + high) / 2 - half, (low + high) / 2 + half


def _grow_domain(domain: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    start, end = domain
    length = end - start
    return (min(start - length, low) if low < start else start, max(end + length, high) if high > end else end)


def _to_unit_interval(size: FloatArray, domain: tuple[float, float]) -> FloatArray:
    start, end = domain
    return np.asarray((2.0 * size - start - end) / (end - start))


def _from_unit_interval(mapped: FloatArray, domain: tuple[float, float]) -> FloatArray:
    start, end = domain
    return np.asarray((start + end + mapped * (end - start)) / 2.0)
