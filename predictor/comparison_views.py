"""Pages about likeness and difference. What they show is what the viewer's predictions may use."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.pages import twin
from predictor.api.comparisons import FEWEST, MOST, ORIGINS
from predictor.comparison_figures import Place, characteristic_charts, curves_of, map_chart, speed_chart
from predictor.core.comparison import (
    LARGEST_MAP,
    LARGEST_MATRIX,
    compared_platforms,
    compared_workloads,
    distance_matrix,
    most_alike,
    workload_map,
)
from predictor.core.database import Database
from predictor.core.similarity import Kind
from predictor.similarity import MODELS, database_about, index_of
from predictor.snapshot import snapshot
from profiles.figures import MEASURES, comparison_charts, series_style
from profiles.models import Platform, Source, Workload

OFFERED = 2000
SHOWN_IN_FIGURE_9 = 8
SHADES = 8  # of a heat map


def database_of(request: HttpRequest) -> tuple[Database, str]:
    """Of the origin asked for; else the measured profiles, or the simulated ones where nothing was measured."""
    asked = request.GET.get("origin", "")
    if asked not in ORIGINS:
        measured = snapshot(request.user)
        if len(measured):
            return measured, "measured"
        asked = "simulated"
    return snapshot(request.user, origins=ORIGINS[asked]), asked


def names_of(user: Any, kind: Kind, slugs: Sequence[str]) -> dict[str, str]:
    rows = MODELS[kind].objects.visible_to(user).filter(slug__in=set(slugs))
    return dict(rows.values_list("slug", "name"))


@require_safe
def workloads_on_a_map(request: HttpRequest) -> HttpResponse:
    """?origin=, and ?mark= a workload."""
    database, origin = database_of(request)
    found = workload_map(database)
    names = names_of(request.user, "workloads", [one["workload"] for one in found["workloads"]])
    marked = request.GET.get("mark", "")
    places = [
        Place(
            name=names.get(one["workload"], one["workload"]),
            strategy=one["strategy"],
            address=reverse("workload", args=[one["workload"]]),
            x=one["x"],
            y=one["y"],
            marked=one["workload"] == marked,
        )
        for one in found["workloads"]
    ]
    context = {
        "origin": origin,
        "charts": [map_chart(places, found["stress"])] if places else [],
        "places": places,
        "marked": names.get(marked),
        "is_cut": len(places) == LARGEST_MAP,
        "section": "workloads",
        "sources": Source.objects.datasets_seen_by(request.user),
        "twin": twin("api-workload-map", query=urlencode({"origin": origin})),
    }
    return render(request, "predictor/map.html", context)


@require_safe
def distances(request: HttpRequest, kind: Kind) -> HttpResponse:
    """All mean distances as a heat map; ?near=<slug> sorts rows and columns by their distance to one, ?origin=."""
    database, origin = database_of(request)
    found = distance_matrix(database, kind)
    slugs, mean, count = found["slugs"], found["mean"], found["count"]
    near = request.GET.get("near", "")
    order = list(range(len(slugs)))
    if near in slugs:
        order = mean[slugs.index(near)].argsort(kind="stable").tolist()
        order.sort(key=lambda at: slugs[at] != near)
    names = names_of(request.user, kind, slugs)
    finite = mean[np.isfinite(mean)].tolist()
    largest = max(finite, default=0.0) or 1.0
    heads = [(slugs[at], names.get(slugs[at], slugs[at])) for at in order]
    context = {
        "kind": kind,
        "origin": origin,
        "near": near if near in slugs else "",
        "heads": heads,
        "rows": [
            (slugs[a], name, [cell(mean[a, b], int(count[a, b]), largest, slugs[b], slugs[a]) for b in order])
            for a, (_, name) in zip(order, heads, strict=True)
        ],
        "largest": largest,
        "shades": range(SHADES),
        "parameter": kind[:-1],
        "is_cut": len(slugs) == LARGEST_MATRIX,
        "section": kind,
        "twin": twin(f"api-{kind[:-1]}-matrix", query=urlencode({"origin": origin})),
    }
    return render(request, "predictor/distances.html", context)


def cell(mean: float, count: int, largest: float, column: str, row: str) -> dict[str, Any]:
    defined = np.isfinite(mean)
    return {
        "column": column,
        "itself": row == column,
        "distance": float(mean) if defined else None,
        "count": count,
        "shade": min(SHADES - 1, int(SHADES * mean / largest)) if defined else "none",
    }


def chosen_of(request: HttpRequest, parameter: str) -> tuple[str, ...]:
    """The first six slugs given, each once."""
    return tuple(dict.fromkeys(slug for slug in request.GET.getlist(parameter) if slug))[:MOST]


@require_safe
def compare(request: HttpRequest, kind: Kind) -> HttpResponse:
    """Platforms: ?platform=&platform=[&workload=]. Workloads: ?workload=&workload=&on=<platform>. Without a choice,
    those with the most profiles, under an address that holds it."""
    parameter = kind[:-1]
    chosen = chosen_of(request, parameter)
    if not chosen:
        database, _ = database_of(request)
        slugs = database.platforms if kind == "platforms" else database.workloads
        default = [slugs[at] for at in most_alike(database, kind)]
        if len(default) == FEWEST:
            return redirect(f"{request.path}?{urlencode({parameter: default}, doseq=True)}")
    names = names_of(request.user, kind, chosen)
    if any(slug not in names for slug in chosen):
        raise Http404
    build = platforms_compared if kind == "platforms" else workloads_compared
    offered = {name: MODELS[name].objects.offered_to(request.user)[:OFFERED] for name in ("platforms", "workloads")}
    context = {
        "kind": kind,
        "parameter": parameter,
        "chosen": [(slug, names[slug], " ".join(series_style(at))) for at, slug in enumerate(chosen)],
        "free": range(min(MOST - len(chosen), max(1, FEWEST - len(chosen)))),
        "section": "compare",
        **offered,
        **(build(request, chosen, names) if len(chosen) >= FEWEST else {}),
    }
    return render(request, "predictor/compare.html", context)


def platforms_compared(request: HttpRequest, chosen: tuple[str, ...], names: dict[str, str]) -> dict[str, Any]:
    database, simulated = database_about(request.user, "platforms", chosen)
    places = [at for at in (index_of(database.platforms, slug) for slug in chosen) if at is not None]
    found = compared_platforms(database, places)
    shared = found["workloads"]
    names = names | names_of(request.user, "workloads", [one["workload"] for one in shared])
    asked = request.GET.get("workload", "")
    drawn = next((one for one in shared if one["workload"] == asked), shared[0] if shared else None)
    relative = relative_among(request.user, [one["workload"] for one in shared])
    charts, characteristics = [], []
    if drawn:
        by_slug = {one["platform"]: one for one in drawn["platforms"]}
        rows = [by_slug.get(slug, {"curve": [], "t1_s": float("nan")}) for slug in chosen]
        charts = comparison_charts(
            curves_of(rows, [names[slug] for slug in chosen]), unit_of({drawn["workload"]} & relative)
        )
        first = shared[:SHOWN_IN_FIGURE_9]
        characteristics = characteristic_charts(
            [names.get(one["workload"], one["workload"]) for one in first],
            {names[slug]: [characteristics_in(one, slug) for one in first] for slug in chosen},
        )
    return {
        "summary": found["platforms"],
        "names": names,
        "shared": [(one, names.get(one["workload"], one["workload"]), cells(one, chosen)) for one in shared],
        "drawn": drawn,
        "drawn_name": drawn and names.get(drawn["workload"], drawn["workload"]),
        "relative": relative,
        "charts": charts,
        "speed": [speed_chart(shared, chosen, names)] if shared else [],
        "characteristics": characteristics,
        "simulated": simulated,
        "twin": twin("api-compare-platforms", query=urlencode(twin_of(chosen, simulated))),
    }


def twin_of(chosen: Sequence[str], simulated: bool) -> dict[str, str]:
    return {"slugs": ",".join(chosen)} | ({"origin": "simulated"} if simulated else {})


def characteristics_in(workload: dict[str, Any], platform: str) -> dict[str, float] | None:
    return next((one["characteristics"] for one in workload["platforms"] if one["platform"] == platform), None)


def cells(workload: dict[str, Any], chosen: Sequence[str]) -> list[dict[str, Any] | None]:
    by_slug = {one["platform"]: one for one in workload["platforms"]}
    return [by_slug.get(slug) for slug in chosen]


def relative_among(user: Any, slugs: Sequence[str]) -> set[str]:
    """Those whose times are in an unknown unit."""
    rows = Workload.objects.visible_to(user).filter(slug__in=slugs, time_kind=Workload.TimeKind.RELATIVE)
    return set(rows.values_list("slug", flat=True))


def unit_of(relative: set[str]) -> str:
    return "unknown unit" if relative else "s"


def workloads_compared(request: HttpRequest, chosen: tuple[str, ...], names: dict[str, str]) -> dict[str, Any]:
    database, simulated = database_about(request.user, "workloads", chosen)
    places = [at for at in (index_of(database.workloads, slug) for slug in chosen) if at is not None]
    on = platform_with_most(database, places, request.GET.get("on", ""))
    if on is None:
        return {"summary": [], "simulated": simulated}
    found = compared_workloads(database, on, places)
    rows = {one["workload"]: one for one in found["workloads"]}
    drawn = [rows.get(slug, {"curve": [], "t1_s": float("nan")}) for slug in chosen]
    show = request.GET.get("show", "")
    shown = (show,) if show in MEASURES else ("time", "speedup")
    known = [slug for slug in chosen if slug in rows]
    platform = Platform.objects.visible_to(request.user).get(slug=found["platform"])
    unit = unit_of(relative_among(request.user, known))
    return {
        "on": platform,
        "summary": [rows.get(slug) for slug in chosen],
        "names": names,
        "charts": comparison_charts(curves_of(drawn, [names[slug] for slug in chosen]), unit, shown),
        "characteristics": characteristic_charts(
            [names[slug] for slug in known], {platform.name: [rows[slug]["characteristics"] for slug in known]}
        ),
        "time_unit": unit,
        "simulated": simulated,
        "twin": twin("api-compare-workloads", query=urlencode(twin_of(chosen, simulated) | {"on": platform.slug})),
    }


def platform_with_most(database: Database, workloads: Sequence[int], asked: str) -> int | None:
    """The platform asked for; else the one that has most of the workloads."""
    at = index_of(database.platforms, asked)
    if at is not None:
        return at
    counts: dict[int, int] = {}
    for workload in workloads:
        for platform in set(database.platform_index[database.rows_of_workload(workload)].tolist()):
            counts[platform] = counts.get(platform, 0) + 1
    return max(counts, key=lambda one: (counts[one], -one)) if counts else None
