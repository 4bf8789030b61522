from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from mpet_site.web.pages import json_address
from predictor.figures.answer import answer_charts, drawing_of, known_as, origin_of
from predictor.figures.candidates import candidate_charts
from predictor.figures.platforms import sequential_charts
from predictor.models import Prediction
from predictor.pages import snippets
from predictor.pages.candidate_curves import candidate_curves
from predictor.pages.forms import PredictionForm
from predictor.pages.presenting import breakpoints_of, facts_of
from predictor.predictions.feasibility import Possibility, possibility
from predictor.predictions.next_measurements import next_measurements
from predictor.predictions.request import RequestError
from predictor.predictions.service import predict as predict_now
from profiles.figures import mark_origin
from profiles.models import Platform, Workload

ASKED = ("workload", "target", "scenario", "strategy", "method")
OFFERED = 2000  # names in a field's list; any other visible one can be typed


def predict(request: HttpRequest) -> HttpResponse:
    """GET shows the form, filled from ?workload=&target=&method=; POST answers with the stored prediction's page."""
    form = PredictionForm(request.POST if request.method == "POST" else None, initial=request.GET.dict())
    if form.is_valid():
        try:
            prediction = predict_now(form.prediction_request(), request.user)
        except RequestError as error:
            form.refuse(error)
        else:
            return redirect("prediction", uid=prediction.uid)
    context = {
        "form": form,
        "possible": possible_of(request, {name: str(form[name].value() or "") for name in ASKED}),
        "workloads": Workload.objects.offered_to(request.user)[:OFFERED],
        "platforms": Platform.objects.offered_to(request.user)[:OFFERED],
        "section": "predict",
        "twin": json_address("api-methods"),
    }
    return render(request, "predictor/predict.html", context, status=422 if form.errors else 200)


@require_safe
def possible(request: HttpRequest) -> HttpResponse:
    """The part of the form's page that says what can be predicted for what is in its fields now."""
    shown = possible_of(request, {name: request.GET.get(name, "") for name in ASKED})
    return render(request, "predictor/possible.html", {"possible": shown})


def possible_of(request: HttpRequest, asked: dict[str, str]) -> Possibility | None:
    return possibility(request.user, **asked | {"scenario": asked["scenario"] or "migration"})


@require_safe
def prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    """The stored answer: what it says, why, what it was made from, and how to ask it again."""
    shown = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    answer = shown.answer
    platforms, workloads = rows_named(request.user, answer)
    target = platforms.get(answer["target"])
    names = {slug: row.name for slug, row in (platforms | workloads).items()}
    drawing = drawing_of(answer, names, breakpoints_of(target, answer))
    behind = candidate_curves(answer, request.user)
    origin = origin_of(answer)
    context = {
        "prediction": shown,
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
        "known": known_as(origin),
        "time_unit": drawing.time_unit,
        **facts_of(answer),
        **snippets_of(request, shown),
        "sources": answer["sources"],
        "section": "predict",
        "twin": json_address("api-prediction", shown.uid),
    }
    return render(request, "predictor/prediction.html", context)


@require_safe
@vary_on_headers("HX-Request")
def measure_next(request: HttpRequest, uid: Any) -> HttpResponse:
    """Which measurements would narrow the interval most: a page, or the part of one that htmx asks for."""
    shown = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    found = next_measurements(shown, request.user)
    platforms, workloads = named_in(request.user, found["results"])
    context = {
        "prediction": shown,
        "answer": shown.answer,
        "method": found["method"],
        "known": known_as(origin_of(shown.answer)),
        "rows": [(row, workloads.get(row["workload"]), platforms.get(row["platform"])) for row in found["results"]],
        "section": "predict",
        "twin": json_address("api-measure-next", shown.uid),
    }
    is_part = request.headers.get("HX-Request") == "true"
    return render(request, f"predictor/measure_next{'_rows' if is_part else ''}.html", context)


def snippets_of(request: HttpRequest, shown: Prediction) -> dict[str, str]:
    asking = request.build_absolute_uri(reverse("api-predictions"))
    return {
        "curl": snippets.curl(shown.answer, asking),
        "python": snippets.python(shown.answer, asking),
        "stored": request.build_absolute_uri(reverse("api-prediction", args=[shown.uid])),
        "question": urlencode({name: shown.answer[name] for name in ("workload", "target", "method")}),
    }


def rows_named(user: Any, answer: dict[str, Any]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """By slug, the platforms and workloads that an answer names and the user may (still) see."""
    return named_in(user, [answer_pair(answer), *answer["reference_curves"], *candidates_in(answer)])


def answer_pair(answer: dict[str, Any]) -> dict[str, Any]:
    return {"platform": answer["target"], "workload": answer["workload"]}


def candidates_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in answer["candidates"].values() for row in rows]


def named_in(user: Any, rows: list[dict[str, Any]]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """By slug, what rows with a platform, a workload or both name."""
    platforms = {row["platform"] for row in rows if "platform" in row}
    workloads = {row["workload"] for row in rows if "workload" in row}
    return (
        {row.slug: row for row in Platform.objects.visible_to(user).filter(slug__in=platforms)},
        {row.slug: row for row in Workload.objects.visible_to(user).filter(slug__in=workloads)},
    )
