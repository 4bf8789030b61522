"""Addresses that are secrets: what is answered at them is kept and named nowhere, and the log does not have them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

SECRET_IN_ADDRESS = re.compile(r"((?:/|%2F)quarantine(?:/|%2F))[A-Za-z0-9_-]{20,}", re.IGNORECASE)
SECRET_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


def has_secret(address: str) -> bool:
    """
    >>> has_secret("/quarantine/0123456789abcdefghijkl/"), has_secret("/api/v1/quarantine/")
    (True, False)
    """
    return SECRET_IN_ADDRESS.search(address) is not None


def without_secret(text: str) -> str:
    """
    >>> without_secret("GET /quarantine/0123456789abcdefghijkl/claim/ 302")
    'GET /quarantine/.../claim/ 302'
    """
    return SECRET_IN_ADDRESS.sub(r"\1...", text)


class SecretAddressesMiddleware:
    """Whatever is answered at such an address, errors included, or leads to one: no cache keeps it, no link or picture
    on it tells another server the address, no robot lists it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if has_secret(request.path) or has_secret(response.get("Location", "")):
            for name, value in SECRET_HEADERS.items():
                response[name] = value
        return response


class SecretsHandler(logging.StreamHandler):
    """Shortens the secrets in the whole line, whoever wrote it, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secret(super().format(record))
