"""Search over machines, workloads, programs and the documentation, for the page header, the search page and the API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.documents import search_documents
from mpet_site.web.lists import search_refusal, words_of_search
from mpet_site.web.pages import json_address
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.identity.programs import programs_by_source, region_rows
from profiles.models import Platform, Profile, Workload

MOST_OF_A_KIND = 20
MOST_SOURCES = 50  # maximum number of sources to search for programs
SEARCH_KINDS = {"machine": "Machines", "workload": "Workloads", "program": "Programs", "docs": "Docs"}


@dataclass(frozen=True)
class SearchResult:
    """A search result. `kind` is a key of SEARCH_KINDS, `url` the path of its page, and `note` a short description."""

    kind: str
    name: str
    url: str
    note: str = ""


def search_everything(text: str, user: Any, most: int = MOST_OF_A_KIND) -> list[SearchResult]:
    """Return the results with every word of the text in their names, at most `most` of each kind.

    Machines come first and the docs last. Names that begin with the text come before the others.
    """
    if not words_of_search(text):
        return []
    return [
        *_rows(Platform, "machine", text, user, most),
        *_rows(Workload, "workload", text, user, most),
        *_programs(text, user, most),
        *_documents(text, most),
    ]


def _rows(model: Any, kind: str, text: str, user: Any, most: int) -> Iterator[SearchResult]:
    found = model.objects.offered_to(user).search(" ".join(words_of_search(text)))
    first = list(found.filter(name__istartswith=text.strip())[:most])
    rows = [*first, *found.exclude(pk__in=[row.pk for row in first])[: most - len(first)]]
    view = model._meta.model_name
    for row in disambiguate(rows, user):
        yield SearchResult(kind, disambiguated_name(row), reverse(view, args=[row.slug]))


def _programs(text: str, user: Any, most: int) -> list[SearchResult]:
    regions = region_rows(Profile.objects.visible_to(user))
    for word in words_of_search(text):
        regions = regions.filter(workload__application__icontains=word)
    machines = dict(regions.order_by("-source").values_list("source", "platform__name").distinct()[:MOST_SOURCES])
    words = [word.lower() for word in words_of_search(text)]
    return [
        SearchResult("program", program.name, reverse("program", args=program.address), f"on {machines[source]}")
        for source, programs in programs_by_source(machines, user).items()
        for program in programs
        if all(word in program.name.lower() for word in words)
    ][:most]


def _documents(text: str, most: int) -> list[SearchResult]:
    return [
        SearchResult(
            "docs",
            found.section.title,
            f"{reverse('document', args=[found.document.name])}#{found.section.anchor}",
            found.snippet,
        )
        for found in search_documents(text)[:most]
    ]


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show the results for ?q=, grouped by kind, or redirect to the only result with exactly this name.

    Without scripts, this page is the only way to the results.
    """
    text = request.GET.get("q", "").strip()
    refusal = search_refusal(text)
    results = [] if refusal else search_everything(text, request.user)
    named = [result for result in results if result.name.casefold() == text.casefold()]
    if len(named) == 1:
        return redirect(named[0].url)
    groups = [(SEARCH_KINDS[kind], list(rows)) for kind, rows in groupby(results, attrgetter("kind"))]
    context = {
        "site_search": text,
        "refusal": refusal,
        "groups": groups,
        "most": MOST_OF_A_KIND,
        "twin": json_address("api-search", query=urlencode({"q": text})),
    }
    return render(request, "profiles/search.html", context)
