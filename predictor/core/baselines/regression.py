"""Baselines that learn A's log times from those of the benchmarks, over all reference platforms.

All work on residuals: log(n t(n)) less the platform's speed s(p, n) of the additive model. Pairs that were not measured
have the residual that the additive model gives. scikit-learn is imported where it is used: that takes half as long as
all else that a command starts with.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from predictor.core.baselines.answers import Estimate, NoSettings
from predictor.core.baselines.log_times import LogTimes
from predictor.core.database import PLATFORM_NUMBER_COLUMNS, Database
from predictor.core.errors import SettingsError
from predictor.core.steps import single_thread
from profiles.arrays import FloatArray, IntArray

MOST_REFERENCES = 512  # that a regression learns from, the nearest: among 2,000 it would take seconds
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
    """`width` of the Gaussian kernel, in medians of the squared distance of two references; `penalty` as scikit-learn's
    alpha."""

    width: float = 4.0
    penalty: float = 0.01


@dataclass(frozen=True)
class BoostingSettings(_Positive):
    """Trees and learning rate of scikit-learn's HistGradientBoostingRegressor."""

    trees: int = 100
    learning_rate: float = 0.1


@dataclass(frozen=True)
class LowRankSettings(_Positive):
    """`rank`: hidden properties of a platform beside its speed; never more than a quarter of the references."""

    rank: int = 4


def estimate_additive(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """z(T,A) = s(T) + mean over p of (z(p,A) - s(p)), for each n."""
    return Estimate(logs.speed[-1] + _workload_residuals(logs).mean(axis=0))


def estimate_ridge(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Ridge regression on the residuals at all n; the penalty with the least closed-form leave-one-out error."""
    from sklearn.linear_model import RidgeCV  # noqa: PLC0415

    x = _benchmark_residuals(logs)
    model = RidgeCV(np.array(RIDGE_PENALTIES)).fit(x[:-1], _workload_residuals(logs)) if len(x) > 2 else None
    values = _workload_residuals(logs).mean(axis=0) if model is None else model.predict(x[-1:]).ravel()
    return Estimate(logs.speed[-1] + values)


def estimate_kernel_ridge(database: Database, logs: LogTimes, settings: KernelRidgeSettings) -> Estimate:
    """Ridge regression with a Gaussian kernel on the residuals at all n."""
    from sklearn.kernel_ridge import KernelRidge  # noqa: PLC0415

    x, y = _benchmark_residuals(logs), _workload_residuals(logs)
    squares = ((x[:-1] - x[:-1].mean(axis=0)) ** 2).sum(axis=1)
    scale = 2 * float(np.median(squares)) or 1.0  # about the median squared distance of two references
    model = KernelRidge(kernel="rbf", gamma=1 / (settings.width * scale), alpha=settings.penalty)
    model.fit(x[:-1], y - y.mean(axis=0))
    return Estimate(logs.speed[-1] + y.mean(axis=0) + model.predict(x[-1:]).ravel())


def estimate_boosting(database: Database, logs: LogTimes, settings: BoostingSettings) -> Estimate:
    """Gradient boosted trees on what the additive model leaves; a row for each reference and n: all residuals at that
    n, ln n, metadata."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    residuals = logs.all_platforms - logs.speed[:, None]  # trees take NaN
    metadata = _metadata(database, np.append(logs.platforms, logs.target))
    log_n = np.broadcast_to(np.log(logs.n), (len(residuals), len(logs.n)))
    columns = [np.moveaxis(residuals, 1, 2), log_n[..., None], np.repeat(metadata[:, None], len(logs.n), axis=1)]
    x = np.concatenate(columns, axis=2)
    rows = x[:-1].reshape(-1, x.shape[2])
    varied = np.fmax.reduce(rows, axis=0) > np.fmin.reduce(rows, axis=0)  # the library refuses columns of one value
    if not varied.any():
        return estimate_additive(database, logs, NoSettings())
    model = HistGradientBoostingRegressor(
        max_iter=settings.trees, learning_rate=settings.learning_rate, early_stopping=False, random_state=0
    )
    y = _workload_residuals(logs)
    with single_thread():  # beside other work, threads that wait for each other take twenty times as long
        model.fit(rows[:, varied], (y - y.mean(axis=0)).ravel())
        values = model.predict(x[-1][:, varied])
    return Estimate(logs.speed[-1] + y.mean(axis=0) + values)


def estimate_low_rank(database: Database, logs: LogTimes, settings: LowRankSettings) -> Estimate:
    """A low-rank model: factors of the references' residuals, A's among them, are fitted to T's residuals of the
    benchmarks by penalised least squares, which gives T's residual of A."""
    x, y = _benchmark_residuals(logs), _workload_residuals(logs)
    columns = np.concatenate([x[:-1], y], axis=1)
    mean = columns.mean(axis=0)
    _, strength, factors = np.linalg.svd(columns - mean, full_matrices=False)
    rank = min(settings.rank, len(logs.platforms) // REFERENCES_PER_FACTOR)
    factors = factors[:rank]
    input_count = x.shape[1]
    noise = (strength[rank:] ** 2).sum() / columns.size  # what the factors leave over: probabilistic PCA
    variance = strength[: len(factors)] ** 2 / len(columns)
    penalty = np.diag(noise / np.maximum(variance, LEAST_VARIANCE) + LEAST_PENALTY)
    of_inputs = factors[:, :input_count]
    weights = np.linalg.solve(of_inputs @ of_inputs.T + penalty, of_inputs @ (x[-1] - mean[:input_count]))
    return Estimate(logs.speed[-1] + mean[input_count:] + weights @ factors[:, input_count:])


def _benchmark_residuals(logs: LogTimes) -> FloatArray:
    """(R + 1, B J): residuals of the benchmarks, the target last, less the references' mean."""
    residuals: FloatArray = (logs.completed - logs.speed[:, None]).reshape(len(logs.platforms) + 1, -1)
    return np.asarray(residuals - residuals[:-1].mean(axis=0))


def _workload_residuals(logs: LogTimes) -> FloatArray:
    """(R, J): the residual of A on the references."""
    return logs.of_workload - logs.speed[:-1]


def _metadata(database: Database, platforms: IntArray) -> FloatArray:
    """Logarithms of clock, caches, memory, cores and threads, (P, 7); NaN = unknown."""
    numbers = np.stack(
        [np.asarray(database.platform_table[name], dtype=np.float64) for name in PLATFORM_NUMBER_COLUMNS], 1
    )
    numbers = numbers[platforms]
    return np.asarray(np.log(np.where(numbers > 0, numbers, np.nan)))
