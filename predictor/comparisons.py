"""The selection of profiles for comparisons, the most similar platforms or workloads, and the questions that are
computed in the background: the matrix of all mean distances, and the map of workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from django.urls import reverse
from django.utils.http import urlencode

from mpet_site.web.plain_json import nan_to_null
from predictor.core.arrays import slug_index
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.comparisons.documents import (
    LARGEST_MATRIX,
    map_of,
    mapped_positions,
    matrix_of,
    positions_with_most_profiles,
)
from predictor.core.comparisons.mean_distances import (
    DistanceSums,
    Kind,
    MeanDistances,
    distances_to_all,
    nearest_positions,
)
from predictor.core.database import Database
from predictor.core.steps import ComputedStep
from predictor.snapshot.building import Snapshot
from predictor.snapshot.cache import read_snapshot
from profiles.models import Platform, Source, Workload

FEWEST_COMPARED, MOST_COMPARED = 2, 6  # numbers of platforms or workloads in one comparison

MODEL_OF_KIND: dict[str, Any] = {"platforms": Platform, "workloads": Workload}
NEIGHBOURS = 6


@dataclass(frozen=True, eq=False)
class ComparedProfiles:
    """The profiles of a comparison: all of `origins` that the predictions of `viewer` may use. None stands for
    visitors."""

    snapshot: Snapshot
    origins: tuple[str, ...]
    viewer: Any = None

    @property
    def database(self) -> Database:
        return self.snapshot.database

    @property
    def origin(self) -> str:
        """Return the origin of the profiles: measured, simulated or mixed."""
        simulated = self.snapshot.is_simulated
        if not len(simulated):
            return "simulated" if self.origins == SIMULATED else "measured"
        return "measured" if not simulated.any() else "simulated" if simulated.all() else "mixed"

    @property
    def parameters(self) -> dict[str, str]:
        """Return the query parameters that always select the same profiles."""
        return {"include_simulated": "true"} if len(self.origins) > 1 else {"origin": self.origins[0]}

    @property
    def leaves_simulated_out(self) -> bool:
        return self.origins == MEASURED

    def credits(self, **profiles: Any) -> list[dict[str, str]]:
        """Return the credits of the profiles. The keyword arguments are further filters on profiles."""
        origin = "" if self.origin == "mixed" else self.origin
        return Source.objects.credited_behind(self.viewer, origin, **profiles).credits()


def select_profiles(
    user: Any,
    *,
    origin: str = "",
    include_simulated: bool | None = None,
    kind: Kind = "platforms",
    slugs: Sequence[str] = (),
) -> ComparedProfiles:
    """Return the profiles for a comparison. All comparisons and predictions use this rule.

    An explicit `origin` or `include_simulated` decides. Otherwise measured profiles are used. They are replaced by
    simulated profiles if none of `slugs` was measured but one was simulated. Without slugs, they are replaced if fewer
    than two platforms or workloads were measured and more were simulated.
    """

    def of(*origins: str) -> ComparedProfiles:
        return ComparedProfiles(read_snapshot(user, origins=origins), origins, user)

    if origin:
        return of(origin)
    if include_simulated:
        return of(*MEASURED, *SIMULATED)
    measured = of(*MEASURED)
    measured_count = count_with_profiles(measured.database, kind, slugs)
    largest_count = 1 if slugs else 2
    if include_simulated is False or measured_count == largest_count:
        return measured
    simulated = of(*SIMULATED)
    return simulated if count_with_profiles(simulated.database, kind, slugs) > measured_count else measured


def count_with_profiles(database: Database, kind: Kind, slugs: Sequence[str]) -> int:
    """Return the number of platforms or workloads with a profile, at most 2. With slugs, return 1 if any of them has a
    profile, or else 0."""
    if not slugs:
        index = database.platform_index if kind == "platforms" else database.workload_index
        return min(2, len(np.unique(index[~database.hidden])))
    names = database.platforms if kind == "platforms" else database.workloads
    positions = [position for position in (slug_index(names, slug) for slug in slugs) if position is not None]
    rows_of = database.rows_of_platform if kind == "platforms" else database.rows_of_workload
    return int(any(len(rows_of(position)) for position in positions))


NOTHING_MEASURED_HINT = "No measured profiles are comparable. include_simulated=true also uses simulated ones."


def provenance(selection: ComparedProfiles, is_empty: bool, **profiles: Any) -> dict[str, Any]:
    """Return the members that all comparisons share: the origin of the profiles, a hint if nothing was found, and the
    credits."""
    return {
        "origin": selection.origin,
        "hint": NOTHING_MEASURED_HINT if is_empty and selection.leaves_simulated_out else None,
        "sources": selection.credits(**profiles),
    }


@dataclass(frozen=True)
class Neighbour:
    """A similar platform or workload, its mean distance, and the number of individual distances in the mean."""

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
    """Return the most similar platforms or workloads that the user may see."""
    database = select_profiles(user, kind=kind, slugs=(slug,)).database
    slugs = database.platforms if kind == "platforms" else database.workloads
    position = slug_index(slugs, slug)
    if position is None:
        return []
    distances = distances_to_all(database, kind, position)
    nearest = nearest_positions(distances.mean[0], position, NEIGHBOURS)
    rows = MODEL_OF_KIND[kind].objects.in_api(user).in_bulk([slugs[index] for index in nearest], field_name="slug")
    return [
        Neighbour(rows[slugs[index]], float(distances.mean[0, index]), int(distances.count[0, index]))
        for index in nearest
        if slugs[index] in rows
    ]


@dataclass(frozen=True, eq=False)
class MatrixQuestion:
    """The question for the distances of all pairs of the platforms or workloads with the most profiles, for one
    snapshot."""

    kind: ClassVar[str] = "distance-matrix"
    snapshot: Snapshot
    origins: tuple[str, ...]
    of: Kind

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> MatrixQuestion:
        origins = tuple(question["origins"])
        return cls(read_snapshot(viewer, origins=origins), origins, question["of"])

    def canonical(self) -> dict[str, Any]:
        return {"of": self.of, "origins": list(self.origins)}

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        database = self.snapshot.database
        chosen = positions_with_most_profiles(database, self.of, LARGEST_MATRIX)
        sums = DistanceSums(database, self.of, chosen, chosen)
        yield from steps_of_sums(sums, lambda means: matrix_of(database, self.of, chosen, means))


@dataclass(frozen=True, eq=False)
class MapQuestion:
    """The question for a map of the workloads with the most profiles, for one snapshot."""

    kind: ClassVar[str] = "workload-map"
    snapshot: Snapshot
    origins: tuple[str, ...]

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> MapQuestion:
        origins = tuple(question["origins"])
        return cls(read_snapshot(viewer, origins=origins), origins)

    def canonical(self) -> dict[str, Any]:
        return {"origins": list(self.origins)}

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        database = self.snapshot.database
        chosen, landmarks = mapped_positions(database)
        sums = DistanceSums(database, "workloads", chosen, landmarks)
        yield from steps_of_sums(sums, lambda means: map_of(database, chosen, landmarks, means.mean))


def steps_of_sums(sums: DistanceSums, document: Callable[[MeanDistances], dict[str, Any]]) -> Iterator[ComputedStep]:
    """Yield one step per batch of profiles with an empty document, and a last step with the document of the
    distances."""
    total = len(sums.batches) + 1
    for done, batch in enumerate(sums.batches, start=1):
        sums.add(batch)
        yield ComputedStep(done, total, dict)
    whole: dict[str, Any] = nan_to_null(document(sums.means()))
    yield ComputedStep(total, total, lambda: whole)
