"""The pages of all mean distances: the heat maps, and the workloads on a map."""

from typing import Any

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.comparisons.selection import MODEL_OF_KIND
from predictor.core.comparisons.documents import LARGEST_MAP, LARGEST_MATRIX, distance_matrix, workload_map
from predictor.core.comparisons.mean_distances import Kind
from predictor.figures.comparisons import MapPlace, map_chart
from predictor.pages.comparisons import compared_profiles, datasets_compared, short_names
from predictor.pages.presenting import names_by_slug
from profiles.figures import mark_origin
from profiles.models import Workload

HEAT_MAP_SHADES = 8  # of a heat map


@require_safe
def workloads_on_a_map(request: HttpRequest) -> HttpResponse:
    """?origin=, and ?mark= a workload."""
    mark = request.GET.get("mark", "")
    selection = compared_profiles(request, "workloads", [mark])
    similarity_map = workload_map(selection.database)
    names = names_by_slug(Workload, request.user, [point.workload for point in similarity_map.points])
    places = [
        MapPlace(
            name=names.get(point.workload, point.workload),
            strategy=point.strategy,
            address=reverse("workload", args=[point.workload]),
            x=point.x,
            y=point.y,
            marked=point.workload == mark,
        )
        for point in similarity_map.points
    ]
    with_position = [place for place in places if np.isfinite(place.x)]
    context = {
        "origin": selection.origin,
        "charts": mark_origin([map_chart(with_position, similarity_map.stress)], selection.origin)
        if with_position
        else [],
        "apart": [place for place in places if not np.isfinite(place.x)],
        "places": places,
        "marked": names.get(mark),
        "is_cut": len(places) == LARGEST_MAP,
        "section": "workloads",
        "sources": datasets_compared(request.user, selection),
        "twin": json_address("api-workload-map", query=urlencode(selection.parameters)),
    }
    return render(request, "predictor/map.html", context)


@require_safe
def distances(request: HttpRequest, kind: Kind) -> HttpResponse:
    """All mean distances as a heat map; ?near=<slug> sorts rows and columns by their distance to one, ?origin=."""
    near = request.GET.get("near", "")
    selection = compared_profiles(request, kind, [near])
    matrix = distance_matrix(selection.database, kind)
    slugs, mean, count = matrix.slugs, matrix.mean, matrix.count
    order = list(range(len(slugs)))
    if near in slugs:
        order = mean[slugs.index(near)].argsort(kind="stable").tolist()
        order.sort(key=lambda index: slugs[index] != near)
    names = short_names(names_by_slug(MODEL_OF_KIND[kind], request.user, slugs), selection.origin)
    finite = mean[np.isfinite(mean)].tolist()
    largest = max(finite, default=0.0) or 1.0
    heads = [(slugs[index], names.get(slugs[index], slugs[index])) for index in order]
    context = {
        "kind": kind,
        "origin": selection.origin,
        "near": near if near in slugs else "",
        "heads": heads,
        "rows": [
            (slugs[a], name, [heat_map_cell(mean[a, b], int(count[a, b]), largest, slugs[b], slugs[a]) for b in order])
            for a, (_, name) in zip(order, heads, strict=True)
        ],
        "largest": largest,
        "shades": range(HEAT_MAP_SHADES),
        "parameter": kind[:-1],
        "is_cut": len(slugs) == LARGEST_MATRIX,
        "section": kind,
        "sources": datasets_compared(request.user, selection),
        "twin": json_address(f"api-{kind[:-1]}-matrix", query=urlencode(selection.parameters)),
    }
    return render(request, "predictor/distances.html", context)


def heat_map_cell(mean: float, count: int, largest: float, column: str, row: str) -> dict[str, Any]:
    defined = np.isfinite(mean)
    return {
        "column": column,
        "itself": row == column,
        "distance": float(mean) if defined else None,
        "exact": repr(float(mean)) if defined else "",
        "count": count,
        "shade": min(HEAT_MAP_SHADES - 1, int(HEAT_MAP_SHADES * mean / largest)) if defined else "none",
    }
