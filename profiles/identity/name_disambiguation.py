"""Lookup of rows by slug or name, and labels that distinguish platforms, or workloads, of the same name.

The label of a workload consists of its input and version. Where these are the same too, and for platforms, the label
names the delivery that measured the row.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from profiles.models import Profile, Workload

SUGGESTIONS = 5
MOST_DISAMBIGUATED = 2000  # maximum number of rows to compare by name


def look_up(rows: Any, text: str) -> tuple[str | None, list[str]]:
    """Return the slug of the row with this slug, or of the only row with this name.

    Otherwise the slug is None and the second item lists slugs to suggest.
    """
    if rows.filter(slug=text).exists():
        return text, []
    slugs = slugs_of_name(rows, text)
    return (slugs[0], []) if len(slugs) == 1 else (None, suggestions(rows, text, slugs))


def slugs_of_name(rows: Any, name: str) -> list[str]:
    """Return the slugs of the rows with exactly this name.

    If there are none, return the slugs of the rows that pages show under this name: first those with the suffix "
    (simulated)", then those that differ in case.
    """
    for condition in ({"name": name}, {"name": f"{name} (simulated)"}, {"name__iexact": name.strip()}):
        if slugs := list(rows.filter(**condition).order_by("slug").values_list("slug", flat=True)):
            return slugs
    return []


def suggestions(rows: Any, text: str, slugs: list[str]) -> list[str]:
    """Return slugs to suggest for a text that matches no single row: the rows of this name, or else similar ones."""
    return slugs[:SUGGESTIONS] or near_misses(text, rows.values_list("slug", "name"))


def near_misses(text: str, rows: Any) -> list[str]:
    """Return the slugs that are similar to the text, or that belong to similar names or programs. The program of the
    region `sort/main:12` is `sort`."""
    slugs = defaultdict[str, list[str]](list)
    for slug, name in rows:
        for spelling in (slug, name.lower(), re.split("[/:]", name.lower())[0]):
            slugs[spelling].append(slug)
    close = difflib.get_close_matches(text.lower(), slugs, n=SUGGESTIONS)
    return list(dict.fromkeys(slug for spelling in close for slug in slugs[spelling]))[:SUGGESTIONS]


def disambiguate(rows: Iterable[Any], user: Any) -> list[Any]:
    """Set two labels on each of the platforms or workloads, both empty if the user sees no other row of the same name.

    `delivered_by` names the newest delivery that measured the row, if input and version do not distinguish it.
    `disambiguation` consists of input, version and `delivered_by`, as far as needed. This takes one query, and a second
    one if names are the same.
    """
    labelled = list(rows)
    named = labelled[:MOST_DISAMBIGUATED]
    # All rows visible to the user that have the name of one of these rows.
    same_names: list[Any] = []
    if named:
        columns = ("name", "input", "version") if isinstance(named[0], Workload) else ("name",)
        visible = type(named[0]).objects.visible_to(user)
        same_names = list(visible.filter(name__in={row.name for row in named}).order_by().only(*columns))
    by_name = Counter(row.name for row in same_names)
    by_key = Counter(_key(row) for row in same_names)
    labels = _deliveries([row for row in named if by_key[_key(row)] > 1], user)
    for row in labelled:
        row.delivered_by = labels.get(row.pk, "")
        parts = (*(_key(row)[1:] if by_name[row.name] > 1 else ()), row.delivered_by)
        row.disambiguation = ", ".join(part for part in parts if part)
    return labelled


def disambiguated_name(row: Any) -> str:
    """Return the name of a row with the label that `disambiguate` set, for a list of choices."""
    return f"{row.name} ({row.disambiguation})" if row.disambiguation else str(row.name)


def slug_of_label(model: Any, user: Any, text: str) -> str | None:
    """Return the slug of the only visible row with this slug, this name, or this name and label.

    Returns None if there is no such row, or more than one.
    """
    rows = model.objects.visible_to(user)
    if rows.filter(slug=text).exists():
        return text
    slugs = slugs_of_name(rows, text)
    names = [text[: mark.start()] for mark in re.finditer(r" \(", text)]  # names may contain brackets too
    candidates = disambiguate(rows.filter(name__in=names), user)
    slugs += [row.slug for row in candidates if disambiguated_name(row) == text]
    return str(slugs[0]) if len(slugs) == 1 else None


def _key(row: Any) -> tuple[str, ...]:
    if not isinstance(row, Workload):
        return (row.name,)
    return row.name, row.input or "", f"version {row.version}" if row.version else ""


def _deliveries(rows: Sequence[Any], user: Any) -> dict[int, str]:
    """Return the file name and date of the newest delivery that measured each row, by primary key of the row."""
    if not rows:
        return {}
    noun = type(rows[0])._meta.model_name
    profiles = Profile.objects.visible_to(user).filter(**{f"{noun}__in": rows}).order_by("source")
    named = profiles.values_list(noun, "source", "source__label", "source__created_at").distinct()
    # The sources are in ascending order, so the newest one is kept.
    return {key: f"{label}, {day:%Y-%m-%d}" for key, _, label, day in named}
