"""The page that shows the glossary."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from mpet_site.web.documents import read_document
from mpet_site.web.glossary import READING, TERM_GROUPS, Term


@dataclass(frozen=True)
class Definition:
    """A term, and the page of the documentation that says more."""

    term: Term
    address: str
    title: str


def definition_of(term: Term, group: str) -> Definition:
    name, mark, anchor = READING.get(term.slug, READING[group]).partition("#")
    page = read_document(name)
    return Definition(term, f"{reverse('document', args=[name])}{mark}{anchor}", page.title if page else name)


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    groups = [(group, [definition_of(term, group.slug) for term in group.terms]) for group in TERM_GROUPS]
    return render(request, "glossary.html", {"groups": groups})
