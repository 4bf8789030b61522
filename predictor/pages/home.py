"""The front page: what this is, and a prediction to play with."""

from operator import itemgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.background import NotReadyYet, note_outdated
from mpet_site.web.database_unavailable import RETRY_AFTER_S
from mpet_site.web.pages import json_address
from predictor.figures.answer import answer_drawing, answer_origin, measured_label, predicted_time_chart
from predictor.figures.platforms import sequential_charts
from predictor.models import Evaluation, Prediction
from predictor.pages.offers import first_pair, offered_names
from predictor.pages.presenting import rows_by_slug
from predictor.predictions.request import PredictionRequest, RequestError
from predictor.predictions.service import preview_answer
from profiles.figures import Breakpoints, mark_origin
from profiles.models import Platform, Profile, Source, Workload
from profiles.pages.page_cache import kept_for_visitors

LATEST = 5


@require_safe
@kept_for_visitors
def home(request: HttpRequest) -> HttpResponse:
    """?workload=&target= choose what is predicted; else a pair that was measured, so that one sees how it fares."""
    workload, target = request.GET.get("workload", ""), request.GET.get("target", "")
    try:
        if not (workload and target):
            first, second = first_pair(request.user)
            workload, target = workload or first, target or second
        prediction = live_prediction(request.user, workload, target)
    except NotReadyYet:
        note_outdated()
        prediction = {"retry_after_s": RETRY_AFTER_S}
    context = {
        "workload": workload,
        "target": target,
        "workloads": offered_names(Workload, request.user, workload),
        "platforms": offered_names(Platform, request.user, target),
        "question": urlencode({"workload": workload, "target": target}),
        "counts": visible_counts(request.user),
        "latest": Source.objects.latest_seen_by(request.user, LATEST),
        "evaluation": evaluation_score(Evaluation.objects.listed().newest_with_baselines()),
        "sources": Source.objects.credited_to(request.user).credits(),
        "twin": json_address("api-root"),
    }
    return render(request, "predictor/home.html", context | prediction)


def visible_counts(user: Any) -> dict[str, int]:
    models: dict[str, Any] = {
        "platforms": Platform,
        "workloads": Workload,
        "profiles": Profile,
        "predictions": Prediction,
    }
    return {name: model.objects.visible_to(user).count() for name, model in models.items()}


def live_prediction(user: Any, workload: str, target: str) -> dict[str, Any]:
    """The answer with its figure, or why there is none."""
    if not workload or not target:
        return {}
    try:
        answer = preview_answer(PredictionRequest(workload, target), user)
    except RequestError as error:
        return {"refusal": str(error)}
    platforms = {answer["target"], *(reference["platform"] for reference in answer["reference_curves"])}
    rows = rows_by_slug(Platform, user, platforms)
    target_row = rows[answer["target"]]
    names = {slug: row.name for slug, row in rows.items()}
    drawing = answer_drawing(answer, names, Breakpoints(target_row.n_nu, target_row.n_ht))
    charts = (
        [predicted_time_chart(drawing)] if len(drawing.n) > 1 else sequential_charts(answer, names, drawing.time_unit)
    )
    question = urlencode({"workload": answer["workload"], "target": answer["target"]})
    return {
        "answer": answer,
        "charts": mark_origin(charts, answer_origin(answer)),
        "known": measured_label(answer_origin(answer)),
        "answer_twin": json_address("api-prediction-preview", query=question),
    }


def evaluation_score(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """The best method and the best baseline of an evaluation, by the median error of the full curve."""
    if evaluation is None:
        return None
    medians = {
        method: median
        for method in evaluation.methods.all()
        if (median := method.statistics.get("full", {}).get("median")) is not None
    }
    best, baseline = (
        min(
            ((median, method) for method, median in medians.items() if method.is_baseline == kind),
            key=itemgetter(0),
            default=(None, None),
        )
        for kind in (False, True)
    )
    return {
        "evaluation": evaluation,
        "best": best[1],
        "best_error": best[0],
        "baseline": baseline[1],
        "baseline_error": baseline[0],
    }
