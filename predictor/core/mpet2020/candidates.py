"""Candidates (P,B) for A on T, their distances, and their selection (Eq. 16-20, Section 3.2.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from predictor.core.answers import Query
from predictor.core.arrays import sampled
from predictor.core.database import Database
from predictor.core.distance import distance, mean_distance, tuple_distance
from predictor.core.errors import NoReference
from predictor.core.mpet2020.weights import ElementWeight, element_weights
from predictor.core.normalise import Normalisation, normalise, normaliser_range
from predictor.core.references import MixRuntimes, check_query, connecting_rows, feature_groups, reference_rows
from profiles.arrays import FloatArray, IntArray

DistanceKind = Literal["mean", "individual"]
BeyondLimits = Literal["pass_over", "end"]
FEATURE_VALUES_AT_ONCE = 1 << 17  # elements gathered at a time, to limit the memory of a query with many references
MOST_WEIGHING_PLATFORMS = 64  # references from which the weights of elements are computed
DISTANCE_TIE_DIGITS = 12  # distances that are equal to this number of digits are ties, resolved by slug


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The platforms that have A, the workloads that T has, and the distances between them.

    `rows_*` are rows of the database, -1 if (P,B) was not measured. Distances are NaN there, and if two vectors share
    no valid element. Distances are in 0..1, without unit (Eq. 16-19).

    >>> near = Neighbourhood(
    ...     groups=(0,), platforms=np.array([0, 1]), workloads=np.array([0]), rows_pa=np.array([0, 2]),
    ...     rows_pb=np.array([[1], [3]]), rows_tb=np.array([4]),
    ...     workload_distance=np.array([[0.2], [0.4]]), platform_distance=np.array([[0.1], [np.nan]]))
    >>> near.workload_mean.round(9), near.platform_mean
    (array([0.3]), array([0.1, nan]))
    """

    groups: tuple[int, ...]
    platforms: IntArray  # (p,) with A
    workloads: IntArray  # (b,) on T
    rows_pa: IntArray  # (p,)
    rows_pb: IntArray  # (p, b)
    rows_tb: IntArray  # (b,)
    workload_distance: FloatArray  # (p, b) D_a(P,A,B)
    platform_distance: FloatArray  # (p, b) D_p(B,P,T)

    @cached_property
    def workload_mean(self) -> FloatArray:
        """D_a(A,B) over the platforms that have both, (b,) (Eq. 18)."""
        return mean_distance(self.workload_distance, axis=0)

    @cached_property
    def platform_mean(self) -> FloatArray:
        """D_p(P,T) over the workloads that both have, (p,) (Eq. 19)."""
        return mean_distance(self.platform_distance, axis=1)

    def workload_distances(self, kind: DistanceKind) -> FloatArray:
        """Return D_a of every candidate, (p, b): the individual one, or the mean of its workload."""
        return self._measured_only(self.workload_distance if kind == "individual" else self.workload_mean[None, :])

    def platform_distances(self, kind: DistanceKind) -> FloatArray:
        """Return D_p of every candidate, (p, b): the individual one, or the mean of its platform."""
        return self._measured_only(self.platform_distance if kind == "individual" else self.platform_mean[:, None])

    def _measured_only(self, distances: FloatArray) -> FloatArray:
        return np.where(self.rows_pb >= 0, distances, np.nan)


@dataclass(frozen=True, eq=False)
class SelectedCandidates:
    """The chosen candidates in the order of selection, as positions in the neighbourhood, with their distances."""

    platforms: IntArray  # (C,)
    workloads: IntArray  # (C,)
    platform_distance: FloatArray  # (C,)
    workload_distance: FloatArray  # (C,)

    def __len__(self) -> int:
        return len(self.platforms)


def find_neighbourhood(
    database: Database,
    query: Query,
    mix_runtimes: MixRuntimes = "auto",
    normalisation: Normalisation = "range",
    element_weight: ElementWeight = "equal",
) -> Neighbourhood:
    """Find the references and benchmarks of the query, and compute all distances between them (Eq. 16-17).

        D_a(P,A,B) = D(sc(P,A), sc(P,B)),    D_p(B,P,T) = D(sc(P,B), sc(T,B))

    of the vectors normalised by the ranges of the database (Eq. 10-13), with the weights of `element_weights`. (T,A) is
    always hidden.

    Example: one element, R's slope, is 0.2 for (P,A), 0.1 for (P,B) and 0.4 for (T,B), so 1/3, 0 and 1 normalised: D_a
    = 1/3 and D_p = 1.

    Raises NoReference, NoBenchmark, NothingComparable, UnknownTarget, UnknownWorkload.

    >>> from predictor.core.database import Group
    >>> features = np.full((3, 84), np.nan)
    >>> features[:, 0] = [0.2, 0.1, 0.4]
    >>> database = Database.build(
    ...     platforms=("P", "T"), workloads=("A", "B"), platform_index=[0, 0, 1], workload_index=[0, 1, 1],
    ...     groups=[Group(False, "", "measured")], group=[0, 0, 0], features=features,
    ...     t1_s=[6.0, 3.0, 5.0], n_nu=[np.nan, np.nan], n_ht=[np.nan, np.nan], n_max=[4, 4])
    >>> near = find_neighbourhood(database, Query(workload=0, target=1))
    >>> near.workload_distance.round(3).tolist(), near.platform_distance.tolist()
    ([[0.333]], [[1.0]])
    """
    check_query(database, query)
    database = database.without(query.target, query.workload)
    rows_pa = reference_rows(database, query)
    groups = feature_groups(database, query, rows_pa, mix_runtimes)
    if not np.isin(database.group[rows_pa], groups).any():
        slugs = database.workloads[query.workload], database.platforms[query.target]
        raise NoReference(*slugs, " in the requested group")
    platforms, workloads, rows_p, rows_tb = connecting_rows(database, query, rows_pa, groups)
    workload_distance, platform_distance = _distances(
        database, groups, (rows_p, rows_tb), normalisation, element_weight
    )
    return Neighbourhood(
        groups=groups,
        platforms=platforms,
        workloads=workloads,
        rows_pa=rows_p[:, -1],
        rows_pb=rows_p[:, :-1],
        rows_tb=rows_tb,
        workload_distance=workload_distance,
        platform_distance=platform_distance,
    )


def select_by_workload(
    near: Neighbourhood,
    workloads: int,
    platforms: int,
    workload_kind: DistanceKind = "mean",
    platform_kind: DistanceKind = "individual",
) -> SelectedCandidates:
    """Select the nearest workloads, and for each its nearest platforms (the paper's choice for t(1), Section 4.1).

    The distance of a workload is D_a(A,B) or, with individual distances, that of its nearest candidate. A candidate
    with an undefined distance cannot be ranked and is omitted. Ties (to 12 digits) are resolved by platform, then
    workload, by slug.

    Example: of two workloads with D_a(A,B) = 0.3 and 0.25 the second is selected, on both platforms, the nearer one
    (D_p = 0.2) first.

    >>> near = Neighbourhood(
    ...     (0,), np.arange(2), np.arange(2), np.arange(2), np.zeros((2, 2), dtype=int), np.arange(2),
    ...     workload_distance=np.array([[0.1, 0.3], [0.5, 0.2]]), platform_distance=np.array([[0.2, 0.2], [0.1, 0.4]]))
    >>> chosen = select_by_workload(near, workloads=1, platforms=2)
    >>> chosen.workloads.tolist(), chosen.platforms.tolist(), chosen.platform_distance.tolist()
    ([1, 1], [0, 1], [0.2, 0.4])
    """
    d_a, d_p = near.workload_distances(workload_kind), near.platform_distances(platform_kind)
    rankable = ~np.isnan(d_a + d_p)
    nearest = np.where(rankable, d_a, np.inf).min(axis=0, initial=np.inf)
    d_p_rankable = np.where(rankable, d_p, np.inf)
    p: list[int] = []
    b: list[int] = []
    for workload in _nearest(nearest, workloads).tolist():
        chosen = _nearest(d_p_rankable[:, workload], platforms).tolist()
        p += chosen
        b += [workload] * len(chosen)
    return _selected(p, b, d_p, d_a)


def select_by_tuple(
    near: Neighbourhood,
    workloads: int,
    platforms: int,
    workload_kind: DistanceKind = "individual",
    platform_kind: DistanceKind = "individual",
    *,
    beyond: BeyondLimits = "pass_over",
) -> SelectedCandidates:
    """Select the nearest candidates by D_t with limited numbers of platforms and workloads (the paper's choice for the
    vector).

    Candidates are taken in the order of D_t (Eq. 20). One that would exceed `platforms` distinct platforms or
    `workloads` distinct workloads is skipped, or ends the list with `beyond="end"`. Undefined distances and ties are
    treated as in `select_by_workload`.

    Example: D_t of (P0,B0), (P0,B1), (P1,B1), (P1,B0) is 0.28, 0.44, 0.52, 0.55. With one workload the first and the
    last are selected; if (P0,B1) ends the list, only the first.

    >>> near = Neighbourhood(
    ...     (0,), np.arange(2), np.arange(2), np.arange(2), np.zeros((2, 2), dtype=int), np.arange(2),
    ...     workload_distance=np.array([[0.1, 0.3], [0.5, 0.2]]), platform_distance=np.array([[0.2, 0.2], [0.1, 0.4]]))
    >>> chosen = select_by_tuple(near, workloads=1, platforms=2)
    >>> chosen.platforms.tolist(), chosen.workloads.tolist()
    ([0, 1], [0, 0])
    >>> len(select_by_tuple(near, workloads=1, platforms=2, beyond="end"))
    1
    """
    d_a, d_p = near.workload_distances(workload_kind), near.platform_distances(platform_kind)
    d_t = tuple_distance(d_p, d_a)
    d_t = np.where(np.isnan(d_t), np.inf, d_t)
    limited = _DistinctLimits(platforms, workloads)
    # This number of candidates either exceeds or fills the limits.
    for candidate in _nearest_pairs(d_t, platforms * workloads):
        if not limited.take(candidate):
            break
    if beyond == "pass_over":
        for candidate in _nearest_pairs(limited.distances_that_fit(d_t), d_t.size):
            limited.take(candidate)
    return _selected([p for p, _ in limited.taken], [b for _, b in limited.taken], d_p, d_a)


class _DistinctLimits:
    """The candidates taken so far, with limited numbers of distinct platforms and workloads."""

    def __init__(self, platforms: int, workloads: int) -> None:
        self.most_platforms, self.most_workloads = platforms, workloads
        self.platforms: set[int] = set()
        self.workloads: set[int] = set()
        self.taken: list[tuple[int, int]] = []

    def take(self, candidate: tuple[int, int]) -> bool:
        """Take the candidate unless it would exceed a limit. Return whether it was taken."""
        platforms, workloads = self.platforms | {candidate[0]}, self.workloads | {candidate[1]}
        if len(platforms) > self.most_platforms or len(workloads) > self.most_workloads:
            return False
        self.platforms, self.workloads = platforms, workloads
        self.taken.append(candidate)
        return True

    def distances_that_fit(self, distances: FloatArray) -> FloatArray:
        """Return the distances of candidates that may still fit, and infinity for all others."""
        fits = np.ones(distances.shape, dtype=bool)
        if len(self.platforms) == self.most_platforms:
            fits &= np.isin(np.arange(distances.shape[0]), list(self.platforms))[:, None]
        if len(self.workloads) == self.most_workloads:
            fits &= np.isin(np.arange(distances.shape[1]), list(self.workloads))[None, :]
        for p, b in self.taken:
            fits[p, b] = False
        return np.where(fits, distances, np.inf)


def _nearest_pairs(distances: FloatArray, count: int) -> Iterator[tuple[int, int]]:
    """Return (platform, workload) of the `count` smallest finite distances, ascending."""
    p, b = np.unravel_index(_nearest(distances.ravel(), count), distances.shape)
    return zip(p.tolist(), b.tolist(), strict=True)


def _selected(p: list[int], b: list[int], d_p: FloatArray, d_a: FloatArray) -> SelectedCandidates:
    positions = np.array(p, dtype=np.int64), np.array(b, dtype=np.int64)
    return SelectedCandidates(*positions, platform_distance=d_p[positions], workload_distance=d_a[positions])


def _nearest(distances: FloatArray, count: int) -> IntArray:
    """Return the positions of the `count` smallest finite distances, ascending; ties by position."""
    keys = np.round(distances, DISTANCE_TIE_DIGITS)
    count = min(count, int(np.isfinite(keys).sum()))
    if count < 1:
        return np.zeros(0, dtype=np.int64)
    smallest = np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
    return smallest[np.argsort(keys[smallest], kind="stable")][:count]


def _distances(
    database: Database,
    groups: tuple[int, ...],
    rows: tuple[IntArray, IntArray],
    normalisation: Normalisation,
    element_weight: ElementWeight,
) -> tuple[FloatArray, FloatArray]:
    """Return D_a(P,A,B) and D_p(B,P,T), (p, b) each, from the rows of (P,B..A) and (T,B)."""
    low, high = normaliser_range(database, database.groups[groups[0]].origin, normalisation)
    columns = np.flatnonzero(np.any([database.valid_elements(g) for g in groups], axis=0))
    low, high = low[columns], high[columns]

    def normalised(rows: IntArray) -> FloatArray:
        values = normalise(database.features[rows[..., None], columns], low, high)
        values[rows < 0] = np.nan
        return values if normalisation == "range" else np.clip(values, 0.0, 1.0, out=values)

    of_references, target = rows[0], normalised(rows[1])
    weights = None
    if element_weight != "equal":
        sample = normalised(sampled(of_references, MOST_WEIGHING_PLATFORMS))
        weights = element_weights(sample, columns, element_weight)
    workload_distance = np.empty((len(of_references), len(target)))
    platform_distance = np.empty_like(workload_distance)
    references_at_once = max(1, FEATURE_VALUES_AT_ONCE // max(of_references.shape[1] * len(columns), 1))
    for start in range(0, len(of_references), references_at_once):
        block = slice(start, start + references_at_once)
        reference = normalised(of_references[block])
        workload_distance[block] = distance(reference[:, :-1], reference[:, -1:], weights)
        platform_distance[block] = distance(reference[:, :-1], target[None], weights)
    return workload_distance, platform_distance
