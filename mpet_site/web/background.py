"""Requests do not wait for work that takes seconds. Commands, tasks and threads do.

Until the work is finished, a request is answered from an earlier state and the response is not cached. If no earlier
state can be used, the response is 503 with Retry-After.
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
    """The data for a request is being computed or in use, and available in a few seconds. `reason` is shown to the
    user."""

    reason = "New measurements are being processed."


_in_request: ContextVar[bool] = ContextVar("in_request", default=False)
_is_outdated: ContextVar[bool] = ContextVar("is_outdated", default=False)


def can_wait() -> bool:
    """Return whether the caller may wait for seconds. Commands, tasks and threads may, requests may not."""
    return not _in_request.get()


@contextmanager
def waiting() -> Iterator[None]:
    """Allow the code of this block to wait although it runs in a request, for example for an upload."""
    token = _in_request.set(False)
    try:
        yield
    finally:
        _in_request.reset(token)


def answer_is_outdated() -> bool:
    """Return whether any data used in this request is older than the newest revision."""
    return _is_outdated.get()


def note_outdated() -> None:
    _is_outdated.set(True)


class BackgroundMiddleware:
    """Middleware that marks code as running in a request, and prevents caching of responses from an outdated state."""

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
        """Answer NotReadyYet with a page that reloads itself. The API returns a problem document
        (mpet_site.web.problems)."""
        if not isinstance(error, NotReadyYet):
            return None
        response = render(request, "not_ready.html", {"reason": error.reason, "seconds": RETRY_AFTER_S}, status=503)
        response["Retry-After"] = str(RETRY_AFTER_S)
        add_never_cache_headers(response)
        return response
