"""One workload over all platforms: where it would run fastest, with how many threads, and how sure that is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core import methods
from predictor.core.answers import Answer
from predictor.core.database import Database
from predictor.core.threads import single_thread
from predictor.predictions.answering import comparable_groups
from predictor.predictions.question import (
    Question,
    checked_settings,
    position_named,
    registered_method,
    workload_snapshot,
)
from predictor.predictions.request import DEFAULT_METHOD, InvalidField, InvalidSettings, UnknownWorkloadName
from predictor.snapshot.building import Snapshot
from profiles.models import Workload

KEPT_RANKINGS = 64  # of a snapshot
RANKING_COLUMNS = (
    "platform",
    "n_best",
    "time_s",
    "low_s",
    "high_s",
    "measured",
    "measured_time_s",
    "measured_n",
    "origin",
    "warnings",
)


@dataclass(frozen=True)
class Ranking:
    """`results` by rising predicted time, `refused` by platform: plain JSON values."""

    workload: str
    method: str
    method_version: str
    settings: Mapping[str, Any]
    revision: int
    time_kind: str
    results: tuple[Mapping[str, Any], ...] = field(repr=False)
    refused: tuple[Mapping[str, Any], ...] = field(repr=False)

    def document(self) -> dict[str, Any]:
        return {**vars(self), "results": list(self.results), "refused": list(self.refused)}


def rank_platforms(
    workload: str,
    viewer: Any = None,
    *,
    method: str = DEFAULT_METHOD,
    level: float | None = None,
    include_simulated: bool = False,
) -> Ranking:
    """Predict the workload on every platform that the viewer sees, each as if it had not been measured there.

    `level` of the intervals; None: the method's default. Computed once per revision, viewer and question. Raises a
    RequestError where the workload or the method is unknown, or the method takes no level.
    """
    chosen = registered_method(method)
    try:
        settings = checked_settings(chosen, {} if level is None else {"level": level})
    except InvalidSettings as error:
        raise InvalidField("level", error.reason) from error
    snapshot, origins = workload_snapshot(workload, viewer, include_simulated=include_simulated)
    database = snapshot.database
    index = position_named(workload, database.workloads, Workload, viewer, UnknownWorkloadName)
    kept: OrderedDict[Any, Ranking] = database.derive(("rankings",), OrderedDict)
    key = index, method, settings, origins
    ranking = kept.get(key)
    if ranking is None:
        with single_thread():
            ranking = kept[key] = compute_ranking(snapshot, index, chosen, settings)
        while len(kept) > KEPT_RANKINGS:
            kept.popitem(last=False)
    return ranking


def compute_ranking(snapshot: Snapshot, workload: int, method: methods.Method[Any], settings: Any) -> Ranking:
    database = snapshot.database
    results, refused = [], []
    for target, slug in enumerate(database.platforms):
        question = Question(workload, target, None, None, method, settings)
        try:
            answer = method.predict(database, methods.Query(workload, target), settings)
            results.append(ranking_row(snapshot, question, answer))
        except methods.PredictionError as error:
            refused.append({"platform": slug, "reason": str(error)})
    results.sort(key=lambda result: (result["time_s"] is None, result["time_s"], result["platform"]))
    return Ranking(
        workload=database.workloads[workload],
        method=method.name,
        method_version=method.version,
        settings=methods.settings_values(settings),
        revision=database.revision,
        time_kind=str(database.workload_table["time_kind"][workload]),
        results=tuple(nan_to_null(results)),
        refused=tuple(nan_to_null(refused)),
    )


def ranking_row(snapshot: Snapshot, question: Question, answer: Answer) -> dict[str, Any]:
    """The fastest predicted n of one platform; beside it the fastest time that was measured there, if it was."""
    database = snapshot.database
    if not np.isfinite(answer.time_s).any():
        raise methods.TooFewCandidates(0, 1, "no time can be predicted at any thread count")
    best = int(np.nanargmin(answer.time_s))
    query = methods.Query(question.workload, question.target)
    groups = comparable_groups(question, query, database)
    own = int(database.lookup(question.target, question.workload, groups))
    references = {candidate.platform for candidate in (*answer.candidates_t1, *answer.candidates_scaling)}
    return {
        "platform": database.platforms[question.target],
        "n_best": int(answer.n[best]),
        "time_s": float(answer.time_s[best]),
        "low_s": None if answer.low_s is None else float(answer.low_s[best]),
        "high_s": None if answer.high_s is None else float(answer.high_s[best]),
        "measured": own >= 0,
        "measured_time_s": None if own < 0 else float(database.curve(own)[1].min()),
        "measured_n": None if own < 0 else fastest_n(database, own),
        "origin": origin_of_references(snapshot, question.workload, references, groups),
        "warnings": list(answer.warnings),
    }


def fastest_n(database: Database, profile: int) -> int:
    n, time_s = database.curve(profile)
    return int(n[time_s.argmin()])


def origin_of_references(snapshot: Snapshot, workload: int, references: set[str], groups: tuple[int, ...]) -> str:
    """The origin of a result: simulated where simulated profiles of the workload took part."""
    database = snapshot.database
    rows = database.rows_of_workload(workload)
    took_part = [
        row
        for row in rows.tolist()
        if database.group[row] in groups and database.platforms[database.platform_index[row]] in references
    ]
    return "simulated" if snapshot.is_simulated[took_part].any() else "measured"
