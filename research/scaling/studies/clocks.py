"""Learning curves of the memory wall model, Amdahl's law and three learners (papers/003, Section 4.3)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.memory_wall import MemoryWall, memory_wall_speedup
from profiles.arrays import FloatArray
from research.scaling.studies.workloads import MeasuredWorkload

TABLE_1 = Path(__file__).with_name("memory_wall_table_1.csv")
CLOCKS_MHZ = np.arange(1200.0, 2501.0, 100.0)  # Section 4.1
# DDR4 memory of the paper's processor. The paper does not state this clock.
MEMORY_MHZ = 2133.0
CORES = np.arange(1.0, 25.0)
SMALLEST = 4
SEARCH_FOLDS = 3
GAMMA = [10.0**e for e in range(-5, 1)]
LEAST_SPEEDUP = 0.05
# Step of the grid of f. The search starts at the best point of the grid.
GRID_STEP = 0.01


@dataclass(frozen=True, eq=False)
class Surface:
    """Measured speedups (N,) at `X` (N, 2): cores and clock ratio."""

    name: str
    X: FloatArray
    speedup: FloatArray


Learner = Callable[[FloatArray, FloatArray, FloatArray, int], FloatArray]


def published_surfaces(seed: int = 0) -> list[Surface]:
    """Return the 25 applications of Table 1 on 24 cores x 14 clocks, with noise.

    The noise is as large as the residuals of the paper's fit: it is normal and its variance is the mean squared error
    of Table 1. Speedups stay at or above 0.05.
    """
    n, ratio = (axis.ravel() for axis in np.meshgrid(CORES, CLOCKS_MHZ / MEMORY_MHZ, indexing="ij"))
    rng = np.random.default_rng(seed)
    surfaces = []
    with TABLE_1.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            clean = memory_wall_speedup(n, ratio, [float(row[name]) for name in ("f", "k", "m1", "m2")])
            noisy = clean + rng.normal(0.0, float(row["mse"]) ** 0.5, len(n))
            surfaces.append(Surface(row["application"], np.stack([n, ratio], axis=1), np.maximum(noisy, LEAST_SPEEDUP)))
    return surfaces


def measured_surface(measured: MeasuredWorkload) -> Surface:
    """Return the speedups t(1)/t(n) at each clock, or over the thread counts alone if no clock was fixed.

    Clocks without a run at n = 1 are left out. Raise TooFewPoints if fewer than twice SMALLEST points remain.
    """
    points, clocks = measured.points, measured.points.clocks_mhz
    points = points.over_clocks if len(clocks) > 1 else points.take(points.own)
    clock = points.clock_mhz / (measured.base_mhz or clocks[-1]) if len(clocks) > 1 else np.ones(len(points))
    t1 = np.full(len(points), np.nan)
    for ratio in np.unique(clock):
        alone = (clock == ratio) & (points.n == 1)
        t1[clock == ratio] = points.time_s[alone].mean() if alone.any() else np.nan
    has_reference = np.isfinite(t1)
    if has_reference.sum() < 2 * SMALLEST:
        raise TooFewPoints(str(measured), int(has_reference.sum()), 2 * SMALLEST)
    X = np.stack([points.n, clock], axis=1)[has_reference]
    return Surface(str(measured), X, (t1 / points.time_s)[has_reference])


def learn_memory_wall(X: FloatArray, speedup: FloatArray, X_new: FloatArray, seed: int) -> FloatArray:
    model = MemoryWall(random_state=seed).fit(X, 1.0 / speedup, sequential_s=np.ones(len(X)))
    return model.predict_speedup(X_new)


def learn_amdahl(X: FloatArray, speedup: FloatArray, X_new: FloatArray, seed: int) -> FloatArray:
    """Return speedups by Amdahl's law, with the f in 0..1 that minimises the mean squared error of the speedup.

        S(n) = 1/(1 - f + f/n)

    Parameters: `X` (N, 2) cores and clock ratio, `speedup` (N,), `X_new` (M, 2). The law ignores the clock. Returns
    speedups (M,), without unit. Source: papers/003, Eq. 5 and Section 4.2.

    >>> X = np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> learn_amdahl(X, np.array([1.0, 1.6, 16 / 7]), np.array([[3.0, 1.0]]), 0).round(3)  # f = 0.75
    array([2.])
    """

    def law(f: float, n: FloatArray) -> FloatArray:
        return 1.0 / (1.0 - f + f / n)

    grid = np.linspace(0.0, 1.0, round(1 / GRID_STEP) + 1)
    errors = [float(((law(f, X[:, 0]) - speedup) ** 2).mean()) for f in grid]
    near = grid[int(np.argmin(errors))]
    bounds = max(near - GRID_STEP, 0.0), min(near + GRID_STEP, 1.0)
    best = minimize_scalar(lambda f: float(((law(f, X[:, 0]) - speedup) ** 2).mean()), bounds=bounds, method="bounded")
    return law(float(best.x), X_new[:, 0])


def _grid_search_learner(estimator: Any, grid: dict[str, list[float]]) -> Learner:
    """Return a learner that chooses hyper-parameters by 3-fold cross-validation on each set of points (Section 4.3)."""

    def learner(X: FloatArray, speedup: FloatArray, X_new: FloatArray, seed: int) -> FloatArray:
        folds = KFold(SEARCH_FOLDS, shuffle=True, random_state=seed)
        search = GridSearchCV(estimator, grid, cv=folds, scoring="neg_mean_squared_error")
        return np.asarray(search.fit(X, speedup).predict(X_new))

    return learner


def learn_tree(X: FloatArray, speedup: FloatArray, X_new: FloatArray, seed: int) -> FloatArray:
    """Return speedups by a regression tree without limits, as in Section 4.3."""
    return np.asarray(DecisionTreeRegressor(random_state=seed).fit(X, speedup).predict(X_new))


LEARNERS: dict[str, Learner] = {
    "memory_wall": learn_memory_wall,
    "amdahl": learn_amdahl,
    "decision_tree": learn_tree,
    "svr": _grid_search_learner(SVR(kernel="rbf"), {"C": [100.0, 1000.0], "gamma": GAMMA}),
    "kernel_ridge": _grid_search_learner(KernelRidge(kernel="rbf"), {"alpha": [1.0, 0.1, 0.01, 0.001], "gamma": GAMMA}),
}


def training_sizes(count: int) -> list[int]:
    """Return 4, 8, 16, ... as long as some points are left to be predicted.

    >>> training_sizes(336), training_sizes(8)
    ([4, 8, 16, 32, 64, 128, 256], [4])
    """
    sizes = [SMALLEST]
    while sizes[-1] * 2 < count:
        sizes.append(sizes[-1] * 2)
    return sizes


def learning_curves(
    surfaces: Sequence[Surface], repeats: int = 10, seed: int = 0, models: Sequence[str] = tuple(LEARNERS)
) -> Iterator[dict[str, Any]]:
    """Yield the error of each model for each surface and number of learned points.

    The error is the median over `repeats` random sets of points, of the mean squared error of the speedup at the points
    that were not learned (the paper's Figure 7, which has 100 repeats). The items are {surface, points, mse: {model:
    ...}}. All models learn the same sets.
    """
    rng = np.random.default_rng(seed)
    for surface in surfaces:
        for count in training_sizes(len(surface.speedup)):
            errors: dict[str, list[float]] = {name: [] for name in models}
            for repeat in range(repeats):
                order = rng.permutation(len(surface.speedup))
                learned, held_out = order[:count], order[count:]
                for name in models:
                    predicted = LEARNERS[name](
                        surface.X[learned], surface.speedup[learned], surface.X[held_out], repeat
                    )
                    errors[name].append(float(((predicted - surface.speedup[held_out]) ** 2).mean()))
            medians = {name: float(np.median(values)) for name, values in errors.items()}
            yield {"surface": surface.name, "points": count, "mse": medians}


def means_over_surfaces(curves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each number of points and model, with statistics over the surfaces.

    `mean` and `deviation` are the mean and standard deviation of the medians (papers/003, Figures 10 and 11). `best_on`
    is the number of surfaces on which the model is the best.

    >>> curves = [{"points": 4, "mse": {"a": 1.0, "b": 3.0}}, {"points": 4, "mse": {"a": 3.0, "b": 4.0}}]
    >>> [(row["model"], row["mean"], row["deviation"], row["best_on"]) for row in means_over_surfaces(curves)]
    [('a', 2.0, 1.0, 2), ('b', 3.5, 0.5, 0)]
    """
    rows = []
    for count in sorted({curve["points"] for curve in curves}):
        errors = [curve["mse"] for curve in curves if curve["points"] == count]
        best = [min(mse, key=lambda name: mse[name]) for mse in errors]
        for name in errors[0]:
            values = np.array([mse[name] for mse in errors])
            rows.append(
                {
                    "points": count,
                    "model": name,
                    "mean": float(values.mean()),
                    "median": float(np.median(values)),
                    "deviation": float(values.std()),
                    "best_on": best.count(name),
                    "surfaces": len(errors),
                }
            )
    return rows
