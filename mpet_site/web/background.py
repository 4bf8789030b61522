"""Work that takes seconds is done in the background of requests. Commands, tasks and threads wait for it.

Meanwhile a request is answered from an earlier state, and the response is not cached; or with 503 and Retry-After,
where no earlier state may answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from mpet_site.web.database_unavailable import RETRY_AFTER_S


class NotReadyYet(Exception):
    """What the request needs is being prepared or in use, and will be there in some seconds. `reason` is shown."""

    reason = "New measurements are being processed."


_in_request: ContextVar[bool] = ContextVar("in_request", default=False)
_is_outdated: ContextVar[bool] = ContextVar("is_outdated", default=False)


def can_wait() -> bool:
    """Whether the caller may wait for seconds: commands, tasks and threads may, requests may not."""
    return not _in_request.get()


@contextmanager
def waiting() -> Iterator[None]:
    """Let the code of this block wait although it runs in a request, as for an upload."""
    token = _in_request.set(False)
    try:
        yield
    finally:
        _in_request.reset(token)


def answer_is_outdated() -> bool:
    """Whether anything in this request came from before the newest revision."""
    return _is_outdated.get()


def note_outdated() -> None:
    _is_outdated.set(True)


class BackgroundMiddleware:
    """Notes that code runs in a request, and forbids caching of responses from an outdated state."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        in_request, is_outdated = _in_request.set(True), _is_outdated.set(False)
        try:
            response = self.get_response(request)
            if answer_is_outdated():
                del response["ETag"]
                del response["Cache-Control"]
                add_never_cache_headers(response)
            return response
        finally:
            _in_request.reset(in_request)
            _is_outdated.reset(is_outdated)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """A page that reloads itself. The API answers with a problem document (mpet_site.web.problems)."""
        if not isinstance(error, NotReadyYet):
            return None
        response = render(request, "not_ready.html", {"reason": error.reason, "seconds": RETRY_AFTER_S}, status=503)
        response["Retry-After"] = str(RETRY_AFTER_S)
        add_never_cache_headers(response)
        return response
