"""The memory wall: a speedup that saturates when memory cannot serve more requests, over cores and clock ratio."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import differential_evolution, least_squares

from predictor.scaling_models.base import ScalingModel, TooFewPoints
from predictor.scaling_models.points import CLOCK_RATIO, Points, read_times
from profiles.arrays import FloatArray

LOWEST_PARAMETERS, HIGHEST_PARAMETERS = np.zeros(4), np.array([1.0, 10.0, 1.0, 1.0])  # f, k, m1, m2 (papers/003, 4.3)
TYPICAL_STEP = np.array([0.1, 1.0, 0.1, 0.1])
POPULATION, GENERATIONS, SEARCHES = 15, 60, 3
SEARCH_TOLERANCE = 1e-6
APART = 0.05  # of the bounds' lengths: members of a population closer than this are next to each other


def memory_wall_speedup(n: ArrayLike, clock_ratio: ArrayLike, parameters: ArrayLike) -> FloatArray:
    """The speedup on p = n cores at the clock ratio phi (Eq. 15-16).

        S = ((1 - mu_1) + rho mu_1) / max(((1 - mu_p) + rho mu_p) ((1 - f) + f/p), rho mu_p)
        mu_p = min(m1 + m2/p, 1),    rho = 1 + k phi

    mu_p is the fraction of instructions that reach memory, rho how much longer one takes than a processor
    instruction. With m1 = m2 = 0 this is Amdahl's law; m2 > 0 (private caches) can make it superlinear.

    Worked example: f = 1, k = 1, phi = 1 (rho = 2), m1 = 0.1, m2 = 0: S(2) = 1.1 / max(0.55, 0.2) = 2 and
    S(8) = 1.1 / max(0.1375, 0.2) = 5.5: the wall.

    Parameters: `n` and `clock_ratio` (N,), `parameters` (..., 4): f, k, m1, m2. Returns (..., N), no unit. Infinite
    where f = 1 and no memory is used at infinitely many cores only. Source: papers/003, Eq. 15-16.

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
    """t = t(1)/S(n, phi) with S of `memory_wall_speedup`; f, k, m1, m2 minimise the mean squared error of S.

    The optimum is global, by differential evolution (all of a generation in one array operation) inside the paper's
    bounds, 0..1 and 0..10 for k, then a local least squares from its best points. scipy also has dual annealing, the
    nearest relative of the paper's coupled simulated annealing; it evaluates one point at a time, so that a fit of
    336 points takes seconds where this takes about 0.2 s.

    Measured speedups need t(1) at the same clock ratio: from the points at n = 1, or `sequential_s`, (N,). At a clock
    ratio without measured t(1), Eq. 3 gives it: t(1) = c (1 + k phi mu_1)/phi, c from the others (the memory's clock
    being fixed). Without `clock_ratio` it is 1 and k has no meaning of its own.

    Settings: `random_state`. Learned: f, k, m1, m2. Source: papers/003, Eq. 15-16 and Section 4.

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
        # The best of a few searches: a single one ends in a local optimum for about one surface in thirty.
        random = np.random.default_rng(self.random_state)
        fits = [_search_parameters(points.n, phi, speedup, random) for _ in range(SEARCHES)]
        self.parameters_ = min(fits, key=lambda fit: fit[0])[1]
        self.mean_squared_error_ = float(((memory_wall_speedup(points.n, phi, self.parameters_) - speedup) ** 2).mean())
        self.clock_ratios_, first = np.unique(phi, return_index=True)
        self.sequential_s_ = t1[first]

    def predict_speedup(self, X: Any) -> FloatArray:
        """S at the points of X (Eq. 15), (N,), no unit.

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
        """Proportional to t(1) at a fixed clock of the memory (Eq. 3, 9)."""
        _, k, m1, m2 = self.parameters_
        return np.asarray((1.0 + k * phi * min(m1 + m2, 1.0)) / phi)

    def parameters(self) -> dict[str, float]:
        return dict(zip(("f", "k", "m1", "m2"), self.parameters_.tolist(), strict=True))


def _sequential_time_at_each(n: FloatArray, phi: FloatArray, t: FloatArray) -> FloatArray:
    """t(1) at the clock ratio of each point: the mean of the times at n = 1 there."""
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
    """The mean squared error and its parameters: differential evolution, then least squares from its best points."""

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
