"""How often one address, or one user, may ask: for the API's views, for pages, and for forms that guess or send mail.

The rates are settings (docs/settings.md); what is counted is shared by all processes (mpet_site.web.rate_counts).
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
NETWORK_BITS = 64  # of an IPv6 address: what one customer of a provider has at least


def parse_rate(text: str) -> tuple[int, int]:
    """A rate as the settings write it: how many, in how many seconds.

    >>> parse_rate("600/min"), parse_rate("20/hour")
    ((600, 60), (20, 3600))
    """
    number, period = text.split("/")
    return int(number), SECONDS_OF_PERIOD[period[0]]


def seconds_to_wait(scope: str, who: str) -> int:
    """Counts one more of `scope`; 0 where the rate allows it, else after how many seconds it will."""
    rate = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"].get(scope.partition(" ")[0])
    if not rate:
        return 0
    most, window_s = parse_rate(rate)
    count, left_s = count_event(f"{scope} {who}", window_s)
    return 0 if count <= most else max(1, math.ceil(left_s))


def client_address(request: Any) -> str:
    """Who asks, as far as an address can tell: of IPv6 the network, as one customer has all addresses of it."""
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
    """Counts a request by its user, with all tokens and sessions together, or else by its address; 0 or the seconds
    until it is allowed. `kind`: what is counted apart from the API's requests."""
    scope, who = ("user", request.user.pk) if request.user.is_authenticated else ("anon", client_address(request))
    return seconds_to_wait(f"{scope} {kind}".strip(), str(who))


class RequestThrottle(BaseThrottle):
    """Requests to the API of one user, or of one address without a token or session."""

    wait_s = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        self.wait_s = wait_of_request(request)
        return self.wait_s == 0

    def wait(self) -> float:
        return self.wait_s


class UnstoredPredictionThrottle(RequestThrottle):
    """Questions to the API of one address without an account, whose answers are computed each time."""

    def allow_request(self, request: Any, view: Any) -> bool:
        if not request.user.is_authenticated:
            self.wait_s = seconds_to_wait("prediction", client_address(request))
        return self.wait_s == 0


def wait_of_preview(request: Any) -> int:
    """Counts a file that a user has read without storing it, on a page or by the API; 0 or the seconds to wait."""
    return seconds_to_wait("preview", str(request.user.pk))


def too_many_requests(request: HttpRequest, wait_s: int) -> HttpResponse:
    """The page that says when to come back."""
    response = render(request, "429.html", {"wait_s": wait_s}, status=429)
    response["Retry-After"] = str(wait_s)
    response["Cache-Control"] = "no-store"
    return response


def limit_posts(scope: str) -> Callable[[_View], _View]:
    """Of a view: what is sent to it from one address too soon is answered with 429, and not even read."""

    def limit(view: _View) -> _View:
        @wraps(view)
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST" and (wait_s := seconds_to_wait(scope, client_address(request))):
                return too_many_requests(request, wait_s)
            return view(request, *args, **kwargs)

        return limited

    return limit


def may_compute(request: Any) -> bool:
    """Whether this request, of a page or of the API, may set a further long computation going; it then counts."""
    return seconds_to_wait("computation", client_address(request)) == 0
