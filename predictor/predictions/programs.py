"""Profiled programs: ranking questions, stored rankings, parts, measured times and next measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from predictor.core import methods
from predictor.models import StoredProgramAnswer
from predictor.models.computations import pack_document
from predictor.predictions.advice import mixed_origins_remedy
from predictor.predictions.next_measurements import NextMeasurementsQuestion
from predictor.predictions.question import (
    DEFAULT_METHOD,
    InvalidField,
    NoPrediction,
    PredictionRequest,
    position_named,
)
from predictor.predictions.ranking_choice import RankingChoice
from predictor.predictions.ranking_rows import ranking_row
from predictor.predictions.rankings import Ranking, RankingQuestion
from profiles.identity.programs import ProfiledProgram, measured_program, program_uploads


def question_of_program(
    program: ProfiledProgram, user: Any, *, public_only: bool = False, **choices: Any
) -> RankingQuestion:
    """Return the question that ranks the program.

    With `public_only` no data of the user's own take part. The `choices` are the arguments of `RankingQuestion.of`,
    which also documents further exceptions. Raises InvalidField if `public_only` is set for a private program.
    """
    if public_only and program.source.private_to_id is not None:
        raise InvalidField("public_only", "the program is private: public data do not contain it")
    serial_rest = program.serial_rest
    return RankingQuestion.of(
        [region.workload.slug for region in program.regions],
        None if public_only else user,
        serial_rest=None if serial_rest is None else serial_rest.workload.slug,
        **choices,
    )


def kept_answer(program: ProfiledProgram, question: RankingQuestion, user: Any) -> StoredProgramAnswer | None:
    """Return the stored ranking for the page of an earlier upload.

    Returns None for the newest upload, whose page follows the database, for a question with choices, and for a ranking
    of an earlier version that lacks a member.
    """
    if not is_plain(question) or program_uploads(program, user)[0].name == program.name:
        return None
    # A ranking that was stored before the program was published stays private.
    is_private = program.source.private_to_id is not None
    rows = StoredProgramAnswer.objects.filter(source=program.source, slug=program.name.slug, is_private=is_private)
    stored = rows.first()
    return stored if stored and Ranking.of_stored(stored.document) else None


def keep_answer(program: ProfiledProgram, question: RankingQuestion, document: Mapping[str, Any]) -> None:
    """Store the whole ranking for the program's page, which shows it after a later upload.

    A ranking that depends on an owner's private rows must not be shown to others, so it is stored for private programs
    only.
    """
    is_own = program.source.private_to_id is not None
    if not is_plain(question) or (question.snapshot.holds_private and not is_own):
        return
    page: dict[str, Any] = {"source": program.source, "slug": program.name.slug}
    state = {"revision": document["revision"], "is_private": is_own}
    if not StoredProgramAnswer.objects.filter(**page, **state).exists():
        values = state | {"packed": pack_document(dict(document))}
        StoredProgramAnswer.objects.update_or_create(**page, defaults=values)


def is_plain(question: RankingQuestion) -> bool:
    """Return whether nothing is chosen: the default method with its settings, at the best n, on the first page."""
    method = question.method
    return (
        method.name == DEFAULT_METHOD
        and question.settings == method.settings()
        and question.n is None
        and not question.include_simulated
        and (not question.is_estimated or (question.page == 1 and question.choice == RankingChoice()))
    )


class ProgramPartDocument(TypedDict):
    workload: str
    section: Annotated[str | None, "Name of the section in the measurement."]
    label: Annotated[str, "Owner's label; default: the section."]
    description: Annotated[str | None, "File and line, if the profiler recorded them."]
    is_serial_rest: bool


class ProgramPartTimes(TypedDict):
    workload: str
    time_s: list[float | None]


class ProgramMeasuredTimes(TypedDict):
    n: list[int]
    time_s: Annotated[list[float | None], "Time of the whole program: the sum of its parts."]
    parts: list[ProgramPartTimes]


class ProgramFacts(TypedDict):
    name: str
    platform: Annotated[str, "Platform of the measurement."]
    parts: list[ProgramPartDocument]
    measured_times: Annotated[
        ProgramMeasuredTimes | None, "Measured times; null if no thread count was measured for all parts."
    ]


def program_facts(program: ProfiledProgram) -> dict[str, Any]:
    """Return the `ProgramFacts`: the parts and the measured times, without a prediction."""
    measured = measured_program(program)
    slugs = [part.workload.slug for part in program.parts]
    times = None
    if measured is not None:
        parts_s = zip(slugs, measured.parts_s.tolist(), strict=True)
        times = {
            "n": measured.n.tolist(),
            "time_s": measured.time_s.tolist(),
            "parts": [{"workload": slug, "time_s": time_s} for slug, time_s in parts_s],
        }
    parts = [
        {
            "workload": part.workload.slug,
            "section": part.workload.section,
            "label": program.label(part),
            "description": part.workload.description,
            "is_serial_rest": part not in program.regions,
        }
        for part in program.parts
    ]
    return {
        "name": program.name.name,
        "platform": program.platform.slug,
        "measured_times": times,
        "parts": parts,
    }


def narrowing_question(question: RankingQuestion, target: str, viewer: Any) -> NextMeasurementsQuestion:
    """Return the question of what to measure next for the part that contributes most to the program's interval on the
    target.

    Raises a RequestError if the target is unknown, or if a part cannot be predicted there.
    """
    position = position_named(target, question.snapshot.database, viewer, "target")
    try:
        row = ranking_row(question, position)
    except methods.PredictionError as error:
        refusal = NoPrediction(str(error), 0, 1, error.lacks)
        refusal.remedy = mixed_origins_remedy(question.snapshot, position, viewer)
        raise refusal from error
    serial_rest = question.parts.serial_rest
    is_rest = serial_rest is not None and row["widest_part"] == question.snapshot.database.workloads[serial_rest]
    request = PredictionRequest(
        workload=row["widest_part"],
        target=question.snapshot.database.platforms[position],
        method=question.method.name,
        n=(1,) if is_rest else None if question.n is None else (question.n,),
        settings=methods.settings_values(question.settings),
        include_simulated=question.include_simulated,
    )
    siblings = [slug for slug in question.part_slugs if slug != request.workload]
    return NextMeasurementsQuestion.of_request(request, viewer, siblings)
