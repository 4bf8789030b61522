"""Rankings of platforms for many workloads, each platform predicted as if the workload had not been measured there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from predictor.core.answers import Method, Query, fastest_position
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.steps import single_thread
from profiles.jobs.executors import Executor

TARGETS_PER_BATCH = 250  # some seconds of computing


@dataclass(frozen=True)
class RankedPlatform:
    """The fastest predicted time of a workload on a platform in seconds, or the `refusal` if there is none. Workload
    and platform are positions in the database. An estimate has no interval."""

    workload: int
    platform: int
    n: int | None = None
    time_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    refusal: str = ""


def rank_workloads(
    database: Database,
    method: Method[Any],
    settings: Any,
    workloads: Sequence[int],
    *,
    is_estimated: bool = False,
    executor: Executor | None = None,
) -> Iterator[list[RankedPlatform]]:
    """Yield the ranking of each workload in the given order: the platforms by ascending time, then those without a
    time.

    Parameters: `workloads`, positions in `database.workloads`; `is_estimated`: use the method's estimates, which order
    the platforms in one pass and are not answers. Raise ValueError if the method has no estimates.
    """
    if is_estimated and method.estimate is None:
        raise ValueError(f"method {method.name} has no estimates")
    database.prepare()
    platforms = range(len(database.platforms))
    step = len(platforms) if is_estimated else TARGETS_PER_BATCH
    function = _estimate_batch if is_estimated else _rank_batch
    batches = [
        (method, settings, workload, platforms[start : start + step])
        for workload in workloads
        for start in range(0, len(platforms), step)
    ]
    results = (executor or Executor()).map(function, database, batches)
    ranked = (row for rows in results for row in rows)
    for _, rows in groupby(ranked, key=lambda row: row.workload):
        yield sorted(rows, key=lambda row: (row.time_s is None, row.time_s, row.platform))


RankedBatch = tuple[Method[Any], Any, int, Sequence[int]]


def _rank_batch(database: Database, batch: RankedBatch) -> list[RankedPlatform]:
    method, settings, workload, targets = batch
    with single_thread():
        return [_ranked_platform(database, method, settings, workload, target) for target in targets]


def _ranked_platform(
    database: Database, method: Method[Any], settings: Any, workload: int, target: int
) -> RankedPlatform:
    try:
        answer = method.predict(database, Query(workload, target), settings)
        fastest = fastest_position(answer.n, answer.time_s, answer.credible_n)
    except PredictionError as error:
        return RankedPlatform(workload, target, refusal=str(error))
    low_s, high_s = (None if bound is None else float(bound[fastest]) for bound in (answer.low_s, answer.high_s))
    return RankedPlatform(workload, target, int(answer.n[fastest]), float(answer.time_s[fastest]), low_s, high_s)


def _estimate_batch(database: Database, batch: RankedBatch) -> list[RankedPlatform]:
    method, _, workload, targets = batch
    assert method.estimate is not None  # noqa: S101  rank_workloads checks this
    with single_thread():
        *_, estimates = method.estimate(database, workload, np.asarray(targets), None)
    return [
        RankedPlatform(workload, target, int(n), float(time_s))
        if np.isfinite(time_s)
        else RankedPlatform(workload, target, refusal="no time can be estimated")
        for target, n, time_s in zip(targets, estimates.n, estimates.time_s, strict=True)
    ]
