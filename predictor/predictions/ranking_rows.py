"""The row of one platform in a ranking, computed or estimated, and why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core import methods
from predictor.core.answers import fastest_position, is_limited
from predictor.core.database import Database
from predictor.core.programs import ProgramParts, predict_program
from predictor.core.scenarios import ScenarioQuery
from predictor.predictions.answering import comparable_groups, rows_behind
from predictor.predictions.confidence import measurement_cautions
from predictor.snapshot.building import Snapshot
from profiles.programs import times_of_parts

REFUSAL_REASONS = {
    "reference": "the workload was measured on no other machine",
    "benchmark": "no other workload was measured there",
    "shared": "no workload was measured both there and on a machine that has this one",
    "comparable": "the method cannot compare what was measured there",
    "clock": "a clock that the method needs is not known",
}
OTHER_REASON = "no time can be predicted there at the thread counts asked for"


class AskedRanking(Protocol):
    """What a row needs of a ranking's question."""

    @property
    def snapshot(self) -> Snapshot: ...
    @property
    def parts(self) -> ProgramParts: ...
    @property
    def method(self) -> methods.Method[Any]: ...
    @property
    def settings(self) -> Any: ...
    @property
    def n(self) -> int | None: ...


def check_thread_count(database: Database, target: int, n: int | None) -> None:
    """Raise a PredictionError where the platform takes fewer threads than were asked for."""
    most = int(database.n_max[target])
    if n is not None and n > most:
        raise methods.PredictionError(f"it takes {most} threads at most")


def ranking_row(question: AskedRanking, target: int) -> dict[str, Any]:
    """The fastest predicted n of one platform, of those with a credible gain, or the n that was asked for; the times of
    the parts there; and what was measured there, if it was: the fastest time, or that at the n. Raises a
    PredictionError."""
    snapshot, parts = question.snapshot, question.parts
    database = snapshot.database
    check_thread_count(database, target, question.n)
    if len(parts.all) > 1:
        rows = database.rows_of_workload(parts.regions[0])
        if len(rows) and (database.platform_index[rows] == target).all():
            raise methods.PredictionError("the program was measured here and on no other machine")
    counts = None if question.n is None else (question.n,)
    answer = predict_program(database, parts, target, question.method, question.settings, n=counts)
    best = fastest_position(answer.n, answer.total.time_s, answer.credible_n)

    measured, origins, behind = [], set(), []
    for workload, part in zip(parts.all, answer.answers, strict=True):
        query = ScenarioQuery(workload, target, n=counts, method=question.method, settings=question.settings)
        groups = comparable_groups(query, database)
        candidates = [*part.candidates_t1, *part.candidates_scaling]
        references = {candidate.platform for candidate in candidates}
        measured.append(int(database.lookup(target, workload, groups)))
        origins.add(origin_of_references(snapshot, workload, references, groups))
        behind.append(rows_behind(database, workload, target, candidates, groups))

    slugs = [database.workloads[workload] for workload in parts.all]
    columns = (slugs, answer.time_s[:, best], answer.low_s[:, best], answer.high_s[:, best])
    times = [
        {"workload": slug, "time_s": float(time_s), "low_s": float(low_s), "high_s": float(high_s)}
        for slug, time_s, low_s, high_s in zip(*columns, strict=True)
    ]
    warnings = dict.fromkeys(warning for part in answer.answers for warning in part.warnings)
    return {
        "platform": database.platforms[target],
        "n_best": int(answer.n[best]),
        **{name: float(getattr(answer.total, name)[best]) for name in ("time_s", "low_s", "high_s")},
        "regions": times[: len(parts.regions)],
        "serial_rest_s": None if parts.serial_rest is None else times[-1]["time_s"],
        "widest_part": slugs[answer.widest_part(best)],
        **measured_point(database, measured, question.n),
        "origin": "simulated" if "simulated" in origins else "measured",
        "warnings": [*warnings, *measurement_cautions(snapshot, np.unique(np.concatenate(behind)))],
        "estimated": False,
        "limited": question.n is None and is_limited(answer.n, answer.credible_n),
    }


def measured_point(database: Database, profiles: Sequence[int], asked: int | None) -> dict[str, Any]:
    """The least measured sum of these profiles, one a part, or that at the n asked for. A part whose profile is -1 was
    not measured, so the whole was not."""
    nothing = {"measured": min(profiles) >= 0, "measured_time_s": None, "measured_n": None}
    if not nothing["measured"]:
        return nothing
    curves = [database.curve(profile) for profile in profiles]
    n, parts_s = times_of_parts([(counts.astype(np.int64), time_s) for counts, time_s in curves])
    if asked is not None:
        n, parts_s = n[n == asked], parts_s[:, n == asked]
    if not len(n):
        return nothing
    whole = parts_s.sum(axis=0)
    best = int(whole.argmin())
    return {"measured": True, "measured_time_s": float(whole[best]), "measured_n": int(n[best])}


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
