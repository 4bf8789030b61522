"""Labels that distinguish platforms, or workloads, of the same name: input and version of a workload, and where these
are the same, or of a platform, the delivery that measured it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from profiles.lookup import slugs_of_name
from profiles.models import Profile, Workload

MOST_DISAMBIGUATED = 2000  # rows, of which the names are compared


def disambiguate(rows: Iterable[Any], user: Any) -> list[Any]:
    """The platforms or workloads, each with two labels; both are empty where the user sees no other row of that name.

    `delivered_by`: the newest delivery that measured it, where input and version are the same too. `disambiguation`:
    input, version and `delivered_by`, as far as needed. One query, and a second one where names are the same.
    """
    labelled = list(rows)
    named = labelled[:MOST_DISAMBIGUATED]
    same_names = _rows_of_same_names(named, user) if named else []
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


def _rows_of_same_names(rows: Sequence[Any], user: Any) -> list[Any]:
    """All rows that the user sees and that have the name of one of these."""
    model = type(rows[0])
    columns = ("name", "input", "version") if model is Workload else ("name",)
    return list(model.objects.visible_to(user).filter(name__in={row.name for row in rows}).order_by().only(*columns))


def _deliveries(rows: Sequence[Any], user: Any) -> dict[int, str]:
    """By primary key, file and day of the newest delivery that measured the row."""
    if not rows:
        return {}
    noun = type(rows[0])._meta.model_name
    profiles = Profile.objects.visible_to(user).filter(**{f"{noun}__in": rows}).order_by("source")
    named = profiles.values_list(noun, "source", "source__label", "source__created_at").distinct()
    return {key: f"{label}, {day:%Y-%m-%d}" for key, _, label, day in named}  # the newest is the last
