"""A user's own predictions: listed, and deleted one by one or all at once."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.pages import csv_address, json_address, page_of
from mpet_site.web.tables import NAME, NUMBER, PageTable, TableColumn, text_link
from predictor.models import Prediction
from predictor.pages.predictions import rows_in_answer
from predictor.pages.settled import Named, rows_with_names, settled_workload_link, target_link
from predictor.predictions.service import remove_predictions
from profiles.templatetags.quantities import percent

WHAT_STAYS = (
    "A private prediction is deleted.",
    "One that rests on public data alone leaves your list. It is gone, unless somebody else asked the same question or "
    "a measurement has validated it: it counts for the track record then, without a name.",
)


def deletion_link(named: Named) -> str:
    prediction, workload, platform, _ = named
    address = reverse("delete-prediction", args=[prediction.uid])
    return text_link(address, "Delete", f"Delete {workload} on {platform}")


OWN_COLUMNS = (
    TableColumn("Workload", settled_workload_link, kind=NAME),
    TableColumn("Machine", target_link, kind=NAME),
    TableColumn("Method", lambda named: f"{named[0].method}, {named[0].method_version}"),
    TableColumn("Asked", lambda named: date_format(named[0].created_at, "j F Y")),
    TableColumn(
        "Error",
        lambda named: percent(named[0].error_full if named[0].is_settled else None),
        kind=NUMBER,
        term="validated",
    ),
    TableColumn("Delete", deletion_link),
)


@login_required
@require_safe
def own_predictions(request: HttpRequest) -> HttpResponse:
    page = page_of(request, Prediction.objects.mine(request.user).select_related("settled_by"))
    numbered = {"page": str(page.number)} if page.number > 1 else {}
    context = {
        "page": page,
        "table": PageTable("Your predictions", OWN_COLUMNS, rows_with_names(request, list(page), "")),
        "section": "predictions",
        "csv": csv_address("api-predictions", {"mine": "true"}, ("mine",)),
        "twin": json_address("api-predictions", query=urlencode({"mine": "true"} | numbered)),
    }
    return render(request, "predictor/mine.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    own = Prediction.objects.asked_by(request.user).filter(uid=uid)
    prediction = get_object_or_404(own)
    platforms, workloads = rows_in_answer(request.user, prediction.answer)
    names = {slug: row.name for slug, row in (platforms | workloads).items()}
    pair = " on ".join(names.get(slug, slug) for slug in (prediction.workload, prediction.target))
    return removal_page(request, own, f"Delete {pair}?", "Delete it")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_predictions(request: HttpRequest) -> HttpResponse:
    own = Prediction.objects.asked_by(request.user)
    return removal_page(request, own, f"Delete all your predictions ({own.count()})?", "Delete all of them")


def removal_page(request: HttpRequest, rows: Any, title: str, button: str) -> HttpResponse:
    """Asks first; POST deletes."""
    if request.method == "POST":
        removed = remove_predictions(rows, request.user)
        messages.success(request, f"{removed} prediction{' is' if removed == 1 else 's are'} deleted.")
        return redirect("own-predictions")
    context = {
        "title": title,
        "consequences": WHAT_STAYS,
        "button": button,
        "back": reverse("own-predictions"),
        "section": "predictions",
    }
    return render(request, "confirm.html", context)
