"""The page that shows the glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from mpet_site.web.glossary import TERM_GROUPS


def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"groups": TERM_GROUPS})
