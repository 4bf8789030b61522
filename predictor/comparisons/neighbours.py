"""The platforms or workloads that are most like one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from predictor.comparisons.selection import MODEL_OF_KIND, select_profiles
from predictor.core.arrays import slug_index
from predictor.core.comparisons.mean_distances import Kind, nearest_positions
from predictor.core.comparisons.one_to_all import distances_to_all

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


def neighbours_of(user: Any, kind: Kind, slug: str) -> list[Neighbour]:
    """The most similar platforms or workloads that the user may see."""
    database = select_profiles(user, kind=kind, slugs=(slug,)).database
    slugs = database.platforms if kind == "platforms" else database.workloads
    own = slug_index(slugs, slug)
    if own is None:
        return []
    distances = distances_to_all(database, kind, own)
    near = nearest_positions(distances.mean[0], own, NEIGHBOURS)
    rows = MODEL_OF_KIND[kind].objects.in_api(user).in_bulk([slugs[index] for index in near], field_name="slug")
    return [
        Neighbour(rows[slugs[index]], float(distances.mean[0, index]), int(distances.count[0, index]))
        for index in near
        if slugs[index] in rows
    ]
