"""Mean distances of many platforms or many workloads (Eq. 18-19): matrices, neighbours, and a map; of one to all in one
pass over the profiles; and of all pairs in parts, for databases with a matrix that exceeds the memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import shortest_path

from predictor.core.database import Database
from predictor.core.distance import LARGEST_DISTANCE, MaskedRows, root_mean_square, summed_distances
from predictor.core.normalise import element_spans, normalise
from predictor.core.steps import single_thread
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.jobs.executors import Executor

Kind = Literal["platforms", "workloads"]
NEAREST_LANDMARKS, LANDMARK_ROUNDS = 3, 30  # landmarks for the initial position of a point, and number of iterations
MANY_PAIRS = 1 << 16  # pairs from which distances are computed in 32 bits
MOST_SUBTRACTED = 8  # elements up to which vectors are subtracted; longer ones are multiplied
BATCH_ROWS = 1 << 14  # rows of a batch, so that their elements fit into the processor's caches
SMALLEST_EDGE = 1e-9  # scipy treats 0 as a missing edge
MATRIX_ROWS_PER_BATCH = 128  # independent of the number of processes, so that rounding errors are the same
KEPT_DISTANCES = 64  # cached results of one to all, 160 kB each for 10,000 platforms
COMPARED_AT_ONCE = 1 << 14  # rows per block, so that their differences fit into the processor's caches


@dataclass(frozen=True, eq=False)
class MeanDistances:
    """`mean` (L, R): D_p(P,T) or D_a(A,B), NaN = undefined; `count` (L, R): the number of individual distances in
    it."""

    mean: FloatArray
    count: IntArray


def mean_distances(database: Database, kind: Kind, left: ArrayLike, right: ArrayLike) -> MeanDistances:
    """Return D_p(P,T) of all pairs of `left` and `right` platforms, or D_a(A,B) of workloads (Eq. 18-19).

        D_p(P,T) = mean over the workloads A, in one group, that both have, of D(v_P,A, v_T,A)

    Parameters: `left` (L,), `right` (R,) positions in `database.platforms` (or `.workloads`). Returns MeanDistances (L,
    R) without unit; the mean is NaN if both share nothing comparable.

    >>> from predictor.core.database import Group
    >>> features = np.full((2, 84), np.nan); features[:, :2] = [[0.0, 1.0], [2.0, 1.0]]
    >>> two = Database.build(
    ...     platforms=["p", "q"], workloads=["w"], platform_index=[0, 1], workload_index=[0, 0],
    ...     groups=(Group(True, "", "measured"),), group=[0, 0], features=features, t1_s=[1.0, 1.0],
    ...     n_nu=[np.nan] * 2, n_ht=[np.nan] * 2, n_max=[4] * 2)
    >>> mean_distances(two, "platforms", [0], [0, 1]).mean.round(3)  # sqrt((1^2 + 0^2) / 2)
    array([[0.   , 0.707]])
    """
    sums = DistanceSums(database, kind, left, right)
    with single_thread():
        for batch in sums.batches:
            sums.add(batch)
    return sums.means()


class DistanceSums:
    """Sums of distances from which mean distances are computed, after all `batches` of comparable profiles were
    added."""

    def __init__(self, database: Database, kind: Kind, left: ArrayLike, right: ArrayLike) -> None:
        self.database = database
        self.left, self.right = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        self.own, other = database.platform_index.astype(np.int64), database.workload_index.astype(np.int64)
        if kind == "workloads":
            self.own, other = other, self.own
        shape = len(self.left), len(self.right)
        self.total, self.count = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        largest = int(self.own.max(initial=0))
        self.row_of, self.column_of = place_of_each(self.left, largest), place_of_each(self.right, largest)
        takes_part = (self.row_of[self.own] >= 0) | (self.column_of[self.own] >= 0)
        self.batches = comparable_batches(database, self.own, other, takes_part)

    def add(self, batch: IntArray) -> None:
        """Add rows (B, K) of B platforms with profiles of the same K workloads, or of B workloads on the same K
        platforms."""
        rows, columns = self.row_of[self.own[batch[0]]], self.column_of[self.own[batch[0]]]
        ours, theirs = rows >= 0, columns >= 0
        if not ours.any() or not theirs.any():
            return
        vectors = normalised_elements(self.database, batch)
        if len(vectors) <= MOST_SUBTRACTED:
            left = vectors[..., ours]
            sums = [summed_distances(left, left if np.array_equal(ours, theirs) else vectors[..., theirs])]
        else:
            sums = [multiplied_distances(block[ours], block[theirs]) for block in np.moveaxis(vectors, 0, 2)]
        place = np.ix_(rows[ours], columns[theirs])
        for total, count in sums:
            self.total[place] += total
            self.count[place] += count

    def means(self) -> MeanDistances:
        total, count = self.total.copy(), self.count
        total[self.left[:, None] == self.right] = 0.0  # exactly, without rounding errors
        if np.array_equal(self.left, self.right):
            total = (total + total.T) / 2  # (a,b) and (b,a) of similar vectors differ by rounding errors
        return MeanDistances(np.where(count > 0, total / np.maximum(count, 1), np.nan), count)


def multiplied_distances(ours: FloatArray, theirs: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return `summed_distances` of vectors (K, E) and (M, E) on one platform or workload, by matrix products.

    Many pairs are computed in 32 bits, with an error of at most 1e-6 (see `MaskedRows`).

    >>> ours = np.array([[0.0, 1.0, np.nan]])
    >>> total, count = multiplied_distances(ours, np.array([[1.0, 1.0, np.nan], [np.nan, np.nan, 3.0]]))
    >>> total.round(3).tolist(), count.tolist()
    ([[0.707, 0.0]], [[1, 0]])
    """
    dtype = np.float32 if len(ours) * len(theirs) >= MANY_PAIRS else np.float64
    rows = MaskedRows.of(theirs, dtype)
    distances = MaskedRows.of(ours, dtype, rows.centre).distances_to(rows)
    is_defined = ~np.isnan(distances)
    total = np.minimum(np.where(is_defined, distances, 0.0), LARGEST_DISTANCE)
    return total.astype(np.float64), is_defined.astype(np.int64)


def place_of_each(chosen: IntArray, largest: int) -> IntArray:
    """Return the index in `chosen` of each position 0..largest; -1 if it is missing.

    >>> place_of_each(np.array([3, 1]), 4).tolist()
    [-1, 1, -1, 0, -1]
    """
    places = np.full(max(largest, int(chosen.max(initial=0))) + 1, -1, dtype=np.int64)
    places[chosen] = np.arange(len(chosen))
    return places


def comparable_batches(database: Database, index: IntArray, other: IntArray, takes_part: BoolArray) -> list[IntArray]:
    """Return batches of visible rows that can be compared with each other.

    A block (K,) has the rows of one group with the same other index. A batch (B, K) has B blocks with the same `index`
    and the same valid elements.
    """
    rows = np.flatnonzero(takes_part & ~database.hidden)
    key = other[rows] * max(len(database.groups), 1) + database.group[rows]
    order = np.argsort(key, kind="stable")
    blocks = np.split(rows[order], np.flatnonzero(np.diff(key[order])) + 1) if len(rows) else []
    same_groups: dict[Hashable, list[IntArray]] = {}
    for block in blocks:
        elements = elements_of(database, block)
        same_groups.setdefault((database.group[block[0]], index[block].tobytes(), elements.tobytes()), []).append(block)
    batches = []
    for same in same_groups.values():  # at most BATCH_ROWS rows for each batch, but at least one block
        size = max(1, BATCH_ROWS // len(same[0]))
        batches += [np.array(same[start : start + size]) for start in range(0, len(same), size)]
    return batches


def elements_of(database: Database, rows: IntArray) -> IntArray:
    """Return the elements that at least one of the rows has: time-only profiles have 2 of the 84."""
    return np.flatnonzero(~np.isnan(database.features[rows]).all(axis=0))


def normalised_elements(database: Database, batch: IntArray) -> FloatArray:
    """Return the elements that occur in rows (B, K) of one group, normalised by the range of its origin (Eq. 10-12),
    (E, B, K)."""
    elements = elements_of(database, batch[0])
    low, high = database.element_range(database.groups[database.group[batch[0, 0]]].origin)
    values = database.features[batch[..., None], elements]
    return np.moveaxis(normalise(values, low[elements], high[elements]), 2, 0)


def nearest_positions(distances: FloatArray, of: int, count: int) -> list[int]:
    """Return the positions with the smallest defined distances, ties ordered by slug, without `of`.

    >>> distances = np.array([0.3, np.nan, 0.0, 0.1, 0.1])
    >>> nearest_positions(distances, of=2, count=2), nearest_positions(distances, of=2, count=5)
    ([3, 4], [3, 4, 0])
    """
    order = np.argsort(distances, kind="stable")
    return [int(position) for position in order if position != of and np.isfinite(distances[position])][:count]


def complete_distances(distances: FloatArray) -> FloatArray:
    """Return the distances with undefined ones replaced by the shortest path over others, at most 1, and 1 without a
    path.

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
    """Return a map: K points in the plane with mutual distances as near to the given ones as possible (metric MDS).

    Parameters: `distances` (K, K), symmetric, NaN = undefined (see `complete_distances`). Returns (K, 2) without unit,
    rotated so that the first axis has the largest spread, and Kruskal's stress: 0 exact, about 0.1 fair, 0.2 poor.

    >>> points, stress = map_in_plane(np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> points.tolist(), stress
    ([[0.0, 0.0], [0.5, 0.0]], 0.0)
    """
    from sklearn.manifold import MDS  # noqa: PLC0415  the import is slow, and few commands need it

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


def map_by_landmarks(distances: FloatArray, landmarks: IntArray) -> tuple[FloatArray, float]:
    """Return a map of K points by their distances to L of them, the landmarks.

    The landmarks are mapped by `map_in_plane`. Every other point is placed where its distances to the landmarks are
    preserved best (majorisation with fixed landmarks):

        x <- mean over landmarks j of y_j + d_j (x - y_j) / |x - y_j|

    Parameters: `distances` (K, L), NaN = undefined; `landmarks` (L,), their positions among the K. Returns (K, 2)
    without unit, NaN for a point without any distance to another, and Kruskal's stress over all K x L pairs. O(K L).

    >>> points, stress = map_by_landmarks(np.array([[0.0, 0.5], [0.5, 0.0], [0.2, 0.3]]), np.array([0, 1]))
    >>> points.round(6).tolist(), round(stress, 6)
    ([[0.0, 0.0], [0.5, 0.0], [0.2, 0.0]], 0.0)
    """
    fixed, _ = map_in_plane(distances[landmarks])
    given = np.isfinite(distances)
    count = given.sum(axis=1)
    d = np.where(given, distances, 0.0)
    nearest = np.argsort(np.where(given, distances, np.inf), axis=1)[:, :NEAREST_LANDMARKS]
    weight = np.take_along_axis(given / (d + SMALLEST_EDGE), nearest, axis=1)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), SMALLEST_EDGE)
    points = np.einsum("kn,knx->kx", weight, fixed[nearest])
    for _ in range(LANDMARK_ROUNDS):
        gap = points[:, None] - fixed
        length = np.sqrt(np.einsum("klx,klx->kl", gap, gap))
        ratio = np.where(given, d / np.maximum(length, SMALLEST_EDGE), 0.0)
        points = (given @ fixed + np.einsum("kl,klx->kx", ratio, gap)) / np.maximum(count, 1)[:, None]
    points[landmarks] = fixed
    others = given.copy()
    others[landmarks, np.arange(len(landmarks))] = False
    points[~others.any(axis=1)] = np.nan
    length = np.sqrt(((points[:, None] - fixed) ** 2).sum(axis=2))
    errors = np.where(others, length - d, 0.0)
    total = (d[others] ** 2).sum()
    return points, float(np.sqrt(np.nansum(errors**2) / total)) if total else 0.0


@dataclass(frozen=True, eq=False)
class DistancePairs:
    """Pairs of platforms or workloads by their positions, `first` < `second` (K,): the mean distance of each, without
    unit, and the number of individual distances in it. Pairs without a defined distance are omitted."""

    first: IntArray
    second: IntArray
    mean: FloatArray
    count: IntArray


def pair_distances(database: Database, kind: Kind, executor: Executor | None = None) -> Iterator[DistancePairs]:
    """Yield all pairs in order, in parts of MATRIX_ROWS_PER_BATCH first members; the formula is that of
    `mean_distances`.

    >>> from predictor.core.database import Group
    >>> features = np.full((2, 84), np.nan); features[:, :2] = [[0.0, 1.0], [2.0, 1.0]]
    >>> two = Database.build(
    ...     platforms=["p", "q"], workloads=["w"], platform_index=[0, 1], workload_index=[0, 0],
    ...     groups=(Group(True, "", "measured"),), group=[0, 0], features=features, t1_s=[1.0, 1.0],
    ...     n_nu=[np.nan] * 2, n_ht=[np.nan] * 2, n_max=[4] * 2)
    >>> [pairs.mean.round(3).tolist() for pairs in pair_distances(two, "platforms")]
    [[0.707]]
    """
    database.prepare()
    total = len(database.platforms if kind == "platforms" else database.workloads)
    batches = [(kind, start, total) for start in range(0, total, MATRIX_ROWS_PER_BATCH)]
    return (executor or Executor()).map(_pairs_of_rows, database, batches)


def _pairs_of_rows(database: Database, batch: tuple[Kind, int, int]) -> DistancePairs:
    kind, start, total = batch
    left, right = np.arange(start, min(start + MATRIX_ROWS_PER_BATCH, total)), np.arange(start, total)
    distances = mean_distances(database, kind, left, right)
    row, column = np.nonzero((left[:, None] < right) & (distances.count > 0))
    return DistancePairs(left[row], right[column], distances.mean[row, column], distances.count[row, column])


def distances_to_all(database: Database, kind: Kind, of: int) -> MeanDistances:
    """Return the distances of one platform or workload to all, (1, all), with a cache of the latest results."""
    return database.derive_one_of("neighbours", (kind, of), lambda: _one_to_all(database, kind, of), KEPT_DISTANCES)


def _one_to_all(database: Database, kind: Kind, of: int) -> MeanDistances:
    """Return one row of `mean_distances` by subtraction of each profile from that of `of` in the same group on the same
    workload or platform. Matrix products would be too small to be fast."""
    positions, paired, size = database.platform_index, database.workload_index, len(database.platforms)
    if kind == "workloads":
        positions, paired, size = paired, positions, len(database.workloads)
    key = paired.astype(np.int64) * max(len(database.groups), 1) + database.group
    mine = np.flatnonzero((positions == of) & ~database.hidden)
    partner = np.full(int(key.max(initial=0)) + 1, -1, dtype=np.int64)
    partner[key[mine]] = mine
    rows = np.flatnonzero((partner[key] >= 0) & ~database.hidden)
    total, count = np.zeros(size), np.zeros(size, dtype=np.int64)
    columns = elements_of(database, mine)
    # Divisors of the elements for the origin of each group (Eq. 10-12), (G, columns).
    spans = np.array([element_spans(*database.element_range(group.origin))[columns] for group in database.groups])
    for start in range(0, len(rows), COMPARED_AT_ONCE):
        chunk = rows[start : start + COMPARED_AT_ONCE]
        partners = partner[key[chunk]]
        difference = database.features[chunk[:, None], columns] - database.features[partners[:, None], columns]
        distances = root_mean_square(difference / spans[database.group[chunk]])
        total += np.bincount(positions[chunk], np.nan_to_num(distances), size)
        count += np.bincount(positions[chunk], ~np.isnan(distances), size).astype(np.int64)
    return MeanDistances(np.where(count > 0, total / np.maximum(count, 1), np.nan)[None], count[None])
