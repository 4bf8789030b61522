"""The pages that belong to no application: documentation, glossary, status, and the page for unhandled errors."""

from __future__ import annotations

import sys

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from mpet_site.web.database_unavailable import unavailability_of
from mpet_site.web.documents import chapters, image_path, place_of, read_document, search_documents
from mpet_site.web.glossary import READING, TERM_GROUPS
from mpet_site.web.health import server_fault
from mpet_site.web.lists import search_refusal
from mpet_site.web.middleware import is_api
from mpet_site.web.problems import error_response, mistake_problem, unavailable_problem
from mpet_site.web.request_logs import request_id

NOT_CRAWLED = (
    "/accounts/",
    "/admin/",
    "/components/",
    "/predict/possible/",
    "/predictions/answer/",
    "/ranking/",
    "/search/",
    "/what-if/",
)


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    """Show the sections and pages of the documentation, the download of the data, and the results of the search ?q=."""
    text = request.GET.get("q", "")
    refusal = search_refusal(text)
    context = {"q": text, "refusal": refusal, "found": [] if refusal else search_documents(text)}
    return render(request, "docs/index.html", context | {"chapters": chapters()})


@require_safe
def document(request: HttpRequest, name: str) -> HttpResponse:
    page = read_document(name)
    if page is None:
        raise Http404("there is no such page")
    chapter, before, after = place_of(name)
    context = {
        "document": page,
        "html": mark_safe(page.html),  # noqa: S308  sanitised by read_document
        "chapters": [one for one in chapters() if not one.is_internal or one == chapter],
        "chapter": chapter,
        "before": before,
        "after": after,
        "contents": [section for section in page.sections if section.level == 2 and section.anchor],
    }
    return render(request, "docs/document.html", context)


@require_safe
@cache_control(max_age=3600)
def picture(request: HttpRequest, name: str) -> HttpResponseBase:
    path = image_path(name)
    if path is None:
        raise Http404("there is no such picture")
    return FileResponse(path.open("rb"), content_type="image/png")


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    """Show each group of terms, with the address and title of a documentation page for each term."""
    groups = []
    for group in TERM_GROUPS:
        definitions = []
        for term in group.terms:
            name, mark, anchor = READING.get(term.slug, READING[group.slug]).partition("#")
            page = read_document(name)
            address = f"{reverse('document', args=[name])}{mark}{anchor}"
            definitions.append((term, address, page.title if page else name))
        groups.append((group, definitions))
    return render(request, "glossary.html", {"groups": groups})


@require_safe
def components(request: HttpRequest) -> HttpResponse:
    """Show the components of the style sheet on one page, for developers. tests/browser takes screenshots of it."""
    return render(request, "components.html")


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Show whether the server works, as a page. Supervisors use /healthz."""
    context = {"reason": server_fault(), "version": settings.CODE_VERSION, "twin": reverse("healthz")}
    return render(request, "status.html", context)


@require_safe
@cache_control(max_age=86_400)
def robots(request: HttpRequest) -> HttpResponse:
    """Exclude crawlers from the pages of accounts and from addresses that each start a computation."""
    text = "".join(f"Disallow: {request.META.get('SCRIPT_NAME', '')}{path}\n" for path in NOT_CRAWLED)
    return HttpResponse(f"User-agent: *\n{text}", content_type="text/plain; charset=utf-8")


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect /favicon.ico to the icon, for clients that ignore the icon link of the pages."""
    return redirect(static("mpet/icon.svg"))


def malformed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle requests that Django rejects (`handler400`), such as one for a host not in MPET_ALLOWED_HOSTS."""
    if is_api(request):
        return error_response(400, "The request is malformed, or for a host that this server does not serve.")
    return HttpResponse(render_to_string("400.html"), status=400)


def failed(request: HttpRequest) -> HttpResponse:
    """Handle errors in views and middleware (Django's `handler500`). Use neither the database nor the user."""
    unavailable = unavailability_of(sys.exception())
    if is_api(request):
        return unavailable_problem(unavailable) if unavailable else mistake_problem()
    status = 503 if unavailable else 500
    headers = {"Cache-Control": "no-store"}
    if unavailable:
        headers["Retry-After"] = str(unavailable.retry_after_s)
    context = {"request_id": request_id(), "unavailable": unavailable}
    return HttpResponse(render_to_string(f"{status}.html", context), status=status, headers=headers)
