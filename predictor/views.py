import json
import shlex
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from mpet_site.pages import twin
from predictor.figures import answer_charts, drawing_of
from predictor.forms import PredictionForm
from predictor.models import Prediction
from predictor.possible import possibility
from predictor.services import RequestError
from predictor.services import predict as predict_now
from profiles.figures import Breakpoints
from profiles.models import Platform, Workload

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
        "possible": possibility(request.user, str(form["workload"].value() or ""), str(form["target"].value() or "")),
        "workloads": Workload.objects.offered_to(request.user)[:OFFERED],
        "platforms": Platform.objects.offered_to(request.user)[:OFFERED],
        "section": "predict",
        "twin": twin("api-methods"),
    }
    return render(request, "predictor/predict.html", context, status=422 if form.errors else 200)


@require_safe
def possible(request: HttpRequest) -> HttpResponse:
    """The part of the form's page that says what can be predicted for what is in its fields now."""
    shown = possibility(request.user, request.GET.get("workload", ""), request.GET.get("target", ""))
    return render(request, "predictor/possible.html", {"possible": shown})


@require_safe
def prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    shown = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    answer = shown.answer
    platforms, workloads = rows_named(request.user, answer)
    target = platforms.get(answer["target"])
    breakpoints = Breakpoints(target.n_nu, target.n_ht) if target else Breakpoints()
    drawing = drawing_of(answer, {slug: row.name for slug, row in platforms.items()}, breakpoints)
    context = {
        "prediction": shown,
        "answer": answer,
        "target": target,
        "workload": workloads.get(answer["workload"]),
        "candidates": {
            purpose: [(row, platforms.get(row["platform"]), workloads.get(row["workload"])) for row in rows]
            for purpose, rows in answer["candidates"].items()
        },
        "charts": answer_charts(drawing),
        "time_unit": drawing.time_unit,
        "fastest": fastest(answer["curve"]),
        "widest": answer["curve"][-1],
        "curl": curl(request, answer),
        "sources": answer["sources"],
        "section": "predict",
        "twin": twin("api-prediction", shown.uid),
    }
    return render(request, "predictor/prediction.html", context)


def rows_named(user: Any, answer: dict[str, Any]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """By slug, the platforms and workloads that an answer names and the user may (still) see."""
    candidates = [row for rows in answer["candidates"].values() for row in rows]
    references = {reference["platform"] for reference in answer["reference_curves"]}
    platforms = {answer["target"], *references, *(row["platform"] for row in candidates)}
    workloads = {answer["workload"], *(row["workload"] for row in candidates)}
    return (
        {row.slug: row for row in Platform.objects.visible_to(user).filter(slug__in=platforms)},
        {row.slug: row for row in Workload.objects.visible_to(user).filter(slug__in=workloads)},
    )


def fastest(curve: list[dict[str, Any]]) -> dict[str, Any] | None:
    return min((row for row in curve if row["time_s"] is not None), key=lambda row: row["time_s"], default=None)


def curl(request: HttpRequest, answer: dict[str, Any]) -> str:
    """A command that asks the API the same question."""
    asked = {
        name: answer[name]
        for name in ("workload", "target", "references", "method", "n", "settings")
        if answer.get(name)
    }
    if answer.get("include_simulated"):
        asked["include_simulated"] = True
    address = request.build_absolute_uri(reverse("api-predictions"))
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(address)}",
            '-H "Authorization: Bearer $MPET_TOKEN" -H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(asked))}",
        )
    )
