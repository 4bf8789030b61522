"""Rows by what somebody typed: a slug, or a name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

SUGGESTIONS = 5


@dataclass(frozen=True)
class LookupResult:
    """What was typed into a field: the slug that it stands for, or what it may have meant."""

    text: str
    slug: str | None
    near: tuple[str, ...] = ()


def look_up(rows: Any, text: str) -> LookupResult:
    """By slug, or by a name that only one row has."""
    if rows.filter(slug=text).exists():
        return LookupResult(text, text)
    slugs = slugs_of_name(rows, text)
    if len(slugs) == 1:
        return LookupResult(text, slugs[0])
    return LookupResult(text, None, tuple(suggestions(rows, text, slugs)))


def slugs_of_name(rows: Any, name: str) -> list[str]:
    """The slugs of the rows that have this very name; else of those whose name pages show so: without the mark of a
    simulated one, and in any case."""
    for condition in ({"name": name}, {"name": f"{name} (simulated)"}, {"name__iexact": name.strip()}):
        if slugs := list(rows.filter(**condition).order_by("slug").values_list("slug", flat=True)):
            return slugs
    return []


def suggestions(rows: Any, text: str, slugs: list[str]) -> list[str]:
    """What to offer for a text that stands for no row: `slugs`, which all have this name, or what looks like it."""
    return slugs[:SUGGESTIONS] or near_misses(text, rows.values_list("slug", "name"))


def near_misses(text: str, rows: Any) -> list[str]:
    """Slugs that look like the text, or whose names do."""
    slug_of = {name.lower(): slug for slug, name in rows} | {slug: slug for slug, _ in rows}
    close = difflib.get_close_matches(text.lower(), slug_of, n=SUGGESTIONS)
    return list(dict.fromkeys(slug_of[spelling] for spelling in close))
