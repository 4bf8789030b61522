"""Errors of the API as RFC 9457 problem documents. tests/mpet_site/web/test_problems.py is the specification."""

import json
import logging
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from mpet_site.web.background import NotReadyYet
from mpet_site.web.database_unavailable import Unavailable, unavailability_of
from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.request_logs import request_id

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
DOCS = "/docs/api.md#"
NOT_FOUND = "It does not exist, or you may not read it."


class Problem(exceptions.APIException):
    """An error of the API. `name` is its type and an anchor in docs/api.md. `members` are further members of its
    document."""

    status_code = 400
    name = ""
    title = ""

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.members = members


class InvalidRequest(Problem):
    """An invalid query parameter or field. `errors` is a list of {name, reason}."""

    name = "invalid-request"
    title = "Invalid request"

    def __init__(self, errors: list[dict[str, str]]) -> None:
        text = " ".join(f"{error['name']}: {error['reason']}" if error["name"] else error["reason"] for error in errors)
        super().__init__(text, errors=errors)


class PayloadTooLarge(Problem):
    status_code = 413
    name = "payload-too-large"
    title = "Payload too large"


class Conflict(Problem):
    """The request is valid, but conflicts with the current state."""

    status_code = 409
    name = "conflict"
    title = "Conflict"


class Unprocessable(Problem):
    """The request is valid, but the stored data is not sufficient to answer it."""

    status_code = 422
    name = "no-prediction"
    title = "No prediction"


def invalid_request(name: str, reason: str) -> InvalidRequest:
    return InvalidRequest([{"name": name, "reason": reason}])


def problem_response(error: Problem) -> HttpResponse:
    return error_response(error.status_code, str(error.detail), name=error.name, title=error.title, **error.members)


def error_response(status: int, detail: str, *, name: str = "", title: str = "", **members: Any) -> HttpResponse:
    """Return a problem document as a plain response, so that content negotiation cannot turn an error into CSV."""
    document = {
        "type": DOCS + name if name else "about:blank",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": str(detail),
        **members,
    }
    if request_name := request_id():
        document["request_id"] = request_name
    content = json.dumps(nan_to_null(document), allow_nan=False, ensure_ascii=False)
    response = HttpResponse(content.encode(errors="replace"), content_type=MEDIA_TYPE, status=status)
    response["Cache-Control"] = "no-store"
    return response


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    from rest_framework.views import set_rollback  # noqa: PLC0415  (views load the parsers, which load this module)

    set_rollback()
    for kind, answer in ERROR_RESPONSES:
        if isinstance(error, kind):
            return answer(error)
    if isinstance(error, NotReadyYet):
        return unavailable_problem(Unavailable(f"{error.reason} Nothing was stored; try again soon."))
    if unavailable := unavailability_of(error):
        logger.warning("%s %s: %s", context["request"].method, context["request"].path, error)
        return unavailable_problem(unavailable)
    logger.exception("%s %s", context["request"].method, context["request"].path, exc_info=error)
    return mistake_problem()


def unavailable_problem(unavailable: Unavailable) -> HttpResponse:
    """Return a 503 response with Retry-After (mpet_site.web.database_unavailable, mpet_site.web.background)."""
    response = error_response(503, unavailable.detail)
    response["Retry-After"] = str(unavailable.retry_after_s)
    return response


def mistake_problem() -> HttpResponse:
    """Return a 500 response."""
    return error_response(500, "Internal error of the server; see its log.")


def framework_error_response(error: exceptions.APIException) -> HttpResponse:
    """Return the response for DRF's own exceptions: 401, 403, 405, 406, 415, 429."""
    response = error_response(error.status_code, str(error.detail))
    if auth_header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = auth_header
    if (wait := getattr(error, "wait", None)) is not None:
        response["Retry-After"] = str(max(1, int(wait + 0.999)))
    return response


# The first matching class determines the response.
ERROR_RESPONSES: tuple[tuple[type[Exception], Callable[[Any], HttpResponse]], ...] = (
    (Problem, problem_response),
    (
        exceptions.ValidationError,
        lambda error: problem_response(InvalidRequest(list(validation_reasons(error.detail)))),
    ),
    (exceptions.NotFound, lambda _: error_response(404, NOT_FOUND)),
    (Http404, lambda _: error_response(404, NOT_FOUND)),
    (PermissionDenied, lambda _: error_response(403, str(exceptions.PermissionDenied.default_detail))),
    (RequestDataTooBig, lambda _: problem_response(PayloadTooLarge("The request's body is too large."))),
    (SuspiciousOperation, lambda _: error_response(400, "The request is malformed.")),
    (exceptions.APIException, framework_error_response),
)


def validation_reasons(detail: Any, name: str = "") -> Iterator[dict[str, str]]:
    """Yield DRF's nested validation errors as a flat sequence: {name: "settings.k", reason: "..."}."""
    if isinstance(detail, dict):
        for key, inner in detail.items():
            part = "" if key == "non_field_errors" else str(key)
            yield from validation_reasons(inner, ".".join(filter(None, (name, part))))
    elif isinstance(detail, list | tuple):
        for inner in detail:
            yield from validation_reasons(inner, name)
    else:
        yield {"name": name, "reason": str(detail)}
