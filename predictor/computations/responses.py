"""Responses to questions that may take longer than a request.

The API returns the whole answer, or 202 with the progress and the time of the next request. Pages show the answer so
far and the progress.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from drf_spectacular.utils import inline_serializer
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.fields import Integer, Text
from mpet_site.web.renderers import JSONRenderer
from mpet_site.web.throttling import may_compute
from predictor.computations.asking import LongAnswer, ask
from predictor.computations.running import LongQuestion

RETRY_AFTER_RANGE_S = 2, 30
RETRY_AFTER_FULL_S = 30
RETRIES_PER_COMPUTATION = 10  # approximate number of retries until the computation is done
COMPUTING_PART = "computing"  # id of the page element that requests the progress

ComputationSerializer = inline_serializer(
    "Computation",
    {
        "status": Text(help_text="State of the computation: waiting or computing."),
        "progress": inline_serializer("ComputationProgress", {"done": Integer(), "total": Integer()}),
        "revision": Integer(),
        "url": Text(
            help_text="URL to request again after the number of seconds in Retry-After; the status is 200 once the "
            "answer is computed."
        ),
    },
)


class ComputationsBusy(APIException):
    status_code = 503
    default_detail = "The queue of computations is full; try again later."
    wait = RETRY_AFTER_FULL_S


class ComputationFailed(APIException):
    status_code = 500
    default_detail = "The computation failed; the error is in the server's log."


def shown_answer(request: HttpRequest | Request, question: LongQuestion, viewer: Any) -> LongAnswer:
    """Return the state of the answer. `viewer` is the user of the question's snapshot."""
    return ask(question, viewer, may_enqueue=lambda: may_compute(request))


def answer_or_progress(
    request: Request, question: LongQuestion, respond: Callable[[Mapping[str, Any]], HttpResponseBase], viewer: Any
) -> HttpResponseBase:
    """Return the API's response: `respond` with the whole answer, or 202 while it is computed."""
    answer = shown_answer(request, question, viewer)
    if answer.is_full:
        raise ComputationsBusy
    if answer.has_failed:
        raise ComputationFailed
    if answer.is_computed and answer.document is not None:
        return respond(answer.document)
    request.accepted_renderer = JSONRenderer()  # the progress is JSON, although another format may have been requested
    progress = {
        "status": "computing" if answer.has_begun else "waiting",
        "progress": {"done": answer.done, "total": answer.total},
        "revision": question.snapshot.database.revision,
        "url": request.build_absolute_uri(),
    }
    headers = {"Retry-After": str(retry_after_s(answer)), "Cache-Control": "no-store"}
    return Response(progress, status=202, headers=headers)


def retry_after_s(answer: LongAnswer) -> int:
    """Return the seconds until the next request, fewer if little is left to compute.

    >>> retry_after_s(LongAnswer(None, done=90, total=100)), retry_after_s(LongAnswer(None, done=10, total=2000))
    (2, 30)
    """
    least, most = RETRY_AFTER_RANGE_S
    return max(least, min(most, (answer.total - answer.done) // RETRIES_PER_COMPUTATION))


def respond_with(
    request: HttpRequest,
    shown: LongAnswer,
    template: str,
    context: Callable[[], dict[str, Any]],
    part: str = "",
    *,
    is_answer_all: bool = True,
) -> HttpResponse:
    """Return the page, or the part of it that htmx requests.

    The element of the page that shows the progress requests itself again until the answer is computed. It is then
    replaced by `part`, or the page is reloaded if there is no `part`. Other htmx requests get `part`. With
    `is_answer_all` the page is empty without the answer, so its status is 503 if no computation is accepted.
    """
    waits = request.headers.get("HX-Target") == COMPUTING_PART
    if waits and not shown.is_computed:
        response = render(request, "predictor/computing.html", {"shown": shown})
    elif waits and not part:
        response = HttpResponse(headers={"HX-Refresh": "true"})
    else:
        is_part = bool(part) and request.headers.get("HX-Request") == "true"
        status = 503 if shown.is_full and is_answer_all and not is_part else 200  # htmx does not show error responses
        response = render(request, part if is_part else template, context() | {"shown": shown}, status=status)
    if not shown.is_computed:
        add_never_cache_headers(response)
    if shown.is_full:
        response["Retry-After"] = str(RETRY_AFTER_FULL_S)
    patch_vary_headers(response, ("HX-Request", "HX-Target"))
    return response
