"""Pages that are made once for all visitors who are not signed in, as long as what is public stays the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.cache import caches
from django.core.handlers.wsgi import get_script_name
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from mpet_site.web.background import answer_is_outdated
from profiles.models import Revision

LARGEST_KEPT_PAGE_BYTES = 1 << 20
DECIDING_HEADERS = ("HX-Request", "HX-Target", "HX-Boosted")

View = Callable[..., HttpResponse]


def kept_for_visitors(view: View) -> View:
    """The view, whose answers to visitors are kept by address and public revision, at most PAGE_CACHE_SECONDS long.

    An answer that says itself how long it keeps, sets a cookie or has a form to send is made each time.
    """

    @wraps(view)
    def kept_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.PAGE_CACHE_SECONDS or request.method != "GET" or is_somebody(request):
            return view(request, *args, **kwargs)
        pages, key = caches["pages"], page_key(request)
        kept = pages.get(key)
        if kept is not None:
            content, headers = kept
            return HttpResponse(content, headers=headers)
        response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["Cookie"])
        if may_be_kept(request, response):
            pages.set(key, (response.content, dict(response.items())), settings.PAGE_CACHE_SECONDS)
        return response

    return kept_view


def is_somebody(request: HttpRequest) -> bool:
    """Whether the answer may depend on who asks: a session, a token, or a message that waits to be shown."""
    cookies = (settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name)
    return "Authorization" in request.headers or any(name in request.COOKIES for name in cookies)


def page_key(request: HttpRequest) -> str:
    public, _ = Revision.current(None)
    headers = [request.headers.get(name, "") for name in DECIDING_HEADERS]
    # The prefix of the site and the path apart: joined, "/workloads" and "/" would be as "" and "/workloads/".
    site = (request.scheme, request.get_host(), get_script_name(request.META))
    parts = (settings.CODE_VERSION, public, site, request.get_full_path_info(), *headers)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def may_be_kept(request: HttpRequest, response: HttpResponse) -> bool:
    return (
        response.status_code == 200
        and not response.streaming
        and not answer_is_outdated()
        and not response.cookies
        and not response.has_header("Cache-Control")
        and "CSRF_COOKIE_NEEDS_UPDATE" not in request.META
        and len(response.content) <= LARGEST_KEPT_PAGE_BYTES
    )
