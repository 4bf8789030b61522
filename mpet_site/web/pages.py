"""What pages share: how forms are written, pages of a list, and the addresses of pages as JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.paginator import Page, Paginator
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

ROWS_PER_PAGE = 50


class FormRenderer(TemplatesSetting):
    """`{{ form }}`, and `{{ field.as_field_group }}` for one field of it (the setting FORM_RENDERER)."""

    form_template_name = "includes/form.html"
    field_template_name = "includes/field.html"


def json_address(view: str, *args: Any, query: str = "") -> str:
    """The address of a page as JSON: that of the view of the API that answers with the same."""
    return reverse(view, args=args) + (f"?{query}" if query else "")


def page_of(
    request: HttpRequest, rows: Any, size: int = ROWS_PER_PAGE, paginator: type[Paginator[Any]] = Paginator
) -> Page[Any]:
    """The page asked for; the nearest one where there is no such page."""
    return paginator(rows, size).get_page(request.GET.get("page"))


def csv_address(view: str, parameters: Mapping[str, str], filters: Iterable[str]) -> str:
    """The address of all rows of a list, not only those of one of its pages, as CSV."""
    chosen = {name: parameters[name] for name in ("search", "ordering", *filters) if parameters.get(name)}
    return json_address(view, query=urlencode(chosen | {"format": "csv"}))


def list_query(parameters: Mapping[str, str], page: Page[Any], filters: Iterable[str]) -> str:
    """The query string under which the API lists the same rows. `parameters`: those that the API accepts."""
    chosen = {name: parameters[name] for name in ("search", "ordering", *filters) if parameters.get(name)}
    return urlencode(chosen | ({"page": page.number} if page.number > 1 else {}))
