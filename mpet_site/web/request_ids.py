"""A name for each request, which its log lines, its answer and its problem document carry.

What a proxy in front sends as `X-Request-ID` is kept, so that its log and ours can be read together.
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

HEADER = "X-Request-ID"
ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")
logger = logging.getLogger("mpet.requests")

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """Of the request that this thread answers; empty outside of one."""
    return _request_id.get()


def id_of(request: HttpRequest) -> str:
    """What the trusted proxy calls it, else a new name."""
    given = request.headers.get(HEADER, "") if settings.REST_FRAMEWORK["NUM_PROXIES"] else ""
    return given if ACCEPTED.fullmatch(given) else uuid.uuid4().hex


class RequestIdMiddleware:
    """Names the request as long as it is answered, and logs what it took (MPET_LOG_REQUESTS)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name, started = id_of(request), time.perf_counter()
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
    """One line a request: no address of the visitor, no query, in which people search."""
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
    """Adds `request_id` to every record: "-" outside of requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id() or "-"
        return True
