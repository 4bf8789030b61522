"""One workload over all platforms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address, page_of
from mpet_site.web.parameters import Flag, NoSuchValue, Number, OneOf
from predictor.core.methods import METHODS
from predictor.core.mpet.method import HIGHEST_INTERVAL_LEVEL, LOWEST_INTERVAL_LEVEL
from predictor.figures.answer import answer_origin, measured_label
from predictor.figures.costs import cost_charts
from predictor.figures.platforms import PlatformTime, dot_chart
from predictor.pages.long_answers import ShownAnswer, respond_with, shown_answer
from predictor.pages.offers import asks_for_public, first_pair, mixing_choices, offered_names
from predictor.pages.presenting import rows_by_slug_disambiguated
from predictor.predictions.estimated_rankings import RANKED_PER_PAGE
from predictor.predictions.feasibility import described_ranking
from predictor.predictions.ranking_choice import (
    AT_THREAD_COUNT,
    BY_CORE_TIME,
    RANKING_FILTERS,
    RANKING_PAGE,
    RankingChoice,
    value_in,
)
from predictor.predictions.rankings import Ranking, RankingQuestion
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.figures import Chart, mark_origin
from profiles.models import Platform, Profile, Workload
from profiles.pages.page_cache import kept_for_visitors
from profiles.templatetags.quantities import unmarked

RANKING_LEVEL = Number("level", low=LOWEST_INTERVAL_LEVEL, high=HIGHEST_INTERVAL_LEVEL)
WITH_SIMULATED = Flag("include_simulated", default=False)
# What an address says beside filters.
RANKING_ADDRESS = ("workload", "method", "level", "mix_runtimes", "include_simulated", "public_only", "n", "by", "page")
FILTER_TITLES = {
    "device_class": "Class",
    "min_cores": "Cores, from",
    "max_cores": "Cores, to",
    "min_threads": "Threads, from",
    "min_memory_gib": "Memory in GiB, from",
    "measured": "Measured there",
    "origin": "Reference profiles",
    "max_price": "Price per hour, to",
    "max_cost": "Cost of a run, to",
    "currency": "Currency",
    "region": "Region of the price",
    "price_kind": "Kind of price",
}


@dataclass(frozen=True)
class RankingField:
    """A field of the form: a list to choose from where it has values, else a number to type."""

    name: str
    title: str
    value: str
    values: Sequence[tuple[str, str]] = ()


@require_safe
@kept_for_visitors
def ranking(request: HttpRequest) -> HttpResponse:
    """?workload=[&method=&level=&include_simulated=true&n=] and, of what is shown, &by=, filters and &page=. What takes
    longer than a request is shown as far as it is."""
    slug = request.GET.get("workload", "")
    if not slug:
        first, _ = first_pair(request.user)
        if first:
            return redirect(f"{request.path}?{urlencode({'workload': first})}")
        return render(request, "predictor/ranking.html", {"section": "ranking"})
    context = form_context(request, slug)
    try:
        choice = RankingChoice.of(request.GET)
        question = question_of(request, slug, choice)
    except RequestError as error:
        return render(request, "predictor/ranking.html", context | {"refusal": str(error)}, status=422)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request, shown, "predictor/ranking.html", lambda: context | ranking_context(request, question, choice, shown)
    )


def question_of(request: HttpRequest, slug: str, choice: RankingChoice) -> RankingQuestion:
    """Raises a RequestError."""
    method = request.GET.get("method") or DEFAULT_METHOD
    mixing = request.GET.get("mix_runtimes") if mixing_choices(method, "") else None  # of the method chosen before
    return RankingQuestion.of(
        slug,
        None if asks_for_public(request.GET.get("public_only")) else request.user,
        method=method,
        mix_runtimes=mixing or None,
        level=value_in(request.GET, RANKING_LEVEL),
        include_simulated=value_in(request.GET, WITH_SIMULATED),
        n=value_in(request.GET, AT_THREAD_COUNT),
        choice=choice,
        page=page_number(request.GET.get("page", "")),
    )


def page_number(text: str) -> int:
    """The page asked for, 1 where the text is none.

    >>> page_number("3"), page_number("0"), page_number("last")
    (3, 1, 1)
    """
    try:
        return RANKING_PAGE.value_of(text)
    except NoSuchValue:
        return 1


def form_context(request: HttpRequest, slug: str) -> dict[str, Any]:
    return {
        "asked": slug,
        "workloads": offered_names(Workload, request.user, slug),
        "methods": list(METHODS),
        "method": request.GET.get("method") or DEFAULT_METHOD,
        "mixing": mixing_choices(request.GET.get("method") or DEFAULT_METHOD, request.GET.get("mix_runtimes", "")),
        "include_simulated": request.GET.get("include_simulated") == "true",
        "public_only": asks_for_public(request.GET.get("public_only")),
        "has_private": Profile.objects.has_private_of(request.user),
        "by": request.GET.get("by", ""),
        "n": request.GET.get("n", ""),
        "level": request.GET.get("level", ""),
        "is_filtered": any(request.GET.get(parameter.name) for parameter in RANKING_FILTERS),
        "section": "ranking",
    }


def ranking_context(
    request: HttpRequest, question: RankingQuestion, choice: RankingChoice, shown: ShownAnswer
) -> dict[str, Any]:
    """The rows that pass the filters, each with its place among all platforms."""
    ranking = question.ranking([], []) if shown.document is None else Ranking(**shown.document)
    platforms = rows_by_slug_disambiguated(Platform, request.user, ranking.platforms)
    rows = choice.rows(ranking.results, platforms)
    page = page_of(request, rows, RANKED_PER_PAGE)
    shown_rows = [
        (row | {"known": row["origin"] if row["measured"] else ""}, platforms[row["platform"]]) for row in page
    ]
    is_simulated = any(row["origin"] == "simulated" for row in rows)
    origin = answer_origin({"simulated": is_simulated, "include_simulated": question.include_simulated})
    unit = "unknown unit" if ranking.time_kind == "relative" else "s"
    refused = choice.refused(ranking.refused, platforms)
    described = described_ranking(question, {"refused": refused}, request.user)
    return {
        "ranking": ranking,
        "refused_summary": described["refused_summary"],
        "advice": described["advice"],
        "workload": Workload.objects.visible_to(request.user).filter(slug=ranking.workload).first(),
        "rows": shown_rows,
        "page": page,
        "refused": [(platforms[row["platform"]], row["reason"]) for row in refused],
        "fields": filter_fields(request, list(platforms.values())),
        "has_estimates": any(row["estimated"] for row in rows),
        "is_simulated": is_simulated,
        "known": measured_label(origin),
        "time_unit": unit,
        "cautions": row_cautions(page),
        "currency": next((row["currency"] for row in rows if row["currency"]), ""),
        "charts": mark_origin(
            [
                *ranking_charts(shown_rows, unit, measured_label(origin), choice),
                *cost_charts(rows, {slug: row.name for slug, row in platforms.items()}, unit),
            ],
            origin,
        ),
        "twin": ranking_json_address(request, ranking),
    }


def row_cautions(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """What the rows warn of, each sentence once, those of the most rows first, with their number."""
    return Counter(warning for row in rows for warning in row["warnings"]).most_common()


def filter_fields(request: HttpRequest, platforms: Sequence[Platform]) -> list[RankingField]:
    """A field for each filter: texts are chosen of those that the platforms have."""
    fields = []
    for parameter in RANKING_FILTERS:
        name = parameter.name
        texts = {text for row in platforms if isinstance(text := getattr(row, name, None), str) and text}
        values = [(text, text.replace("_", " ")) for text in sorted(texts)]
        if isinstance(parameter, Flag):
            values = [("true", "yes"), ("false", "no")]
        elif isinstance(parameter, OneOf) and not values:
            values = [(value, value) for value in parameter.choices]
        fields.append(RankingField(name, FILTER_TITLES.get(name, name.capitalize()), request.GET.get(name, ""), values))
    return fields


def ranking_charts(
    rows: Sequence[tuple[Mapping[str, Any], Platform]], unit: str, times_word: str, choice: RankingChoice
) -> list[Chart]:
    if not rows:
        return []
    if choice.by == BY_CORE_TIME:
        return [core_time_chart(rows, unit, times_word)]
    times = [
        PlatformTime.of(unmarked(platform.name, times_word), platform.slug, row, row["measured_time_s"], row["n_best"])
        for row, platform in rows
    ]
    return [
        dot_chart(
            "ranking",
            "Time on each platform",
            f"The predicted time with the number of threads that the table names, with its interval. The {times_word} "
            "times were not used for the prediction.",
            times,
            measured=times_word,
            axis=f"time t(n) ({unit})",
        )
    ]


def core_time_chart(rows: Sequence[tuple[Mapping[str, Any], Platform]], unit: str, times_word: str) -> Chart:
    times = []
    for row, platform in rows:
        names = ("time_s", "low_s", "high_s") if row["cores"] else ()
        scaled = {name: None if row[name] is None else row[name] * row["cores"] for name in names}
        times.append(PlatformTime.of(unmarked(platform.name, times_word), platform.slug, scaled, None, row["n_best"]))
    return dot_chart(
        "ranking",
        "Core time on each platform",
        "The predicted time multiplied by the physical cores that its threads take, with its interval.",
        times,
        measured=times_word,
        axis=f"core time ({'core ' if unit == 's' else ''}{unit})",
    )


def ranking_json_address(request: HttpRequest, ranking: Ranking) -> str:
    """The same question, filters and order to the API."""
    names = (*RANKING_ADDRESS, *(parameter.name for parameter in RANKING_FILTERS))
    given = {name: request.GET[name] for name in names if request.GET.get(name)}
    return json_address(
        "api-rankings", query=urlencode(given | {"workload": ranking.workload, "method": ranking.method})
    )
