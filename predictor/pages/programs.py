"""A whole program: what was measured of it, and how long it would take on every platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address, page_of
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.core.methods import METHODS
from predictor.figures.answer import measured_label
from predictor.figures.costs import cost_charts
from predictor.figures.platforms import PlatformTime, dot_chart
from predictor.figures.programs import ProgramPart, program_chart
from predictor.pages.long_answers import ShownAnswer, respond_with, shown_answer
from predictor.pages.offers import asks_for_public
from predictor.pages.presenting import rows_by_slug_disambiguated
from predictor.pages.ranking import core_time_chart, filter_fields, row_cautions
from predictor.predictions.estimated_rankings import RANKED_PER_PAGE
from predictor.predictions.feasibility import described_ranking
from predictor.predictions.programs import (
    ProgramQuestion,
    ProgramRanking,
    narrowing_question,
    question_of_program,
)
from predictor.predictions.ranking_choice import (
    BY_CORE_TIME,
    RANKING_FILTERS,
    RANKING_ORDER,
    RankingChoice,
)
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.figures import Chart, mark_origin
from profiles.models import Platform, Profile, Workload
from profiles.pages.page_cache import kept_for_visitors
from profiles.programs import MeasuredProgram, ProfiledProgram, measured_program, program_or_404
from profiles.templatetags.quantities import unmarked

MOST_REGION_COLUMNS = 6  # the longest ones; CSV and JSON have all


@require_safe
@kept_for_visitors
def program(request: HttpRequest, uid: UUID, slug: str) -> HttpResponse:
    """?method=&n=&include_simulated=true&public_only=true and, of what is shown, &by=, filters and &page=. What takes
    longer than a request is shown as far as it is."""
    found = program_or_404(uid, slug, request.user)
    choices = read_choices(request)
    context = program_context(request, found, choices)
    try:
        choice = RankingChoice.of(request.GET)
        question = question_of_program(found, request.user, **choices)
    except RequestError as error:
        return render(request, "predictor/program.html", context | {"refusal": str(error)}, status=422)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request,
        shown,
        "predictor/program.html",
        lambda: context | program_ranking_context(request, question, choice, shown, context),
    )


def read_choices(request: HttpRequest) -> dict[str, Any]:
    """What the address says; an n that is no thread count is as none."""
    text = request.GET.get("n", "")
    n = int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else 0
    return {
        "method": request.GET.get("method") or DEFAULT_METHOD,
        "n": n if 0 < n <= LARGEST_THREAD_COUNT else None,
        "include_simulated": request.GET.get("include_simulated") == "true",
        "public_only": asks_for_public(request.GET.get("public_only")),
    }


def chosen_parameters(choices: Mapping[str, Any]) -> dict[str, str]:
    """The choices as an address says them, less what is as without."""
    switches = {name: "true" for name in ("include_simulated", "public_only") if choices[name]}
    parameters = {"method": choices["method"], "n": choices["n"] or ""} | switches
    return {name: str(value) for name, value in parameters.items() if value}


def program_context(request: HttpRequest, found: ProfiledProgram, choices: Mapping[str, Any]) -> dict[str, Any]:
    measured = measured_program(found)
    address = reverse("program", args=found.name.address)
    # The filters and the order of the rows, as the address has them.
    names = [parameter.name for parameter in (*RANKING_FILTERS, RANKING_ORDER)]
    parameters = chosen_parameters(choices) | {name: request.GET[name] for name in names if request.GET.get(name)}
    return {
        "program": found,
        "known": measured_label(found.source.origin),
        "address": address,
        "labels": {part.workload.slug: part_label(part) for part in found.parts},
        "measured": measured,
        "parts": part_rows(found, measured),
        **({} if measured is None else measured_facts(measured)),
        "measured_charts": mark_origin(measured_charts(found, measured), found.source.origin),
        "methods": list(METHODS),
        "choices": choices,
        "by": request.GET.get("by", ""),
        "is_filtered": any(request.GET.get(parameter.name) for parameter in RANKING_FILTERS),
        "public_only": choices["public_only"],
        "has_private": found.source.private_to_id is None and Profile.objects.has_private_of(request.user),
        "section": "predict",
        "twin": json_address("api-program", *found.name.address, query=urlencode(parameters)),
        "csv": json_address("api-program", *found.name.address, query=urlencode(parameters | {"format": "csv"})),
    }


def measured_facts(measured: MeasuredProgram) -> dict[str, Any]:
    """Of the whole: at the first n and at the best one."""
    best = measured.best()
    return {
        "first_n": int(measured.n[0]),
        "first_s": float(measured.time_s[0]),
        "best_n": int(measured.n[best]),
        "best_s": float(measured.time_s[best]),
    }


def part_label(part: Profile) -> str:
    """What a part is called beside the program's name."""
    return part.workload.section or part.workload.name


def part_rows(found: ProfiledProgram, measured: MeasuredProgram | None) -> list[dict[str, Any]]:
    """Of each part the times at the first n and at the best one, and its share of the program's there."""
    if measured is None:
        return [{"profile": part, "label": part_label(part)} for part in found.parts]
    best = measured.best()
    return [
        {
            "profile": part,
            "label": part_label(part),
            "first_s": float(times[0]),
            "first_share": float(times[0] / measured.time_s[0]),
            "best_s": float(times[best]),
            "best_share": float(times[best] / measured.time_s[best]),
        }
        for part, times in zip(found.parts, measured.parts_s, strict=True)
    ]


def measured_charts(found: ProfiledProgram, measured: MeasuredProgram | None) -> list[Chart]:
    if measured is None or len(measured.n) < 2:
        return []
    parts = [ProgramPart(part_label(part), times) for part, times in zip(found.parts, measured.parts_s, strict=True)]
    known = measured_label(found.source.origin)
    caption = f"{known.capitalize()} on {unmarked(found.platform.name, known)}: the times of the parts, stacked."
    return [program_chart(measured.n, parts, caption)]


def program_ranking_context(
    request: HttpRequest,
    question: ProgramQuestion,
    choice: RankingChoice,
    shown: ShownAnswer,
    context: Mapping[str, Any],
) -> dict[str, Any]:
    """The rows that pass the filters, each with its place among all platforms."""
    found = context["program"]
    ranking = question.ranking([], []) if shown.document is None else ProgramRanking(**shown.document)
    named = [result["platform"] for result in (*ranking.results, *ranking.refused)]
    platforms = rows_by_slug_disambiguated(Platform, request.user, named)
    rows = choice.rows(ranking.results, platforms)
    page = page_of(request, rows, RANKED_PER_PAGE)
    own_s = own_time(context["measured"], question.n)
    simulated = any(row["origin"] == "simulated" for row in rows)
    refused = choice.refused(ranking.refused, platforms)
    shown_rows = [(row, platforms[row["platform"]]) for row in page]
    fastest = min(rows, key=itemgetter("time_s"), default=None)
    charts = [
        *program_ranking_charts(shown_rows, found, own_s, choice),
        *cost_charts(rows, {slug: row.name for slug, row in platforms.items()}, "s"),
    ]
    return {
        "ranking": ranking,
        "own_s": own_s,
        "rows": [(shown_row(row, context, own_s), platform) for row, platform in shown_rows],
        "fastest": fastest,
        "fastest_platform": platforms[fastest["platform"]] if fastest else None,
        "page": page,
        "any_measured": any(row["measured"] for row in rows),
        "columns": [context["labels"][slug] for slug in ranking.regions[:MOST_REGION_COLUMNS]],
        "more_regions": len(ranking.regions) > MOST_REGION_COLUMNS,
        "narrowing": reverse("program-measure-next", args=found.name.address),
        "refused": [(platforms[row["platform"]], row["reason"]) for row in refused],
        "advice": described_ranking(question, {"refused": refused}, request.user)["advice"],
        "fields": filter_fields(request, list(platforms.values())),
        "cautions": row_cautions(page),
        "currency": next((row["currency"] for row in rows if row["currency"]), ""),
        "is_simulated": simulated,
        "charts": mark_origin(charts, "simulated" if simulated else "measured"),
    }


def shown_row(result: Mapping[str, Any], context: Mapping[str, Any], own_s: float | None) -> dict[str, Any]:
    """A row of the ranking with what its cells lead to."""
    choices = chosen_parameters(context["choices"])
    target = {"target": result["platform"]}
    return {
        **result,
        "times_as_fast": own_s / result["time_s"] if own_s else None,
        "narrowing_query": urlencode(target | choices),
        "columns": [
            {
                "time_s": region["time_s"],
                "label": context["labels"].get(region["workload"], region["workload"]),
                "query": urlencode({"workload": region["workload"]} | target | choices),
            }
            for region in result["regions"][:MOST_REGION_COLUMNS]
        ],
    }


def own_time(measured: MeasuredProgram | None, n: int | None) -> float | None:
    """What the program took where it was measured: at n, or at the best n."""
    if measured is None:
        return None
    if n is None:
        return float(measured.time_s.min())
    at_n = measured.time_s[measured.n == n]
    return float(at_n[0]) if len(at_n) else None


def program_ranking_charts(
    rows: Sequence[tuple[Mapping[str, Any], Platform]],
    found: ProfiledProgram,
    own_s: float | None,
    choice: RankingChoice,
) -> list[Chart]:
    """The predicted platforms of this result page, and among them the one that measured the program."""
    if not rows:
        return []
    if choice.by == BY_CORE_TIME:
        return [core_time_chart(rows, "s", measured_label(found.source.origin))]
    times = [
        PlatformTime.of(platform.name, platform.slug, result, result["measured_time_s"], result["n_best"])
        for result, platform in rows
    ]
    own, known = found.platform, measured_label(found.source.origin)
    if own_s is not None and own.slug not in {time.slug for time in times}:
        measured = PlatformTime.of(own.name, own.slug, {}, own_s, None)
        times = sorted([*times, measured], key=lambda time: np.nanmin([time.time_s, time.measured_s]))
    return [
        dot_chart(
            "program-ranking",
            "The program on each platform",
            f"The predicted time of the whole program, with its interval. The {known} times of a platform were not "
            "used for its prediction.",
            times,
            axis="time of the program (s)",
            measured=known,
        )
    ]


@require_safe
def program_next_measurements(request: HttpRequest, uid: UUID, slug: str) -> HttpResponse:
    """?target=[&method=&n=&include_simulated=true&public_only=true]: what would narrow the interval of the program
    there, a page or the part of one that htmx asks for."""
    found = program_or_404(uid, slug, request.user)
    choices = read_choices(request)
    address = reverse("program", args=found.name.address)
    target = request.GET.get("target", "")
    query = urlencode({"target": target} | chosen_parameters(choices))
    context = {
        "program": found,
        "back": f"{address}?{urlencode(chosen_parameters(choices))}",
        "target": rows_by_slug_disambiguated(Platform, request.user, [target]).get(target),
        "method": choices["method"],
        "known": measured_label(found.source.origin),
        "section": "predict",
        "twin": json_address("api-program-measure-next", *found.name.address, query=query),
    }
    viewer = None if choices["public_only"] else request.user
    try:
        question = narrowing_question(question_of_program(found, request.user, **choices), target, viewer)
    except RequestError as error:
        status = 200 if request.headers.get("HX-Request") == "true" else 422  # htmx shows no error
        return render(request, "predictor/program_measure_next.html", context | {"refusal": str(error)}, status=status)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request,
        shown,
        "predictor/program_measure_next.html",
        lambda: context | next_measurements_rows(request, question.request.workload, shown),
        part="predictor/program_measure_next_rows.html",
    )


def next_measurements_rows(request: HttpRequest, widest: str, shown: ShownAnswer) -> dict[str, Any]:
    results = shown.document["results"] if shown.document else []
    workloads = rows_by_slug_disambiguated(Workload, request.user, [widest, *(row["workload"] for row in results)])
    platforms = rows_by_slug_disambiguated(Platform, request.user, [row["platform"] for row in results])
    return {
        "widest": workloads.get(widest),
        "rows": [(row, workloads.get(row["workload"]), platforms.get(row["platform"])) for row in results],
    }
