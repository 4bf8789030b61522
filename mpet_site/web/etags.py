"""Responses that clients can cache: ETags that change with the data that the viewer may see, and 304."""

import hashlib
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags
from rest_framework.request import Request

PRIVATE = "private, no-store"


def etag_of(*parts: Any) -> str:
    """Return a weak ETag of the parts and the version of the code. It is weak because a proxy may compress the
    response."""
    digest = hashlib.sha256("\n".join(map(str, (settings.CODE_VERSION, *parts))).encode(errors="replace"))
    return f'W/"{digest.hexdigest()[:32]}"'


def respond_unless_unchanged(request: Request, etag: str, build: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Return `build()`, or 304 if the client sent this ETag. Call it only when it is certain that the resource
    exists."""
    kept_tags = {tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))}
    response = HttpResponse(status=304) if etag.removeprefix("W/") in kept_tags else build()
    response["ETag"] = etag
    return response
