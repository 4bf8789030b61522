"""One revision of all profiles that predictions may use, as read-only arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predictor.core.arrays import (
    Column,
    checked_column,
    checked_curves,
    checked_features,
    checked_indices,
    checked_table,
    read_only,
    require,
    slug_order,
    stretch_positions,
)
from predictor.core.errors import DatabaseError
from profiles.arrays import BoolArray, FloatArray, IntArray

PLATFORM_NUMBER_COLUMNS = (
    "base_mhz",
    "l1d_bytes",
    "l2_bytes",
    "l3_bytes",
    "memory_bytes",
    "physical_cores",
    "threads",
)
PLATFORM_TEXT_COLUMNS = ("architecture", "vendor", "cpu_model", "microarchitecture", "device_class")
WORKLOAD_TEXT_COLUMNS = ("application", "strategy", "time_kind")

COUNTED_ROWS = 16_384  # rows counted at a time, 11 MB of features
VALID_COUNTS = "valid_counts"
EXTREME_ROWS_KEPT = 64  # per element and side; with more hidden profiles the range needs a pass over the database

Derived = TypeVar("Derived")


class Group(NamedTuple):
    """A group of comparable profiles. Profiles of different groups are not comparable."""

    decomposed: bool
    runtime: str
    origin: str


@dataclass(frozen=True, eq=False)
class Database:
    """The profiles of P platforms and W workloads, one row each, as read-only arrays.

    Rows are sorted by (platform_index, workload_index, group), which is unique; platforms and workloads are sorted by
    slug, so that indices have the order of slugs. Only measured pairs have a row: memory grows with the number of
    profiles, not with P x W. Times are in seconds; NaN means "not measured" or "does not apply".

    `hidden` marks rows that must not be used. A view made by `without` shares every other array with its database.

    >>> database = Database.build(
    ...     platforms=("b", "a"), workloads=("w",), platform_index=[0, 1], workload_index=[0, 0],
    ...     groups=(Group(False, "", "measured"),), group=[0, 0], features=np.ones((2, 84)), t1_s=[20.0, 10.0],
    ...     n_nu=[np.nan, np.nan], n_ht=[np.nan, np.nan], n_max=[4, 8])
    >>> database.platforms, database.t1_s
    (('a', 'b'), array([10., 20.]))
    >>> database.lookup(1, 0, 0), database.without(1, 0).lookup(1, 0, 0)
    (array(1), array(-1))
    """

    revision: int
    platforms: tuple[str, ...]
    workloads: tuple[str, ...]
    platform_index: NDArray[np.int32]  # (N,)
    workload_index: NDArray[np.int32]  # (N,)
    group: NDArray[np.int16]  # (N,) into groups
    groups: tuple[Group, ...]
    features: FloatArray  # (N, 84), NaN = invalid
    t1_s: FloatArray  # (N,)
    standard_error: FloatArray  # (N,) of ln t(n), from repeats; NaN = unknown
    run_deviation: FloatArray  # (N,) standard deviation of ln t of one run, from repeats; NaN = unknown
    disturbed_share: FloatArray  # (N,) share of disturbed runs; NaN = unknown
    curve_offsets: IntArray  # (N+1,): the measured curve of row i is [offsets[i], offsets[i+1])
    curve_n: NDArray[np.int32]
    curve_time_s: FloatArray
    n_nu: FloatArray  # (P,), NaN = no such effect
    n_ht: FloatArray  # (P,)
    n_max: IntArray  # (P,)
    platform_table: Mapping[str, Column]  # name -> (P,)
    workload_table: Mapping[str, Column]  # name -> (W,)
    hidden: BoolArray = field(repr=False)  # (N,)
    hidden_rows: IntArray = field(repr=False)
    _keys: IntArray = field(repr=False)
    _derived: dict[Hashable, Any] = field(repr=False, default_factory=dict)  # computed on demand, shared by all views

    @classmethod
    def build(
        cls,
        *,
        platforms: Sequence[str],
        workloads: Sequence[str],
        platform_index: ArrayLike,
        workload_index: ArrayLike,
        groups: Sequence[Group],
        group: ArrayLike,
        features: ArrayLike,
        t1_s: ArrayLike,
        n_nu: ArrayLike,
        n_ht: ArrayLike,
        n_max: ArrayLike,
        curve_offsets: ArrayLike | None = None,
        curve_n: ArrayLike = (),
        curve_time_s: ArrayLike = (),
        standard_error: ArrayLike | None = None,
        run_deviation: ArrayLike | None = None,
        disturbed_share: ArrayLike | None = None,
        platform_table: Mapping[str, Any] | None = None,
        workload_table: Mapping[str, Any] | None = None,
        revision: int = 0,
    ) -> Database:
        """Return a database from arrays in any order, sorted and checked. Indices refer to `platforms`, `workloads` and
        `groups` as given.

        If `curve_offsets` is None, there are no measured curves; if `standard_error`, `run_deviation` or
        `disturbed_share` is None, all its values are unknown. `features` that are already in the order of the database
        are not copied and become read-only. Columns missing from the tables are filled with NaN or "". Raise
        DatabaseError if the arrays contradict each other.
        """
        platform_order, platform_rank = slug_order("platforms", platforms)
        workload_order, workload_rank = slug_order("workloads", workloads)
        p = platform_rank[checked_indices("platform_index", platform_index, len(platforms))]
        w = workload_rank[checked_indices("workload_index", workload_index, len(workloads))]
        g = checked_indices("group", group, len(groups))
        t1 = checked_column("t1_s", t1_s, len(p))
        if len(w) != len(p) or len(g) != len(p):
            raise DatabaseError(
                f"platform_index, workload_index and group differ in length: {len(p)}, {len(w)}, {len(g)}"
            )
        require("t1_s", "positive or NaN", ~((t1 <= 0) | np.isinf(t1)))
        keys = (p * len(workloads) + w) * max(len(groups), 1) + g
        rows = np.argsort(keys, kind="stable")
        keys, is_in_order = keys[rows], np.array_equal(rows, np.arange(len(rows)))
        features = checked_features(features, len(p))
        require("profiles", "unique in (platform, workload, group)", keys[1:] != keys[:-1])
        offsets, curve_n, curve_time_s = checked_curves(curve_offsets, curve_n, curve_time_s, rows)
        errors, deviations, disturbed = (
            checked_column(name, np.full(len(p), np.nan) if column is None else column, len(p))
            for name, column in (
                ("standard_error", standard_error),
                ("run_deviation", run_deviation),
                ("disturbed_share", disturbed_share),
            )
        )
        for name, column in (("standard_error", errors), ("run_deviation", deviations)):
            require(name, "at least 0 or NaN", ~((column < 0) | np.isinf(column)))
        require("disturbed_share", "in 0..1 or NaN", ~((disturbed < 0) | (disturbed > 1)))
        top_n = checked_column("n_max", n_max, len(platforms))
        require("n_max", "at least 1", top_n >= 1)
        return cls(
            revision=revision,
            platforms=tuple(platforms[i] for i in platform_order),
            workloads=tuple(workloads[i] for i in workload_order),
            platform_index=read_only(p[rows].astype(np.int32)),
            workload_index=read_only(w[rows].astype(np.int32)),
            group=read_only(g[rows].astype(np.int16)),
            groups=tuple(groups),
            features=read_only(features if is_in_order else features[rows]),  # avoids a copy of a large array
            t1_s=read_only(t1[rows]),
            standard_error=read_only(errors[rows]),
            run_deviation=read_only(deviations[rows]),
            disturbed_share=read_only(disturbed[rows]),
            curve_offsets=read_only(offsets),
            curve_n=read_only(curve_n),
            curve_time_s=read_only(curve_time_s),
            n_nu=read_only(checked_column("n_nu", n_nu, len(platforms))[platform_order]),
            n_ht=read_only(checked_column("n_ht", n_ht, len(platforms))[platform_order]),
            n_max=read_only(top_n[platform_order].astype(np.int64)),
            platform_table=checked_table(
                platform_table or {}, PLATFORM_NUMBER_COLUMNS, PLATFORM_TEXT_COLUMNS, platform_order
            ),
            workload_table=checked_table(workload_table or {}, (), WORKLOAD_TEXT_COLUMNS, workload_order),
            hidden=read_only(np.zeros(len(p), dtype=np.bool_)),
            hidden_rows=read_only(np.zeros(0, dtype=np.int64)),
            _keys=read_only(keys),
        )

    def __len__(self) -> int:
        """Return the number of rows, including hidden ones."""
        return len(self.t1_s)

    def lookup(self, platforms: ArrayLike, workloads: ArrayLike, group: ArrayLike | Iterable[int]) -> IntArray:
        """Return the rows of (platform, workload) pairs in a group, broadcast against each other; -1 = missing or
        hidden.

        If `group` is a sequence, the first group that has the pair counts. O(pairs log N) for each group.
        """
        pairs = np.asarray(platforms, dtype=np.int64) * len(self.workloads) + np.asarray(workloads, dtype=np.int64)
        rows = np.full(pairs.shape, -1, dtype=np.int64)
        if not len(self):
            return rows
        for g in np.atleast_1d(np.asarray(group)):
            keys = pairs * len(self.groups) + g
            nearest = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
            is_visible = (self._keys[nearest] == keys) & ~self.hidden[nearest]
            rows = np.where(is_visible & (rows < 0), nearest, rows)
        return rows

    def without(self, platforms: ArrayLike, workloads: ArrayLike) -> Database:
        """Return a view of the database as if the pairs (platforms[i], workloads[i]) had not been measured in any
        group. Both arguments are broadcast."""
        pairs = np.asarray(platforms, dtype=np.int64) * len(self.workloads) + np.asarray(workloads, dtype=np.int64)
        keys = pairs.ravel() * len(self.groups)
        starts, stops = self._keys.searchsorted(keys), self._keys.searchsorted(keys + len(self.groups))
        rows_of_groups = [starts[starts + g < stops] + g for g in range(len(self.groups))]
        rows = np.concatenate([*rows_of_groups, np.zeros(0, dtype=np.int64)])
        rows = rows[~self.hidden[rows]]
        if not len(rows):
            return self
        if len(rows) > 1:
            rows = np.unique(rows)
        hidden = self.hidden.copy()
        hidden[rows] = True
        return replace(self, hidden=read_only(hidden), hidden_rows=read_only(np.append(self.hidden_rows, rows)))

    def part(self, rows: IntArray, platforms: IntArray | None = None, workloads: IntArray | None = None) -> Database:
        """Return these profiles as a new database, with these platforms and workloads only; by default with all of
        them.

        All indices must be ascending, and `platforms` and `workloads` must include those of the profiles.
        """
        platforms = np.arange(len(self.platforms)) if platforms is None else platforms
        workloads = np.arange(len(self.workloads)) if workloads is None else workloads
        lengths = np.diff(self.curve_offsets)[rows]
        points = stretch_positions(self.curve_offsets[rows], lengths)
        return Database.build(
            platforms=[self.platforms[p] for p in platforms],
            workloads=[self.workloads[w] for w in workloads],
            platform_index=np.searchsorted(platforms, self.platform_index[rows]),
            workload_index=np.searchsorted(workloads, self.workload_index[rows]),
            groups=self.groups,
            group=self.group[rows],
            features=self.features[rows],
            t1_s=self.t1_s[rows],
            standard_error=self.standard_error[rows],
            run_deviation=self.run_deviation[rows],
            disturbed_share=self.disturbed_share[rows],
            n_nu=self.n_nu[platforms],
            n_ht=self.n_ht[platforms],
            n_max=self.n_max[platforms],
            curve_offsets=np.append(0, np.cumsum(lengths)),
            curve_n=self.curve_n[points],
            curve_time_s=self.curve_time_s[points],
            platform_table=_table_rows(self.platform_table, platforms),
            workload_table=_table_rows(self.workload_table, workloads),
            revision=self.revision,
        )

    def with_platform(
        self, platform: int, most: int, *, n_nu: float, n_ht: float, n_max: int, physical_cores: float
    ) -> Database:
        """Return the database as if a platform had this topology, and had been measured with at most `most` threads."""
        points = slice(*self.curve_offsets[np.searchsorted(self.platform_index, [platform, platform + 1])])
        kept = np.ones(len(self.curve_n), dtype=np.bool_)
        kept[points] = self.curve_n[points] <= most
        offsets = np.append(0, np.cumsum(kept))[self.curve_offsets]
        lost = np.flatnonzero((np.diff(offsets) == 0) & (np.diff(self.curve_offsets) > 0))
        hidden = self.hidden.copy()
        hidden[lost] = True
        cores = np.asarray(self.platform_table["physical_cores"])
        columns = [column.copy() for column in (self.n_nu, self.n_ht, self.n_max, cores)]
        for column, fact in zip(columns, (n_nu, n_ht, n_max, physical_cores), strict=True):
            column[platform] = fact
        all_n_nu, all_n_ht, all_n_max, all_cores = map(read_only, columns)
        return replace(
            self,
            n_nu=all_n_nu,
            n_ht=all_n_ht,
            n_max=all_n_max,
            platform_table={**self.platform_table, "physical_cores": all_cores},
            curve_offsets=read_only(offsets),
            curve_n=read_only(self.curve_n[kept]),
            curve_time_s=read_only(self.curve_time_s[kept]),
            hidden=read_only(hidden),
            hidden_rows=read_only(np.union1d(self.hidden_rows, lost)),
            _derived={},
        )

    def with_profiles(self, **profiles: Any) -> Database:
        """Return a database with the same platforms, workloads and groups and other profiles, given as arguments of
        `build`."""
        unchanged = ("revision", "platforms", "workloads", "groups", "n_nu", "n_ht", "n_max", "platform_table")
        return Database.build(**{name: getattr(self, name) for name in (*unchanged, "workload_table")} | profiles)

    def rows_of_platform(self, platform: int) -> IntArray:
        """Return the visible rows of one platform, ordered by workload and group."""
        bounds = np.searchsorted(self.platform_index, [platform, platform + 1])
        rows = np.arange(*bounds, dtype=np.int64)
        return rows[~self.hidden[rows]]

    def rows_of_workload(self, workload: int) -> IntArray:
        """Return the visible rows of one workload, ordered by platform and group."""
        order, sorted_index = self.rows_by_workload()
        start, stop = np.searchsorted(sorted_index, [workload, workload + 1])
        rows = order[start:stop]
        return rows[~self.hidden[rows]]

    def rows_by_workload(self) -> tuple[IntArray, NDArray[np.int32]]:
        """Return all rows, including hidden ones, ordered by workload, platform and group; and the workload of each."""
        return self.derive("by_workload", lambda: order_by_workload(self.workload_index, len(self.workloads)))

    def curve(self, row: int) -> tuple[NDArray[np.int32], FloatArray]:
        """Return the measured curve of a row: n, and t(n) in seconds."""
        start, stop = self.curve_offsets[row], self.curve_offsets[row + 1]
        return self.curve_n[start:stop], self.curve_time_s[start:stop]

    def valid_elements(self, group: int) -> BoolArray:
        """Return which elements (84,) at least one profile of the group has. Hidden profiles count, because this only
        saves time."""
        return np.asarray(self.valid_counts()[group] > 0)

    def valid_counts(self) -> IntArray:
        """Return the number of profiles of each group that have each element, (groups, 84), including hidden ones."""
        return self.derive(VALID_COUNTS, self._count_valid)

    def element_range(self, origin: str) -> tuple[FloatArray, FloatArray]:
        """Return the minimum and maximum of every element over the visible profiles of one origin (Eq. 10-11).

        Returns two arrays (84,) in the elements' own units. NaN: no visible profile of the origin has the element.

        >>> database = Database.build(
        ...     platforms=("a", "b"), workloads=("w",), platform_index=[0, 1], workload_index=[0, 0],
        ...     groups=(Group(False, "", "measured"),), group=[0, 0], features=[[1.0] * 84, [5.0] * 84],
        ...     t1_s=[20.0, 10.0], n_nu=[np.nan, np.nan], n_ht=[np.nan, np.nan], n_max=[4, 8])
        >>> low, high = database.element_range("measured")
        >>> low[0], high[0], database.without(1, 0).element_range("measured")[1][0]
        (np.float64(1.0), np.float64(5.0), np.float64(1.0))
        """
        low, high = self.element_extremes(origin, 1)
        return low[0], high[0]

    def element_extremes(self, origin: str, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the `count` smallest and largest values of every element over the visible profiles of one origin,
        (count, 84) each.

        They are ordered from the outermost inwards, and NaN if there are fewer.
        """
        rows, low, high = self.extreme_rows(origin)
        return self._outermost(rows, low, count), -self._outermost(rows, high, count, sign=-1.0)

    def extreme_rows(self, origin: str) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows of the origin, and for each element the EXTREME_ROWS_KEPT rows with the smallest and the
        largest values, (kept, 84), NaN last. Includes hidden rows."""
        return self.derive(("extremes", origin), lambda: self._find_extreme_rows(origin))

    def prepare(self) -> None:
        """Compute the derived arrays that the first prediction needs. Call it at start-up, or before views are made in
        other processes."""
        self.prepared()

    def prepared(self) -> dict[str, np.ndarray]:
        """Return the arrays that `prepare` computes, by name, so that they can be stored and passed to
        `take_prepared`."""
        order, workload_of = self.rows_by_workload()
        arrays: dict[str, np.ndarray] = {
            VALID_COUNTS: self.valid_counts(),
            "by_workload": order,
            "workload_of": workload_of,
        }
        for origin in sorted({group.origin for group in self.groups}):
            _, low, high = self.extreme_rows(origin)
            arrays |= {f"lowest_{origin}": low, f"highest_{origin}": high}
        return arrays

    def take_prepared(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the derived arrays from the result of `prepared` for the same database."""
        self._derived[VALID_COUNTS] = arrays[VALID_COUNTS]
        self._derived["by_workload"] = arrays["by_workload"], arrays["workload_of"]
        for origin in {group.origin for group in self.groups}:
            rows = self.rows_of_origin(origin)
            self._derived["extremes", origin] = rows, arrays[f"lowest_{origin}"], arrays[f"highest_{origin}"]

    def derive(self, key: Hashable, compute: Callable[[], Derived]) -> Derived:
        """Return the result of `compute()`, cached for the database and all its views. It must not depend on
        `hidden`."""
        if key not in self._derived:
            self._derived[key] = compute()
        return cast(Derived, self._derived[key])

    def derive_one_of(self, kind: Hashable, key: Hashable, compute: Callable[[], Derived], most: int) -> Derived:
        """Return the result of `compute()` like `derive`, but cache only the newest `most` results of this kind."""
        cached: dict[Hashable, Derived] = self.derive(kind, dict)
        found = cached.get(key)
        if found is None:
            found = cached[key] = compute()
            for old in list(cached)[:-most]:
                cached.pop(old, None)  # another thread may have done so
        return found

    def _count_valid(self) -> IntArray:
        counts = np.zeros((len(self.groups), self.features.shape[1]), dtype=np.int64)
        for start in range(0, len(self), COUNTED_ROWS):
            rows = slice(start, start + COUNTED_ROWS)
            is_valid = ~np.isnan(self.features[rows])
            for group in np.unique(self.group[rows]):
                counts[group] += np.count_nonzero(is_valid[self.group[rows] == group], axis=0)
        return counts

    def rows_of_origin(self, origin: str) -> IntArray:
        """Return all rows of one origin, including hidden ones."""
        return np.flatnonzero(np.isin(self.group, [g for g, group in enumerate(self.groups) if group.origin == origin]))

    def _find_extreme_rows(self, origin: str) -> tuple[IntArray, IntArray, IntArray]:
        rows = self.rows_of_origin(origin)
        count = min(EXTREME_ROWS_KEPT, len(rows))
        low = np.empty((count, self.features.shape[1]), dtype=np.int64)
        high = np.empty_like(low)
        for element in range(self.features.shape[1]):
            column = self.features[rows, element]
            low[:, element] = rows[smallest_positions(column, count)]
            high[:, element] = rows[smallest_positions(-column, count)]
        return rows, low, high

    def _outermost(self, rows: IntArray, ranked: IntArray, count: int, sign: float = 1.0) -> FloatArray:
        """Return `sign` times the value, the `count` smallest of each element over the visible ones of `rows`,
        (count, 84), NaN if there are fewer.

        They are those of the first visible `ranked` rows. An element without enough of these is read in all rows.
        """
        order = np.argsort(self.hidden[ranked], axis=0, kind="stable")[:count]
        elements = np.arange(self.features.shape[1])
        first = np.take_along_axis(ranked, order, axis=0)
        found = _padded(np.where(self.hidden[first], np.nan, sign * self.features[first, elements]), count)
        if len(ranked) < len(rows):
            visible = rows[~self.hidden[rows]]
            for element in np.flatnonzero(np.count_nonzero(~self.hidden[ranked], axis=0) < count).tolist():
                values = sign * self.features[visible, element]
                found[:, element] = np.nan
                found[: len(values), element] = values[smallest_positions(values, min(count, len(values)))]
        return found


def order_by_workload(workload_index: NDArray[np.int32], count: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Return the rows, which are ordered by platform, in the order of workload and platform; and the workload of
    each."""
    few = count <= np.iinfo(np.uint16).max  # 16-bit numbers are sorted faster
    order = np.argsort(workload_index.astype(np.uint16) if few else workload_index, kind="stable")
    return order, workload_index[order]


def _table_rows(table: Mapping[str, Column], rows: IntArray) -> dict[str, Column]:
    return {
        name: tuple(column[row] for row in rows) if isinstance(column, tuple) else column[rows]
        for name, column in table.items()
    }


def _padded(values: FloatArray, count: int) -> FloatArray:
    """Return at least `count` rows, padded with NaN."""
    missing = max(count - len(values), 0)
    return np.concatenate([values, np.full((missing, values.shape[1]), np.nan)])


def smallest_positions(values: FloatArray, count: int) -> IntArray:
    """Return the positions of the `count` smallest values in ascending order, NaN last."""
    part = np.argpartition(values, count - 1)[:count] if count else np.zeros(0, dtype=np.int64)
    return part[np.argsort(values[part], kind="stable")]
