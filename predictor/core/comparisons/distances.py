"""The distances between two platforms or two workloads (Eq. 13-19) in one database."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.comparisons.mean_distances import Kind
from predictor.core.database import Database
from predictor.core.distance import dimensions, distance, mean_distance
from predictor.core.normalise import normalise
from profiles.arrays import IntArray


@dataclass(frozen=True)
class PairMean:
    """The mean of `count` individual distances, None if all are undefined; each has at least `dim` valid elements."""

    distance: float | None
    dim: int
    count: int


@dataclass(frozen=True)
class IndividualDistance:
    """One distance D of two profiles in one group, of `dim` elements; NaN if no element is valid in both.

    `partner` is the slug that both profiles share: a workload for two platforms, a platform for two workloads.
    """

    partner: str
    decomposed: bool
    runtime: str | None
    distance: float
    dim: int


@dataclass(frozen=True)
class PairDistances:
    """The distances of a pair in the database with this `revision`."""

    revision: int
    mean: PairMean
    individual: tuple[IndividualDistance, ...]


def platform_distances(database: Database, a: int, b: int) -> PairDistances:
    """Return D_p(A,P,T) for every workload A that both platforms have in one group, and the mean D_p(P,T) (Eq. 17, 19).

        D_p(A,P,T) = D(v_P,A, v_T,A),    D_p(P,T) = mean over A

    Parameters: `a`, `b` positions in `database.platforms`. No unit, 0 to 1. A distance is NaN and not part of the mean
    if the two profiles have no valid element in common. Source: Arndt et al. 2020, Eq. 13, 17 and 19.

    >>> from predictor.core.database import Group
    >>> features = np.full((2, 84), np.nan); features[:, :2] = [[0.0, 1.0], [2.0, 1.0]]
    >>> two = Database.build(
    ...     platforms=["p", "q"], workloads=["w"], platform_index=[0, 1], workload_index=[0, 0],
    ...     groups=(Group(True, "", "measured"),), group=[0, 0], features=features, t1_s=[1.0, 1.0],
    ...     n_nu=[np.nan] * 2, n_ht=[np.nan] * 2, n_max=[4] * 2)
    >>> platform_distances(two, 0, 1).individual[0]  # sqrt((1^2 + 0^2) / 2)
    IndividualDistance(partner='w', decomposed=True, runtime=None, distance=0.7071067811865476, dim=2)
    """
    rows = database.rows_of_platform(a)
    partner_rows = rows_in_same_group(database, rows, np.full(len(rows), b), database.workload_index[rows])
    return distances_of_rows(database, rows, partner_rows, "workloads")


def workload_distances(database: Database, a: int, b: int, platform: int | None = None) -> PairDistances:
    """Return D_a(P,A,B) for every platform P (or the given one) that has both in one group, and the mean D_a(A,B) (Eq.
    16, 18).

        D_a(P,A,B) = D(v_P,A, v_P,B),    D_a(A,B) = mean over P

    Parameters: `a`, `b` positions in `database.workloads`, `platform` in `database.platforms`. No unit, 0 to 1; NaN as
    in `platform_distances`. Source: Arndt et al. 2020, Eq. 13, 16 and 18.

    >>> from predictor.core.database import Group
    >>> features = np.full((2, 84), np.nan); features[:, :2] = [[0.0, 1.0], [2.0, 1.0]]
    >>> two = Database.build(
    ...     platforms=["p"], workloads=["v", "w"], platform_index=[0, 0], workload_index=[0, 1],
    ...     groups=(Group(True, "", "measured"),), group=[0, 0], features=features, t1_s=[1.0, 1.0],
    ...     n_nu=[np.nan], n_ht=[np.nan], n_max=[4])
    >>> workload_distances(two, 0, 1).mean
    PairMean(distance=0.7071067811865476, dim=2, count=1)
    """
    rows = database.rows_of_workload(a)
    if platform is not None:
        rows = rows[database.platform_index[rows] == platform]
    partner_rows = rows_in_same_group(database, rows, database.platform_index[rows], np.full(len(rows), b))
    return distances_of_rows(database, rows, partner_rows, "platforms")


def rows_in_same_group(database: Database, rows: IntArray, platforms: np.ndarray, workloads: np.ndarray) -> IntArray:
    """Return for each row the row of (platform, workload) in the same group; -1 = none."""
    partner_rows = np.full(len(rows), -1, dtype=np.int64)
    for group in np.unique(database.group[rows]):
        mine = database.group[rows] == group
        partner_rows[mine] = database.lookup(platforms[mine], workloads[mine], int(group))
    return partner_rows


def distances_of_rows(database: Database, rows: IntArray, partner_rows: IntArray, shared: Kind) -> PairDistances:
    """Return the distances D (Eq. 13) of rows and their partners, without rows that have no partner (-1). `shared` is
    the kind that the two rows of a pair have in common."""
    rows, partner_rows = rows[partner_rows >= 0], partner_rows[partner_rows >= 0]
    values, dims = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.int64)
    for origin in {database.groups[group].origin for group in np.unique(database.group[rows])}:
        low, high = database.element_range(origin)
        mine = np.array([database.groups[group].origin == origin for group in database.group[rows]], dtype=np.bool_)
        ours, theirs = (normalise(database.features[of[mine]], low, high) for of in (rows, partner_rows))
        values[mine], dims[mine] = distance(ours, theirs), dimensions(ours, theirs)
    defined = dims > 0
    mean = PairMean(
        distance=float(mean_distance(values, axis=0)) if len(values) else None,
        dim=int(dims[defined].min()) if defined.any() else 0,
        count=int(defined.sum()),
    )
    slugs, index = database.workloads, database.workload_index
    if shared == "platforms":
        slugs, index = database.platforms, database.platform_index
    individual = []
    for row, value, dim in zip(rows.tolist(), values.tolist(), dims.tolist(), strict=True):
        group = database.groups[database.group[row]]
        partner = slugs[index[row]]
        individual.append(IndividualDistance(partner, group.decomposed, group.runtime or None, value, dim))
    return PairDistances(database.revision, mean, tuple(individual))
