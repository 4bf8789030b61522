"""Merging of a database with a small database of the profiles that were added since.

The result is the same as that of `Database.build` for all profiles, array by array, without sorting or checking again:
the rows that both have in common keep their order, so that every array consists of a few ranges of the two. The large
arrays are not put together in memory (`SplicedArray`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predictor.core.arrays import read_only
from predictor.core.assembly import positions_of_ids, representative_rows
from predictor.core.database import (
    EXTREME_ROWS_KEPT,
    VALID_COUNTS,
    Database,
    Group,
    order_by_workload,
    smallest_positions,
)
from profiles.arrays import BoolArray, FloatArray, IntArray


class CannotGrow(Exception):
    """The first database is not an earlier state of the second one, so that all rows have to be read again."""


@dataclass(frozen=True, eq=False)
class Splice:
    """A sequence of N ranges [starts[i], stops[i]) of the base or, where `is_new[i]`, of the segment.

    >>> splice = Splice(np.array([False, True, False]), np.array([0, 0, 2]), np.array([1, 1, 3]))
    >>> splice.joined(np.array([1, 2, 3]), np.array([20])).tolist()
    [1, 20, 3]
    """

    is_new: BoolArray
    starts: IntArray
    stops: IntArray

    @classmethod
    def of_rows(cls, length: int, removed: IntArray, positions: IntArray, rows: IntArray) -> Splice:
        """Return the splice of all `length` base rows without the `removed` ones (ascending), and with the segment's
        row `rows[i]` inserted before base row `positions[i]` (ascending).

        >>> splice = Splice.of_rows(3, np.array([1]), np.array([1, 3]), np.array([5, 6]))
        >>> list(zip(splice.is_new.tolist(), splice.starts.tolist(), splice.stops.tolist()))
        [(False, 0, 1), (True, 5, 6), (False, 2, 3), (True, 6, 7)]
        """
        cuts = np.concatenate([positions, removed])
        skipped = np.repeat([0, 1], [len(positions), len(removed)])
        order = np.lexsort((skipped, cuts))
        ends = np.append(cuts[order], length)
        begins = np.append(0, ends[:-1] + skipped[order])
        is_new = np.zeros(2 * len(order) + 1, dtype=np.bool_)
        starts, stops = np.zeros(len(is_new), dtype=np.int64), np.zeros(len(is_new), dtype=np.int64)
        starts[::2], stops[::2] = begins, ends
        inserted = 1 + 2 * np.flatnonzero(skipped[order] == 0)
        is_new[inserted], starts[inserted], stops[inserted] = True, rows, rows + 1
        is_nonempty = starts < stops
        return cls(is_new[is_nonempty], starts[is_nonempty], stops[is_nonempty])

    def __len__(self) -> int:
        return int((self.stops - self.starts).sum())

    def pieces(self, base: np.ndarray, segment: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the elements of both arrays in the order of the splice, one view for each range."""
        for is_new, start, stop in zip(self.is_new.tolist(), self.starts.tolist(), self.stops.tolist(), strict=True):
            yield (segment if is_new else base)[start:stop]

    def joined(self, base: np.ndarray, segment: np.ndarray) -> np.ndarray:
        return np.concatenate([base[:0], *self.pieces(base, segment)])

    def of_elements(self, base_offsets: IntArray, segment_offsets: IntArray) -> Splice:
        """Return the splice of flat arrays in which row i has the elements [offsets[i], offsets[i+1])."""
        starts = np.where(self.is_new, _taken(segment_offsets, self.starts), _taken(base_offsets, self.starts))
        stops = np.where(self.is_new, _taken(segment_offsets, self.stops), _taken(base_offsets, self.stops))
        return Splice(self.is_new, starts, stops)

    def positions(self, length: int, segment_length: int) -> tuple[IntArray, IntArray]:
        """Return the positions in the result of the base's rows and of the segment's rows; -1 if a row was left out."""
        order = self.joined(np.arange(length), length + np.arange(segment_length))
        place = np.full(length + segment_length, -1)
        place[order] = np.arange(len(order))
        return place[:length], place[length:]


def _taken(offsets: IntArray, rows: IntArray) -> IntArray:
    """Return the offsets of the rows. Rows of the other array may be out of range, and their offsets are not used."""
    return offsets[np.minimum(rows, len(offsets) - 1)]


@dataclass(frozen=True, eq=False)
class SplicedArray:
    """An array that is stored in pieces: it can be written piece by piece, or put together by `joined`."""

    base: np.ndarray
    segment: np.ndarray
    splice: Splice

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.splice), *self.base.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.base.dtype

    def pieces(self) -> Iterator[np.ndarray]:
        return self.splice.pieces(self.base, self.segment)

    def joined(self) -> np.ndarray:
        return read_only(self.splice.joined(self.base, self.segment))


@dataclass(frozen=True, eq=False)
class Ranks:
    """The columns that decide which profile represents its pair, for each row of a database, and the permanent ids of
    its platforms (P,) and workloads (W,). Slugs are not permanent."""

    profile_ids: IntArray
    is_private: BoolArray
    is_simulated: BoolArray
    n_measured: IntArray
    platform_ids: IntArray
    workload_ids: IntArray

    def values(self, rows: IntArray) -> dict[str, np.ndarray]:
        """Return the columns that `representative_rows` compares."""
        return {
            "pk": self.profile_ids[rows],
            "private_to_id": np.array([True if own else None for own in self.is_private[rows]], dtype=np.object_),
            "origin": np.where(self.is_simulated[rows], "simulated", "measured"),
            "n_measured": self.n_measured[rows],
        }


@dataclass(frozen=True, eq=False)
class GrownRows:
    """The rows of a base and a segment together, and their keys."""

    splice: Splice
    keys: IntArray
    groups: tuple[Group, ...]
    base_groups: IntArray  # of each group of the base, its index in `groups`
    segment_groups: IntArray

    @classmethod
    def of(
        cls, base: Database, base_ranks: Ranks, segment: Database, segment_ranks: Ranks, read_again: IntArray
    ) -> GrownRows:
        """Return the representative rows of both, without the base's rows `read_again`: the segment contains these
        pairs if they still exist. Raise CannotGrow if the base has platforms or workloads that the segment lacks or has
        in another order, or a group that has no row any more."""
        groups = tuple(sorted({*base.groups, *segment.groups}))
        base_groups = np.array([groups.index(group) for group in base.groups], dtype=np.int64)
        segment_groups = np.array([groups.index(group) for group in segment.groups], dtype=np.int64)
        platforms = _positions(base_ranks.platform_ids, segment_ranks.platform_ids)
        workloads = _positions(base_ranks.workload_ids, segment_ranks.workload_ids)
        sizes = len(segment.workloads), len(groups)
        pairs = platforms[base.platform_index], workloads[base.workload_index]
        base_keys = _keys(*pairs, base_groups[base.group], sizes)
        if (base_keys[1:] <= base_keys[:-1]).any():
            raise CannotGrow("platforms, workloads or groups were renamed")
        segment_keys = _keys(segment.platform_index, segment.workload_index, segment_groups[segment.group], sizes)
        positions = np.searchsorted(base_keys, segment_keys)
        again = np.flatnonzero(np.append(base_keys, -1)[positions] == segment_keys)
        is_kept = _stay(base_ranks, positions[again], segment_ranks, again) & ~np.isin(positions[again], read_again)
        rows = np.setdiff1d(np.arange(len(segment)), again[is_kept])
        removed = np.union1d(positions[again[~is_kept]], read_again)
        splice = Splice.of_rows(len(base), removed, positions[rows], rows)
        keys = splice.joined(base_keys, segment_keys)
        if not np.bincount(keys % max(len(groups), 1), minlength=len(groups)).all():
            raise CannotGrow("a group of profiles was removed")
        return cls(splice, read_only(keys), groups, base_groups, segment_groups)

    @property
    def group_count(self) -> int:
        return max(len(self.groups), 1)

    def platforms(self, workload_count: int) -> NDArray[np.int32]:
        return (self.keys // (self.group_count * max(workload_count, 1))).astype(np.int32)

    def workloads(self, workload_count: int) -> NDArray[np.int32]:
        return (self.keys // self.group_count % max(workload_count, 1)).astype(np.int32)


def _positions(ids: IntArray, among: IntArray) -> np.ndarray:
    positions = positions_of_ids(among, ids)
    if (positions < 0).any():
        raise CannotGrow("a platform or a workload was removed")
    return positions


def _keys(platforms: np.ndarray, workloads: np.ndarray, groups: IntArray, sizes: tuple[int, int]) -> IntArray:
    return np.asarray((platforms.astype(np.int64) * sizes[0] + workloads) * max(sizes[1], 1) + groups)


def _stay(base: Ranks, base_rows: IntArray, segment: Ranks, segment_rows: IntArray) -> BoolArray:
    """Return whether the base's row represents the pair that both contain."""
    pairs = np.arange(len(base_rows))
    of_base, of_segment = base.values(base_rows), segment.values(segment_rows)
    values = {name: np.concatenate([column, of_segment[name]]) for name, column in of_base.items()}
    values |= {"platform": np.tile(pairs, 2), "workload": np.zeros(2 * len(pairs), dtype=np.int64)}
    return representative_rows(values, np.zeros(2 * len(pairs), dtype=np.int64)) < len(pairs)


def grow_database(base: Database, segment: Database, rows: GrownRows) -> dict[str, Any]:
    """Return the fields of the merged database by name; the large arrays are SplicedArrays. Platforms and workloads are
    those of the segment, which has all of them."""
    splice = rows.splice
    lengths = splice.joined(np.diff(base.curve_offsets), np.diff(segment.curve_offsets))
    elements = splice.of_elements(base.curve_offsets, segment.curve_offsets)
    flat = {
        name: SplicedArray(getattr(base, name), getattr(segment, name), elements)
        for name in ("curve_n", "curve_time_s")
    }
    columns = {
        name: read_only(splice.joined(getattr(base, name), getattr(segment, name)))
        for name in ("t1_s", "standard_error", "run_deviation", "disturbed_share")
    }
    workload_count = len(segment.workloads)
    tables = ("platforms", "workloads", "n_nu", "n_ht", "n_max", "platform_table", "workload_table", "revision")
    return {
        **{name: getattr(segment, name) for name in tables},
        **columns,
        **flat,
        "platform_index": read_only(rows.platforms(workload_count)),
        "workload_index": read_only(rows.workloads(workload_count)),
        "group": read_only((rows.keys % rows.group_count).astype(np.int16)),
        "groups": rows.groups,
        "features": SplicedArray(base.features, segment.features, splice),
        "curve_offsets": read_only(np.append(0, np.cumsum(lengths))),
        "hidden": read_only(np.zeros(len(rows.keys), dtype=np.bool_)),
        "hidden_rows": read_only(np.zeros(0, dtype=np.int64)),
        "_keys": rows.keys,
    }


def grow_prepared(base: Database, segment: Database, rows: GrownRows) -> dict[str, np.ndarray]:
    """Return the result of `Database.prepared` for the merged database without reading all features. Of rows with the
    same value any may be the extreme one."""
    of_base, of_segment = rows.splice.positions(len(base), len(segment))
    counts = np.zeros((len(rows.groups), base.features.shape[1]), dtype=np.int64)
    counts[rows.base_groups] += base.valid_counts()
    counts[rows.segment_groups] += segment.valid_counts()
    for database, places, groups in ((base, of_base, rows.base_groups), (segment, of_segment, rows.segment_groups)):
        left_out = np.flatnonzero(places < 0)
        np.subtract.at(counts, groups[database.group[left_out]], ~np.isnan(database.features[left_out]))
    order, workload_of = order_by_workload(rows.workloads(len(segment.workloads)), len(segment.workloads))
    arrays: dict[str, np.ndarray] = {VALID_COUNTS: counts, "by_workload": order, "workload_of": workload_of}
    for origin in sorted({group.origin for group in rows.groups}):
        for name, sign, side in (("lowest", 1.0, 1), ("highest", -1.0, 2)):
            arrays[f"{name}_{origin}"] = _merged_extremes(
                _ExtremeRows.of(base, of_base, origin, side, sign),
                _ExtremeRows.of(segment, of_segment, origin, side, sign),
                rows,
                origin,
            )
    return arrays


@dataclass(frozen=True, eq=False)
class _ExtremeRows:
    """The rows of a database with the smallest sign * value of each element, and their positions in the merged
    database."""

    database: Database
    sign: float
    values: FloatArray  # (kept, 84)
    places: IntArray  # (kept, 84), -1 = left out
    lost: BoolArray  # (84,), True if a row is left out and the next ones are unknown

    @classmethod
    def of(cls, database: Database, places: IntArray, origin: str, side: int, sign: float) -> _ExtremeRows:
        everything, extremes = database.extreme_rows(origin)[0], database.extreme_rows(origin)[side]
        values = sign * database.features[extremes, np.arange(extremes.shape[1])]
        of_extremes = places[extremes]
        lost = (of_extremes < 0).any(axis=0) if len(extremes) < len(everything) else np.zeros(len(values.T), dtype=bool)
        return cls(database, sign, values, of_extremes, np.asarray(lost))


def _merged_extremes(base: _ExtremeRows, segment: _ExtremeRows, rows: GrownRows, origin: str) -> IntArray:
    """Return the rows, (kept, 84), with the smallest values of both, NaN last. All values of an element that lost a row
    are read."""
    of_origin = [index for index, group in enumerate(rows.groups) if group.origin == origin]
    everything = np.flatnonzero(np.isin(rows.keys % rows.group_count, of_origin))
    count = min(EXTREME_ROWS_KEPT, len(everything))
    values, places = np.concatenate([base.values, segment.values]), np.concatenate([base.places, segment.places])
    order = np.lexsort((values, places < 0), axis=0)[:count]
    merged = np.take_along_axis(places, order, axis=0)
    for element in np.flatnonzero(base.lost | segment.lost):
        column = rows.splice.joined(base.database.features[:, element], segment.database.features[:, element])
        merged[:, element] = everything[smallest_positions(base.sign * column[everything], count)]
    return merged
