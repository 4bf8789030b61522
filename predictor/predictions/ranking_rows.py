"""The row of one platform in a ranking, computed or estimated, and why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core import methods
from predictor.core.answers import Answer
from predictor.core.database import Database
from predictor.core.fleet_rankings import fastest_position, is_limited
from predictor.predictions.answering import comparable_groups
from predictor.predictions.basis import rows_behind
from predictor.predictions.cautions import measurement_cautions
from predictor.predictions.question import Question
from predictor.snapshot.building import Snapshot

REFUSAL_REASONS = {
    "reference": "the workload was measured on no other platform",
    "benchmark": "no other workload was measured there",
    "shared": "no workload was measured both there and on a platform that has this one",
    "comparable": "what was measured there is of kinds that the method does not compare",
    "clock": "a clock that the method needs is not known",
}
OTHER_REASON = "no time can be predicted there at the thread counts asked for"


def check_thread_count(database: Database, target: int, n: int | None) -> None:
    """Raise a PredictionError where the platform takes fewer threads than were asked for."""
    most = int(database.n_max[target])
    if n is not None and n > most:
        raise methods.PredictionError(f"it takes {most} threads at most")


def ranking_row(snapshot: Snapshot, question: Question, answer: Answer) -> dict[str, Any]:
    """The fastest predicted n of one platform, of those with a credible gain, or the n that was asked for; beside it
    what was measured there, if it was: the fastest time, or that at the n."""
    database = snapshot.database
    best = fastest_position(answer.n, answer.time_s, answer.credible_n)
    query = methods.Query(question.workload, question.target)
    groups = comparable_groups(question, query, database)
    own = int(database.lookup(question.target, question.workload, groups))
    measured_n, measured_s = (None, None) if own < 0 else measured_point(database, own, question.n)
    candidates = [*answer.candidates_t1, *answer.candidates_scaling]
    references = {candidate.platform for candidate in candidates}
    rows = rows_behind(database, question.workload, question.target, candidates, groups)
    return {
        "platform": database.platforms[question.target],
        "n_best": int(answer.n[best]),
        "time_s": float(answer.time_s[best]),
        "low_s": None if answer.low_s is None else float(answer.low_s[best]),
        "high_s": None if answer.high_s is None else float(answer.high_s[best]),
        "measured": own >= 0,
        "measured_time_s": measured_s,
        "measured_n": measured_n,
        "origin": origin_of_references(snapshot, question.workload, references, groups),
        "warnings": [*answer.warnings, *measurement_cautions(snapshot, rows)],
        "estimated": False,
        "limited": question.n is None and is_limited(answer.n, answer.credible_n),
    }


def measured_point(database: Database, profile: int, asked: tuple[int, ...] | None) -> tuple[int | None, float | None]:
    """The fastest measured n and its time, of the n that were asked for; None where none of them was measured."""
    n, time_s = database.curve(profile)
    if asked is not None:
        chosen = np.isin(n, asked)
        n, time_s = n[chosen], time_s[chosen]
    if not len(n):
        return None, None
    fastest = int(time_s.argmin())
    return int(n[fastest]), float(time_s[fastest])


def origin_of_references(snapshot: Snapshot, workload: int, references: set[str], groups: tuple[int, ...]) -> str:
    """The origin of a result: simulated where simulated profiles of the workload took part."""
    database = snapshot.database
    rows = database.rows_of_workload(workload)
    if not snapshot.is_simulated[rows].any():
        return "measured"
    took_part = [
        row
        for row in rows.tolist()
        if database.group[row] in groups and database.platforms[database.platform_index[row]] in references
    ]
    return "simulated" if snapshot.is_simulated[took_part].any() else "measured"


def row_or_refusal(database: Database, target: int, row_of: Callable[[int], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The row of the target; a refusal, which has a `reason`, where it has none."""
    try:
        row: Mapping[str, Any] = nan_to_null(row_of(target))
    except methods.PredictionError as error:
        return {"platform": database.platforms[target], "reason": str(error), "lacks": error.lacks or None}
    return row
