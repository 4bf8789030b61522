"""The page for an error that nobody caught."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from mpet_site.web.busy import RETRY_AFTER_S, is_busy, is_unmigrated
from mpet_site.web.middleware import is_api
from mpet_site.web.problems import busy_problem, mistake_problem
from mpet_site.web.request_ids import request_id


def failed(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, for errors in a view and around it. It asks no database and knows no user."""
    busy = is_busy(sys.exception()) or is_unmigrated(sys.exception())
    if is_api(request):
        return busy_problem() if busy else mistake_problem()
    status = 503 if busy else 500
    headers = {"Cache-Control": "no-store"} | ({"Retry-After": str(RETRY_AFTER_S)} if busy else {})
    return HttpResponse(
        render_to_string(f"{status}.html", {"request_id": request_id()}), status=status, headers=headers
    )
