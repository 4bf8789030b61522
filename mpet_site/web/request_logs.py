"""Request logs: an identifier for each request, and no secret addresses.

The identifier is also in the response and in problem documents. The `X-Request-ID` of a proxy is kept, so that its log
and ours can be matched. Responses at secret addresses are not cached, and secrets in log lines are shortened.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

HEADER = "X-Request-ID"
ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")
logger = logging.getLogger("mpet.requests")

_request_id: ContextVar[str] = ContextVar("request_id", default="")
SECRET_IN_ADDRESS = re.compile(r"((?:/|%2F)quarantine(?:/|%2F))[A-Za-z0-9_-]{20,}", re.IGNORECASE)
SECRET_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


def request_id() -> str:
    """Return the identifier of the request that this thread answers, or "" outside of requests."""
    return _request_id.get()


class RequestIdMiddleware:
    """Middleware that sets the identifier of each request and logs the request (MPET_LOG_REQUESTS)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        # Use the identifier of the trusted proxy, or else a new one.
        given = request.headers.get(HEADER, "") if settings.REST_FRAMEWORK["NUM_PROXIES"] else ""
        name = given if ACCEPTED.fullmatch(given) else uuid.uuid4().hex
        token = _request_id.set(name)
        try:
            response = self.get_response(request)
            response[HEADER] = name
            if settings.LOG_REQUESTS:
                log_answer(request, response.status_code, time.perf_counter() - started)
            return response
        finally:
            _request_id.reset(token)


def log_answer(request: HttpRequest, status: int, duration_s: float) -> None:
    """Log one line for a request, without the visitor's address and without the query, which may be a search."""
    match = request.resolver_match
    facts = {
        "method": request.method,
        "path": request.path,
        "view": match.view_name if match else "",
        "status": status,
        "duration_ms": round(1000 * duration_s, 1),
    }
    logger.info("%s %s %d", request.method, request.path, status, extra=facts)


class RequestIdFilter(logging.Filter):
    """A logging filter that adds `request_id` to every record, or "-" outside of requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id() or "-"
        return True


def has_secret(address: str) -> bool:
    """Return whether the address contains the secret of a quarantined upload.

    >>> has_secret("/quarantine/0123456789abcdefghijkl/"), has_secret("/api/v1/quarantine/")
    (True, False)
    """
    return SECRET_IN_ADDRESS.search(address) is not None


class SecretAddressesMiddleware(MiddlewareMixin):
    """Middleware that sets SECRET_HEADERS on responses at secret addresses, errors included, and on redirects to them.

    The headers prevent caching, referrers in the requests for links and pictures, and indexing by robots.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if has_secret(request.path) or has_secret(response.get("Location", "")):
            for name, value in SECRET_HEADERS.items():
                response[name] = value
        return response


class SecretsHandler(logging.StreamHandler):
    """A logging handler that shortens the secrets in all lines, including tracebacks and the lines of other
    libraries."""

    def format(self, record: logging.LogRecord) -> str:
        return SECRET_IN_ADDRESS.sub(r"\1...", super().format(record))
