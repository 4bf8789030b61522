"""Conversion of the logarithms that a baseline predicts to an answer, and baselines as registered methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from predictor.core.answers import Answer, AnswerConfidence, Candidate, Method, Query, Settings, predicted_thread_counts
from predictor.core.baselines.log_times import LogTimes, connect_rows, log_times
from predictor.core.database import Database
from predictor.core.references import check_query
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import CURVE_NAMES, FEATURE_NAMES

BASELINE_VERSION = "3"


@dataclass(frozen=True)
class NoSettings:
    """The settings of a baseline without settings."""


@dataclass(frozen=True)
class BaselineConfidence(AnswerConfidence):
    """The numbers of references and benchmarks used."""

    references: int
    benchmarks: int


@dataclass(frozen=True)
class Estimate:
    """log(n t(n)) of A on T, and the references it is based on: position -> weight; empty if all count equally.

    It is the sum of `curve` at any n, if given, and of `values` (J,) at `LogTimes.n`, linear in ln n between these and
    constant outside.
    """

    values: FloatArray
    references: dict[int, float] = field(default_factory=dict)
    curve: Callable[[IntArray], FloatArray] | None = None


ReferenceCheck = Callable[[Database, IntArray, int], None]  # checks the references (R,) and the target
Estimator = Callable[[Database, LogTimes, Settings], Estimate]


def baseline_method(
    name: str,
    settings: type[Settings],
    estimate: Estimator[Settings],
    summary: str,
    *,
    most_references: int | None = None,
    check_references: ReferenceCheck | None = None,
) -> Method[Settings]:
    """Return the estimator as a registered method that uses at most the `most_references` nearest references.
    `check_references` raises any further refusals of the estimator."""

    def predict(database: Database, query: Query, chosen: Settings) -> Answer:
        view = database.without(query.target, query.workload)
        logs = log_times(view, query)
        if most_references is not None:
            logs = logs.with_nearest_references(most_references)
        return _make_answer(view, query, logs, estimate(view, logs, chosen))

    def check(database: Database, query: Query, chosen: Settings) -> None:
        check_query(database, query)
        predicted_thread_counts(database, query.target, query.n)
        row_table = connect_rows(database.without(query.target, query.workload), query)
        if check_references is not None:
            check_references(database, row_table.platforms[row_table.usable], query.target)

    return Method(name, BASELINE_VERSION, settings, predict, summary, baseline=True, check=check)


def _make_answer(database: Database, query: Query, logs: LogTimes, estimate: Estimate) -> Answer:
    n = predicted_thread_counts(database, query.target, query.n)
    counts = np.append(n, 1)
    values = np.interp(np.log(counts), np.log(logs.n), estimate.values)
    thread_time = np.exp(values if estimate.curve is None else values + estimate.curve(counts))
    t1_s, time_s = float(thread_time[-1]), thread_time[:-1] / n
    # A time-only profile has R(n) = n t(n) / t(1) and U = 1. For a decomposed one no curves are predicted.
    curves = dict.fromkeys((*CURVE_NAMES, "utilisation"), np.full(len(n), np.nan))
    if not database.groups[logs.groups[0]].decomposed:
        curves |= {"redundancy": n * time_s / t1_s, "utilisation": np.ones(len(n))}
    candidates = _candidates(database, logs, estimate)
    return Answer(
        t1_s=t1_s,
        n=n,
        time_s=time_s,
        features=np.full(len(FEATURE_NAMES), np.nan),
        curves=curves,
        candidates_t1=candidates,
        candidates_scaling=candidates,
        warnings=["baseline for comparison: it predicts times only, no features and no time breakdown"],
        confidence=BaselineConfidence(references=len(logs.platforms), benchmarks=len(logs.workloads)),
    )


def _candidates(database: Database, logs: LogTimes, estimate: Estimate) -> list[Candidate]:
    """Return the references of the estimate as candidates with every workload that they share with the target, without
    distances."""
    candidates = []
    for position, weight in estimate.references.items():
        shared = np.flatnonzero(~np.isnan(logs.difference[position]).all(axis=1))
        platform = database.platforms[logs.platforms[position]]
        candidates += [
            Candidate(platform, database.workloads[logs.workloads[b]], None, None, None, weight)
            for b in shared.tolist()
        ]
    return candidates
