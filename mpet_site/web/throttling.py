"""Rate limits per address or user: for the API, for pages, and for forms that check secrets or send mail.

The rates are settings (docs/settings.md). All processes share the counts (mpet_site.web.rate_counts).
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from rest_framework.throttling import BaseThrottle

from mpet_site.web.rate_counts import count_event

_View = Callable[..., HttpResponseBase]
SECONDS_OF_PERIOD = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
# The prefix of an IPv6 address that identifies a customer, who has at least a /64 network.
NETWORK_BITS = 64


def parse_rate(text: str) -> tuple[int, int]:
    """Return the maximum number of requests and the number of seconds of a rate in the settings.

    >>> parse_rate("600/min"), parse_rate("20/hour")
    ((600, 60), (20, 3600))
    """
    number, period = text.split("/")
    return int(number), SECONDS_OF_PERIOD[period[0]]


def seconds_to_wait(scope: str, who: str) -> int:
    """Count one event of `scope`. Return 0 if the rate allows it, or else the seconds until it does."""
    rate = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"].get(scope.partition(" ")[0])
    if not rate:
        return 0
    most, window_s = parse_rate(rate)
    count, left_s = count_event(f"{scope} {who}", window_s)
    return 0 if count <= most else max(1, math.ceil(left_s))


def client_address(request: Any) -> str:
    """Return the address that identifies the client. For IPv6 it is the /64 network, because a customer has at least
    one."""
    text: str = BaseThrottle().get_ident(request) or ""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if address.version == 4:
        return text
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, NETWORK_BITS), strict=False))


def wait_of_request(request: Any, kind: str = "") -> int:
    """Count a request, and return 0 or the seconds until it is allowed.

    Requests are counted by user, over all tokens and sessions, or else by address. `kind` names requests that are
    counted separately from those of the API.
    """
    scope, who = ("user", request.user.pk) if request.user.is_authenticated else ("anon", client_address(request))
    return seconds_to_wait(f"{scope} {kind}".strip(), str(who))


class RequestThrottle(BaseThrottle):
    """The rate limit of API requests, per user, or per address without a token or session."""

    wait_s = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        self.wait_s = wait_of_request(request)
        return self.wait_s == 0

    def wait(self) -> float:
        return self.wait_s


class UnstoredPredictionThrottle(RequestThrottle):
    """The rate limit of API predictions for clients without an account, per address.

    These predictions are computed for each request.
    """

    def allow_request(self, request: Any, view: Any) -> bool:
        if not request.user.is_authenticated:
            self.wait_s = seconds_to_wait("prediction", client_address(request))
        return self.wait_s == 0


def wait_of_preview(request: Any) -> int:
    """Count a preview of a file, on a page or by the API, and return 0 or the seconds until it is allowed."""
    return seconds_to_wait("preview", str(request.user.pk))


def too_many_requests(request: HttpRequest, wait_s: int) -> HttpResponse:
    """Return the page with status 429, which shows when to try again."""
    response = render(request, "429.html", {"wait_s": wait_s}, status=429)
    response["Retry-After"] = str(wait_s)
    response["Cache-Control"] = "no-store"
    return response


def limit_posts(scope: str) -> Callable[[_View], _View]:
    """Return a view decorator that limits the rate of POST requests from an address.

    A request above the limit is answered with 429, and its body is not read.
    """

    def limit(view: _View) -> _View:
        @wraps(view)
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST" and (wait_s := seconds_to_wait(scope, client_address(request))):
                return too_many_requests(request, wait_s)
            return view(request, *args, **kwargs)

        return limited

    return limit


def may_compute(request: Any) -> bool:
    """Count a long computation that this request wants to start, and return whether it may start."""
    return seconds_to_wait("computation", client_address(request)) == 0
