"""One workload over all platforms: where it would run fastest, with how many threads, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core import methods
from predictor.core.answers import Answer
from predictor.core.database import Database
from predictor.core.steps import ComputedStep, last_step
from predictor.core.threads import single_thread
from predictor.predictions.answering import comparable_groups
from predictor.predictions.basis import rows_behind
from predictor.predictions.cautions import measurement_cautions
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
    "place",
    "cores",
    "core_time_s",
    "relative",
)
REFUSAL_REASONS = {
    "reference": "the workload was measured on no other platform",
    "benchmark": "no other workload was measured there",
    "shared": "no workload was measured both there and on a platform that has this one",
    "comparable": "what was measured there is of kinds that the method does not compare",
    "clock": "a clock that the method needs is not known",
}
OTHER_REASON = "no time can be predicted there at the thread counts asked for"


@dataclass(frozen=True)
class Ranking:
    """`results` by rising predicted time, `refused` by platform: plain JSON values."""

    workload: str
    method: str
    method_version: str
    settings: Mapping[str, Any]
    revision: int
    time_kind: str
    results: Sequence[Mapping[str, Any]] = field(repr=False)
    refused: Sequence[Mapping[str, Any]] = field(repr=False)
    n: int | None = None  # the thread count of every row; None: the fastest of each platform

    @property
    def platforms(self) -> set[str]:
        """The slugs of all platforms that it names."""
        return {row["platform"] for row in (*self.results, *self.refused)}

    def document(self) -> dict[str, Any]:
        return {**vars(self), "results": list(self.results), "refused": list(self.refused)}


@dataclass(frozen=True, eq=False)
class RankingQuestion:
    """A workload's ranking by one method, against one snapshot."""

    kind: ClassVar[str] = "ranking"
    snapshot: Snapshot
    workload: int
    method: methods.Method[Any]
    settings: Any
    include_simulated: bool
    origins: tuple[str, ...]
    n: int | None = None

    @classmethod
    def of(
        cls,
        workload: str,
        viewer: Any = None,
        *,
        method: str = DEFAULT_METHOD,
        level: float | None = None,
        mix_runtimes: str | None = None,
        settings: Mapping[str, Any] | None = None,
        include_simulated: bool = False,
        n: int | None = None,
    ) -> RankingQuestion:
        """`level` and `mix_runtimes` are settings that a request may name by themselves; None: the method's default.
        `n`: the thread count to compare at; None: the fastest of each platform. Raises a RequestError where the
        workload or the method is unknown, or the method has not such a setting."""
        chosen = registered_method(method)
        named = {"level": level, "mix_runtimes": mix_runtimes}
        named = {name: value for name, value in named.items() if value is not None}
        try:
            values = checked_settings(chosen, {**(settings or {}), **named})
        except InvalidSettings as error:
            if error.name in named:
                raise InvalidField(error.name, error.reason) from error
            raise
        return cls._against_snapshot(workload, viewer, chosen, values, include_simulated=include_simulated, n=n)

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> RankingQuestion:
        """The question that `canonical` wrote down, against what the viewer sees now. Raises a RequestError."""
        chosen = registered_method(question["method"])
        settings = checked_settings(chosen, question["settings"])
        included = {"include_simulated": question["include_simulated"], "n": question.get("n")}
        return cls._against_snapshot(question["workload"], viewer, chosen, settings, **included)

    @classmethod
    def _against_snapshot(
        cls,
        workload: str,
        viewer: Any,
        method: methods.Method[Any],
        settings: Any,
        *,
        include_simulated: bool,
        n: int | None,
    ) -> RankingQuestion:
        snapshot, origins = workload_snapshot(workload, viewer, include_simulated=include_simulated)
        index = position_named(workload, snapshot.database.workloads, Workload, viewer, UnknownWorkloadName)
        return cls(snapshot, index, method, settings, include_simulated, origins, n)

    def canonical(self) -> dict[str, Any]:
        return {
            "workload": self.snapshot.database.workloads[self.workload],
            "method": self.method.name,
            "method_version": self.method.version,
            "settings": methods.settings_values(self.settings),
            "include_simulated": self.include_simulated,
            "origins": list(self.origins),
            "n": self.n,
        }

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """A step for each platform; the document is that of a `Ranking` of the platforms so far."""
        database = self.snapshot.database
        return platform_steps(
            database,
            ranking_order(database, self.workload),
            self.row,
            lambda results, refused: self.ranking(results, refused).document(),
            earlier,
        )

    def row(self, target: int) -> dict[str, Any]:
        n = None if self.n is None else (self.n,)
        check_thread_count(self.snapshot.database, target, self.n)
        query = methods.Query(self.workload, target, n=n)
        answer = self.method.predict(self.snapshot.database, query, self.settings)
        question = Question(self.workload, target, None, n, self.method, self.settings)
        return ranking_row(self.snapshot, question, answer)

    def ranking(self, results: Sequence[Mapping[str, Any]], refused: Sequence[Mapping[str, Any]]) -> Ranking:
        database = self.snapshot.database
        return Ranking(
            workload=database.workloads[self.workload],
            method=self.method.name,
            method_version=self.method.version,
            settings=methods.settings_values(self.settings),
            revision=database.revision,
            time_kind=str(database.workload_table["time_kind"][self.workload]),
            results=fastest_first(results),
            refused=tuple(sorted(refused, key=itemgetter("platform"))),
            n=self.n,
        )


def platform_steps(
    database: Database,
    targets: Sequence[int],
    row_of: Callable[[int], Mapping[str, Any]],
    document_of: Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], dict[str, Any]],
    earlier: Mapping[str, Any] | None,
) -> Iterator[ComputedStep]:
    """A step for each target: its row, or why there is none. `document_of` makes the document of the rows and the
    refusals so far; `earlier`: that of an earlier step, whose platforms are not asked again."""
    results: list[Mapping[str, Any]] = list(earlier["results"]) if earlier else []
    refused: list[Mapping[str, Any]] = list(earlier["refused"]) if earlier else []
    known = {row["platform"] for row in (*results, *refused)}
    total = len(database.platforms)

    def document() -> dict[str, Any]:
        return document_of(results, refused)

    yield ComputedStep(len(known), total, document)
    for target in targets:
        slug = database.platforms[target]
        if slug not in known:
            try:
                results.append(nan_to_null(row_of(target)))
            except methods.PredictionError as error:
                refused.append({"platform": slug, "reason": str(error), "lacks": error.lacks or None})
            yield ComputedStep(len(results) + len(refused), total, document)


def check_thread_count(database: Database, target: int, n: int | None) -> None:
    """Raise a PredictionError where the platform takes fewer threads than were asked for."""
    most = int(database.n_max[target])
    if n is not None and n > most:
        raise methods.PredictionError(f"it takes {most} threads at most")


def fastest_first(results: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The rows of a ranking by rising time."""
    return tuple(sorted(results, key=lambda row: (row["time_s"] is None, row["time_s"], row["platform"])))


def summarise_refused(refused: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Why platforms have no place in the ranking: what is missing, a sentence, how often, most often first."""
    counts = Counter(row.get("lacks") for row in refused)
    rows = [
        {"lacks": word, "count": count, "reason": REFUSAL_REASONS.get(word or "", OTHER_REASON)}
        for word, count in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["reason"]))


def ranking_order(database: Database, workload: int) -> list[int]:
    """The platforms in the order in which a ranking is worth having: those first where nobody measured the workload,
    then by rising measured time."""
    fastest = np.full(len(database.platforms), -np.inf)
    for row in database.rows_of_workload(workload).tolist():
        _, time_s = database.curve(row)
        fastest[database.platform_index[row]] = time_s.min(initial=np.inf)
    return [int(platform) for platform in np.argsort(fastest, kind="stable")]


def rank_platforms(
    workload: str, viewer: Any = None, *, progress: Callable[[ComputedStep], Any] | None = None, **choices: Any
) -> Ranking:
    """Predict the workload on every platform that the viewer sees, each as if it had not been measured there.

    `choices` as in `RankingQuestion.of`, which says what it raises; `progress` hears of each platform.
    """
    with single_thread():
        step = last_step(RankingQuestion.of(workload, viewer, **choices).steps(), progress)
    return Ranking(**step.document())


def ranking_row(snapshot: Snapshot, question: Question, answer: Answer) -> dict[str, Any]:
    """The fastest predicted n of one platform, or the n that was asked for; beside it what was measured there, if it
    was: the fastest time, or that at the n."""
    database = snapshot.database
    if not np.isfinite(answer.time_s).any():
        raise methods.TooFewCandidates(0, 1, "no time can be predicted at any thread count")
    best = int(np.nanargmin(answer.time_s))
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
    took_part = [
        row
        for row in rows.tolist()
        if database.group[row] in groups and database.platforms[database.platform_index[row]] in references
    ]
    return "simulated" if snapshot.is_simulated[took_part].any() else "measured"
