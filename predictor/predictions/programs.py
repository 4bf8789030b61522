"""A whole program over all platforms: the sum of its regions and of the serial rest, the fastest platform first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from predictor.core import methods
from predictor.core.fleet_rankings import fastest_position, is_limited
from predictor.core.programs.program import ProgramAnswer, ProgramParts, predict_program
from predictor.core.steps import ComputedStep
from predictor.predictions.answering import comparable_groups
from predictor.predictions.basis import rows_behind
from predictor.predictions.cautions import measurement_cautions
from predictor.predictions.next_measurements import NextMeasurementsQuestion
from predictor.predictions.question import (
    Question,
    checked_settings,
    checked_thread_counts,
    position_named,
    registered_method,
    workload_snapshot,
)
from predictor.predictions.ranking_rows import check_thread_count, origin_of_references
from predictor.predictions.rankings import fastest_first, platform_steps, ranking_order
from predictor.predictions.request import (
    DEFAULT_METHOD,
    InvalidField,
    InvalidSettings,
    NoPrediction,
    PredictionRequest,
    UnknownTargetName,
    UnknownWorkloadName,
)
from predictor.snapshot.building import Snapshot
from profiles.arrays import FloatArray, IntArray
from profiles.models import Platform, Workload
from profiles.programs import ProfiledProgram, measured_program

PROGRAM_RANKING_COLUMNS = (
    "platform",
    "n_best",
    "time_s",
    "low_s",
    "high_s",
    "serial_rest_s",
    "widest_part",
    "measured",
    "measured_time_s",
    "measured_n",
    "origin",
    "warnings",
    "limited",
    "place",
    "cores",
    "core_time_s",
    "relative",
)


@dataclass(frozen=True)
class ProgramRanking:
    """`results` by rising predicted time of the program, `refused` by platform: plain JSON values."""

    regions: Sequence[str]
    serial_rest: str | None
    n: int | None
    method: str
    method_version: str
    settings: Mapping[str, Any]
    revision: int
    results: Sequence[Mapping[str, Any]] = field(repr=False)
    refused: Sequence[Mapping[str, Any]] = field(repr=False)

    def document(self) -> dict[str, Any]:
        return {**vars(self), "results": list(self.results), "refused": list(self.refused)}


class MeasuredHereAlone(methods.PredictionError):
    """The program was measured on the platform and nowhere else, so nothing can be predicted for it."""

    def __init__(self) -> None:
        super().__init__("the program was measured here and on no other platform")


@dataclass(frozen=True, eq=False)
class ProgramQuestion:
    """A program's ranking by one method, against one snapshot. `n` None: at the best n of each platform."""

    kind: ClassVar[str] = "program"
    snapshot: Snapshot
    parts: ProgramParts
    method: methods.Method[Any]
    settings: Any
    n: int | None
    include_simulated: bool
    origins: tuple[str, ...]

    @classmethod
    def of(
        cls,
        regions: Sequence[str],
        serial_rest: str | None = None,
        viewer: Any = None,
        *,
        method: str = DEFAULT_METHOD,
        level: float | None = None,
        n: int | None = None,
        include_simulated: bool = False,
    ) -> ProgramQuestion:
        """`regions` and `serial_rest` by slug. Raises a RequestError where one of them or the method is unknown, or
        the method takes no level."""
        chosen = registered_method(method)
        try:
            settings = checked_settings(chosen, {} if level is None else {"level": level})
        except InvalidSettings as error:
            raise InvalidField("level", error.reason) from error
        choices: dict[str, Any] = {"n": n, "include_simulated": include_simulated}
        return cls._against_snapshot(regions, serial_rest, viewer, method=chosen, settings=settings, **choices)

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> ProgramQuestion:
        """The question that `canonical` wrote down, against what the viewer sees now. Raises a RequestError."""
        chosen = registered_method(question["method"])
        settings = checked_settings(chosen, question["settings"])
        named = question["regions"], question["serial_rest"]
        choices = {name: question[name] for name in ("n", "include_simulated")}
        return cls._against_snapshot(*named, viewer, method=chosen, settings=settings, **choices)

    @classmethod
    def _against_snapshot(
        cls,
        regions: Sequence[str],
        serial_rest: str | None,
        viewer: Any,
        *,
        method: methods.Method[Any],
        settings: Any,
        n: int | None,
        include_simulated: bool,
    ) -> ProgramQuestion:
        checked_thread_counts(None if n is None else [n])
        snapshot, origins = workload_snapshot(regions[0], viewer, include_simulated=include_simulated)

        def position(slug: str) -> int:
            return position_named(slug, snapshot.database.workloads, Workload, viewer, UnknownWorkloadName)

        rest = None if serial_rest is None else position(serial_rest)
        parts = ProgramParts(tuple(map(position, regions)), rest)
        return cls(snapshot, parts, method, settings, n, include_simulated, origins)

    def canonical(self) -> dict[str, Any]:
        return {
            "regions": self.regions,
            "serial_rest": self.serial_rest,
            "n": self.n,
            "method": self.method.name,
            "method_version": self.method.version,
            "settings": methods.settings_values(self.settings),
            "include_simulated": self.include_simulated,
            "origins": list(self.origins),
        }

    @property
    def regions(self) -> list[str]:
        return [self.snapshot.database.workloads[region] for region in self.parts.regions]

    @property
    def serial_rest(self) -> str | None:
        rest = self.parts.serial_rest
        return None if rest is None else self.snapshot.database.workloads[rest]

    @property
    def workload(self) -> int:
        """The longest region: what is known of it on other platforms stands for the program."""
        return self.parts.regions[0]

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """A step for each platform; the document is that of a `ProgramRanking` of the platforms so far."""
        database = self.snapshot.database
        return platform_steps(
            database,
            ranking_order(database, self.workload),
            self.row,
            lambda results, refused: self.ranking(results, refused).document(),
            earlier,
        )

    def row(self, target: int) -> dict[str, Any]:
        """The platform's row of the ranking. Raises a PredictionError where a part is refused."""
        answer = self.answer(target)
        return {"platform": self.snapshot.database.platforms[target]} | {
            **program_times(self, answer),
            **measured_times(self, target),
            "origin": self.origin(target, answer),
            "warnings": self.warnings(target, answer),
        }

    def answer(self, target: int) -> ProgramAnswer:
        database = self.snapshot.database
        check_thread_count(database, target, self.n)
        rows = database.rows_of_workload(self.workload)
        if len(rows) and (database.platform_index[rows] == target).all():
            raise MeasuredHereAlone
        counts = None if self.n is None else (self.n,)
        return predict_program(database, self.parts, target, self.method, self.settings, n=counts)

    def origin(self, target: int, answer: ProgramAnswer) -> str:
        """Of the references' profiles: simulated where simulated profiles of a part took part."""
        origins = set()
        for workload, part in zip(self.parts.all, answer.answers, strict=True):
            groups = self.groups_of(workload, target)
            references = {candidate.platform for candidate in (*part.candidates_t1, *part.candidates_scaling)}
            origins.add(origin_of_references(self.snapshot, workload, references, groups))
        return "simulated" if "simulated" in origins else "measured"

    def warnings(self, target: int, answer: ProgramAnswer) -> list[str]:
        """Of all parts, each once; of what was measured, over all that the parts rest on."""
        database, rows = self.snapshot.database, []
        for workload, part in zip(self.parts.all, answer.answers, strict=True):
            candidates = [*part.candidates_t1, *part.candidates_scaling]
            rows.append(rows_behind(database, workload, target, candidates, self.groups_of(workload, target)))
        said = (warning for part in answer.answers for warning in part.warnings)
        return [*dict.fromkeys(said), *measurement_cautions(self.snapshot, np.unique(np.concatenate(rows)))]

    def groups_of(self, workload: int, target: int) -> tuple[int, ...]:
        question = Question(workload, target, None, None, self.method, self.settings)
        return comparable_groups(question, methods.Query(workload, target), self.snapshot.database)

    def ranking(self, results: Sequence[Mapping[str, Any]], refused: Sequence[Mapping[str, Any]]) -> ProgramRanking:
        return ProgramRanking(
            regions=tuple(self.regions),
            serial_rest=self.serial_rest,
            n=self.n,
            method=self.method.name,
            method_version=self.method.version,
            settings=methods.settings_values(self.settings),
            revision=self.snapshot.database.revision,
            results=fastest_first(results),
            refused=tuple(sorted(refused, key=itemgetter("platform"))),
        )


def program_times(question: ProgramQuestion, answer: ProgramAnswer) -> dict[str, Any]:
    """The predicted times of the whole and of its parts at the best n that was asked for."""
    best = fastest_position(answer.n, answer.total.time_s, answer.credible_n)
    parts = [
        {"workload": slug, "time_s": float(time_s), "low_s": float(low_s), "high_s": float(high_s)}
        for slug, time_s, low_s, high_s in zip(
            part_slugs(question), answer.time_s[:, best], answer.low_s[:, best], answer.high_s[:, best], strict=True
        )
    ]
    regions = len(question.parts.regions)
    return {
        "n_best": int(answer.n[best]),
        **{name: float(getattr(answer.total, name)[best]) for name in ("time_s", "low_s", "high_s")},
        "regions": parts[:regions],
        "serial_rest_s": parts[regions]["time_s"] if len(parts) > regions else None,
        "widest_part": part_slugs(question)[answer.widest_part(best)],
        "limited": question.n is None and is_limited(answer.n, answer.credible_n),
    }


def part_slugs(question: ProgramQuestion) -> list[str]:
    return [*question.regions, *([question.serial_rest] if question.serial_rest else [])]


def measured_times(question: ProgramQuestion, target: int) -> dict[str, Any]:
    """The least time of the program that was measured on the platform, where all of its parts were; at the question's n
    where it has one."""
    nothing = {"measured": False, "measured_time_s": None, "measured_n": None}
    curve = measured_sum(question, target)
    if curve is None:
        return nothing
    n, time_s = curve
    if question.n is not None:
        n, time_s = n[n == question.n], time_s[n == question.n]
    if not len(n):
        return nothing | {"measured": True}
    best = int(time_s.argmin())
    return {"measured": True, "measured_time_s": float(time_s[best]), "measured_n": int(n[best])}


def measured_sum(question: ProgramQuestion, target: int) -> tuple[IntArray, FloatArray] | None:
    """n and the sum of the parts' measured times there; None where a part was not measured on the platform."""
    database = question.snapshot.database
    everything = range(len(database.groups))
    rows = [int(database.lookup(target, workload, everything)) for workload in question.parts.all]
    if min(rows) < 0:
        return None
    curves = [database.curve(row) for row in rows]
    n: IntArray = reduce(np.intersect1d, [counts for counts, _ in curves]).astype(np.int64)
    times = [time_s[np.searchsorted(counts, n)] for counts, time_s in curves]
    return n, np.sum(times, axis=0)


def question_of_program(
    program: ProfiledProgram, user: Any, *, public_only: bool = False, **choices: Any
) -> ProgramQuestion:
    """`public_only`: nothing that is the user's own takes part. `choices` as in `ProgramQuestion.of`, which says what
    else it raises."""
    if public_only and program.source.private_to_id is not None:
        raise InvalidField("public_only", "the program itself is private: public data alone say nothing of it")
    viewer = None if public_only else user
    rest = program.serial_rest
    regions = [region.workload.slug for region in program.regions]
    return ProgramQuestion.of(regions, None if rest is None else rest.workload.slug, viewer, **choices)


def program_facts(program: ProfiledProgram) -> dict[str, Any]:
    """What is known of a program without predicting: its parts, and what was measured."""
    measured = measured_program(program)
    slugs = [part.workload.slug for part in program.parts]
    times = None
    if measured is not None:
        parts = zip(slugs, measured.parts_s.tolist(), strict=True)
        times = {
            "n": measured.n.tolist(),
            "time_s": measured.time_s.tolist(),
            "parts": [{"workload": slug, "time_s": time_s} for slug, time_s in parts],
        }
    return {"name": program.name.name, "platform": program.platform.slug, "measured_times": times}


def narrowing_question(question: ProgramQuestion, target: str, viewer: Any) -> NextMeasurementsQuestion:
    """What to measure next for the part whose interval adds most to the program's on the target.

    Raises a RequestError where the target is unknown, or a part cannot be predicted there.
    """
    position = position_named(target, question.snapshot.database.platforms, Platform, viewer, UnknownTargetName)
    try:
        row = program_times(question, question.answer(position))
    except methods.PredictionError as error:
        raise NoPrediction(str(error), 0, 1) from error
    is_rest = row["widest_part"] == question.serial_rest
    request = PredictionRequest(
        workload=row["widest_part"],
        target=question.snapshot.database.platforms[position],
        method=question.method.name,
        n=(1,) if is_rest else None if question.n is None else (question.n,),
        settings=methods.settings_values(question.settings),
        include_simulated=question.include_simulated,
    )
    siblings = [slug for slug in part_slugs(question) if slug != request.workload]
    return NextMeasurementsQuestion.of_request(request, viewer, siblings)
