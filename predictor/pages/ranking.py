"""Pages with a ranking: of a program, of a workload (a program with one part), and of a workload that a form selects.
`programs.py` provides the other content of the first two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any
from uuid import UUID

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.background import NotReadyYet, note_outdated
from mpet_site.web.pages import json_address, page_of
from mpet_site.web.parameters import Flag, NoSuchValue, Number, OneOf
from predictor.computations.asking import LongAnswer
from predictor.computations.responses import respond_with, shown_answer
from predictor.core.methods import METHODS
from predictor.core.mpet.method import HIGHEST_INTERVAL_LEVEL, LOWEST_INTERVAL_LEVEL
from predictor.figures.answer import answer_origin, measured_label
from predictor.figures.platforms import IntervalScale, PlatformTime, cost_charts, dot_chart, priced
from predictor.pages.presenting import (
    asks_for_public,
    first_pair,
    given_parameters,
    mixing_choices,
    offered_names,
    rows_by_slug_disambiguated,
    shown_ranking_refusal,
    shown_refusal,
)
from predictor.pages.programs import ProgramHome, program_home, workload_home
from predictor.predictions.feasibility import in_names
from predictor.predictions.programs import keep_answer, kept_answer, question_of_program
from predictor.predictions.question import DEFAULT_METHOD, RequestError, UnknownName
from predictor.predictions.ranking_choice import (
    AT_THREAD_COUNT,
    BY_CORE_TIME,
    BY_COST,
    RANKING_FILTERS,
    RANKING_ORDER,
    RANKING_PAGE,
    RankingChoice,
    alike_rows,
    value_in,
)
from predictor.predictions.ranking_rows import FEWEST_ESTIMATED_PLATFORMS, RANKED_PER_PAGE
from predictor.predictions.rankings import RankingQuestion
from profiles.figures.base import Chart, mark_origin
from profiles.identity.programs import program_or_404
from profiles.models import Platform, Profile, Workload
from profiles.pages.page_cache import kept_for_visitors
from profiles.pages.views import workload_profiles
from profiles.templatetags.quantities import unmarked

MOST_REGION_COLUMNS = 6  # columns for the longest regions; CSV and JSON contain all regions
RANKING_LEVEL = Number("level", low=LOWEST_INTERVAL_LEVEL, high=HIGHEST_INTERVAL_LEVEL)
WITH_SIMULATED = Flag("include_simulated", default=False)
QUESTION_FIELDS = ("method", "level", "mix_runtimes", "include_simulated", "public_only", "n")
SHOWN_FIELDS = ("by", "max_time_s")  # shown in the form itself rather than with its filters
CHOICE_FIELDS = (*(parameter.name for parameter in RANKING_FILTERS), RANKING_ORDER.name)
FILTER_TITLES = {
    "device_class": "Class",
    "min_cores": "Cores, from",
    "max_cores": "Cores, to",
    "min_threads": "Threads, from",
    "min_memory_gib": "Memory in GiB, from",
    "measured": "Measured there",
    "origin": "Reference profiles",
    "max_time_s": "Time in s, to",
    "max_price": "Price per hour, to",
    "max_cost": "Cost of a run, to",
    "currency": "Currency",
    "region": "Price region",
    "price_kind": "Price kind",
}


@dataclass(frozen=True)
class RankedSubject:
    """The subject of a ranking.

    `address` is the URL of the page and `api` the view and arguments of the ranking as JSON. `home` is the other
    content on the page of a program or workload, and `about` holds the profiles of a workload.
    """

    name: str
    address: str
    api: tuple[Any, ...]
    parameters: dict[str, str] = field(default_factory=dict)
    workload: Workload | None = None
    home: ProgramHome | None = None
    about: dict[str, Any] | None = None

    @property
    def is_program(self) -> bool:
        return self.workload is None and self.home is not None

    def twin(self, request: HttpRequest, **more: str) -> str:
        """Return the API URL for the same question, filters and order."""
        given = given_parameters(request.GET, (*QUESTION_FIELDS, *CHOICE_FIELDS, "page", "today"))
        paged = {"exact": "false"} if self.is_program else {}
        return json_address(self.api[0], *self.api[1:], query=urlencode(self.parameters | paged | given | more))


@require_safe
@kept_for_visitors(of="workload")
def ranking(request: HttpRequest) -> HttpResponse:
    """Show the ranking of the workload that a form selects.

    The parameters are `?workload=[&method=&level=&include_simulated=true&n=]` for the question and `&by=`, filters and
    `&page=` for the rows. If the computation takes longer than the request, show what was computed so far.
    """
    slug = request.GET.get("workload", "")
    if not slug:
        first, _ = first_pair(request.user)
        if first:
            return redirect(f"{request.path}?{urlencode({'workload': first})}")
        return render(request, "predictor/ranking.html", {"section": "ranking"})
    workload = Workload.objects.visible_to(request.user).filter(slug=slug).first()
    name = workload.name if workload else slug
    subject = RankedSubject(name, reverse("ranking"), ("api-rankings",), {"workload": slug}, workload)
    return ranking_page(request, subject, partial(question_of_workload, slug, request.user))


def question_of_workload(slug: str, user: Any, *, public_only: bool, **choices: Any) -> RankingQuestion:
    """Return the ranking question of a workload. Raise the exceptions of `RankingQuestion.of`."""
    return RankingQuestion.of(slug, None if public_only else user, **choices)


@require_safe
@kept_for_visitors(of="workload")
def workload(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page of a workload: the page of a program with one part, and all profiles of the workload.

    The page exists even if nothing can be predicted.
    """
    found = get_object_or_404(Workload.objects.visible_to(request.user), slug=slug)
    address = reverse("workload", args=[slug])
    home, about = workload_home(request, found), workload_profiles(request, found)
    subject = RankedSubject(found.name, address, ("api-rankings",), {"workload": slug}, found, home, about)
    return ranking_page(request, subject, partial(question_of_workload, slug, request.user))


@require_safe
@kept_for_visitors
def program(request: HttpRequest, uid: UUID, slug: str) -> HttpResponse:
    """Show the page of a profiled program with its measured times and its ranking."""
    found = program_or_404(uid, slug, request.user)
    home = program_home(request, found)
    subject = RankedSubject(found.name.name, home.address, ("api-program", *found.name.address), home=home)
    return ranking_page(request, subject, lambda **choices: question_of_program(found, request.user, **choices))


def ranking_page(request: HttpRequest, subject: RankedSubject, ask: Any) -> HttpResponse:
    """Render the page of a ranking. `ask` returns the question for the given keyword arguments or raises
    RequestError."""
    context = form_context(request, subject)
    try:
        choice = RankingChoice.of(request.GET)
        question = ask(choice=choice, **question_of_form(request))
        question.check_size(request.user)
    except RequestError as error:
        # A workload that predictions may not use, such as an emulated one, still has a page with its profiles.
        is_page = subject.about is not None and isinstance(error, UnknownName) and error.noun == "workload"
        refusal = shown_refusal(error, request)
        status = 200 if is_page else 422
        return render(request, "predictor/ranking.html", context | {"refusal": refusal}, status=status)
    except NotReadyYet:
        if subject.about is None:
            raise
        note_outdated()
        return render(request, "predictor/ranking.html", context | {"is_not_ready": True})
    program = subject.home.program if subject.home and subject.is_program else None
    is_today = request.GET.get("today") == "true"
    stored = kept_answer(program, question, request.user) if program and not is_today else None
    if stored:
        shown = LongAnswer(stored.document, is_computed=True)
        context |= {"kept": stored}
    else:
        shown = shown_answer(request, question, request.user)
        if program and not is_today and shown.is_computed and shown.document is not None:
            keep_answer(program, question, shown.document)
    return respond_with(
        request,
        shown,
        "predictor/ranking.html",
        lambda: context | ranking_context(request, subject, question, choice, shown),
        is_answer_all=subject.about is None,
    )


def question_of_form(request: HttpRequest) -> dict[str, Any]:
    """Return the arguments of a RankingQuestion and `public_only` from the query string. Raise InvalidField for invalid
    values."""
    method = request.GET.get("method") or DEFAULT_METHOD
    # The query string may still have the setting of the previously chosen method.
    mixing = request.GET.get("mix_runtimes") if mixing_choices(method, "") else None
    return {
        "method": method,
        "mix_runtimes": mixing or None,
        "level": value_in(request.GET, RANKING_LEVEL),
        "include_simulated": value_in(request.GET, WITH_SIMULATED),
        "n": value_in(request.GET, AT_THREAD_COUNT),
        "public_only": asks_for_public(request.GET),
        "page": page_number(request.GET.get("page", "")),
    }


def page_number(text: str) -> int:
    """Return the requested page number, or 1 if the text is not a valid page number.

    >>> page_number("3"), page_number("0"), page_number("last")
    (3, 1, 1)
    """
    try:
        return RANKING_PAGE.value_of(text)
    except NoSuchValue:
        return 1


def form_context(request: HttpRequest, subject: RankedSubject) -> dict[str, Any]:
    is_private = bool(subject.is_program and subject.home and subject.home.program.source.private_to_id)
    is_chosen = subject.home is None and subject.about is None  # the page with the form
    return {
        "subject": subject,
        "home": subject.home,
        "about": subject.about,
        "workloads": () if not is_chosen else offered_names(Workload, request.user, subject.parameters["workload"]),
        "methods": list(METHODS),
        "method": request.GET.get("method") or DEFAULT_METHOD,
        "mixing": mixing_choices(request.GET.get("method") or DEFAULT_METHOD, request.GET.get("mix_runtimes", "")),
        "include_simulated": request.GET.get("include_simulated") == "true",
        "public_only": asks_for_public(request.GET),
        "has_private": not is_private and Profile.objects.has_private_of(request.user),
        **{name: request.GET.get(name, "") for name in ("by", "n", "level", "max_time_s")},
        "is_filtered": any(request.GET.get(parameter.name) for parameter in RANKING_FILTERS),
        "has_filters": any(request.GET.get(name) for name in CHOICE_FIELDS if name not in SHOWN_FIELDS),
        "known": subject.home.known if subject.home else "measured",
        "section": "workloads" if subject.about else "ranking",
        "twin": subject.about["twin"] if subject.about else subject.twin(request),
        "ranking_twin": subject.twin(request),
    }


def ranking_context(
    request: HttpRequest, subject: RankedSubject, question: RankingQuestion, choice: RankingChoice, shown: LongAnswer
) -> dict[str, Any]:
    """Return the rows that pass the filters, each with its rank among all platforms."""
    ranking = question.stored_ranking(shown.document)
    platforms = rows_by_slug_disambiguated(Platform, request.user, ranking.platforms)
    is_public_only = asks_for_public(request.GET)
    chosen = choice.rows(ranking.results, platforms, None if is_public_only else request.user)
    currency = next((row["currency"] for row in chosen if row["currency"]), "")
    used = choice.ordered_with(has_prices=bool(currency))
    lacks_prices = used is not choice
    if lacks_prices:
        choice = used
        chosen = choice.rows(ranking.results, platforms, None if is_public_only else request.user)
    by_cost = choice.by == BY_COST
    rows = [row for row in chosen if row["cost"] is not None] if by_cost else chosen
    page = page_of(request, rows, RANKED_PER_PAGE)
    is_fleet = len(platforms) >= FEWEST_ESTIMATED_PLATFORMS
    refused = choice.refused(ranking.refused, platforms)
    unit = "unknown unit" if ranking.time_kind == "relative" else "s"
    is_simulated = any(row["origin"] == "simulated" for row in chosen)
    origin = answer_origin({"simulated": is_simulated, "include_simulated": question.include_simulated})
    known = measured_label(origin)
    labels = subject.home.labels if subject.home and subject.is_program else {}
    grouped = alike_rows(list(page), platforms) if is_fleet else [(row, []) for row in page]
    shown_rows = [
        (
            shown_row(row, request, subject, labels) | {"alike": [platforms[one["platform"]] for one in alike]},
            platforms[row["platform"]],
        )
        for row, alike in grouped
    ]
    names = {slug: unmarked(row.name, known) for slug, row in platforms.items()}
    charts = ranking_charts(shown_rows, unit, known, choice, subject.home)
    if by_cost:
        charts = cost_charts(rows, names, unit) or charts
    cost_factor, cost_title = priced((row["cost"] for row in rows), unit, currency)
    fastest = min(chosen, key=itemgetter("time_s"), default=None)
    if fastest and fastest["estimated"]:
        fastest = None  # an estimate only determines the order; its row is computed next
    own_s = subject.home.own_time(question.n) if subject.home else None
    most_s = choice.filters.get("max_time_s") or own_s
    in_time = [row for row in chosen if row["cost"] is not None and (most_s is None or row["time_s"] <= most_s)]
    cheapest = min(in_time, key=itemgetter("cost"), default=None)
    return {
        "ranking": ranking,
        "order": choice.title(has_prices=bool(currency), unit=unit),
        "order_by": choice.by,
        "lacks_prices": lacks_prices,
        "rows": shown_rows,
        "page": page,
        "unpriced": len(chosen) - len(rows),
        "refusal_line": shown_ranking_refusal(question, refused, request) if shown.is_computed else None,
        "refused": [platforms[row["platform"]] for row in refused],
        "fields": filter_fields(request, list(platforms.values())),
        "any_measured": any(row["measured"] for row in page),
        "has_estimates": any(row["estimated"] for row in rows),
        "is_simulated": is_simulated,
        "known": known,
        "time_unit": unit,
        "scale": IntervalScale.of(page),
        "cautions": Counter(in_names(warning, names) for row in page for warning in row["warnings"]).most_common(),
        "currency": currency,
        "cost_factor": cost_factor,
        "cost_title": cost_title,
        "fastest": fastest,
        "fastest_platform": platforms[fastest["platform"]] if fastest else None,
        "cheapest": cheapest,
        "cheapest_platform": platforms[cheapest["platform"]] if cheapest else None,
        "most_s": most_s,
        "own_s": own_s,
        "columns": [labels.get(slug, slug) for slug in ranking.regions[:MOST_REGION_COLUMNS]]
        if subject.is_program
        else [],
        "more_regions": len(ranking.regions) > MOST_REGION_COLUMNS,
        "narrowing": narrowing_address(request, subject, fastest) if fastest else "",
        "charts": mark_origin(charts, origin),
        **({} if subject.about else {"twin": subject.twin(request, method=ranking.method)}),
        "ranking_twin": subject.twin(request, method=ranking.method),
    }


def shown_row(
    result: Mapping[str, Any], request: HttpRequest, subject: RankedSubject, labels: Mapping[str, str]
) -> dict[str, Any]:
    """Return a row of the ranking with the URLs of the predictions of its parts."""
    names = ("method", "n", "include_simulated", "public_only", "mix_runtimes")
    chosen = {"target": result["platform"]} | given_parameters(request.GET, names)
    chosen.setdefault("method", DEFAULT_METHOD)
    answer = reverse("unstored-answer")
    parts = [
        {
            "time_s": region["time_s"],
            "label": labels.get(region["workload"], region["workload"]),
            "address": f"{answer}?{urlencode({'workload': region['workload']} | chosen)}",
        }
        for region in result["regions"][:MOST_REGION_COLUMNS]
    ]
    whole = "" if subject.is_program else f"{answer}?{urlencode(subject.parameters | chosen)}"
    return {**result, "columns": parts, "address": whole}


def narrowing_address(request: HttpRequest, subject: RankedSubject, row: Mapping[str, Any]) -> str:
    """Return the URL of the suggested measurements for the answer on the row's machine."""
    given = given_parameters(request.GET, ("method", "n", "include_simulated", "public_only"))
    query = urlencode(subject.parameters | {"target": row["platform"]} | given)
    if subject.home and subject.is_program:
        return f"{reverse('program-measure-next', args=subject.home.program.name.address)}?{query}"
    return f"{reverse('unstored-measure-next')}?{query}"


def filter_fields(request: HttpRequest, platforms: Sequence[Platform]) -> list[dict[str, Any]]:
    """Return one field per filter.

    `values` are the choices among the texts of the platforms. If it is empty, users type a number.
    """
    fields = []
    for parameter in RANKING_FILTERS:
        name = parameter.name
        if name in SHOWN_FIELDS:
            continue
        texts = {text for row in platforms if isinstance(text := getattr(row, name, None), str) and text}
        values = [(text, text.replace("_", " ")) for text in sorted(texts)]
        if isinstance(parameter, Flag):
            values = [("true", "yes"), ("false", "no")]
        elif isinstance(parameter, OneOf) and not values:
            values = [(value, value) for value in parameter.choices]
        title = FILTER_TITLES.get(name, name.capitalize())
        fields.append({"name": name, "title": title, "value": request.GET.get(name, ""), "values": values})
    return fields


def ranking_charts(
    rows: Sequence[tuple[Mapping[str, Any], Platform]],
    unit: str,
    known: str,
    choice: RankingChoice,
    home: ProgramHome | None,
) -> list[Chart]:
    """Return the chart of the machines on this page in the order of the ranking, including the machine where the
    program was measured."""
    if not rows:
        return []
    by_core = choice.by == BY_CORE_TIME
    times = []
    for row, platform in rows:
        shown = {name: row[name] for name in ("time_s", "low_s", "high_s")}
        if by_core:
            shown = {name: value and row["cores"] and value * row["cores"] for name, value in shown.items()}
        # A time at another thread count, such as t(1) of a large machine, is no check of the prediction.
        measured_s = row["measured_time_s"] if row["measured_n"] == row["n_best"] and not by_core else None
        name = unmarked(platform.name, known)
        times.append(PlatformTime.of(name, platform.slug, shown, measured_s, row["n_best"]))
    is_compared = any(np.isfinite(time.measured_s) for time in times)
    if home and not by_core and (own_s := home.own_time(None)) is not None:
        home_platform = home.program.platform
        if home_platform.slug not in {time.slug for time in times}:
            times.append(PlatformTime.of(unmarked(home_platform.name, known), home_platform.slug, {}, own_s, None))
            times.sort(key=lambda time: np.nanmin([time.time_s, time.measured_s]))
    what = "core time (time multiplied by the physical cores in use)" if by_core else "time"
    return [
        dot_chart(
            "ranking",
            "Core time on each machine" if by_core else "Time on each machine",
            f"The predicted {what}, with its interval."
            + (f" The {known} times at the same n were not used for the prediction." if is_compared else ""),
            times,
            measured=known,
            axis=f"core time ({'core ' if unit == 's' else ''}{unit})" if by_core else f"time t(n) ({unit})",
        )
    ]
