"""What-if: the page with the sliders, the part of it that follows them, and keeping an answer."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.pages import json_address
from predictor.figures.answer import answer_charts, drawing_of, origin_of
from predictor.pages.offers import offered, pair_to_begin_with
from predictor.pages.presenting import breakpoints_of, facts_of
from predictor.predictions.request import RequestError
from predictor.predictions.service import predict, preview
from predictor.predictions.sliders import (
    InvalidParameter,
    numbers_in,
    platform_sliders,
    request_of,
    without_neutral,
    workload_sliders,
)
from profiles.figures import mark_origin
from profiles.models import Platform, Workload


@require_http_methods(["GET", "HEAD", "POST"])
def what_if(request: HttpRequest) -> HttpResponse:
    """GET: the sliders of the address and their answer. POST, to the same address, keeps the answer."""
    if not (request.GET.get("workload") and request.GET.get("target")):
        workload, target = pair_to_begin_with(request.user)
        if workload and target:
            return redirect(f"{request.path}?{urlencode({'workload': workload, 'target': target})}")
        return render(request, "predictor/what_if.html", {"section": "predict"})
    state = state_of(request)
    if request.method == "POST" and "question" in state:
        try:
            return redirect("prediction", uid=predict(state["question"], request.user).uid)
        except RequestError as error:
            state["refusal"] = str(error)
    context = {
        "workload": request.GET["workload"],
        "target": request.GET["target"],
        "method": request.GET.get("method", ""),
        "workloads": offered(Workload, request.user, request.GET["workload"]),
        "platforms": offered(Platform, request.user, request.GET["target"]),
        "section": "predict",
        **sliders_of(request, state),
        **state,
        **answer_of(request, state),
    }
    return render(request, "predictor/what_if.html", context)


@require_safe
def what_if_answer(request: HttpRequest) -> HttpResponse:
    """The part of the page that follows the sliders."""
    state = state_of(request)
    return render(request, "predictor/what_if_answer.html", {**state, **answer_of(request, state)})


def state_of(request: HttpRequest) -> dict[str, Any]:
    """What the address says: slider values, the request that they make, and the address of the same state."""
    asked = request.GET
    question = {name: asked[name] for name in ("workload", "target", "method") if asked.get(name)}
    try:
        values = numbers_in(asked)
    except InvalidParameter as error:
        return {"values": {}, "refusal": str(error), "state": urlencode(question)}
    target = Platform.objects.visible_to(request.user).filter(slug=question.get("target", "")).first()
    if target is not None:
        values = without_neutral(values, target)
    return {
        "values": values,
        "question": request_of(asked, values),
        "state": urlencode(question | {name: f"{value:g}" for name, value in values.items()}),
    }


def answer_of(request: HttpRequest, state: dict[str, Any]) -> dict[str, Any]:
    """The answer, not kept, with its figures; or why there is none."""
    answer, refusal = None, state.get("refusal", "")
    questions = [state["question"]] if "question" in state else []
    for question in (*questions, request_of(request.GET, {})):  # where a change is refused, the pair as it is
        try:
            answer = preview(question, request.user)
            break
        except RequestError as error:
            refusal = refusal or str(error)
    if answer is None:
        return {"refusal": refusal}
    named = {answer["target"], *(reference["platform"] for reference in answer["reference_curves"])}
    rows = {row.slug: row for row in Platform.objects.visible_to(request.user).filter(slug__in=named)}
    names = {slug: row.name for slug, row in rows.items()}
    drawing = drawing_of(answer, names, breakpoints_of(rows.get(answer["target"]), answer))
    return {
        "refusal": refusal,
        "answer": answer,
        "charts": mark_origin(answer_charts(drawing), origin_of(answer)),
        "time_unit": drawing.time_unit,
        **facts_of(answer),
        "twin": json_address("api-prediction-preview", query=state["state"]),
    }


def sliders_of(request: HttpRequest, state: dict[str, Any]) -> dict[str, Any]:
    """Sliders of the workload and of the platform; each with the number of the note why it cannot be moved, or 0."""
    question = request_of(request.GET, {})
    try:
        unchanged = preview(question, request.user)
    except RequestError:
        return {}
    workload = Workload.objects.visible_to(request.user).get(slug=unchanged["workload"])
    platform = Platform.objects.visible_to(request.user).get(slug=unchanged["target"])
    groups = (
        workload_sliders(unchanged, workload, state["values"]),
        platform_sliders(platform, state["values"]),
    )
    notes = list(dict.fromkeys(one.unavailable for group in groups for one in group if one.unavailable))
    numbered = [
        [(one, notes.index(one.unavailable) + 1 if one.unavailable else 0) for one in group] for group in groups
    ]
    return {"workload_sliders": numbered[0], "platform_sliders": numbered[1], "notes": notes, "reset": reset(question)}


def reset(question: Any) -> str:
    """The address without any change."""
    asked = {"workload": question.workload, "target": question.target, "method": question.method}
    return f"{reverse('what-if')}?{urlencode(asked)}"
