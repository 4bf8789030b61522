"""Mean distances of many platforms or many workloads at once (Eq. 18-19): matrices, neighbours, a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import shortest_path
from sklearn.manifold import MDS
from sklearn.metrics.pairwise import nan_euclidean_distances

from predictor.core.database import Database
from predictor.core.normalise import normalise
from profiles.arrays import BoolArray, FloatArray, IntArray

Kind = Literal["platforms", "workloads"]
LARGEST_DISTANCE = 1.0  # of Eq. 13; also of what nothing connects
SMALLEST_EDGE = 1e-9  # 0 is "no way" to scipy


@dataclass(frozen=True, eq=False)
class MeanDistances:
    """`mean` (L, R): D_p(P,T) or D_a(A,B), NaN = undefined; `count` (L, R): the individual distances in it."""

    mean: FloatArray
    count: IntArray


def mean_distances(database: Database, kind: Kind, left: ArrayLike, right: ArrayLike) -> MeanDistances:
    """D_p(P,T) of all pairs of `left` and `right` platforms, or D_a(A,B) of workloads (Eq. 18-19).

        D_p(P,T) = mean over the workloads A, in one group, that both have, of D(v_P,A, v_T,A)

    Parameters: `left` (L,), `right` (R,) positions in `database.platforms` (or `.workloads`). Returns
    MeanDistances (L, R) without unit; the mean is NaN where nothing was measured on both that can be compared.

    The distance of Eq. 13 is scikit-learn's nan_euclidean_distances over sqrt(elements): it scales by the elements
    that both vectors have.

    >>> from predictor.core.database import Group
    >>> features = np.full((2, 84), np.nan); features[:, :2] = [[0.0, 1.0], [2.0, 1.0]]
    >>> two = Database.build(
    ...     platforms=["p", "q"], workloads=["w"], platform_index=[0, 1], workload_index=[0, 0],
    ...     groups=(Group(True, "", "measured"),), group=[0, 0], features=features, t1_s=[1.0, 1.0],
    ...     n_nu=[np.nan] * 2, n_ht=[np.nan] * 2, n_max=[4] * 2)
    >>> mean_distances(two, "platforms", [0], [0, 1]).mean.round(3)  # sqrt((1^2 + 0^2) / 2)
    array([[0.   , 0.707]])
    """
    left, right = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    own, other = database.platform_index.astype(np.int64), database.workload_index.astype(np.int64)
    if kind == "workloads":
        own, other = other, own
    total, count = np.zeros((len(left), len(right))), np.zeros((len(left), len(right)), dtype=np.int64)
    largest = int(own.max(initial=0))
    row_of, column_of = place_of_each(left, largest), place_of_each(right, largest)
    takes_part = (row_of[own] >= 0) | (column_of[own] >= 0)
    for block in comparable_blocks(database, other, takes_part):
        features = normalised_features(database, block)
        rows, columns = row_of[own[block]], column_of[own[block]]
        ours, theirs = rows >= 0, columns >= 0
        if not ours.any() or not theirs.any():
            continue
        distances = nan_euclidean_distances(features[ours], features[theirs]) / np.sqrt(features.shape[1])
        place = np.ix_(rows[ours], columns[theirs])
        total[place] += np.minimum(np.nan_to_num(distances), LARGEST_DISTANCE)
        count[place] += ~np.isnan(distances)
    total[left[:, None] == right] = 0.0  # exactly, which a difference of rounded products is not
    return MeanDistances(np.where(count > 0, total / np.maximum(count, 1), np.nan), count)


def place_of_each(chosen: IntArray, largest: int) -> IntArray:
    """Where each position 0..largest stands in `chosen`; -1 = it is not there.

    >>> place_of_each(np.array([3, 1]), 4).tolist()
    [-1, 1, -1, 0, -1]
    """
    places = np.full(max(largest, int(chosen.max(initial=0))) + 1, -1, dtype=np.int64)
    places[chosen] = np.arange(len(chosen))
    return places


def comparable_blocks(database: Database, other: IntArray, takes_part: BoolArray) -> list[IntArray]:
    """Visible rows that can be compared with each other: those of one group that share the other index."""
    rows = np.flatnonzero(takes_part & ~database.hidden)
    key = other[rows] * max(len(database.groups), 1) + database.group[rows]
    order = np.argsort(key, kind="stable")
    return [block for block in np.split(rows[order], np.flatnonzero(np.diff(key[order])) + 1) if len(block)]


def normalised_features(database: Database, block: IntArray) -> FloatArray:
    """The feature vectors of rows of one group, each element in the range of the group's origin (Eq. 10-12)."""
    low, high = database.element_range(database.groups[database.group[block[0]]].origin)
    return normalise(database.features[block], low, high)


def distances_to_all(database: Database, kind: Kind, of: int) -> MeanDistances:
    """The distances of one platform or workload to all, (1, all); once per database."""
    everything = np.arange(len(database.platforms if kind == "platforms" else database.workloads))
    distances: MeanDistances = database.derive(
        ("neighbours", kind, of), lambda: mean_distances(database, kind, [of], everything)
    )
    return distances


def nearest_positions(distances: FloatArray, of: int, count: int) -> list[int]:
    """Positions with the smallest defined distances, ties in the order of the slug; `of` itself left out.

    >>> nearest_positions(np.array([0.3, np.nan, 0.0, 0.1, 0.1]), of=2, count=2)
    [3, 4]
    """
    order = np.argsort(distances, kind="stable")
    return [int(position) for position in order if position != of and np.isfinite(distances[position])][:count]


def complete_distances(distances: FloatArray) -> FloatArray:
    """Undefined distances replaced by the shortest way over others; 1 at most, and where there is no way.

    >>> complete_distances(np.array([[0.0, 0.2, np.nan], [0.2, 0.0, 0.3], [np.nan, 0.3, 0.0]]))[0].tolist()
    [0.0, 0.2, 0.5]
    """
    edges = np.where(np.isnan(distances), 0.0, np.maximum(distances, SMALLEST_EDGE))
    np.fill_diagonal(edges, 0.0)
    shortest = shortest_path(edges, directed=False)
    whole = np.where(np.isnan(distances), np.minimum(shortest, LARGEST_DISTANCE), distances)
    np.fill_diagonal(whole, 0.0)
    return np.asarray(whole)


def map_in_plane(distances: FloatArray) -> tuple[FloatArray, float]:
    """A map: K points in the plane whose mutual distances are as near to the given ones as can be (metric MDS).

    Parameters: `distances` (K, K), symmetric, NaN = undefined (see `complete_distances`). Returns (K, 2) without unit,
    turned so that the first axis is that of the largest spread, and Kruskal's stress: 0 exact, about 0.1 fair, 0.2
    poor.

    >>> points, stress = map_in_plane(np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> points.tolist(), stress
    ([[0.0, 0.0], [0.5, 0.0]], 0.0)
    """
    whole = complete_distances(distances)
    if len(whole) < 3:
        return np.column_stack([np.arange(len(whole)) * whole.max(initial=0.0), np.zeros(len(whole))]), 0.0
    scaling = MDS(2, metric="precomputed", init="classical_mds", n_init=1, normalized_stress=True, random_state=0)
    points = scaling.fit_transform(whole)
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    turned *= np.where(turned[np.abs(turned).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return turned, float(scaling.stress_)
