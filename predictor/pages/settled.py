"""The page that keeps the score: predictions whose pair was measured later."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import csv_address, json_address, order_rows, page_of
from predictor.accuracy.settlement import ORDERINGS, ORIGINS, scores
from predictor.models import Prediction
from profiles.models import Platform, Workload


@require_safe
def settled(request: HttpRequest) -> HttpResponse:
    """What was measured and what was simulated are kept apart; `?origin=` chooses."""
    there = Prediction.objects.settled_origins(request.user)
    asked = request.GET.get("origin", "")
    origin = asked if asked in ORIGINS else next((one for one in ORIGINS if one in there), ORIGINS[0])
    ordering = request.GET.get("ordering", "")
    rows = Prediction.objects.settled_for(request.user, origin).select_related("settled_by")
    page = page_of(request, order_rows(rows, ordering, ORDERINGS))
    chosen = {"settled": "true", "origin": origin} | ({"ordering": ordering} if ordering in known_orderings() else {})
    numbered = {"page": str(page.number)} if page.number > 1 else {}
    context = {
        "page": page,
        "ordering": ordering,
        "origin": origin,
        "origins": [one for one in ORIGINS if one in there],
        "scores": scores(request.user, origin),
        "rows": names_of(request, list(page)),
        "score_twin": json_address("api-score", query=urlencode({"origin": origin})),
        "csv": csv_address("api-predictions", chosen, ("settled", "origin")),
        "section": "accuracy",
        "twin": json_address("api-predictions", query=urlencode(chosen | numbered)),
    }
    return render(request, "predictor/settled.html", context)


def known_orderings() -> set[str]:
    return {sign + name for name in ORDERINGS for sign in ("", "-")}


def names_of(request: HttpRequest, rows: list[Prediction]) -> list[tuple[Prediction, str, str]]:
    """Every prediction with the names of its workload and target, or their slugs where they are gone."""
    workloads = Workload.objects.visible_to(request.user).filter(slug__in=[row.workload for row in rows])
    platforms = Platform.objects.visible_to(request.user).filter(slug__in=[row.target for row in rows])
    workload, platform = (dict(found.values_list("slug", "name")) for found in (workloads, platforms))
    return [(row, workload.get(row.workload, row.workload), platform.get(row.target, row.target)) for row in rows]
