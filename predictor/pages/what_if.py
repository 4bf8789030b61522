"""What-if pages: the page with the sliders, the part of it that is updated when they move, and storing the answer."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.pages import json_address
from predictor.core.errors import NoReference
from predictor.figures.answer import answer_charts, answer_drawing, answer_origin
from predictor.pages.forms import in_slugs
from predictor.pages.presenting import (
    ShownRefusal,
    answer_facts,
    asks_for_public,
    breakpoints_of,
    first_pair,
    given_parameters,
    is_checked,
    mixing_choices,
    offered_names,
    rows_by_slug,
    short_names,
    shown_refusal,
)
from predictor.predictions.feasibility import finished_sentence
from predictor.predictions.question import DEFAULT_METHOD, PredictionRequest, RequestError
from predictor.predictions.service import predict, preview_answer
from predictor.predictions.sliders import (
    QUESTION_PARAMETERS,
    InvalidParameter,
    drop_neutral_values,
    platform_sliders,
    slider_request,
    slider_values,
    workload_sliders,
)
from profiles.figures.base import mark_origin
from profiles.models import Platform, Profile, Workload
from profiles.pages.page_cache import kept_for_visitors


@require_http_methods(["GET", "HEAD", "POST"])
@kept_for_visitors
def what_if(request: HttpRequest) -> HttpResponse:
    """Show the sliders of the query string and their answer.

    POST to the same URL stores the answer if the user is signed in.
    """
    if (query := query_of_pair(request)) != request.GET:
        return redirect(f"{request.path}?{query.urlencode()}")
    if not (request.GET.get("workload") and request.GET.get("target")):
        return render(request, "predictor/what_if.html", {"section": "what-if"})
    state = slider_state(request)
    if request.method == "POST" and not request.user.is_authenticated:
        return redirect_to_login(f"{request.path}?{state['state']}")
    if request.method == "POST" and "question" in state:
        try:
            return redirect("prediction", uid=predict(state["question"], request.user).uid)
        except RequestError as error:
            state["refusal"] = shown_refusal(error, request)
    answers = Previews(request.user)
    answer = answer_context(request, state, answers)
    origin, other_start = other_start_of(request, state)
    only_here = "answer" not in answer and answer["refusal"].lacks == NoReference.lacks
    if only_here and other_start and "measured" not in request.GET:
        return redirect(other_start)
    context = {
        "workload": request.GET["workload"],
        "target": request.GET["target"],
        "method": request.GET.get("method", ""),
        "mixing": mixing_choices(request.GET.get("method") or DEFAULT_METHOD, request.GET.get("mix_runtimes", "")),
        "public_only": asks_for_public(request.GET),
        "has_private": Profile.objects.has_private_of(request.user),
        "workloads": offered_names(Workload, request.user, request.GET["workload"], scaling=True),
        "platforms": offered_names(Platform, request.user, request.GET["target"]),
        "section": "what-if",
        "other_start": other_start,
        "origin": origin,
        **slider_context(request, state, answers),
        **state,
        **answer,
    }
    names = {"workload": dict(context["workloads"]), "target": dict(context["platforms"])}
    context["title"] = " on ".join(names[part].get(context[part], context[part]) for part in ("workload", "target"))
    return render(request, "predictor/what_if.html", context)


def query_of_pair(request: HttpRequest) -> QueryDict:
    """Return the query string with current slugs, or that of the first pair if none is given and there is one."""
    query = in_slugs(request.GET, request.user)
    if not (query.get("workload") and query.get("target")):
        workload, target = first_pair(request.user)
        if workload and target:
            query = QueryDict(urlencode({"workload": workload, "target": target}))
    return query


def other_start_of(request: HttpRequest, state: dict[str, Any]) -> tuple[str, str]:
    """Return the origin of the pair's times, and the address that starts from these times or, if the page does, from a
    prediction; both are empty if the pair has no times that predictions may use."""
    parameters = given_parameters(request.GET, ("workload", "target", "public_only"))
    profiles = Profile.objects.visible_to(None if asks_for_public(parameters) else request.user)
    pair = profiles.filter(workload__slug=parameters["workload"], platform__slug=parameters["target"])
    origin = pair.exclude(origin="emulated").order_by("origin").values_list("origin", flat=True).first()
    if origin is None:
        return "", ""
    other = {"measured": str(not state["measured"]).lower()}
    return origin, f"{request.path}?{urlencode(parameters | other)}"


@require_safe
@kept_for_visitors
def what_if_answer(request: HttpRequest) -> HttpResponse:
    """Render the part of the page that is updated when the sliders move."""
    state = slider_state(request)
    context = answer_context(request, state, Previews(request.user))
    return render(request, "predictor/what_if_answer.html", {**state, **context})


class Previews:
    """The answers within one request. Each is computed once, because unmoved sliders repeat the question of the
    baseline."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self._answers: list[tuple[PredictionRequest, dict[str, Any]]] = []

    def answer_to(self, question: PredictionRequest) -> dict[str, Any]:
        """Return the answer to a question. Raise RequestError if there is none."""
        for answered, answer in self._answers:
            if answered == question:
                return answer
        self._answers.append((question, preview_answer(question, self.user)))
        return self._answers[-1][1]


def slider_state(request: HttpRequest) -> dict[str, Any]:
    """Return the state in the query string: slider values, the question with and without changes, and the URL of the
    state."""
    parameters = request.GET
    public_only = asks_for_public(parameters)
    public = {"public_only": "true"} if public_only else {}
    question = given_parameters(parameters, QUESTION_PARAMETERS)
    measured = is_checked(parameters, "measured")
    unchanged = slider_request(parameters, {}, public_only=public_only, measured=measured)
    try:
        values = slider_values(parameters)
    except InvalidParameter as error:
        return {
            "values": {},
            "measured": measured,
            "unchanged": unchanged,
            "refusal": ShownRefusal(finished_sentence(str(error))),
            "state": urlencode(question | public),
        }
    target = Platform.objects.visible_to(request.user).filter(slug=question.get("target", "")).first()
    if target is not None:
        values = drop_neutral_values(values, target)
    return {
        "values": values,
        "measured": measured,
        "unchanged": unchanged,
        "question": slider_request(parameters, values, public_only=public_only, measured=measured),
        "state": urlencode(question | public | {name: f"{value:g}" for name, value in values.items()}),
    }


def answer_context(request: HttpRequest, state: dict[str, Any], answers: Previews) -> dict[str, Any]:
    """Return the answer with its figures, which is not stored, or the reason why there is none."""
    answer = None
    refused: dict[str, Any] = {"refusal": state["refusal"]} if "refusal" in state else {}
    questions = [state["question"]] if "question" in state else []
    for question in (*questions, state["unchanged"]):  # the baseline if the changed question is refused
        try:
            answer = answers.answer_to(question)
            break
        except RequestError as error:
            refused = refused or {"refusal": shown_refusal(error, request)}
    if answer is None:
        return refused
    named = {answer["target"], *(reference["platform"] for reference in answer["reference_curves"])}
    rows = rows_by_slug(Platform, request.user, named)
    names = short_names({slug: row.name for slug, row in rows.items()}, answer_origin(answer))
    drawing = answer_drawing(answer, names, breakpoints_of(rows.get(answer["target"]), answer))
    return {
        **refused,
        "answer": answer,
        "charts": mark_origin(answer_charts(drawing), answer_origin(answer)),
        "time_unit": drawing.time_unit,
        **answer_facts(answer, names),
        "twin": json_address("api-prediction-preview", query=state["state"]),
    }


def slider_context(request: HttpRequest, state: dict[str, Any], answers: Previews) -> dict[str, Any]:
    """Return the sliders of the workload and of the platform.

    Each has the number of the note that explains why it cannot be moved, or 0.
    """
    question = state["unchanged"]
    try:
        unchanged = answers.answer_to(question)
    except RequestError:
        return {}
    workload = Workload.objects.visible_to(request.user).get(slug=unchanged["workload"])
    platform = Platform.objects.visible_to(request.user).get(slug=unchanged["target"])
    groups = (
        workload_sliders(unchanged, workload, state["values"]),
        platform_sliders(platform, state["values"]),
    )
    notes = list(dict.fromkeys(slider.unavailable for group in groups for slider in group if slider.unavailable))
    numbered = [
        [(slider, notes.index(slider.unavailable) + 1 if slider.unavailable else 0) for slider in group]
        for group in groups
    ]
    # The reset link leads to the question without changes.
    parameters = {"workload": question.workload, "target": question.target, "method": question.method}
    flags = {"public_only": question.public_only, "measured": state["measured"]}
    chosen = {name: "true" for name, is_set in flags.items() if is_set}
    reset = f"{reverse('what-if')}?{urlencode(parameters | dict(question.settings) | chosen)}"
    return {"workload_sliders": numbered[0], "platform_sliders": numbered[1], "notes": notes, "reset": reset}
