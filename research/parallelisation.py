"""Accuracy of the parallelisation scenario: predictions from t(1) and a strategy, compared with simple laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictor.core.answers import Method
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.scenarios.benchmarks import measured_scaling, parallel_rows
from predictor.core.scenarios.parallelisation import parallelise
from predictor.core.scenarios.scenario import NO_PARALLEL_STRATEGY, Scenario, ScenarioFacts, ScenarioQuery
from profiles.arrays import FloatArray, IntArray

PLAIN_LAWS = ("ideal", "Amdahl", "median of all")


@dataclass(frozen=True)
class ParallelisationErrors:
    """The errors for one workload on one platform.

    `errors` has the mean of |t_pred - t| / t over n > 1 by method or law, None for a refusal. `inside` has by method
    the number of measured times inside the interval and the number of all measured times.
    """

    platform: str
    workload: str
    strategy: str
    errors: dict[str, float | None]
    inside: dict[str, tuple[int, int]]


def evaluate_parallelisation(
    database: Database, methods: list[Method[Any]], facts: ScenarioFacts, *, siblings: bool = False
) -> Iterator[ParallelisationErrors]:
    """Yield the errors for every parallel profile of a known strategy, predicted from its own t(1) on its platform.

    With `siblings`, other sections of the same application may be benchmarks. The laws use the same data. `ideal` is
    t(1)/n. `Amdahl` uses the serial fraction that fits the platform's other benchmarks best, regardless of their
    strategy. `median of all` uses the median loss of these benchmarks.
    """
    strategies = database.workload_table["strategy"]
    for platform in range(len(database.platforms)):
        for row in parallel_rows(database, platform).tolist():
            workload = int(database.workload_index[row])
            strategy = str(strategies[workload])
            if strategy in ("", *NO_PARALLEL_STRATEGY):
                continue
            view = database if siblings else _without_siblings(database, workload)
            yield _evaluate_row(view, row, methods, facts, strategy)


def _without_siblings(database: Database, workload: int) -> Database:
    """Hide the other sections of the workload's application on all platforms."""
    applications = database.workload_table["application"]
    own = applications[workload]
    alike = [index for index, name in enumerate(applications) if own and name == own and index != workload]
    everywhere = np.arange(len(database.platforms))[:, None]
    return database.without(everywhere, np.array(alike, dtype=np.int64)[None, :])


def _evaluate_row(
    database: Database, row: int, methods: list[Method[Any]], facts: ScenarioFacts, strategy: str
) -> ParallelisationErrors:
    platform, workload = int(database.platform_index[row]), int(database.workload_index[row])
    counts, time_s = database.curve(row)
    n, measured = counts[counts > 1].astype(np.int64), time_s[counts > 1]
    errors: dict[str, float | None] = {}
    inside: dict[str, tuple[int, int]] = {}
    scenario, asked = Scenario("parallelisation", strategy), tuple(n.tolist())
    for method in methods:
        query = ScenarioQuery(workload, platform, n=asked, method=method, settings=method.settings(), scenario=scenario)
        try:
            answer = parallelise(database, query, facts)
        except PredictionError:
            errors[method.name] = None
            continue
        errors[method.name] = _mean_relative_error(answer.time_s, measured)
        if answer.low_s is not None and answer.high_s is not None:
            inside[method.name] = int(((answer.low_s <= measured) & (measured <= answer.high_s)).sum()), len(n)
    others = parallel_rows(database, platform)
    others = others[(database.workload_index[others] != workload) & (database.group[others] == database.group[row])]
    for name, loss in _losses_by_law(database, others, n).items():
        errors[name] = None if loss is None else _mean_relative_error(database.t1_s[row] / n * np.exp(loss), measured)
    return ParallelisationErrors(database.platforms[platform], database.workloads[workload], strategy, errors, inside)


def _losses_by_law(database: Database, others: IntArray, n: IntArray) -> dict[str, FloatArray | None]:
    """Return ln(n t(n) / t(1)) by each of PLAIN_LAWS."""
    if not len(others):
        return dict(zip(PLAIN_LAWS, (np.zeros(len(n)), None, None), strict=True))
    loss = measured_scaling(database, others, n, (int(database.group[others[0]]),)).loss
    # Amdahl's law: n t(n) / t(1) = 1 + s (n - 1).
    excess = np.exp(loss) - 1.0
    serial = float(np.clip(np.median(excess @ (n - 1) / ((n - 1) @ (n - 1))), 0.0, 1.0))
    return dict(zip(PLAIN_LAWS, (np.zeros(len(n)), np.log1p(serial * (n - 1)), np.median(loss, axis=0)), strict=True))


def _mean_relative_error(predicted: FloatArray, measured: FloatArray) -> float:
    return float(np.mean(np.abs(predicted - measured) / measured))
