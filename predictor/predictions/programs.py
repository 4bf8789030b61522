"""What is asked and known of a profiled program beside its ranking: its parts, its times, what would narrow it."""

from __future__ import annotations

from typing import Any

from predictor.core import methods
from predictor.predictions.next_measurements import NextMeasurementsQuestion
from predictor.predictions.question import position_named
from predictor.predictions.rankings import RankingQuestion
from predictor.predictions.request import InvalidField, NoPrediction, PredictionRequest, UnknownTargetName
from profiles.models import Platform
from profiles.programs import ProfiledProgram, measured_program


def question_of_program(
    program: ProfiledProgram, user: Any, *, public_only: bool = False, **choices: Any
) -> RankingQuestion:
    """`public_only`: nothing that is the user's own takes part. `choices` as in `RankingQuestion.of`, which says what
    else it raises."""
    if public_only and program.source.private_to_id is not None:
        raise InvalidField("public_only", "the program itself is private: public data alone say nothing of it")
    rest = program.serial_rest
    return RankingQuestion.of(
        [region.workload.slug for region in program.regions],
        None if public_only else user,
        serial_rest=None if rest is None else rest.workload.slug,
        **choices,
    )


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


def narrowing_question(question: RankingQuestion, target: str, viewer: Any) -> NextMeasurementsQuestion:
    """What to measure next for the part whose interval adds most to the program's on the target.

    Raises a RequestError where the target is unknown, or a part cannot be predicted there.
    """
    position = position_named(target, question.snapshot.database.platforms, Platform, viewer, UnknownTargetName)
    try:
        row = question.row(position)
    except methods.PredictionError as error:
        raise NoPrediction(str(error), 0, 1) from error
    rest = question.parts.serial_rest
    is_rest = rest is not None and row["widest_part"] == question.snapshot.database.workloads[rest]
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
