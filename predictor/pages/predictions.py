"""The form of a prediction, the page of a stored one, and what to measure next for it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from mpet_site.web.pages import json_address
from predictor.figures.answer import answer_charts, answer_drawing, answer_origin, measured_label
from predictor.figures.candidates import candidate_charts
from predictor.figures.platforms import sequential_charts
from predictor.models import Prediction
from predictor.pages import snippets
from predictor.pages.candidate_curves import candidate_curves
from predictor.pages.forms import PredictionForm
from predictor.pages.offers import MOST_NAMES_IN_LIST
from predictor.pages.presenting import answer_facts, breakpoints_of, rows_by_slug
from predictor.predictions.feasibility import Possibility, possibility
from predictor.predictions.next_measurements import next_measurements
from predictor.predictions.request import RequestError
from predictor.predictions.service import predict
from profiles.figures import mark_origin
from profiles.models import Platform, Workload

POSSIBILITY_FIELDS = ("workload", "target", "scenario", "strategy", "method")


def prediction_form(request: HttpRequest) -> HttpResponse:
    """GET shows the form, filled from ?workload=&target=&method=; POST answers with the stored prediction's page."""
    form = PredictionForm(request.POST if request.method == "POST" else None, initial=request.GET.dict())
    if form.is_valid():
        try:
            prediction = predict(form.prediction_request(), request.user)
        except RequestError as error:
            form.refuse(error)
        else:
            return redirect("prediction", uid=prediction.uid)
    context = {
        "form": form,
        "possible": possibility_of_fields(
            request, {name: str(form[name].value() or "") for name in POSSIBILITY_FIELDS}
        ),
        "workloads": Workload.objects.offered_to(request.user)[:MOST_NAMES_IN_LIST],
        "platforms": Platform.objects.offered_to(request.user)[:MOST_NAMES_IN_LIST],
        "section": "predict",
        "twin": json_address("api-methods"),
    }
    return render(request, "predictor/predict.html", context, status=422 if form.errors else 200)


@require_safe
def possible(request: HttpRequest) -> HttpResponse:
    """The part of the form's page that says what can be predicted for what is in its fields now."""
    possibility_shown = possibility_of_fields(request, {name: request.GET.get(name, "") for name in POSSIBILITY_FIELDS})
    return render(request, "predictor/possible.html", {"possible": possibility_shown})


def possibility_of_fields(request: HttpRequest, fields: dict[str, str]) -> Possibility | None:
    return possibility(request.user, **fields | {"scenario": fields["scenario"] or "migration"})


@require_safe
def prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    """The stored answer: what it says, why, what it was made from, and how to ask it again."""
    stored = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    answer = stored.answer
    platforms, workloads = rows_in_answer(request.user, answer)
    target = platforms.get(answer["target"])
    names = {slug: row.name for slug, row in (platforms | workloads).items()}
    drawing = answer_drawing(answer, names, breakpoints_of(target, answer))
    behind = candidate_curves(answer, request.user)
    origin = answer_origin(answer)
    context = {
        "prediction": stored,
        "answer": answer,
        "target": target,
        "workload": workloads.get(answer["workload"]),
        "candidates": {
            purpose: [(row, platforms.get(row["platform"]), workloads.get(row["workload"])) for row in rows]
            for purpose, rows in answer["candidates"].items()
        },
        "has_negative_weights": any((row["weight"] or 0) < 0 for row in candidates_in(answer)),
        "charts": mark_origin(answer_charts(drawing) or sequential_charts(answer, names, drawing.time_unit), origin),
        "candidate_charts": mark_origin(candidate_charts(drawing, behind, names, answer["workload"]), origin),
        "carried": [(row, names.get(row["name"], row["name"])) for row in answer.get("why", {}).get("carried", [])],
        "known": measured_label(origin),
        "time_unit": drawing.time_unit,
        **answer_facts(answer),
        **prediction_snippets(request, stored),
        "sources": answer["sources"],
        "section": "predict",
        "twin": json_address("api-prediction", stored.uid),
    }
    return render(request, "predictor/prediction.html", context)


@require_safe
@vary_on_headers("HX-Request")
def next_measurements_page(request: HttpRequest, uid: Any) -> HttpResponse:
    """Which measurements would narrow the interval most: a page, or the part of one that htmx asks for."""
    stored = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    document = next_measurements(stored, request.user)
    platforms, workloads = rows_named_in(request.user, [pair_of_answer(stored.answer), *document["results"]])
    context = {
        "prediction": stored,
        "answer": stored.answer,
        "workload": workloads.get(stored.answer["workload"]),
        "target": platforms.get(stored.answer["target"]),
        "method": document["method"],
        "known": measured_label(answer_origin(stored.answer)),
        "rows": [(row, workloads.get(row["workload"]), platforms.get(row["platform"])) for row in document["results"]],
        "section": "predict",
        "twin": json_address("api-measure-next", stored.uid),
    }
    is_part = request.headers.get("HX-Request") == "true"
    return render(request, f"predictor/measure_next{'_rows' if is_part else ''}.html", context)


def prediction_snippets(request: HttpRequest, stored: Prediction) -> dict[str, str]:
    address = request.build_absolute_uri(reverse("api-predictions"))
    return {
        "curl": snippets.curl_command(stored.answer, address),
        "python": snippets.python_program(stored.answer, address),
        "stored": request.build_absolute_uri(reverse("api-prediction", args=[stored.uid])),
        "question": urlencode({name: stored.answer[name] for name in ("workload", "target", "method")}),
    }


def rows_in_answer(user: Any, answer: dict[str, Any]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """By slug, the platforms and workloads that an answer names and that the user may still see."""
    return rows_named_in(user, [pair_of_answer(answer), *answer["reference_curves"], *candidates_in(answer)])


def pair_of_answer(answer: dict[str, Any]) -> dict[str, Any]:
    return {"platform": answer["target"], "workload": answer["workload"]}


def candidates_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in answer["candidates"].values() for row in rows]


def rows_named_in(user: Any, rows: list[dict[str, Any]]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """By slug, the stored platforms and workloads that rows with a platform, a workload or both name."""
    platforms = {row["platform"] for row in rows if "platform" in row}
    workloads = {row["workload"] for row in rows if "workload" in row}
    return rows_by_slug(Platform, user, platforms), rows_by_slug(Workload, user, workloads)
