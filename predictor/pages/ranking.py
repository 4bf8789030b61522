"""One workload over all platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.core.methods import METHODS
from predictor.figures.answer import known_as, origin_of
from predictor.figures.platforms import PlatformTime, dot_chart
from predictor.pages.offers import offered, pair_to_begin_with
from predictor.predictions.rankings import Ranking, rank
from predictor.predictions.request import DEFAULT_METHOD, RequestError
from profiles.figures import Chart, mark_origin
from profiles.models import Platform, Workload

FILTERS = ("device_class", "architecture")


@require_safe
def ranking(request: HttpRequest) -> HttpResponse:
    """?workload=[&method=&include_simulated=true] and, of what is shown, &device_class=&architecture=."""
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
    context |= shown_of(request, found, include_simulated=include_simulated) | {
        "ranking": found,
        "twin": twin_of(found, include_simulated),
    }
    return render(request, "predictor/ranking.html", context)


def shown_of(request: HttpRequest, found: Ranking, *, include_simulated: bool) -> dict[str, Any]:
    """Rows of the platforms that pass the filters, with their place among all."""
    named = [one["platform"] for one in (*found.results, *found.refused)]
    platforms = {row.slug: row for row in Platform.objects.visible_to(request.user).filter(slug__in=named)}
    chosen = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    passing = {slug for slug, row in platforms.items() if all(getattr(row, k) == v for k, v in chosen.items())}
    best = found.results[0]["time_s"] if found.results else None
    rows = [
        (
            place,
            {**one, "relative_time": one["time_s"] / best, "known": one["origin"] if one["measured"] else ""},
            platforms[one["platform"]],
        )
        for place, one in enumerate(found.results, start=1)
        if one["platform"] in passing
    ]
    workload = Workload.objects.visible_to(request.user).filter(slug=found.workload).first()
    simulated = any(one["origin"] == "simulated" for _, one, _ in rows)
    origin = origin_of({"simulated": simulated, "include_simulated": include_simulated})
    unit = "unknown unit" if found.time_kind == "relative" else "s"
    return {
        "workload": workload,
        "rows": rows,
        "refused": [(platforms[one["platform"]], one["reason"]) for one in found.refused if one["platform"] in passing],
        "filters": [(name, chosen.get(name, ""), values_of(platforms.values(), name)) for name in FILTERS],
        "is_filtered": bool(chosen),
        "is_simulated": simulated,
        "known": known_as(origin),
        "time_unit": unit,
        "charts": mark_origin(charts_of(rows, unit, known_as(origin)), origin),
    }


def values_of(platforms: Any, name: str) -> list[str]:
    return sorted({value for row in platforms if (value := getattr(row, name))})


def charts_of(rows: Sequence[tuple[int, Mapping[str, Any], Platform]], unit: str, known: str) -> list[Chart]:
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
            f"The smallest predicted time over all thread counts, with its interval. The "
            f"{known} times were not used for the prediction.",
            times,
            measured=known,
            axis=f"smallest time t(n) ({unit})",
        )
    ]


def twin_of(found: Ranking, include_simulated: bool) -> str:
    asked = {"workload": found.workload, "method": found.method}
    return json_address(
        "api-rankings", query=urlencode(asked | ({"include_simulated": "true"} if include_simulated else {}))
    )
