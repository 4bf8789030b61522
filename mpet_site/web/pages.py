"""Code shared by pages: the menu, the context of all templates, forms, pagination, and addresses of pages as JSON and
CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.paginator import Page, Paginator
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

ROWS_PER_PAGE = 50


class FormRenderer(TemplatesSetting):
    """The renderer of `{{ form }}`, and of `{{ field.as_field_group }}` for one of its fields (the setting
    FORM_RENDERER)."""

    form_template_name = "includes/form.html"
    field_template_name = "includes/field.html"


def json_address(view: str, *args: Any, query: str = "") -> str:
    """Return the address of the API view that has the content of a page as JSON."""
    return reverse(view, args=args) + (f"?{query}" if query else "")


def page_of(
    request: HttpRequest, rows: Any, size: int = ROWS_PER_PAGE, paginator: type[Paginator[Any]] = Paginator
) -> Page[Any]:
    """Return the requested page of the rows, or the nearest one if there is no such page."""
    return paginator(rows, size).get_page(request.GET.get("page"))


def csv_address(view: str, parameters: Mapping[str, str], filters: Iterable[str]) -> str:
    """Return the address of all rows of a list as CSV, not only those of one page."""
    chosen = {name: parameters[name] for name in ("search", "ordering", *filters) if parameters.get(name)}
    return json_address(view, query=urlencode(chosen | {"format": "csv"}))


def list_query(parameters: Mapping[str, str], page: Page[Any], filters: Iterable[str]) -> str:
    """Return the query string with which the API lists the same rows. `parameters` are those that the API accepts."""
    chosen = {name: parameters[name] for name in ("search", "ordering", *filters) if parameters.get(name)}
    return urlencode(chosen | ({"page": page.number} if page.number > 1 else {}))


@dataclass(frozen=True)
class MenuPage:
    """A page of the menu. `prefixes` are the paths on which its entry is marked as current."""

    title: str
    view: str
    prefixes: tuple[str, ...]
    argument: str = ""

    @property
    def address(self) -> str:
        return reverse(self.view, args=[self.argument] if self.argument else [])


MENU: dict[str, tuple[MenuPage, ...]] = {
    "predict": (
        MenuPage("Predict", "predict", ("/predict/", "/predictions/", "/programs/")),
        MenuPage("Ranking", "ranking", ("/ranking/",)),
        MenuPage("What if", "what-if", ("/what-if/",)),
    ),
    "machines": (
        MenuPage("All machines", "platforms", ("/platforms/", "/distances/platforms/")),
        MenuPage("Compare", "compare-platforms", ("/compare/",)),
        MenuPage("Workloads", "workloads", ("/workloads/", "/distances/workloads/")),
        MenuPage("Map of workloads", "workload-map", ("/maps/",)),
        MenuPage("Profiles", "profiles", ("/profiles/",)),
    ),
    "accuracy": (
        MenuPage("How good it is", "accuracy", ("/accuracy/",)),
        MenuPage("Track record", "settled", ("/settled/",)),
    ),
    "measure": (
        MenuPage("Benchmark kit", "measure", ("/measure/",)),
        MenuPage("Your own program", "document", ("/docs/mpet-profile.md",), "mpet-profile.md"),
        MenuPage("Upload", "upload", ("/upload/", "/quarantine/")),
    ),
    "docs": (MenuPage("Docs", "docs", ("/docs/", "/glossary/")),),
}
OWN_PREFIXES = ("/predictions/mine/", "/uploads/")  # pages of the user menu, which belong to no part


def place_in_menu(path: str) -> tuple[str, MenuPage | None]:
    """Return the part and the page of the menu to which a path belongs, or ("", None). The longest prefix decides.

    >>> part, page = place_in_menu("/predictions/answer/")
    >>> part, page.title, place_in_menu("/uploads/")
    ('predict', 'Predict', ('', None))
    """
    if path.startswith(OWN_PREFIXES):
        return "", None
    places = [
        (len(prefix), part, page)
        for part, pages in MENU.items()
        for page in pages
        for prefix in page.prefixes
        if path.startswith(prefix)
    ]
    _, part, page = max(places, key=lambda place: place[0], default=(0, "", None))
    return part, page


def site(request: HttpRequest) -> dict[str, Any]:
    """Return the context of all templates: `server`, `menu`, and `part`, `part_page` and `part_pages` of the address.

    `server` is not called `site`, because the pages of django-allauth have another `site`.
    """
    part, page = place_in_menu(request.path_info)
    pages = MENU.get(part, ())
    return {
        "server": {
            "signup": settings.SIGNUP,
            "quarantine": settings.QUARANTINE_DAYS > 0,
            "operator": settings.OPERATOR,
            "operator_url": settings.OPERATOR_URL,
            "source_url": settings.SOURCE_URL,
        },
        "menu": {name: first.address for name, (first, *_) in MENU.items()},
        "part": part,
        "part_page": page,
        "part_pages": pages if len(pages) > 1 else (),
    }
