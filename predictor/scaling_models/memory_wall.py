"""The memory wall: a speedup over cores and clock ratio that saturates when memory cannot serve more requests."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import differential_evolution, least_squares

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import CLOCK_RATIO, Points, read_times
from profiles.arrays import FloatArray

# The bounds of f, k, m1 and m2 (papers/003, 4.3).
LOWEST_PARAMETERS, HIGHEST_PARAMETERS = np.zeros(4), np.array([1.0, 10.0, 1.0, 1.0])
TYPICAL_STEP = np.array([0.1, 1.0, 0.1, 0.1])
POPULATION, GENERATIONS, SEARCHES = 15, 60, 3
SEARCH_TOLERANCE = 1e-6
APART = 0.05  # smallest distance of the two starts of the local search, relative to the bounds' lengths


def memory_wall_speedup(n: ArrayLike, clock_ratio: ArrayLike, parameters: ArrayLike) -> FloatArray:
    """Return the speedup on p = n cores at the clock ratio phi (Eq. 15-16).

        S = ((1 - mu_1) + rho mu_1) / max(((1 - mu_p) + rho mu_p) ((1 - f) + f/p), rho mu_p)
        mu_p = min(m1 + m2/p, 1),    rho = 1 + k phi

    mu_p is the fraction of instructions that reach memory. rho is the time of such an instruction relative to a
    processor instruction. With m1 = m2 = 0, this is Amdahl's law. With m2 > 0 (private caches), the speedup can be
    superlinear.

    Worked example: f = 1, k = 1, phi = 1 (so that rho = 2), m1 = 0.1 and m2 = 0 give S(2) = 1.1 / max(0.55, 0.2) = 2
    and S(8) = 1.1 / max(0.1375, 0.2) = 5.5, which is the wall.

    Parameters: `n` and `clock_ratio` (N,); `parameters` (..., 4), which are f, k, m1 and m2.
    Returns: (..., N), without unit. It is infinite only for f = 1 without memory accesses on infinitely many cores.
    Source: papers/003, Eq. 15-16.

    >>> memory_wall_speedup([1, 2, 8], [1, 1, 1], [1, 1, 0.1, 0]).round(9)
    array([1. , 2. , 5.5])
    """
    p, phi = np.asarray(n, dtype=np.float64), np.asarray(clock_ratio, dtype=np.float64)
    f, k, m1, m2 = np.moveaxis(np.asarray(parameters, dtype=np.float64)[..., None], -2, 0)
    excess = k * phi  # rho - 1
    share = np.minimum(m1 + m2 / p, 1.0)
    computing = (1.0 + excess * share) * (1.0 - f + f / p)
    return np.asarray((1.0 + excess * np.minimum(m1 + m2, 1.0)) / np.maximum(computing, (1.0 + excess) * share))


class MemoryWall(ScalingModel):
    """Memory wall model, t = t(1)/S(n, phi), with S from `memory_wall_speedup`.

    f, k, m1 and m2 minimise the mean squared error of S. Differential evolution searches for the global optimum inside
    the paper's bounds, 0..1 and 0..10 for k. It evaluates a generation in one array operation. Local least squares fits
    then start from its best points. Of the optimisers in scipy, dual annealing is the most similar to the paper's
    coupled simulated annealing. It evaluates one point at a time, however, and takes seconds for a fit of 336 points
    instead of about 0.2 s.

    Measured speedups need t(1) at the same clock ratio, either from the points at n = 1 or from `sequential_s` (N,), an
    argument of `fit`. For predictions at a clock ratio without a measured t(1), Eq. 3 gives t(1) = c (1 + k phi
    mu_1)/phi, with c from the other clock ratios, if the memory's clock is fixed. Without the column `clock_ratio`, the
    ratio is 1 everywhere and k has no meaning of its own.

    Settings: `random_state`. Learned: f, k, m1, m2.
    Errors: TooFewPoints with fewer than four points, or without t(1) at a clock ratio.
    Source: papers/003, Eq. 15-16 and Section 4.

    >>> n = np.arange(1.0, 25.0)
    >>> t = 10 / memory_wall_speedup(n, np.ones(24), [0.99, 2.0, 0.1, 0.1])
    >>> model = MemoryWall(random_state=0).fit(n[:, None], t)
    >>> {name: round(value, 3) for name, value in model.parameters().items()}
    {'f': 0.99, 'k': 2.0, 'm1': 0.1, 'm2': 0.1}
    """

    title: ClassVar[str] = "Memory wall"
    source: ClassVar[str] = "papers/003, Eq. 15-16"
    optional: ClassVar[tuple[str, ...]] = (CLOCK_RATIO,)
    fold_count: ClassVar[int] = 4
    needs_one_thread: ClassVar[bool] = True

    def __init__(self, random_state: int | np.random.Generator | None = 0) -> None:
        self.random_state = random_state

    def _fit(self, points: Points, t: FloatArray, *, sequential_s: ArrayLike | None = None, **measured: Any) -> None:
        if len(t) < len(LOWEST_PARAMETERS):
            raise TooFewPoints(self.title, len(t), len(LOWEST_PARAMETERS))
        phi = points.column(CLOCK_RATIO)
        t1 = _sequential_time_at_each(points.n, phi, t) if sequential_s is None else read_times(sequential_s, len(t))
        speedup = t1 / t
        # Use the best of a few searches, because a single one ends in a local optimum for about one surface in thirty.
        random = np.random.default_rng(self.random_state)
        fits = [_search_parameters(points.n, phi, speedup, random) for _ in range(SEARCHES)]
        self.parameters_ = min(fits, key=lambda fit: fit[0])[1]
        self.mean_squared_error_ = float(((memory_wall_speedup(points.n, phi, self.parameters_) - speedup) ** 2).mean())
        self.clock_ratios_, first = np.unique(phi, return_index=True)
        self.sequential_s_ = t1[first]

    def predict_speedup(self, X: Any) -> FloatArray:
        """Return S at the points of X (Eq. 15), (N,), without unit.

        >>> n = np.arange(1.0, 9.0)[:, None]
        >>> model = MemoryWall().fit(n, 10 / memory_wall_speedup(n[:, 0], np.ones(8), [1.0, 1.0, 0.1, 0.0]))
        >>> model.predict_speedup([[2], [8]]).round(3)
        array([2. , 5.5])
        """
        points = self._read(X)
        return memory_wall_speedup(points.n, points.column(CLOCK_RATIO), self.parameters_)

    def _times(self, points: Points) -> FloatArray:
        phi = points.column(CLOCK_RATIO)
        return self._sequential_time(phi) / memory_wall_speedup(points.n, phi, self.parameters_)

    def _sequential_time(self, phi: FloatArray) -> FloatArray:
        per_cycle = (self.sequential_s_ / self._cycles(self.clock_ratios_)).mean()
        index = np.minimum(np.searchsorted(self.clock_ratios_, phi), len(self.clock_ratios_) - 1)
        measured = self.clock_ratios_[index] == phi
        return np.asarray(np.where(measured, self.sequential_s_[index], per_cycle * self._cycles(phi)))

    def _cycles(self, phi: FloatArray) -> FloatArray:
        """Return a value that is proportional to t(1) at a fixed clock of the memory (Eq. 3, 9)."""
        _, k, m1, m2 = self.parameters_
        return np.asarray((1.0 + k * phi * min(m1 + m2, 1.0)) / phi)

    def parameters(self) -> dict[str, float]:
        return dict(zip(("f", "k", "m1", "m2"), self.parameters_.tolist(), strict=True))


def _sequential_time_at_each(n: FloatArray, phi: FloatArray, t: FloatArray) -> FloatArray:
    """Return t(1) at the clock ratio of each point, the mean of the times at n = 1."""
    t1 = np.full(len(t), np.nan)
    for ratio in np.unique(phi):
        at_ratio = phi == ratio
        if (at_ratio & (n == 1)).any():
            t1[at_ratio] = t[at_ratio & (n == 1)].mean()
    if np.isnan(t1).any():
        missing = np.unique(phi[np.isnan(t1)])
        raise TooFewPoints(f"{MemoryWall.title} at clock ratio {missing[0]:g}", 0, 1, "point at n = 1, or sequential_s")
    return t1


def _search_parameters(
    n: FloatArray, phi: FloatArray, speedup: FloatArray, random: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return the smallest mean squared error and its parameters, by differential evolution and local least squares."""

    def cost(candidates: FloatArray) -> FloatArray:
        return np.asarray(((memory_wall_speedup(n, phi, candidates.T) - speedup) ** 2).mean(axis=-1))

    searched = differential_evolution(
        cost,
        list(zip(LOWEST_PARAMETERS, HIGHEST_PARAMETERS, strict=True)),
        vectorized=True,
        updating="deferred",
        init="sobol",
        popsize=POPULATION,
        maxiter=GENERATIONS,
        tol=SEARCH_TOLERANCE,
        rng=random,
        polish=False,
    )
    best = float(searched.fun), np.clip(searched.x, LOWEST_PARAMETERS, HIGHEST_PARAMETERS)
    population = searched.population[np.argsort(searched.population_energies)]
    away = np.linalg.norm((population - population[0]) / HIGHEST_PARAMETERS, axis=1) > APART
    for start in (population[0], *population[away][:1]):
        polished = least_squares(
            lambda parameters: memory_wall_speedup(n, phi, parameters) - speedup,
            np.clip(start, LOWEST_PARAMETERS, HIGHEST_PARAMETERS),
            bounds=(LOWEST_PARAMETERS, HIGHEST_PARAMETERS),
            x_scale=TYPICAL_STEP,
        )
        best = min(best, (2.0 * polished.cost / len(n), np.asarray(polished.x)), key=lambda fit: fit[0])
    return best
