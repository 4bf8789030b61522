"""The page of the search in the header; without scripts, the only way to its results."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.lists import search_refusal
from mpet_site.web.pages import json_address
from profiles.search import MOST_OF_A_KIND, SEARCH_KINDS, search_everything


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """?q=; the results of each kind together, or the page of the only one of that name."""
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
