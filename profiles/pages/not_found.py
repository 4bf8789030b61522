"""The page for unknown URLs, with suggestions from the rows that the viewer may see."""

from __future__ import annotations

import difflib
import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from mpet_site.web.request_logs import has_secret
from profiles.identity.name_disambiguation import near_misses
from profiles.models import FormerSlug, Platform, Workload

NAMED_MODELS: dict[str, Any] = {"platform": Platform, "workload": Workload}
SUGGESTED_PAGES = ("predict", "platforms", "workloads", "measure", "upload", "uploads", "tokens", "login")
ROWS_COMPARED = 20_000  # takes a tenth of a second


class NoSuchRow(Http404):
    """A platform or workload (the `noun`) that the query string names does not exist or is not visible."""

    def __init__(self, noun: str, text: str) -> None:
        super().__init__()
        self.noun, self.text = noun, text


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    match = re.fullmatch(rf"/({'|'.join(NAMED_MODELS)})s/([^/]{{1,200}})/?", request.path)
    noun, slug = match.groups() if match else ("", "")
    if isinstance(exception, NoSuchRow):
        noun, slug = exception.noun, exception.text[:200]
    elif noun and (address := moved_to(request, noun, slug)):
        return redirect(address, permanent=True)
    context = {
        "text": exception.text if isinstance(exception, NoSuchRow) else "",
        "noun": "machine" if noun == "platform" else noun,
        "near": near_rows(request, noun, slug) if noun else [],
        "pages": []
        if noun
        else difflib.get_close_matches(request.path, [reverse(name) for name in SUGGESTED_PAGES], n=3),
        "next": "" if has_secret(request.path) else request.path,
    }
    page: HttpResponse = render(request, "404.html", context, status=404)
    return page


def moved_to(request: HttpRequest, noun: str, slug: str) -> str:
    """Return the URL of the platform into which this one was merged, or of the public row of a published private one.

    Returns "" if there is none.
    """
    if noun == "platform" and (merged := Platform.objects.visible_to(request.user).merged_from(slug).first()):
        return reverse("platform", args=[merged.slug])
    former = FormerSlug.objects.filter(noun=noun, slug=slug).first()
    return reverse(noun, args=[former.leads_to]) if former else ""


def near_rows(request: HttpRequest, noun: str, text: str) -> list[Any]:
    """Return names and URLs of rows with a slug or name similar to the text, nearest first."""
    rows = NAMED_MODELS[noun].objects.visible_to(request.user)
    slugs = near_misses(text, rows.values_list("slug", "name")[:ROWS_COMPARED])
    row_of = {row.slug: row for row in rows.filter(slug__in=slugs)}
    return [(row_of[slug].name, reverse(noun, args=[slug])) for slug in slugs if slug in row_of]
