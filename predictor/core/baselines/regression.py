"""Baselines that predict A's log times from those of the benchmarks by regression over all reference platforms.

All use residuals: log(n t(n)) minus the platform's speed s(p, n) of the additive model. Pairs that were not measured
have the residual of the additive model. scikit-learn is imported where it is used, because the import takes half as
long as the rest of a command's start-up.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import scipy.linalg

from predictor.core.baselines.answers import Estimate, NoSettings
from predictor.core.baselines.log_times import LogTimes
from predictor.core.database import PLATFORM_NUMBER_COLUMNS, Database
from predictor.core.errors import SettingsError
from predictor.core.steps import single_thread
from profiles.arrays import FloatArray, IntArray

MOST_REFERENCES = 512  # the nearest references, used for a regression; 2,000 would take seconds
MOST_TREES = 100  # they take up to 5 s among 3,400 platforms
REFERENCES_PER_FACTOR = 4
RIDGE_PENALTIES = (0.3, 1.0, 3.0, 10.0)
LEAST_VARIANCE, LEAST_PENALTY = 1e-12, 1e-9  # keep the equations of the factors solvable


@dataclass(frozen=True)
class _Positive:
    """Settings that must be above 0."""

    def __post_init__(self) -> None:
        for f in fields(self):
            if not getattr(self, f.name) > 0:
                raise SettingsError(f.name, f"{getattr(self, f.name)!r} is not above 0")


@dataclass(frozen=True)
class KernelRidgeSettings(_Positive):
    """Settings of kernel ridge regression: `width` of the Gaussian kernel in medians of the squared distance of two
    references, and `penalty`, scikit-learn's alpha."""

    width: float = 4.0
    penalty: float = 0.01


@dataclass(frozen=True)
class BoostingSettings(_Positive):
    """The trees and learning rate of scikit-learn's HistGradientBoostingRegressor."""

    trees: int = 100
    learning_rate: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trees > MOST_TREES:
            raise SettingsError("trees", f"{self.trees} is above {MOST_TREES}")


@dataclass(frozen=True)
class LowRankSettings(_Positive):
    """Settings of the low-rank model: `rank` is the number of hidden properties of a platform in addition to its speed,
    limited to a quarter of the references."""

    rank: int = 4


def estimate_additive(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by the additive model: z(T,A) = s(T) + mean over p of (z(p,A) - s(p)), for each n."""
    return Estimate(logs.speed[-1] + _workload_residuals(logs).mean(axis=0))


def estimate_ridge(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by ridge regression on the residuals at all n, with the penalty of the least closed-form
    leave-one-out error."""
    from sklearn.linear_model import RidgeCV  # noqa: PLC0415

    x = _benchmark_residuals(logs)
    model = RidgeCV(np.array(RIDGE_PENALTIES)).fit(x[:-1], _workload_residuals(logs)) if len(x) > 2 else None
    values = _workload_residuals(logs).mean(axis=0) if model is None else model.predict(x[-1:]).ravel()
    return Estimate(logs.speed[-1] + values)


def estimate_kernel_ridge(database: Database, logs: LogTimes, settings: KernelRidgeSettings) -> Estimate:
    """Estimate A on T by ridge regression with a Gaussian kernel on the residuals at all n."""
    from sklearn.kernel_ridge import KernelRidge  # noqa: PLC0415

    x, y = _benchmark_residuals(logs), _workload_residuals(logs)
    squares = ((x[:-1] - x[:-1].mean(axis=0)) ** 2).sum(axis=1)
    scale = 2 * float(np.median(squares)) or 1.0  # about the median squared distance of two references
    model = KernelRidge(kernel="rbf", gamma=1 / (settings.width * scale), alpha=settings.penalty)
    model.fit(x[:-1], y - y.mean(axis=0))
    return Estimate(logs.speed[-1] + y.mean(axis=0) + model.predict(x[-1:]).ravel())


def estimate_boosting(database: Database, logs: LogTimes, settings: BoostingSettings) -> Estimate:
    """Estimate A on T by gradient boosted trees on the residuals of the additive model. The trees have a row for each
    reference and n, with all residuals at that n, ln n and the metadata."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    residuals = logs.all_platforms - logs.speed[:, None]  # trees take NaN
    metadata = _metadata(database, np.append(logs.platforms, logs.target))
    log_n = np.broadcast_to(np.log(logs.n), (len(residuals), len(logs.n)))
    columns = [np.moveaxis(residuals, 1, 2), log_n[..., None], np.repeat(metadata[:, None], len(logs.n), axis=1)]
    x = np.concatenate(columns, axis=2)
    rows = x[:-1].reshape(-1, x.shape[2])
    varied = np.fmax.reduce(rows, axis=0) > np.fmin.reduce(rows, axis=0)  # the library refuses constant columns
    if not varied.any():
        return estimate_additive(database, logs, NoSettings())
    model = HistGradientBoostingRegressor(
        max_iter=settings.trees, learning_rate=settings.learning_rate, early_stopping=False, random_state=0
    )
    y = _workload_residuals(logs)
    with single_thread():  # on a busy machine several threads take twenty times as long
        model.fit(rows[:, varied], (y - y.mean(axis=0)).ravel())
        values = model.predict(x[-1][:, varied])
    return Estimate(logs.speed[-1] + y.mean(axis=0) + values)


def estimate_low_rank(database: Database, logs: LogTimes, settings: LowRankSettings) -> Estimate:
    """Estimate A on T by a low-rank model: the factors of the references' residuals, including those of A, are fitted
    to T's residuals of the benchmarks by penalised least squares."""
    x, y = _benchmark_residuals(logs), _workload_residuals(logs)
    columns = np.concatenate([x[:-1], y], axis=1)
    mean = columns.mean(axis=0)
    # The default driver, gesdd, does not converge for some matrices of real measurements.
    _, strength, factors = scipy.linalg.svd(columns - mean, full_matrices=False, lapack_driver="gesvd")
    rank = min(settings.rank, len(logs.platforms) // REFERENCES_PER_FACTOR)
    factors = factors[:rank]
    input_count = x.shape[1]
    noise = (strength[rank:] ** 2).sum() / columns.size  # the rest after the factors, as in probabilistic PCA
    variance = strength[: len(factors)] ** 2 / len(columns)
    penalty = np.diag(noise / np.maximum(variance, LEAST_VARIANCE) + LEAST_PENALTY)
    of_inputs = factors[:, :input_count]
    weights = np.linalg.solve(of_inputs @ of_inputs.T + penalty, of_inputs @ (x[-1] - mean[:input_count]))
    return Estimate(logs.speed[-1] + mean[input_count:] + weights @ factors[:, input_count:])


def _benchmark_residuals(logs: LogTimes) -> FloatArray:
    """Return the residuals of the benchmarks, the target last, minus the references' mean, (R + 1, B J)."""
    residuals: FloatArray = (logs.completed - logs.speed[:, None]).reshape(len(logs.platforms) + 1, -1)
    return np.asarray(residuals - residuals[:-1].mean(axis=0))


def _workload_residuals(logs: LogTimes) -> FloatArray:
    """Return the residuals of A on the references, (R, J)."""
    return logs.of_workload - logs.speed[:-1]


def _metadata(database: Database, platforms: IntArray) -> FloatArray:
    """Return the logarithms of clock, caches, memory, cores and threads, (P, 7); NaN = unknown."""
    numbers = np.stack(
        [np.asarray(database.platform_table[name], dtype=np.float64) for name in PLATFORM_NUMBER_COLUMNS], 1
    )
    numbers = numbers[platforms]
    return np.asarray(np.log(np.where(numbers > 0, numbers, np.nan)))
