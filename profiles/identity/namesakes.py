"""What tells platforms, or workloads, of one name apart, wherever one is chosen or named: input and version of a
workload, and where they are the same, or of a platform, the delivery that it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from profiles.models import Profile, Workload

MOST_TOLD_APART = 2000  # of which namesakes are looked for


def tell_apart(rows: Iterable[Any], user: Any) -> list[Any]:
    """The platforms or workloads, each with `delivered_by`: the newest delivery that measured it, where another row
    that the user sees has its name (input and version), else nothing; and `told_apart`: that, with input and version
    before it where another row has the name. Two queries, the second where there are namesakes."""
    told = list(rows)
    named = told[:MOST_TOLD_APART]
    twins = _namesakes(named, user) if named else []
    by_name = Counter(row.name for row in twins)
    by_key = Counter(_key(row) for row in twins)
    labels = _deliveries([row for row in named if by_key[_key(row)] > 1], user)
    for row in told:
        row.delivered_by = labels.get(row.pk, "")
        parts = (*(_key(row)[1:] if by_name[row.name] > 1 else ()), row.delivered_by)
        row.told_apart = ", ".join(part for part in parts if part)
    return told


def name_told_apart(row: Any) -> str:
    """For a list to choose from, of a row that was told apart."""
    return f"{row.name} ({row.told_apart})" if row.told_apart else str(row.name)


def _key(row: Any) -> tuple[str, ...]:
    if not isinstance(row, Workload):
        return (row.name,)
    return row.name, row.input or "", f"version {row.version}" if row.version else ""


def _namesakes(rows: Sequence[Any], user: Any) -> list[Any]:
    """All rows that the user sees whose name one of these has."""
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
