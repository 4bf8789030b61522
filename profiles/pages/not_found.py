"""The page for addresses that lead nowhere: what they may have meant, among what the viewer may see."""

from __future__ import annotations

import difflib
import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from mpet_site.web.request_logs import has_secret
from profiles.identity.name_disambiguation import near_misses
from profiles.models import FormerSlug, Platform, Workload

NAMED_MODELS: dict[str, Any] = {"platform": Platform, "workload": Workload}
SUGGESTED_PAGES = ("predict", "platforms", "workloads", "measure", "upload", "uploads", "tokens", "login")
ROWS_COMPARED = 20_000  # a tenth of a second's work


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    match = re.fullmatch(rf"/({'|'.join(NAMED_MODELS)})s/([^/]{{1,200}})/?", request.path)
    noun, slug = match.groups() if match else ("", "")
    if noun and (address := moved_to(request, noun, slug)):
        return redirect(address, permanent=True)
    context = {
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
    """The address of the machine into which the one of the slug was merged, or of the row as which a private one was
    published; "" where there is none."""
    if noun == "platform" and (merged := Platform.objects.visible_to(request.user).merged_from(slug).first()):
        return reverse("platform", args=[merged.slug])
    former = FormerSlug.objects.filter(noun=noun, slug=slug).first()
    return reverse(noun, args=[former.leads_to]) if former else ""


def near_rows(request: HttpRequest, noun: str, text: str) -> list[Any]:
    """Rows whose slug or name looks like the one asked for, the nearest first."""
    rows = NAMED_MODELS[noun].objects.visible_to(request.user)
    slugs = near_misses(text, rows.values_list("slug", "name")[:ROWS_COMPARED])
    row_of = {row.slug: row for row in rows.filter(slug__in=slugs)}
    return [(row_of[slug].name, reverse(noun, args=[slug])) for slug in slugs if slug in row_of]
