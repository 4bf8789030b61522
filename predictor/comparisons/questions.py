"""All mean distances of platforms or workloads as a matrix, and the workloads on a map: long questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core.comparisons.documents import (
    LARGEST_MATRIX,
    DistanceMatrix,
    MapPoint,
    SimilarityMap,
    map_of,
    mapped_positions,
    matrix_of,
    positions_with_most_profiles,
)
from predictor.core.comparisons.mean_distances import DistanceSums, Kind, MeanDistances
from predictor.core.steps import ComputedStep
from predictor.snapshot.building import Snapshot
from predictor.snapshot.cache import read_snapshot


@dataclass(frozen=True, eq=False)
class MatrixQuestion:
    """The distances of all pairs of those with the most profiles, against one snapshot."""

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
        yield from steps_of_sums(sums, lambda means: matrix_document(matrix_of(database, self.of, chosen, means)))


@dataclass(frozen=True, eq=False)
class MapQuestion:
    """The workloads with the most profiles on a map, against one snapshot."""

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
        yield from steps_of_sums(sums, lambda means: map_document(map_of(database, chosen, landmarks, means.mean)))


def steps_of_sums(sums: DistanceSums, document: Callable[[MeanDistances], dict[str, Any]]) -> Iterator[ComputedStep]:
    """A step for each batch of profiles, and one for what is made of the distances; until then there is nothing."""
    total = len(sums.batches) + 1
    for done, batch in enumerate(sums.batches, start=1):
        sums.add(batch)
        yield ComputedStep(done, total, dict)
    whole = document(sums.means())
    yield ComputedStep(total, total, lambda: whole)


def matrix_document(matrix: DistanceMatrix) -> dict[str, Any]:
    document: dict[str, Any] = nan_to_null(
        {
            "revision": matrix.revision,
            "of": matrix.kind,
            "slugs": matrix.slugs,
            "mean": matrix.mean,
            "count": matrix.count,
        }
    )
    return document


def matrix_from(document: Mapping[str, Any]) -> DistanceMatrix:
    """The matrix of a `matrix_document`."""
    size = len(document["slugs"])
    return DistanceMatrix(
        revision=document["revision"],
        kind=document["of"],
        slugs=tuple(document["slugs"]),
        mean=np.array(document["mean"], dtype=np.float64).reshape(size, size),
        count=np.array(document["count"], dtype=np.int64).reshape(size, size),
    )


def map_document(similarity_map: SimilarityMap) -> dict[str, Any]:
    document: dict[str, Any] = nan_to_null(
        {
            "revision": similarity_map.revision,
            "stress": similarity_map.stress,
            "workloads": [asdict(point) for point in similarity_map.points],
        }
    )
    return document


def map_from(document: Mapping[str, Any]) -> SimilarityMap:
    """The map of a `map_document`."""
    points = [
        MapPoint(**point | {axis: np.nan if point[axis] is None else point[axis] for axis in ("x", "y")})
        for point in document["workloads"]
    ]
    return SimilarityMap(document["revision"], document["stress"], tuple(points))
