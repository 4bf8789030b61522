"""Search, ordering and pagination of lists, on pages and in the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from mpet_site.web.parameters import WholeNumber

# Each word of a search adds a condition on every searched column.
MOST_WORDS = 10
MOST_CHARACTERS = 200
LARGEST_PAGE = 10**9


def words_of_search(text: str) -> list[str]:
    """Return the words of a search.

    >>> words_of_search('fft, "two words"')
    ['fft', '"two', 'words"']
    """
    return text.replace(",", " ").split()


def search_refusal(text: str) -> str:
    """Return the reason why a search is rejected, or "" if it is accepted.

    >>> search_refusal("fft machine-1")
    ''
    >>> search_refusal("a " * 11)
    'A search has at most 10 words; this one has 11.'
    """
    if "\0" in text:
        return "The search contains a null character."
    if len(text) > MOST_CHARACTERS:
        return f"A search has at most {MOST_CHARACTERS} characters; this one has {len(text)}."
    count = len(words_of_search(text))
    return f"A search has at most {MOST_WORDS} words; this one has {count}." if count > MOST_WORDS else ""


def ordering_refusal(text: str, fields: Mapping[str, str]) -> str:
    """Return the reason why a list cannot be sorted by these fields, or "" if it can.

    >>> ordering_refusal("-name,size", {"name": "name"})
    "'size' is not one of: name."
    >>> ordering_refusal("-name", {"name": "name"}), ordering_refusal("", {})
    ('', '')
    """
    unknown = [term for term in text.split(",") if term.removeprefix("-") not in fields] if text else []
    return f"'{unknown[0]}' is not one of: {', '.join(fields)}." if unknown else ""


def order_rows(rows: QuerySet[Any], text: str, fields: Mapping[str, str]) -> QuerySet[Any]:
    """Return the queryset sorted by the named fields; a field with "-" in front is sorted in descending order.

    Unknown values come last. Equal rows are sorted by primary key, so that their order is the same on every page.
    Return the queryset unchanged if the text is empty or `ordering_refusal` rejects it.
    """
    if not text or ordering_refusal(text, fields):
        return rows
    columns = [(F(fields[term.removeprefix("-")]), term.startswith("-")) for term in text.split(",")]
    ordered = [column.desc(nulls_last=True) if down else column.asc(nulls_last=True) for column, down in columns]
    return rows.order_by(*ordered, "pk")


class KeyPaginator(Paginator):
    """A paginator for long lists. It reads the primary keys of a page from an index, and then the rows by key.

    For a page far from the start, the database then skips index entries instead of rows with all their joins.
    """

    def page(self, number: Any) -> Page[Any]:
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        rows: Any = self.object_list
        keys = list(rows.values_list("pk", flat=True)[first : first + self.per_page])
        row_of = rows.in_bulk(keys)
        return Page([row_of[key] for key in keys if key in row_of], number, self)


PAGE = WholeNumber("page", "Page number. The status is 404 after the last page.", default=1, low=1, high=LARGEST_PAGE)
PAGE_SIZE = WholeNumber(
    "page_size", "Rows per page, at most 500. Larger values become 500.", default=50, low=1, high=LARGEST_PAGE
)


def check_page(request: Request) -> None:
    """Raise InvalidRequest if `page` or `page_size` is invalid, even for CSV, which has no pages."""
    PAGE.read(request)
    PAGE_SIZE.read(request)


class Pagination(PageNumberPagination):
    """Pagination with 50 rows per page, or `?page_size=` up to 500 (larger values become 500). Invalid values are
    errors."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_page_size(self, request: Request) -> int:
        return min(PAGE_SIZE.read(request), self.max_page_size)

    def get_page_number(self, request: Request, paginator: Any) -> int:
        return PAGE.read(request)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [parameter.openapi for parameter in (PAGE, PAGE_SIZE)]


class KeyPagination(Pagination):
    django_paginator_class = KeyPaginator
