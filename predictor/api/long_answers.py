"""Answers that may take longer than a request: whole, or 202 with how far they are and when to ask again."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import inline_serializer
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.fields import Integer, Text
from mpet_site.web.renderers import JSONRenderer
from mpet_site.web.throttling import may_compute
from predictor.computations.asking import ComputationsFull, LongAnswer, ask
from predictor.computations.running import LongQuestion

RETRY_AFTER_RANGE_S = 2, 30
RETRIES_PER_COMPUTATION = 10  # about so often is asked again until it is done

ComputationSerializer = inline_serializer(
    "Computation",
    {
        "status": Text(help_text="waiting or computing"),
        "progress": inline_serializer("ComputationProgress", {"done": Integer(), "total": Integer()}),
        "revision": Integer(),
        "url": Text(help_text="ask here again, after the seconds of Retry-After: 200 once it is computed"),
    },
)


class ComputationsBusy(APIException):
    status_code = 503
    default_detail = "As many computations wait as may; try again later."
    wait = ComputationsFull.retry_after_s


class ComputationFailed(APIException):
    status_code = 500
    default_detail = "This could not be computed; it is in the log."


def answer_or_progress(
    request: Request,
    question: LongQuestion,
    respond: Callable[[Mapping[str, Any]], HttpResponseBase],
    viewer: Any,
) -> HttpResponseBase:
    """`respond` with the whole answer; 202 while it is computed. `viewer`: against whose snapshot the question is."""
    try:
        answer = ask(question, viewer, may_enqueue=lambda: may_compute(request))
    except ComputationsFull as error:
        raise ComputationsBusy from error
    if answer.has_failed:
        raise ComputationFailed
    if answer.is_whole and answer.document is not None:
        return respond(answer.document)
    return accepted(request, question, answer)


def accepted(request: Request, question: LongQuestion, answer: LongAnswer) -> Response:
    request.accepted_renderer = JSONRenderer()  # whatever format was asked for, there is nothing to show in it yet
    document = {
        "status": "computing" if answer.has_begun else "waiting",
        "progress": answer.progress,
        "revision": question.snapshot.database.revision,
        "url": request.build_absolute_uri(),
    }
    return Response(
        document, status=202, headers={"Retry-After": str(retry_after_s(answer)), "Cache-Control": "no-store"}
    )


def retry_after_s(answer: LongAnswer) -> int:
    """Soon where little is left to do, later where much is.

    >>> retry_after_s(LongAnswer(None, False, 90, 100)), retry_after_s(LongAnswer(None, False, 10, 2000))
    (2, 30)
    """
    least, most = RETRY_AFTER_RANGE_S
    return max(least, min(most, (answer.total - answer.done) // RETRIES_PER_COMPUTATION))
