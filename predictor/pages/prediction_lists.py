"""Lists of stored predictions: validated predictions with the track record of each method, and the predictions of the
signed-in user, who can delete them one by one or all at once."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.lists import order_rows, ordering_refusal
from mpet_site.web.pages import csv_address, json_address, list_query, page_of
from mpet_site.web.tables import NAME, NUMBER, PageTable, TableColumn, show_attribute, text_link
from predictor.accuracy.settlement import SETTLED_ORDERINGS, scores
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.models import Prediction
from predictor.pages.predictions import rows_in_answer
from predictor.pages.presenting import names_by_slug
from predictor.predictions.service import remove_predictions
from profiles.models import Platform, Workload
from profiles.scaling.wording import counted
from profiles.templatetags.quantities import DASH, percent, significant, unmarked

# A prediction, the name of its workload, the name of its target, and the URL of the target's page (empty if the target
# no longer exists).
Named = tuple[Prediction, str, str, str]


def settled_workload_link(named: Named) -> SafeString:
    prediction, workload, *_ = named
    link = text_link(reverse("prediction", args=[prediction.uid]), workload)
    return format_html('{} <span class="badge private">private</span>', link) if prediction.private_to_id else link


def target_link(named: Named) -> str:
    _, _, machine, address = named
    return text_link(address, machine) if address else machine


def measured_on(named: Named) -> str:
    prediction, *_ = named
    day = date_format(prediction.settled_at, "j F Y") if prediction.settled_at else DASH
    profile = prediction.settled_by
    return text_link(reverse("profile", args=[profile.uid]), day) if profile else day


def points_inside(named: Named) -> str:
    prediction, *_ = named
    return f"{prediction.points_inside} of {prediction.points}" if prediction.points else DASH


def counts(named: Named) -> str:
    prediction, *_ = named
    return "yes" if prediction.is_blind else f"no: {prediction.get_doubt_display() or 'leave-one-out'}"


COLUMNS = (
    TableColumn("Workload", settled_workload_link, sort="workload", kind=NAME),
    TableColumn("Machine", target_link, sort="target", kind=NAME),
    TableColumn("Method", lambda named: f"{named[0].method}, {named[0].method_version}", sort="method"),
    TableColumn("Measured", measured_on, sort="settled_at"),
    TableColumn("Error", lambda named: percent(named[0].error_full), sort="error", kind=NUMBER, term="error"),
    TableColumn("t(1)", lambda named: percent(named[0].error_t1), sort="t1_error", kind=NUMBER, term="t"),
    TableColumn("Scaling", lambda named: percent(named[0].error_scaling), sort="scaling_error", kind=NUMBER),
    TableColumn("Inside the interval", points_inside, kind=NUMBER, term="coverage"),
    TableColumn("Counts", counts),
)

SCORE_COLUMNS = (
    TableColumn("Method", show_attribute("method")),
    TableColumn("Version", show_attribute("method_version")),
    TableColumn("Predictions", show_attribute("count"), kind=NUMBER),
    TableColumn("Owners", show_attribute("owners"), kind=NUMBER),
    TableColumn("Mean error", show_attribute("mean_error_percent", significant), kind=NUMBER, term="error"),
    TableColumn("Median error", show_attribute("median_error_percent", significant), kind=NUMBER, term="percentile"),
    TableColumn("Coverage", show_attribute("coverage", percent), kind=NUMBER, term="coverage"),
)
SCORE_CAPTION = (
    "Track record by method and version: error in %, mean over the measured thread counts and over the owners"
)


@require_safe
def settled(request: HttpRequest) -> HttpResponse:
    """Show the validated predictions and the track record for one origin of the measurements.

    Measured and simulated profiles are never mixed. `?origin=` selects one of them.
    """
    stored_origins = Prediction.objects.settled_origins(request.user)
    origins = [candidate for candidate in PREDICTION_ORIGINS if candidate in stored_origins]
    origin = request.GET.get("origin", "")
    if origin not in PREDICTION_ORIGINS:
        origin = next(iter(origins), PREDICTION_ORIGINS[0])
    ordering = request.GET.get("ordering", "")
    refusal = ordering_refusal(ordering, SETTLED_ORDERINGS)
    rows = Prediction.objects.settled_for(request.user, origin).select_related("settled_by")
    page = page_of(request, order_rows(rows, ordering, SETTLED_ORDERINGS))
    chosen = {"settled": "true", "origin": origin} | ({"ordering": ordering} if ordering and not refusal else {})
    named = rows_with_names(request, list(page), origin)
    numbered = {"page": str(page.number)} if page.number > 1 else {}
    context = {
        "page": page,
        "ordering": ordering,
        "refusals": [{"name": "ordering", "reason": refusal}] if refusal else [],
        "origin": origin,
        "origins": origins,
        "scores": PageTable("Track record by method", SCORE_COLUMNS, scores(request.user, origin), SCORE_CAPTION),
        "table": PageTable("Validated predictions", COLUMNS, named, ordering=ordering),
        "score_twin": json_address("api-score", query=urlencode({"origin": origin})),
        "csv": csv_address("api-predictions", chosen, ("settled", "origin")),
        "section": "settled",
        "twin": json_address("api-predictions", query=urlencode(chosen | numbered)),
    }
    return render(request, "predictor/settled.html", context)


def rows_with_names(request: HttpRequest, rows: list[Prediction], origin: str) -> list[Named]:
    """Return each prediction with the names of its workload and target, or with their slugs if they no longer exist.

    The suffix for `origin` is removed from the names, because a badge on the page shows the origin.
    """
    workloads = names_by_slug(Workload, request.user, [row.workload for row in rows])
    platforms = names_by_slug(Platform, request.user, [row.target for row in rows])
    workload, platform = (
        {slug: unmarked(name, origin) for slug, name in names.items()} for names in (workloads, platforms)
    )
    return [
        (
            row,
            workload.get(row.workload, row.workload),
            platform.get(row.target, row.target),
            reverse("platform", args=[row.target]) if row.target in platform else "",
        )
        for row in rows
    ]


WHAT_STAYS = (
    "A private prediction is deleted.",
    "A prediction from public data only is removed from your list. It is also deleted, unless another user requested "
    "it or a measurement validated it. A validated prediction stays in the track record, without your name.",
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
    context = {
        "page": page,
        "table": PageTable("Your predictions", OWN_COLUMNS, rows_with_names(request, list(page), "")),
        "section": "predictions",
        "csv": csv_address("api-predictions", {"mine": "true"}, ("mine",)),
        "twin": json_address("api-predictions", query=list_query({"mine": "true"}, page, ("mine",))),
    }
    return render(request, "predictor/mine.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    predictions = Prediction.objects.asked_by(request.user).filter(uid=uid)
    prediction = get_object_or_404(predictions)
    platforms, workloads = rows_in_answer(request.user, prediction.answer)
    names = {slug: row.name for slug, row in (platforms | workloads).items()}
    pair = " on ".join(names.get(slug, slug) for slug in (prediction.workload, prediction.target))
    return removal_page(request, predictions, f"Delete {pair}?", "Delete it")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_predictions(request: HttpRequest) -> HttpResponse:
    predictions = Prediction.objects.asked_by(request.user)
    return removal_page(request, predictions, f"Delete all your predictions ({predictions.count()})?", "Delete all")


def removal_page(request: HttpRequest, rows: Any, title: str, button: str) -> HttpResponse:
    """Show a confirmation page on GET and delete the predictions on POST."""
    if request.method == "POST":
        removed = remove_predictions(rows, request.user)
        messages.success(request, f"{counted(removed, 'prediction')} deleted.")
        return redirect("own-predictions")
    context = {
        "title": title,
        "consequences": WHAT_STAYS,
        "button": button,
        "back": reverse("own-predictions"),
        "section": "predictions",
    }
    return render(request, "confirm.html", context)
