"""Answers that clients can keep: an ETag that changes whenever what the viewer may see does, and 304."""

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
    """Weak: the same content, whatever compression a proxy chose."""
    digest = hashlib.sha256("\n".join(map(str, (settings.CODE_VERSION, *parts))).encode(errors="replace"))
    return f'W/"{digest.hexdigest()[:32]}"'


def respond_unless_unchanged(request: Request, etag: str, build: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """`build()`, or 304 where the client has this ETag. Call it once it is certain that there is something to see."""
    kept_tags = {tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))}
    response = HttpResponse(status=304) if etag.removeprefix("W/") in kept_tags else build()
    response["ETag"] = etag
    return response
