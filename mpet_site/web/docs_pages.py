"""The pages that links to the documentation lead to: an index, and the types of the API's problem documents."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from mpet_site.web.problems import PROBLEM_TYPES


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/index.html")


@require_safe
def problem_types(request: HttpRequest) -> HttpResponse:
    """Each `type` of a problem document is the address of this page with an anchor."""
    columns = ("name", "title", "status_code", "explanation")
    rows = [{column: getattr(problem, column) for column in columns} for problem in PROBLEM_TYPES]
    return render(request, "docs/problem_types.html", {"problem_types": rows})
