"""Parts of a large database, and databases of which a part is wrong: how right a method is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from predictor.core.arrays import read_only
from predictor.core.database import Database
from predictor.core.metadata import microarchitecture_facts
from profiles.arrays import BoolArray, IntArray

KnownAt = Literal["ends", "most", "workload-most"]  # as `known_at` says
WRONG_DRAW = 2  # keeps the draw of wrong profiles apart from the others
LEAST_WRONG_FACTOR, MOST_WRONG_FACTOR, WRONG_UNIT = 2.0, 10.0, 1000.0
WRONG_NOISE = 0.7  # of ln t


class Size(NamedTuple):
    """How many of each.

    >>> str(Size(9, 12))
    '9x12'
    """

    platforms: int
    workloads: int

    def __str__(self) -> str:
        return f"{self.platforms}x{self.workloads}"


class Cut(NamedTuple):
    """A part of a database, as a database of its own; `rows` (N,) are its profiles' rows in the whole."""

    database: Database
    rows: IntArray


def random_cut(database: Database, size: Size, seed: int, which: int, *, diverse: bool = False) -> Cut:
    """The profiles of so many random platforms, each of another `cpu_model`, and so many random workloads of theirs.

    A platform of unknown `cpu_model` is like no other. With `diverse` each is of another microarchitecture too, the
    instruction sets take turns, and no two were new in the same year where that can be. Where pairs were not measured,
    fewer profiles than platforms x workloads are in it. The same seed and number `which` draw the same. Raises
    ValueError where the database is smaller.
    """
    random = np.random.default_rng([seed, which])
    visible = np.flatnonzero(~database.hidden)
    order = random.permutation(np.unique(database.platform_index[visible]))
    kinds = ("cpu_model", "microarchitecture") if diverse else ("cpu_model",)
    for kind in kinds:  # those that share it with an earlier one are left out; an unknown one is shared by none
        known = [database.platform_table[kind][platform] or f"unknown {platform}" for platform in order.tolist()]
        _, first = np.unique(np.array(known, dtype=str), return_index=True)
        order = order[np.sort(first)]
    if len(order) < size.platforms:
        raise ValueError(f"a cut of {size}: there are {len(order)} platforms of different {kinds[-1]} only")
    platforms = np.sort(_most_diverse(database, order, size.platforms) if diverse else order[: size.platforms])
    rows = visible[np.isin(database.platform_index[visible], platforms)]
    measured = np.unique(database.workload_index[rows])
    if len(measured) < size.workloads:
        raise ValueError(f"a cut of {size}: {len(measured)} workloads only were measured on the platforms")
    workloads = np.sort(random.choice(measured, size.workloads, replace=False))
    rows = rows[np.isin(database.workload_index[rows], workloads)]
    return Cut(database.part(rows, platforms, workloads), rows)


def _most_diverse(database: Database, platforms: IntArray, count: int) -> IntArray:
    """So many of the platforms: next is always the first whose instruction set was taken least, and then its year.

    An unknown year is like no other.
    """
    instruction_sets = np.array(database.platform_table["architecture"], dtype=str)[platforms].tolist()
    years = microarchitecture_facts(tuple(database.platform_table["microarchitecture"]))[platforms, 0]
    left, taken = list(range(len(platforms))), list[int]()
    for _ in range(count):
        of_set, of_year = (Counter(words[place] for place in taken) for words in (instruction_sets, years))
        best = min(left, key=lambda place: (of_set[instruction_sets[place]], of_year[years[place]]))
        left.remove(best)
        taken.append(best)
    return platforms[taken]


def known_up_to(database: Database, workload: int, most: int) -> Database:
    """The database as if the workload had been measured with at most so many threads, everywhere."""
    points = database.curve_n <= most
    return _with_points(database, points | (database.workload_index != workload)[_rows_of_points(database)])


def known_at(database: Database, at: KnownAt, workload: int | None = None) -> Database:
    """The database as if every profile had been measured at its least and its largest thread count alone (`ends`), or
    at its largest (`most`); or those of the workload at their largest and the others as they were (`workload-most`)."""
    rows = _rows_of_points(database)
    order = np.lexsort((database.curve_n, rows))  # points are kept as they were stored
    has_curve = np.diff(database.curve_offsets) > 0
    points = np.zeros(len(order), dtype=bool)
    points[order[database.curve_offsets[:-1][has_curve]]] = at == "ends"
    points[order[database.curve_offsets[1:][has_curve] - 1]] = True
    if at == "workload-most":
        points |= (database.workload_index != workload)[rows]
    return _with_points(database, points)


def with_wrong_profiles(database: Database, share: float, seed: int) -> Database:
    """The database with a random share of its profiles wrong, each in one of four ways: a thousand times too fast or
    slow (another unit), two to ten times, n t(n) for t(n), or each time by a factor of its own, exp(normal(0, 0.7))."""
    database = database.part(np.flatnonzero(~database.hidden))
    random = np.random.default_rng([seed, WRONG_DRAW])
    way = np.where(random.random(len(database)) < share, random.integers(4, size=len(database)), -1)
    factor = np.exp(random.uniform(np.log(LEAST_WRONG_FACTOR), np.log(MOST_WRONG_FACTOR), len(database)))
    factor = np.where(way == 0, WRONG_UNIT, np.where(way == 1, factor, 1.0)) ** random.choice(
        [-1.0, 1.0], len(database)
    )
    rows = _rows_of_points(database)
    noise = np.exp(random.normal(0.0, WRONG_NOISE, len(rows)))
    of_points = factor[rows] * np.where(way[rows] == 2, database.curve_n, 1) * np.where(way[rows] == 3, noise, 1.0)
    return replace(
        database,
        features=read_only(np.where((way >= 2)[:, None], np.nan, database.features)),
        t1_s=read_only(database.t1_s * factor),
        curve_time_s=read_only(database.curve_time_s * of_points),
    )


def _rows_of_points(database: Database) -> IntArray:
    return np.repeat(np.arange(len(database)), np.diff(database.curve_offsets))


def _with_points(database: Database, points: BoolArray) -> Database:
    """Only these points of the curves. Features of what lost some, which are fits of whole curves, are left out;
    profiles of which nothing is left are not there."""
    row_of_point = _rows_of_points(database)
    before, lengths = (np.bincount(row_of_point[some], minlength=len(database)) for some in (slice(None), points))
    rows = np.flatnonzero(~database.hidden & ((before == 0) | (lengths > 0)))
    points = points & np.isin(row_of_point, rows)
    part = database.part(rows)
    return replace(
        part,
        features=read_only(np.where((lengths < before)[rows, None], np.nan, part.features)),
        curve_offsets=read_only(np.append(0, np.cumsum(lengths[rows]))),
        curve_n=read_only(database.curve_n[points]),
        curve_time_s=read_only(database.curve_time_s[points]),
    )
