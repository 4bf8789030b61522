"""One workload over all platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address, page_of
from predictor.core.methods import METHODS
from predictor.figures.answer import answer_origin, measured_label
from predictor.figures.platforms import PlatformTime, dot_chart
from predictor.pages.long_answers import ShownAnswer, respond_with, shown_answer
from predictor.pages.offers import first_pair, offered_names
from predictor.pages.presenting import rows_by_slug
from predictor.predictions.rankings import Ranking, RankingQuestion
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.figures import Chart, mark_origin
from profiles.models import Platform, Workload
from profiles.page_cache import kept_for_visitors
from profiles.templatetags.quantities import unmarked

RANKING_FILTERS = ("device_class", "architecture")
RANKED_PER_PAGE = 100


@require_safe
@kept_for_visitors
def ranking(request: HttpRequest) -> HttpResponse:
    """?workload=[&method=&include_simulated=true] and, of what is shown, &device_class=&architecture=&page=. What takes
    longer than a request is shown as far as it is."""
    slug = request.GET.get("workload", "")
    if not slug:
        first, _ = first_pair(request.user)
        if first:
            return redirect(f"{request.path}?{urlencode({'workload': first})}")
        return render(request, "predictor/ranking.html", {"section": "ranking"})
    method = request.GET.get("method") or DEFAULT_METHOD
    include_simulated = request.GET.get("include_simulated") == "true"
    context = {
        "asked": slug,
        "workloads": offered_names(Workload, request.user, slug),
        "methods": list(METHODS),
        "method": method,
        "include_simulated": include_simulated,
        "section": "ranking",
    }
    try:
        question = RankingQuestion.of(slug, request.user, method=method, include_simulated=include_simulated)
    except RequestError as error:
        return render(request, "predictor/ranking.html", context | {"refusal": str(error)}, status=422)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request, shown, "predictor/ranking.html", lambda: context | ranking_page_context(request, question, shown)
    )


def ranking_page_context(request: HttpRequest, question: RankingQuestion, shown: ShownAnswer) -> dict[str, Any]:
    ranking = question.ranking([], []) if shown.document is None else Ranking(**shown.document)
    return ranking_context(request, ranking, include_simulated=question.include_simulated) | {
        "ranking": ranking,
        "twin": ranking_json_address(ranking, question.include_simulated),
    }


def ranking_context(request: HttpRequest, ranking: Ranking, *, include_simulated: bool) -> dict[str, Any]:
    """The rows of the platforms that pass the filters, each with its place among all platforms."""
    named = [result["platform"] for result in (*ranking.results, *ranking.refused)]
    platforms = rows_by_slug(Platform, request.user, named)
    chosen = {name: request.GET[name] for name in RANKING_FILTERS if request.GET.get(name)}
    passing = {slug for slug, row in platforms.items() if all(getattr(row, k) == v for k, v in chosen.items())}
    best = ranking.results[0]["time_s"] if ranking.results else None
    rows = [
        (
            place,
            {
                **result,
                "relative_time": result["time_s"] / best,
                "known": result["origin"] if result["measured"] else "",
            },
            platforms[result["platform"]],
        )
        for place, result in enumerate(ranking.results, start=1)
        if result["platform"] in passing
    ]
    workload = Workload.objects.visible_to(request.user).filter(slug=ranking.workload).first()
    page = page_of(request, rows, RANKED_PER_PAGE)
    simulated = any(result["origin"] == "simulated" for _, result, _ in rows)
    origin = answer_origin({"simulated": simulated, "include_simulated": include_simulated})
    unit = "unknown unit" if ranking.time_kind == "relative" else "s"
    return {
        "workload": workload,
        "rows": page.object_list,
        "page": page,
        "refused": [
            (platforms[result["platform"]], result["reason"])
            for result in ranking.refused
            if result["platform"] in passing
        ],
        "filters": [(name, chosen.get(name, ""), filter_values(platforms.values(), name)) for name in RANKING_FILTERS],
        "is_filtered": bool(chosen),
        "is_simulated": simulated,
        "known": measured_label(origin),
        "time_unit": unit,
        "charts": mark_origin(ranking_charts(list(page.object_list), unit, measured_label(origin)), origin),
    }


def filter_values(platforms: Any, name: str) -> list[str]:
    return sorted({value for row in platforms if (value := getattr(row, name))})


def ranking_charts(rows: Sequence[tuple[int, Mapping[str, Any], Platform]], unit: str, times_word: str) -> list[Chart]:
    if not rows:
        return []
    times = [
        PlatformTime.of(
            unmarked(platform.name, times_word), platform.slug, result, result["measured_time_s"], result["n_best"]
        )
        for _, result, platform in rows
    ]
    return [
        dot_chart(
            "ranking",
            "Fastest time on each platform",
            f"The smallest predicted time over all thread counts, with its interval. The "
            f"{times_word} times were not used for the prediction.",
            times,
            measured=times_word,
            axis=f"smallest time t(n) ({unit})",
        )
    ]


def ranking_json_address(ranking: Ranking, include_simulated: bool) -> str:
    parameters = {"workload": ranking.workload, "method": ranking.method}
    return json_address(
        "api-rankings", query=urlencode(parameters | ({"include_simulated": "true"} if include_simulated else {}))
    )
