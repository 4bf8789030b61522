"""What the pages say about likeness, from what the viewer's predictions may use."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from predictor.core.database import Database
from predictor.core.similarity import Kind, nearest, neighbours
from predictor.services import SIMULATED
from predictor.snapshot import snapshot
from profiles.models import Platform, Workload

MODELS: dict[str, Any] = {"platforms": Platform, "workloads": Workload}
NEIGHBOURS = 6


@dataclass(frozen=True)
class Neighbour:
    """A platform or workload, its mean distance, and how many individual distances that is the mean of."""

    row: Any
    distance: float
    count: int

    @property
    def address(self) -> str:
        return str(reverse(type(self.row).__name__.lower(), args=[self.row.slug]))

    def compared_with(self, slug: str) -> str:
        kind = type(self.row).__name__.lower()
        return f"{reverse(f'compare-{kind}s')}?{urlencode({kind: [slug, self.row.slug]}, doseq=True)}"


def index_of(slugs: tuple[str, ...], slug: str) -> int | None:
    at = bisect_left(slugs, slug)
    return at if at < len(slugs) and slugs[at] == slug else None


def has_profiles(database: Database, kind: Kind, at: int) -> bool:
    rows = database.rows_of_platform(at) if kind == "platforms" else database.rows_of_workload(at)
    return bool(len(rows))


def database_about(user: Any, kind: Kind, slugs: tuple[str, ...]) -> tuple[Database, bool]:
    """The measured profiles; the simulated ones where none of `slugs` was measured. And whether they are simulated."""
    measured = snapshot(user)
    names = measured.platforms if kind == "platforms" else measured.workloads
    places = [at for at in (index_of(names, slug) for slug in slugs) if at is not None]
    if any(has_profiles(measured, kind, at) for at in places):
        return measured, False
    return snapshot(user, origins=SIMULATED), True


def neighbours_of(user: Any, kind: Kind, slug: str) -> list[Neighbour]:
    """The most similar platforms or workloads that the user may see."""
    database, _ = database_about(user, kind, (slug,))
    slugs = database.platforms if kind == "platforms" else database.workloads
    of = index_of(slugs, slug)
    if of is None:
        return []
    found = neighbours(database, kind, of)
    near = nearest(found.mean[0], of, NEIGHBOURS)
    rows = MODELS[kind].objects.visible_to(user).in_bulk([slugs[at] for at in near], field_name="slug")
    return [
        Neighbour(rows[slugs[at]], float(found.mean[0, at]), int(found.count[0, at]))
        for at in near
        if slugs[at] in rows
    ]
