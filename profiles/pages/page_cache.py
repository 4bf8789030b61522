"""Pages, and lists of the API, that are made once for all who are not signed in, as long as what is public stays the
same; and the ETags of what is read from the database, which change whenever what the viewer may see does."""

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
    """The view, whose answers to visitors are kept by address and public revision, at most PAGE_CACHE_SECONDS long.

    What is said of one thing, `of` a "platform" or a "workload" that the path has as `slug` or the query by its kind,
    outlives what is added to others, such as one more machine to predict for: making it takes longest. An answer that
    says itself how long it keeps, sets a cookie or has a form to send is made each time.
    """
    if view is None:
        return partial(kept_for_visitors, of=of)

    @wraps(view)
    def kept_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        is_for_all = request.method == "GET" and "If-None-Match" not in request.headers and not is_somebody(request)
        if not settings.PAGE_CACHE_SECONDS or not is_for_all:
            return view(request, *args, **kwargs)
        state = state_of(of, kwargs.get("slug") or request.GET.get(of, "")) if of else Revision.current(None)[0]
        pages, key = caches["pages"], page_key(request, state)
        kept = pages.get(key)
        if kept is not None:
            return kept_page(request, *kept)
        response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["Cookie"])
        if isinstance(response, SimpleTemplateResponse):  # of the API
            response.render()
        if not may_be_kept(request, response):
            return response
        kept = gzip.compress(response.content, compresslevel=6), dict(response.items())
        with suppress(OSError):  # on a full disk it is made again
            pages.set(key, kept, settings.PAGE_CACHE_SECONDS)
        return kept_page(request, *kept)

    return kept_view


def state_of(kind: str, slug: str) -> tuple[str, int | None, int | None]:
    """What changes when public profiles are taken away or judged otherwise anywhere, or when this one gets more."""
    verdict = VerdictChange.objects.aggregate(newest=Max("pk"))["newest"]
    own = Profile.objects.filter(private_to=None, **{f"{kind}__slug": slug}).aggregate(newest=Max("pk"))["newest"]
    return Revision.public_generation(), verdict, own


def kept_page(request: HttpRequest, compressed: bytes, headers: dict[str, str]) -> HttpResponse:
    """Compressed where the client takes that, so that this is done once."""
    if not re_accepts_gzip.search(request.headers.get("Accept-Encoding", "")):
        return HttpResponse(gzip.decompress(compressed), headers=headers)
    response = HttpResponse(compressed, headers=headers | {"Content-Encoding": "gzip"})
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def is_somebody(request: HttpRequest) -> bool:
    """Whether the answer may depend on who asks: a session, a token, or a message that waits to be shown."""
    cookies = (settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name)
    return "Authorization" in request.headers or any(name in request.COOKIES for name in cookies)


def page_key(request: HttpRequest, state: Any) -> str:
    deciding = ("Accept",) if is_api(request) else DECIDING_HEADERS
    headers = [request.headers.get(name, "") for name in deciding]
    # The prefix of the site and the path apart: joined, "/workloads" and "/" would be as "" and "/workloads/".
    site = (request.scheme, request.get_host(), get_script_name(request.META))
    parts = (settings.CODE_VERSION, state, site, request.get_full_path_info(), *headers)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def may_be_kept(request: HttpRequest, response: HttpResponse) -> bool:
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
    """The viewer counts only where there is something private to see or own prices, so that all others share one
    answer."""
    public, private = Revision.current(request.user)
    own_list = OwnPriceList.of(request.user)
    viewer = (request.user.pk, own_list and own_list.version) if private or own_list else ""
    renderer = request.accepted_renderer.format
    return etag_of(METHOD_VERSION, public, private, viewer, renderer, request.build_absolute_uri(), *parts)


@method_decorator(kept_for_visitors, name="dispatch")
class RevisionEtag(APIView):
    """For list and detail views whose rows change with the revision only."""

    def etag(self, rows: Any) -> str:
        return database_etag(self.request)
