"""What every page shows around its content: the menu of five parts, who runs the server, whether accounts are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse


@dataclass(frozen=True)
class MenuPage:
    """A page of the menu of a part. `prefixes`: the paths that it is marked on."""

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
OWN_PREFIXES = ("/predictions/mine/", "/uploads/")  # pages of the user menu, in no part


def place_in_menu(path: str) -> tuple[str, MenuPage] | None:
    """The part and the page of the menu that a path belongs to; the longest prefix decides.

    >>> part, page = place_in_menu("/predictions/answer/")
    >>> part, page.title, place_in_menu("/uploads/")
    ('predict', 'Predict', None)
    """
    if path.startswith(OWN_PREFIXES):
        return None
    places = [
        (len(prefix), part, page)
        for part, pages in MENU.items()
        for page in pages
        for prefix in page.prefixes
        if path.startswith(prefix)
    ]
    if not places:
        return None
    _, part, page = max(places, key=lambda place: place[0])
    return part, page


def site(request: HttpRequest) -> dict[str, Any]:
    """The context processor: `server` (django-allauth's pages have a `site` of their own), and `part`, `part_page` and
    `part_pages` of the menu."""
    place = place_in_menu(request.path_info)
    part, page = place or ("", None)
    pages = MENU.get(part, ())
    return {
        "server": {
            "signup": settings.SIGNUP,
            "operator": settings.OPERATOR,
            "operator_url": settings.OPERATOR_URL,
            "source_url": settings.SOURCE_URL,
        },
        "part": part,
        "part_page": page,
        "part_pages": pages if len(pages) > 1 else (),
    }
