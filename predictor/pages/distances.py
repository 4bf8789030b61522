"""The pages of all mean distances: the heat maps, and the workloads on a map."""

from typing import Any

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.core.comparisons.documents import LARGEST_MAP, LARGEST_MATRIX, distance_matrix, workload_map
from predictor.core.comparisons.mean_distances import Kind
from predictor.figures.comparisons import Place, map_chart
from predictor.pages.comparisons import in_figures, names_of, selection_of, sources_of
from profiles.figures import mark_origin

SHADES = 8  # of a heat map


@require_safe
def workloads_on_a_map(request: HttpRequest) -> HttpResponse:
    """?origin=, and ?mark= a workload."""
    mark = request.GET.get("mark", "")
    selection = selection_of(request, "workloads", [mark])
    similarity_map = workload_map(selection.database)
    names = names_of(request.user, "workloads", [point.workload for point in similarity_map.points])
    places = [
        Place(
            name=names.get(point.workload, point.workload),
            strategy=point.strategy,
            address=reverse("workload", args=[point.workload]),
            x=point.x,
            y=point.y,
            marked=point.workload == mark,
        )
        for point in similarity_map.points
    ]
    placed = [place for place in places if np.isfinite(place.x)]
    context = {
        "origin": selection.origin,
        "charts": mark_origin([map_chart(placed, similarity_map.stress)], selection.origin) if placed else [],
        "apart": [place for place in places if not np.isfinite(place.x)],
        "places": places,
        "marked": names.get(mark),
        "is_cut": len(places) == LARGEST_MAP,
        "section": "workloads",
        "sources": sources_of(request.user, selection),
        "twin": json_address("api-workload-map", query=urlencode(selection.asked)),
    }
    return render(request, "predictor/map.html", context)


@require_safe
def distances(request: HttpRequest, kind: Kind) -> HttpResponse:
    """All mean distances as a heat map; ?near=<slug> sorts rows and columns by their distance to one, ?origin=."""
    near = request.GET.get("near", "")
    selection = selection_of(request, kind, [near])
    matrix = distance_matrix(selection.database, kind)
    slugs, mean, count = matrix.slugs, matrix.mean, matrix.count
    order = list(range(len(slugs)))
    if near in slugs:
        order = mean[slugs.index(near)].argsort(kind="stable").tolist()
        order.sort(key=lambda at: slugs[at] != near)
    names = in_figures(names_of(request.user, kind, slugs), selection.origin)
    finite = mean[np.isfinite(mean)].tolist()
    largest = max(finite, default=0.0) or 1.0
    heads = [(slugs[at], names.get(slugs[at], slugs[at])) for at in order]
    context = {
        "kind": kind,
        "origin": selection.origin,
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
        "sources": sources_of(request.user, selection),
        "twin": json_address(f"api-{kind[:-1]}-matrix", query=urlencode(selection.asked)),
    }
    return render(request, "predictor/distances.html", context)


def cell(mean: float, count: int, largest: float, column: str, row: str) -> dict[str, Any]:
    defined = np.isfinite(mean)
    return {
        "column": column,
        "itself": row == column,
        "distance": float(mean) if defined else None,
        "exact": repr(float(mean)) if defined else "",
        "count": count,
        "shade": min(SHADES - 1, int(SHADES * mean / largest)) if defined else "none",
    }
