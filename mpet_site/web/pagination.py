"""Lists are cut into pages, and long lists are cut by key."""

from typing import Any

from django.core.paginator import Page, Paginator
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from mpet_site.web.parameters import WholeNumber

LARGEST_PAGE = 10**9


class KeyPaginator(Paginator):
    """For long lists: which rows a page has is asked of an index, by key alone; then those rows are read by key.

    A far page then passes over narrow index entries, not over whole rows with all that is joined to them.
    """

    def page(self, number: Any) -> Page[Any]:
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        rows: Any = self.object_list
        keys = list(rows.values_list("pk", flat=True)[first : first + self.per_page])
        row_of = rows.in_bulk(keys)
        return Page([row_of[key] for key in keys if key in row_of], number, self)


PAGE = WholeNumber("page", "A page beyond the last is 404.", default=1, low=1, high=LARGEST_PAGE)
PAGE_SIZE = WholeNumber("page_size", "Rows a page; more than 500 is 500.", default=50, low=1, high=LARGEST_PAGE)


def check_page(request: Request) -> None:
    """Raise the problem of a page that is none, also where the whole list is answered."""
    PAGE.read(request)
    PAGE_SIZE.read(request)


class Pagination(PageNumberPagination):
    """50 rows a page, `?page_size=` up to 500 (more is 500); what is no number of at least 1 is an error."""

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
