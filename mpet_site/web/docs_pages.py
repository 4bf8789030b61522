"""The documentation in the site: an index with a search, every page of docs/, and their pictures."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from mpet_site.web.documents import image_path, read_document, search_documents
from mpet_site.web.searching import search_refusal

OVERVIEW = "README.md"


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "")
    refusal = search_refusal(text)
    context = {"q": text, "refusal": refusal, "found": [] if refusal else search_documents(text)}
    return render(request, "docs/index.html", context | {"overview": overview()})


def overview() -> str:
    """The list of all pages, as docs/README.md has it, without its headline."""
    page = read_document(OVERVIEW)
    return mark_safe(page.html.partition("</h1>")[2]) if page else ""  # noqa: S308  sanitised when it was rendered


@require_safe
def document(request: HttpRequest, name: str) -> HttpResponse:
    page = read_document(name)
    if page is None:
        raise Http404("there is no such page")
    html = mark_safe(page.html)  # noqa: S308  sanitised when it was rendered
    return render(request, "docs/document.html", {"document": page, "html": html})


@require_safe
@cache_control(max_age=3600)
def picture(request: HttpRequest, name: str) -> HttpResponseBase:
    path = image_path(name)
    if path is None:
        raise Http404("there is no such picture")
    return FileResponse(path.open("rb"), content_type="image/png")
