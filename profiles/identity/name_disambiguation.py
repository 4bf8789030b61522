"""Rows by what somebody typed, a slug or a name; and labels that distinguish platforms, or workloads, of the same name:
input and version of a workload, and where these are the same, or of a platform, the delivery that measured it."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from profiles.models import Profile, Workload

SUGGESTIONS = 5
MOST_DISAMBIGUATED = 2000  # rows, of which the names are compared


def look_up(rows: Any, text: str) -> tuple[str | None, list[str]]:
    """The slug of the row that has this slug, or alone has this name; where there is none, what the text may mean."""
    if rows.filter(slug=text).exists():
        return text, []
    slugs = slugs_of_name(rows, text)
    return (slugs[0], []) if len(slugs) == 1 else (None, suggestions(rows, text, slugs))


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


def disambiguate(rows: Iterable[Any], user: Any) -> list[Any]:
    """The platforms or workloads, each with two labels; both are empty where the user sees no other row of that name.

    `delivered_by`: the newest delivery that measured it, where input and version are the same too. `disambiguation`:
    input, version and `delivered_by`, as far as needed. One query, and a second one where names are the same.
    """
    labelled = list(rows)
    named = labelled[:MOST_DISAMBIGUATED]
    # All rows that the user sees and that have the name of one of these.
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
    """The name with its label, of a row that `disambiguate` returned, for a list to choose from."""
    return f"{row.name} ({row.disambiguation})" if row.disambiguation else str(row.name)


def slug_of_label(model: Any, user: Any, text: str) -> str | None:
    """The slug of the only row that the user sees with this slug, this name, or this name and its label; None where
    there is none, or several."""
    rows = model.objects.visible_to(user)
    if rows.filter(slug=text).exists():
        return text
    slugs = slugs_of_name(rows, text)
    names = [text[: mark.start()] for mark in re.finditer(r" \(", text)]  # a name may have brackets, too
    candidates = disambiguate(rows.filter(name__in=names), user)
    slugs += [row.slug for row in candidates if disambiguated_name(row) == text]
    return str(slugs[0]) if len(slugs) == 1 else None


def _key(row: Any) -> tuple[str, ...]:
    if not isinstance(row, Workload):
        return (row.name,)
    return row.name, row.input or "", f"version {row.version}" if row.version else ""


def _deliveries(rows: Sequence[Any], user: Any) -> dict[int, str]:
    """By primary key, file and day of the newest delivery that measured the row."""
    if not rows:
        return {}
    noun = type(rows[0])._meta.model_name
    profiles = Profile.objects.visible_to(user).filter(**{f"{noun}__in": rows}).order_by("source")
    named = profiles.values_list(noun, "source", "source__label", "source__created_at").distinct()
    return {key: f"{label}, {day:%Y-%m-%d}" for key, _, label, day in named}  # the newest is the last
