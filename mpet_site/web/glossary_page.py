"""The page that shows the glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from mpet_site.web.glossary import TERM_GROUPS


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"groups": TERM_GROUPS})
