"""The page for an error that nobody caught."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from mpet_site.web.busy import unavailability_of
from mpet_site.web.middleware import is_api
from mpet_site.web.problems import mistake_problem, unavailable_problem
from mpet_site.web.request_ids import request_id


def failed(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, for errors in a view and around it. It asks no database and knows no user."""
    unavailable = unavailability_of(sys.exception())
    if is_api(request):
        return unavailable_problem(unavailable) if unavailable else mistake_problem()
    status = 503 if unavailable else 500
    headers = {"Cache-Control": "no-store"}
    if unavailable:
        headers["Retry-After"] = str(unavailable.retry_after_s)
    context = {"request_id": request_id(), "unavailable": unavailable}
    return HttpResponse(render_to_string(f"{status}.html", context), status=status, headers=headers)
