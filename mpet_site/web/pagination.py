"""Lists are cut into pages, and long lists are cut by key."""

from typing import Any

from django.core.paginator import Page, Paginator
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from mpet_site.web.problems import invalid_request


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


class Pagination(PageNumberPagination):
    """50 rows a page, `?page_size=` up to 500 (more is 500); what is no number of at least 1 is an error."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_page_size(self, request: Request) -> int:
        return min(positive_parameter(request, "page_size", self.page_size), self.max_page_size)

    def get_page_number(self, request: Request, paginator: Any) -> int:
        return positive_parameter(request, self.page_query_param, 1)


class KeyPagination(Pagination):
    django_paginator_class = KeyPaginator


def positive_parameter(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "") or str(default)
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) >= 1):
        raise invalid_request(name, "A whole number of at least 1.")
    return int(text)
