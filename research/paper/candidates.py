"""Errors with few and with many candidates (Figure 10), and with near and far candidates (Figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError, TooFewCandidates
from predictor.core.evaluate import (
    ErrorPart,
    EvaluationProgress,
    Outcome,
    Protocol,
    chosen_rows,
    hidden_pairs,
    relative_errors,
)
from predictor.core.mpet2020.candidates import (
    Neighbourhood,
    SelectedCandidates,
    find_neighbourhood,
    select_by_tuple,
    select_by_workload,
)
from predictor.core.mpet2020.interpolate import candidate_weights
from predictor.core.mpet2020.method import MPET2020, Mpet2020Settings, answer_from_candidates
from profiles.arrays import FloatArray, IntArray
from profiles.jobs.executors import Executor
from research.paper.statistics import PART_NAMES, PaperRow, errors_of

FEW_CANDIDATES, MANY_CANDIDATES = 1, 10
# Number of workloads of MANY_CANDIDATES for t(1), with two platforms each, as in the paper.
T1_WORKLOADS = 5
# Number of ranks per pair in Figure 11, from the nearest candidate to the farthest.
STARTS = 8
BINS = 10
POINTS = 1000
PAIRS_AT_ONCE = 20
PREDICTED_PARTS: tuple[ErrorPart, ...] = ("t1", "scaling")


def method_with_candidates(count: int) -> Method[Mpet2020Settings]:
    """Return mpet2020 with exactly the `count` nearest candidates for t(1) and for the vector.

    If there are fewer candidates, all of them are used.
    """

    def predict(database: Database, query: Query, settings: Mpet2020Settings) -> Answer:
        near = find_neighbourhood(
            database, query, settings.mix_runtimes, settings.normalisation, settings.element_weight
        )
        return answer_from_candidates(
            database, query, settings, near, t1=_select_for_t1(near, count), scaling=_select_by_rank(near, 0, count)
        )

    return Method(f"{count} candidates", MPET2020.version, Mpet2020Settings, predict)


def _select_for_t1(near: Neighbourhood, count: int) -> SelectedCandidates:
    workloads = min(T1_WORKLOADS, count)
    chosen = select_by_workload(near, workloads, count // workloads)
    if not len(chosen):
        raise TooFewCandidates(0, count, "no candidate for t(1) can be ranked")
    return chosen


def _select_by_rank(
    near: Neighbourhood, start: int, count: int, ranked: SelectedCandidates | None = None
) -> SelectedCandidates:
    """Return `count` candidates in the order of D_t, from rank `start` on."""
    ranked = ranked or select_by_tuple(near, start + count, start + count)
    part = slice(start, start + count)
    return SelectedCandidates(
        ranked.platforms[part], ranked.workloads[part], ranked.platform_distance[part], ranked.workload_distance[part]
    )


def sorted_errors(count: int, outcomes: Sequence[Outcome]) -> list[PaperRow]:
    """Return the rows of Figure 10: the errors of all predictions in ascending order.

    At most POINTS evenly spaced errors are returned, including the smallest and the largest. `share` is the percentage
    of predictions with an error that is not larger. A part without predictions has no row.

    >>> outcomes = [Outcome("mpet2020", "p", "a", 0.1, {"t1": error}) for error in (0.5, 0.25)]
    >>> [(row["share"], row["error"]) for row in sorted_errors(1, outcomes)]
    [(50.0, 25.0), (100.0, 50.0)]
    """
    rows = []
    for part in PREDICTED_PARTS:
        errors = sorted(errors_of(outcomes, part))
        ranks = np.unique(np.linspace(0, len(errors) - 1, min(len(errors), POINTS)).round().astype(int))
        rows += [
            {"part": PART_NAMES[part], "candidates": count, "share": 100 * (k + 1) / len(errors), "error": errors[k]}
            for k in ranks.tolist()
        ]
    return rows


def errors_by_distance(
    database: Database,
    protocol: Protocol,
    *,
    executor: Executor | None = None,
    progress: EvaluationProgress | None = None,
) -> list[PaperRow]:
    """Return the rows of Figure 11: errors of the scaling by workload distance D_a, with one and with many candidates.

    For every pair, STARTS ranks are spread from the nearest candidate to the farthest. At each rank, the vector is
    predicted from this candidate alone, and from this and the next ones. The distance of several candidates is their
    mean, weighted as in the prediction. Each row has the mean and median error of one of BINS bins with equally many
    predictions.
    """
    rows = chosen_rows(database, protocol)
    batches = [(protocol, rows[start : start + PAIRS_AT_ONCE]) for start in range(0, len(rows), PAIRS_AT_ONCE)]
    points: list[tuple[int, float, float]] = []
    of_batches = (executor or Executor()).map(_errors_of_tries, database, batches)
    for done, batch_points in enumerate(of_batches, start=1):
        points += batch_points
        if progress:
            progress(min(done * PAIRS_AT_ONCE, len(rows)), len(rows))
    return [
        row
        for count in (FEW_CANDIDATES, MANY_CANDIDATES)
        for row in _bin_errors(count, [(x, y) for c, x, y in points if c == count])
    ]


def _errors_of_tries(database: Database, batch: tuple[Protocol, IntArray]) -> list[tuple[int, float, float]]:
    """Return (number of candidates, distance, error in percent) of every prediction for these rows."""
    protocol, rows = batch
    with threadpool_limits(1):
        return [point for row in rows.tolist() for point in _errors_of_row(database, protocol, row)]


def _errors_of_row(database: Database, protocol: Protocol, row: int) -> list[tuple[int, float, float]]:
    view = database.without(*hidden_pairs(database, row, protocol))
    n, time_s = database.curve(row)
    target, workload, group = (int(x[row]) for x in (database.platform_index, database.workload_index, database.group))
    query = Query(workload, target, group, n=tuple(n.tolist()))
    try:
        near = find_neighbourhood(view, query)
        t1 = _select_for_t1(near, 1)
    except PredictionError:
        return []
    ranked = select_by_tuple(near, len(near.workloads), len(near.platforms))
    starts = np.unique(np.linspace(0, max(len(ranked) - MANY_CANDIDATES, 0), STARTS).astype(int))
    points = []
    for start in starts.tolist():
        for count in (FEW_CANDIDATES, MANY_CANDIDATES):
            chosen = _select_by_rank(near, start, count, ranked)
            answer = answer_from_candidates(view, query, Mpet2020Settings(), near, t1=t1, scaling=chosen)
            errors, _ = relative_errors(answer, time_s, float(database.t1_s[row]))
            if "scaling" in errors:
                points.append((count, _weighted_mean_distance(chosen.workload_distance), 100 * errors["scaling"]))
    return points


def _weighted_mean_distance(distances: FloatArray) -> float:
    return float(np.average(distances, weights=candidate_weights(distances, Mpet2020Settings().scaling_k)))


def _bin_errors(count: int, points: list[tuple[float, float]]) -> list[PaperRow]:
    points = sorted(points)
    bins: list[Any] = [part for part in np.array_split(np.array(points).reshape(-1, 2), BINS) if len(part)]
    return [
        {
            "candidates": count,
            "distance": float(part[:, 0].mean()),
            "av": float(part[:, 1].mean()),
            "med": float(np.median(part[:, 1])),
            "count": len(part),
        }
        for part in bins
    ]
