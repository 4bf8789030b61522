"""Pages about one prediction: the form, the stored or computed answer, its reasons, and what to measure next."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from mpet_site.web.background import NotReadyYet, note_outdated
from mpet_site.web.pages import json_address
from predictor.computations.asking import LongAnswer
from predictor.computations.responses import respond_with, shown_answer
from predictor.figures.answer import answer_charts, answer_drawing, answer_origin, measured_label
from predictor.figures.candidates import candidate_charts
from predictor.figures.platforms import sequential_charts
from predictor.models import Prediction
from predictor.pages.candidate_curves import candidate_curves
from predictor.pages.forms import (
    PredictionForm,
    curl_command,
    form_of_question,
    in_slugs,
    python_program,
    question_address,
    question_parameters,
    show_names,
    twin_of_question,
)
from predictor.pages.presenting import (
    MOST_NAMES_IN_LIST,
    ShownRefusal,
    answer_facts,
    answer_parts,
    asks_for_public,
    breakpoints_of,
    rows_by_slug_disambiguated,
    short_names,
    shown_refusal,
)
from predictor.pages.sharing import shared_answer
from predictor.predictions.explanation import spelled_element
from predictor.predictions.feasibility import feasibility, in_names
from predictor.predictions.next_measurements import NextMeasurementsQuestion, no_next_measurements, viewer_of
from predictor.predictions.question import InvalidSettings, PredictionRequest, RequestError
from predictor.predictions.service import predict, preview_answer, reasons_of_prediction, stale_reasons
from predictor.predictions.thread_advice import advice_from_answer
from profiles.figures.base import mark_origin
from profiles.identity.name_disambiguation import disambiguate
from profiles.models import Platform, Profile, Workload
from profiles.pages.page_cache import kept_for_visitors


@require_http_methods(["GET", "HEAD", "POST"])
@kept_for_visitors
def prediction_form(request: HttpRequest) -> HttpResponse:
    """Show the form on GET, and answer it on POST.

    The query parameters `?workload=&target=&method=` fill the form. POST redirects to the page of the stored
    prediction, or, without an account, to the page of an answer that is not stored.
    """
    sent = in_slugs(request.POST, request.user) if request.method == "POST" else None
    form = PredictionForm(sent, initial=request.GET.dict())
    if form.is_valid() and not request.user.is_authenticated:
        return redirect(question_address(question_parameters(form)))
    stored = answer_of_form(request, form, lambda question: predict(question, request.user))
    return stored if isinstance(stored, HttpResponse) else redirect("prediction", uid=stored.uid)


def form_page(request: HttpRequest, form: PredictionForm, refusal: ShownRefusal | None = None) -> HttpResponse:
    """Render the form.

    `refusal` is the reason why the submitted question has no answer. If nothing was submitted, the page shows whether
    the question in the query string can be answered.
    """
    state = {"refusal": refusal} if refusal or form.is_bound else possible_context(request)
    show_names(form, request.user)
    context = {
        "form": form,
        **state,
        "has_private": Profile.objects.has_private_of(request.user),
        "workloads": disambiguate(Workload.objects.offered_to(request.user)[:MOST_NAMES_IN_LIST], request.user),
        "platforms": disambiguate(Platform.objects.offered_to(request.user)[:MOST_NAMES_IN_LIST], request.user),
        "section": "predict",
        "twin": json_address("api-methods"),
    }
    return render(request, "predictor/predict.html", context, status=422 if refusal or form.errors else 200)


@require_safe
@kept_for_visitors
def possible(request: HttpRequest) -> HttpResponse:
    """Render the part of the form's page that shows what can be predicted for the current content of the fields."""
    return render(request, "predictor/possible.html", possible_context(request))


def possible_context(request: HttpRequest) -> dict[str, Any]:
    """Return the `feasibility` of the question in the query string, or its `refusal`.

    Return an empty context while a required field is missing or invalid, or while the database is still being read.
    """
    form = form_of_question(request.GET, request.user)
    if not form.is_valid():
        return {}
    try:
        found = feasibility(form.prediction_request(), request.user)
    except NotReadyYet:
        note_outdated()
        return {}
    except InvalidSettings:  # The field shows the error when the form is submitted.
        return {}
    except RequestError as error:
        return {"refusal": shown_refusal(error, request)}
    return {"feasibility": found} if found.refusal is None else {"refusal": shown_refusal(found.refusal, request)}


@require_safe
def prediction(request: HttpRequest, uid: Any) -> HttpResponse:
    """Show a stored answer with its reasons, its evidence, and the ways to repeat the question."""
    stored = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    public_only = stored.private_to_id is None and Profile.objects.has_private_of(request.user)
    context = answer_page_context(request, stored.answer, public_only=public_only) | {
        "prediction": stored,
        "is_own": request.user.is_authenticated
        and Prediction.objects.asked_by(request.user).filter(pk=stored.pk).exists(),
        "outdated": stale_reasons(stored),
        "shared": shared_answer(stored.answer) if stored.private_to_id is None else None,
        "here_on_web": request.build_absolute_uri(reverse("prediction", args=[stored.uid])),
        "picture": request.build_absolute_uri(reverse("picture-of-prediction", args=[stored.uid])),
        "why_address": reverse("why", args=[stored.uid]),
        "next_address": reverse("measure-next", args=[stored.uid]),
        "twin": json_address("api-prediction", stored.uid),
    }
    return render(request, "predictor/prediction.html", context)


@require_safe
@kept_for_visitors
def unstored_answer(request: HttpRequest) -> HttpResponse:
    """Compute the answer to the question in the query string without storing it.

    If there is no answer, show the form with the error.
    """
    form = form_of_question(request.GET, request.user)
    answer = answer_of_form(request, form, lambda question: preview_answer(question, request.user))
    if isinstance(answer, HttpResponse):
        return answer
    parameters = question_parameters(form)
    public_only = form.cleaned_data["public_only"]
    context = answer_page_context(request, answer, public_only=public_only) | {
        "parameters": parameters,
        "here": question_address(parameters),
        "why_address": question_address(parameters, "unstored-why"),
        "next_address": question_address(parameters, "unstored-measure-next"),
        "twin": twin_of_question(form.prediction_request()),
    }
    return render(request, "predictor/prediction.html", context)


def answer_of_form(request: HttpRequest, form: PredictionForm, ask: Callable[[PredictionRequest], Any]) -> Any:
    """Return the result of `ask` for the question of the form, or the page of the form with the error."""
    if not form.is_valid():
        return form_page(request, form)
    try:
        return ask(form.prediction_request())
    except InvalidSettings as error:
        form.refuse(error)
        return form_page(request, form)
    except RequestError as error:
        return form_page(request, form, shown_refusal(error, request))


def answer_page_context(request: HttpRequest, answer: dict[str, Any], *, public_only: bool) -> dict[str, Any]:
    """Return the context of the page of an answer.

    `public_only` is true if only public data was used although the user has private data as well.
    """
    platforms, workloads = rows_in_answer(request.user, answer)
    target = platforms.get(answer["target"])
    origin = answer_origin(answer)
    names = short_names({slug: row.name for slug, row in (platforms | workloads).items()}, origin)
    drawing = answer_drawing(answer, names, breakpoints_of(target, answer))
    behind = candidate_curves(answer, request.user)
    charts = mark_origin(answer_charts(drawing) or sequential_charts(answer, names, drawing.time_unit), origin)
    facts = answer_facts(answer, {slug: row.name for slug, row in platforms.items()})
    advice = advice_from_answer(answer, target) if target and len(answer["curve"]) > 1 else None
    if advice and facts["limited_to"] and advice["n"] > facts["limited_to"]:
        advice = None  # it would contradict the fastest thread count, beyond which no gain is credible
    return {
        **pair_context(answer, platforms, workloads),
        "parts": answer_parts(answer, charts, facts["cautions"]),
        "candidates": {
            purpose: [(row, platforms.get(row["platform"]), workloads.get(row["workload"])) for row in rows]
            for purpose, rows in answer["candidates"].items()
        },
        "has_negative_weights": any((row["weight"] or 0) < 0 for row in candidates_in(answer)),
        "charts": charts,
        "candidate_charts": mark_origin(candidate_charts(drawing, behind, names, answer["workload"]), origin),
        "advice": advice,
        "time_unit": drawing.time_unit,
        **facts,
        **answer_snippets(request, answer, public_only=public_only),
        "sources": answer["sources"],
    }


def pair_context(
    answer: dict[str, Any], platforms: Mapping[str, Platform], workloads: Mapping[str, Workload]
) -> dict[str, Any]:
    """Return the context that all pages about an answer share."""
    return {
        "answer": answer,
        "workload": workloads.get(answer["workload"]),
        "target": platforms.get(answer["target"]),
        "known": measured_label(answer_origin(answer)),
        "section": "predict",
    }


@require_safe
def why_page(request: HttpRequest, uid: Any) -> HttpResponse:
    """Show what limits the workload and which data the answer is based on.

    For htmx requests, render only this content without the surrounding page.
    """
    stored = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    addresses: dict[str, Any] = {
        "back": reverse("prediction", args=[stored.uid]),
        "twin": json_address("api-why", stored.uid),
    }
    try:
        why = reasons_of_prediction(stored, request.user)
    except RequestError as error:
        return why_response(request, stored.answer, {}, addresses | {"refusal": shown_refusal(error, request)})
    return why_response(request, stored.answer, why, addresses)


@require_safe
def why_of_question(request: HttpRequest) -> HttpResponse:
    """Show the reasons of an answer that is not stored."""
    form = form_of_question(request.GET, request.user)
    answer = answer_of_form(request, form, lambda question: preview_answer(question, request.user, explained=True))
    if isinstance(answer, HttpResponse):
        return answer
    return why_response(request, answer, answer["why"], {"back": question_address(question_parameters(form))})


def why_response(
    request: HttpRequest, answer: dict[str, Any], why: Mapping[str, Any], addresses: dict[str, Any]
) -> HttpResponse:
    platforms, workloads = rows_in_answer(request.user, answer)
    names = {slug: row.name for slug, row in (platforms | workloads).items()}
    context = {
        **pair_context(answer, platforms, workloads),
        "why": why,
        "sentences": [in_names(sentence, names) for sentence in why.get("sentences", [])],
        "carried": [
            (row, spelled_element(row["name"]) if row["kind"] == "element" else names.get(row["name"], row["name"]))
            for row in why.get("carried", [])
        ],
    }
    is_part = request.headers.get("HX-Request") == "true"
    response = render(request, "predictor/why_rows.html" if is_part else "predictor/why.html", context | addresses)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def next_measurements_page(request: HttpRequest, uid: Any) -> HttpResponse:
    """Show which measurements would narrow the interval most.

    For htmx requests, render only this content without the surrounding page.
    """
    stored = get_object_or_404(Prediction.objects.visible_to(request.user), uid=uid)
    addresses = {"back": reverse("prediction", args=[stored.uid]), "twin": json_address("api-measure-next", stored.uid)}
    viewer = None if asks_for_public(request.GET) else viewer_of(stored, request.user)
    return next_measurements_response(request, stored.answer, viewer, addresses)


@require_safe
def next_measurements_of_question(request: HttpRequest) -> HttpResponse:
    """Show the suggested measurements for an answer that is not stored."""
    form = form_of_question(request.GET, request.user)
    answer = answer_of_form(request, form, lambda question: preview_answer(question, request.user))
    if isinstance(answer, HttpResponse):
        return answer
    viewer = form.prediction_request().viewer(request.user)
    addresses = {"back": question_address(question_parameters(form))}
    return next_measurements_response(request, answer, viewer, addresses)


def next_measurements_response(
    request: HttpRequest, answer: dict[str, Any], viewer: Any, addresses: dict[str, str]
) -> HttpResponse:
    try:
        question = NextMeasurementsQuestion.of_answer(answer, viewer)
    except RequestError:
        shown = LongAnswer(no_next_measurements(answer), is_computed=True)
    else:
        shown = shown_answer(request, question, viewer)
    return respond_with(
        request,
        shown,
        "predictor/measure_next.html",
        lambda: next_measurements_context(request, answer, shown.document or no_next_measurements(answer)) | addresses,
        part="predictor/measure_next_rows.html",
    )


def next_measurements_context(
    request: HttpRequest, answer: dict[str, Any], document: Mapping[str, Any]
) -> dict[str, Any]:
    platforms, workloads = rows_named_in(request.user, [pair_of_answer(answer), *document["results"]])
    return {
        **pair_context(answer, platforms, workloads),
        "method": document["method"],
        "rows": [(row, workloads.get(row["workload"]), platforms.get(row["platform"])) for row in document["results"]],
    }


def answer_snippets(request: HttpRequest, answer: dict[str, Any], *, public_only: bool) -> dict[str, str]:
    question = answer | {"public_only": public_only}
    again = {name: answer[name] for name in ("workload", "target", "method")}
    address = request.build_absolute_uri(reverse("api-predictions"))
    return {
        "curl": curl_command(question, address),
        "python": python_program(question, address),
        "question": urlencode(again | ({"public_only": "true"} if public_only else {})),
    }


def rows_in_answer(user: Any, answer: dict[str, Any]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """Return by slug the platforms and workloads of an answer that the user may see."""
    return rows_named_in(user, [pair_of_answer(answer), *answer["reference_curves"], *candidates_in(answer)])


def pair_of_answer(answer: dict[str, Any]) -> dict[str, Any]:
    return {"platform": answer["target"], "workload": answer["workload"]}


def candidates_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in answer["candidates"].values() for row in rows]


def rows_named_in(user: Any, rows: list[dict[str, Any]]) -> tuple[dict[str, Platform], dict[str, Workload]]:
    """Return by slug the stored platforms and workloads of rows that have a `platform`, a `workload` or both."""
    platforms = {row["platform"] for row in rows if "platform" in row}
    workloads = {row["workload"] for row in rows if "workload" in row}
    return rows_by_slug_disambiguated(Platform, user, platforms), rows_by_slug_disambiguated(Workload, user, workloads)
