"""Cache of pages and API lists for visitors who are not signed in, and ETags of responses from the database.

A cached page is valid as long as the public data is unchanged. The ETags change with the data that the viewer may see.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.cache import caches
from django.core.handlers.wsgi import get_script_name
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.middleware.gzip import re_accepts_gzip
from django.template.response import SimpleTemplateResponse
from django.utils.cache import patch_vary_headers
from django.utils.decorators import method_decorator
from rest_framework.request import Request
from rest_framework.views import APIView

from mpet_site.web.background import answer_is_outdated
from mpet_site.web.etags import etag_of
from mpet_site.web.middleware import is_api
from profiles.models import OwnPriceList, Profile, Revision, VerdictChange
from profiles.scaling.names import METHOD_VERSION

LARGEST_KEPT_PAGE_BYTES = 1 << 20
DECIDING_HEADERS = ("HX-Request", "HX-Target", "HX-Boosted")

View = Callable[..., HttpResponse]


def kept_for_visitors(view: View | None = None, *, of: str = "") -> Any:
    """Cache the view's responses to visitors by URL and public revision, for at most PAGE_CACHE_SECONDS.

    `of` is "platform" or "workload" for pages about one row, given by `slug` in the path or by its kind in the query.
    These take longest to create, and remain valid when other rows are added, such as another machine to predict for.
    Responses with a cache header of their own, a cookie or a form are never cached.
    """
    if view is None:
        return partial(kept_for_visitors, of=of)

    @wraps(view)
    def kept_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        is_for_all = (
            request.method == "GET" and "If-None-Match" not in request.headers and not depends_on_client(request)
        )
        if not settings.PAGE_CACHE_SECONDS or not is_for_all:
            return view(request, *args, **kwargs)
        state = state_of(of, kwargs.get("slug") or request.GET.get(of, "")) if of else Revision.current(None)[0]
        pages, key = caches["pages"], page_key(request, state)
        page = pages.get(key)
        if page is not None:
            return kept_page(request, *page)
        response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["Cookie"])
        if isinstance(response, SimpleTemplateResponse):  # a response of the API
            response.render()
        if not is_cacheable(request, response):
            return response
        page = gzip.compress(response.content, compresslevel=6), dict(response.items())
        with suppress(OSError):  # a full disk must not prevent the response
            pages.set(key, page, settings.PAGE_CACHE_SECONDS)
        return kept_page(request, *page)

    return kept_view


def state_of(kind: str, slug: str) -> tuple[str, int | None, int | None]:
    """Return a key that changes when public profiles are removed or judged again, or when this row gets new
    profiles."""
    verdict = VerdictChange.objects.aggregate(newest=Max("pk"))["newest"]
    newest = Profile.objects.filter(private_to=None, **{f"{kind}__slug": slug}).aggregate(newest=Max("pk"))["newest"]
    return Revision.public_generation(), verdict, newest


def kept_page(request: HttpRequest, compressed: bytes, headers: dict[str, str]) -> HttpResponse:
    """Return the cached page, compressed if the client accepts that, so that compression is done only once."""
    if not re_accepts_gzip.search(request.headers.get("Accept-Encoding", "")):
        return HttpResponse(gzip.decompress(compressed), headers=headers)
    response = HttpResponse(compressed, headers=headers | {"Content-Encoding": "gzip"})
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def depends_on_client(request: HttpRequest) -> bool:
    """Return whether the response may depend on the client: a session, a token, or a pending message."""
    cookies = (settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name)
    return "Authorization" in request.headers or any(name in request.COOKIES for name in cookies)


def page_key(request: HttpRequest, state: Any) -> str:
    deciding = ("Accept",) if is_api(request) else DECIDING_HEADERS
    headers = [request.headers.get(name, "") for name in deciding]
    # The site's prefix and the path are separate items, because the prefix "/workloads" with the path "/" would
    # otherwise have the same key as no prefix with the path "/workloads/".
    site = (request.scheme, request.get_host(), get_script_name(request.META))
    parts = (settings.CODE_VERSION, state, site, request.get_full_path_info(), *headers)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def is_cacheable(request: HttpRequest, response: HttpResponse) -> bool:
    return (
        response.status_code == 200
        and not response.streaming
        and not answer_is_outdated()
        and not response.cookies
        and response.get("Cache-Control", "no-cache") == "no-cache"
        and "CSRF_COOKIE_NEEDS_UPDATE" not in request.META
        and len(response.content) <= LARGEST_KEPT_PAGE_BYTES
    )


def database_etag(request: Request, *parts: Any) -> str:
    """Return the ETag of a response from the database.

    It depends on the viewer only if the viewer has private data or own prices, so that all other viewers share one
    response.
    """
    public, private = Revision.current(request.user)
    own_list = OwnPriceList.of(request.user)
    viewer = (request.user.pk, own_list and own_list.version) if private or own_list else ""
    renderer = request.accepted_renderer.format
    return etag_of(METHOD_VERSION, public, private, viewer, renderer, request.build_absolute_uri(), *parts)


@method_decorator(kept_for_visitors, name="dispatch")
class RevisionEtag(APIView):
    """Base class of list and detail views with rows that change only with the revision."""

    def etag(self, rows: Any) -> str:
        return database_etag(self.request)
