"""One workload over all platforms: the page, and its rows as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.pages import twin
from mpet_site.renderers import csv_lines
from predictor.core.methods import METHODS
from predictor.dot_figures import PlatformTime, dot_chart
from predictor.home import offered, pair_to_begin_with
from predictor.rankings import Ranking, rank
from predictor.services import DEFAULT_METHOD, RequestError
from profiles.figures import Chart
from profiles.models import Platform, Workload

FILTERS = ("device_class", "architecture")
COLUMNS = (
    "rank",
    "platform",
    "name",
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


@require_safe
def ranking(request: HttpRequest) -> HttpResponseBase:
    """?workload=[&method=&include_simulated=true] and, of what is shown, &device_class=&architecture=; &format=csv."""
    asked = request.GET.get("workload", "")
    if not asked:
        first, _ = pair_to_begin_with(request.user)
        if first:
            return redirect(f"{request.path}?{urlencode({'workload': first})}")
        return render(request, "predictor/ranking.html", {"section": "predict"})
    method = request.GET.get("method") or DEFAULT_METHOD
    include_simulated = request.GET.get("include_simulated") == "true"
    context = {
        "asked": asked,
        "workloads": offered(Workload, request.user, asked),
        "methods": list(METHODS),
        "method": method,
        "include_simulated": include_simulated,
        "section": "predict",
    }
    try:
        found = rank(asked, request.user, method=method, include_simulated=include_simulated)
    except RequestError as error:
        return render(request, "predictor/ranking.html", context | {"refusal": str(error)}, status=422)
    shown = shown_of(request, found)
    if request.GET.get("format") == "csv":
        return as_csv(found, shown["rows"])
    return render(
        request, "predictor/ranking.html", context | shown | {"ranking": found, "twin": twin_of(request, found)}
    )


def shown_of(request: HttpRequest, found: Ranking) -> dict[str, Any]:
    """Rows of the platforms that pass the filters, with their place among all."""
    named = [one["platform"] for one in (*found.results, *found.refused)]
    platforms = {row.slug: row for row in Platform.objects.visible_to(request.user).filter(slug__in=named)}
    chosen = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    passing = {slug for slug, row in platforms.items() if all(getattr(row, k) == v for k, v in chosen.items())}
    best = found.results[0]["time_s"] if found.results else None
    rows = [
        (place, {**one, "beside": one["time_s"] / best}, platforms[one["platform"]])
        for place, one in enumerate(found.results, start=1)
        if one["platform"] in passing
    ]
    workload = Workload.objects.visible_to(request.user).filter(slug=found.workload).first()
    unit = "unknown unit" if found.time_kind == "relative" else "s"
    return {
        "workload": workload,
        "rows": rows,
        "refused": [(platforms[one["platform"]], one["reason"]) for one in found.refused if one["platform"] in passing],
        "filters": [(name, chosen.get(name, ""), values_of(platforms.values(), name)) for name in FILTERS],
        "is_filtered": bool(chosen),
        "is_simulated": any(one["origin"] == "simulated" for _, one, _ in rows),
        "time_unit": unit,
        "charts": charts_of(rows, unit),
        "csv": f"{request.path}?{urlencode({**request.GET.dict(), 'format': 'csv'})}",
    }


def values_of(platforms: Any, name: str) -> list[str]:
    return sorted({value for row in platforms if (value := getattr(row, name))})


def charts_of(rows: Sequence[tuple[int, Mapping[str, Any], Platform]], unit: str) -> list[Chart]:
    if not rows:
        return []
    times = [
        PlatformTime.of(platform.name, platform.slug, one, one["measured_time_s"], one["n_best"])
        for _, one, platform in rows
    ]
    return [
        dot_chart(
            "ranking",
            "Fastest time on each platform",
            "The smallest predicted time over all thread counts, with its interval. Where somebody measured it there, "
            "the prediction did not see that.",
            times,
            axis=f"smallest time t(n) ({unit})",
        )
    ]


def twin_of(request: HttpRequest, found: Ranking) -> str:
    asked = {"workload": found.workload, "method": found.method}
    if request.GET.get("include_simulated") == "true":
        asked["include_simulated"] = "true"
    return twin("api-rankings", query=urlencode(asked))


def as_csv(found: Ranking, rows: Sequence[tuple[int, Mapping[str, Any], Platform]]) -> StreamingHttpResponse:
    values = ({**one, "rank": place, "name": platform.name} for place, one, platform in rows)
    lines = csv_lines(list(COLUMNS), ({name: row[name] for name in COLUMNS} for row in values))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8; header=present")
    response["Content-Disposition"] = f'attachment; filename="ranking-{found.workload}.csv"'
    return response
