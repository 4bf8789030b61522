from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from mpet_site.web.glossary import GROUPS


def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"groups": GROUPS})
