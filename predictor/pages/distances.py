"""Pages of all mean distances: heat maps, and a map of the workloads."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.comparisons import MODEL_OF_KIND, ComparedProfiles, MapQuestion, MatrixQuestion
from predictor.computations.asking import LongAnswer
from predictor.computations.responses import respond_with, shown_answer
from predictor.core.comparisons.documents import LARGEST_MATRIX, MOST_MAPPED
from predictor.core.comparisons.mean_distances import Kind
from predictor.figures.comparisons import MapPlace, map_chart
from predictor.pages.comparisons import compared_profiles, selecting_parameters, short_names
from predictor.pages.presenting import names_by_slug
from profiles.figures.base import mark_origin
from profiles.models import Workload
from profiles.pages.page_cache import kept_for_visitors
from profiles.templatetags import quantities

HEAT_MAP_SHADES = 8
SMALL_DISTANCES = 0.05  # two decimals do not distinguish smaller distances


@require_safe
@kept_for_visitors
def workloads_on_a_map(request: HttpRequest) -> HttpResponse:
    """Show all workloads on a map. `?origin=` selects the profiles and `?mark=` a workload to mark."""
    mark = request.GET.get("mark", "")
    selection = compared_profiles(request, "workloads", [mark])
    question = MapQuestion(selection.snapshot, selection.origins)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request, shown, "predictor/map.html", lambda: map_context(request, selection, shown.document, mark)
    )


def map_context(
    request: HttpRequest, selection: ComparedProfiles, document: Mapping[str, Any] | None, mark: str
) -> dict[str, Any]:
    """Return the map of a document without workloads that the user may no longer see, or an empty map without a
    document."""
    points = document["workloads"] if document else ()
    names = names_by_slug(Workload, request.user, [point["workload"] for point in points])
    places = [
        MapPlace(
            name=names[point["workload"]],
            strategy=point["strategy"],
            address=reverse("workload", args=[point["workload"]]),
            x=point["x"],
            y=point["y"],
            marked=point["workload"] == mark,
        )
        for point in points
        if point["workload"] in names
    ]
    with_position = [place for place in places if place.x is not None]
    return {
        "origin": selection.origin,
        "charts": mark_origin([map_chart(with_position, document["stress"])], selection.origin)
        if document and with_position
        else [],
        "apart": [place for place in places if place.x is None],
        "places": places,
        "marked": names.get(mark),
        "is_cut": len(places) == MOST_MAPPED,
        "section": "map",
        "sources": selection.credits(),
        "twin": json_address("api-workload-map", query=urlencode(selecting_parameters(request, selection))),
    }


@require_safe
@kept_for_visitors
def distances(request: HttpRequest, kind: Kind) -> HttpResponse:
    """Show all mean distances as a heat map.

    `?near=<slug>` sorts rows and columns by their distance to this slug, and `?origin=` selects the profiles.
    """
    nearest_to = request.GET.get("near", "")
    selection = compared_profiles(request, kind, [nearest_to])
    question = MatrixQuestion(selection.snapshot, selection.origins, kind)
    shown = shown_answer(request, question, request.user)
    return respond_with(
        request, shown, "predictor/distances.html", lambda: matrix_context(request, selection, kind, shown, nearest_to)
    )


def matrix_context(
    request: HttpRequest, selection: ComparedProfiles, kind: Kind, shown: LongAnswer, nearest_to: str
) -> dict[str, Any]:
    """Return the matrix of a document without slugs that the user may no longer see, or no rows without a document."""
    slugs = shown.document["slugs"] if shown.document else ()
    names = short_names(names_by_slug(MODEL_OF_KIND[kind], request.user, slugs), selection.origin)
    context = {
        "kind": kind,
        "origin": selection.origin,
        "near": nearest_to if nearest_to in names else "",
        "shades": range(HEAT_MAP_SHADES),
        "is_cut": len(slugs) == LARGEST_MATRIX,
        "section": kind,
        "sources": selection.credits(),
        "twin": json_address(f"api-{kind[:-1]}-matrix", query=urlencode(selecting_parameters(request, selection))),
    }
    return context | (matrix_rows(kind, shown.document, names, nearest_to) if shown.document else {})


def matrix_rows(kind: Kind, matrix: Mapping[str, Any], names: Mapping[str, str], nearest_to: str) -> dict[str, Any]:
    """Return the heads and rows of the heat map, in the order of the matrix or by their distance to `nearest_to`."""
    slugs, count = matrix["slugs"], matrix["count"]
    mean = np.array(matrix["mean"], dtype=np.float64)
    order = list(range(len(slugs)))
    if nearest_to in slugs:
        order = mean[slugs.index(nearest_to)].argsort(kind="stable").tolist()
        order.sort(key=lambda index: slugs[index] != nearest_to)
    order = [index for index in order if slugs[index] in names]
    largest = max(mean[np.isfinite(mean)].tolist(), default=0.0) or 1.0
    unit = 10.0 ** math.floor(math.log10(largest)) if largest < SMALL_DISTANCES else 1.0
    heads = [(slugs[index], names[slugs[index]]) for index in order]
    return {
        "unit": unit,
        "heads": heads,
        "rows": [
            (
                slugs[a],
                name,
                SafeString(
                    "".join(
                        heat_map_cell(kind, (slugs[a], name), slugs[b], (mean[a, b], count[a][b]), (largest, unit))
                        for b in order
                    )
                ),
            )
            for a, (_, name) in zip(order, heads, strict=True)
        ],
        "largest": largest,
    }


def heat_map_cell(
    kind: Kind, row: tuple[str, str], column: str, distance: tuple[float, int], scale: tuple[float, float]
) -> SafeString:
    """Return one cell of the heat map.

    A template would be too slow for up to 40,000 cells. `row` holds slug and name, `distance` the mean and the number
    of pairs, and `scale` the largest mean and the unit of the numbers.
    """
    (slug, name), (mean, count), (largest, unit), parameter = row, distance, scale, kind[:-1]
    defined = bool(np.isfinite(mean))
    exact = format_html(' data-distance="{}"', repr(float(mean))) if defined else ""
    if slug == column or not defined:
        return format_html('<td class="heat"{}>{}</td>', exact, "·" if slug == column else quantities.DASH)
    return format_html(
        '<td class="heat heat-{}"{}><a href="/compare/{}/?{}" title="{}, {}: {} over {}">{}</a></td>',
        min(HEAT_MAP_SHADES - 1, int(HEAT_MAP_SHADES * mean / largest)),
        exact,
        kind,
        urlencode([(parameter, slug), (parameter, column)]),
        name,
        column,
        quantities.significant(float(mean)),
        count,
        f"{mean / unit:.2f}",
    )
