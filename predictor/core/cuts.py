"""Parts of a large database, and databases with wrong profiles, for evaluations of a method."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from predictor.core.arrays import read_only
from predictor.core.database import Database
from predictor.core.metadata import microarchitecture_facts
from profiles.arrays import BoolArray, IntArray

KnownAt = Literal["ends", "half", "most", "workload-most"]  # see `known_at`
KNOWN_OF_HALF = 2  # threads
WRONG_DRAW = 2  # second seed of the random wrong profiles, so that they are independent of other draws
LEAST_WRONG_FACTOR, MOST_WRONG_FACTOR, WRONG_UNIT = 2.0, 10.0, 1000.0
WRONG_NOISE = 0.7  # standard deviation of ln t


class Size(NamedTuple):
    """The numbers of platforms and workloads of a cut.

    >>> str(Size(9, 12))
    '9x12'
    """

    platforms: int
    workloads: int

    def __str__(self) -> str:
        return f"{self.platforms}x{self.workloads}"


class Cut(NamedTuple):
    """A part of a database as a new database; `rows` (N,) are the rows of its profiles in the whole database."""

    database: Database
    rows: IntArray


def random_cut(database: Database, size: Size, seed: int, which: int, *, diverse: bool = False) -> Cut:
    """Return the profiles of random platforms, each with a different `cpu_model`, and of random workloads measured
    there.

    An unknown `cpu_model` counts as different from all others. With `diverse`, each platform also has a different
    microarchitecture, the instruction sets take turns, and the release years differ where possible. If pairs were not
    measured, the cut has fewer profiles than platforms x workloads. The same seed and number `which` give the same cut.
    Raise ValueError if the database is too small.
    """
    random = np.random.default_rng([seed, which])
    visible = np.flatnonzero(~database.hidden)
    order = random.permutation(np.unique(database.platform_index[visible]))
    kinds = ("cpu_model", "microarchitecture") if diverse else ("cpu_model",)
    for kind in kinds:  # keep the first platform of each kind; each unknown kind counts as different
        known = [database.platform_table[kind][platform] or f"unknown {platform}" for platform in order.tolist()]
        _, first = np.unique(np.array(known, dtype=str), return_index=True)
        order = order[np.sort(first)]
    if len(order) < size.platforms:
        raise ValueError(f"a cut of {size}: there are only {len(order)} platforms of different {kinds[-1]}")
    platforms = np.sort(_most_diverse(database, order, size.platforms) if diverse else order[: size.platforms])
    rows = visible[np.isin(database.platform_index[visible], platforms)]
    measured = np.unique(database.workload_index[rows])
    if len(measured) < size.workloads:
        raise ValueError(f"a cut of {size}: only {len(measured)} workloads were measured on its platforms")
    workloads = np.sort(random.choice(measured, size.workloads, replace=False))
    rows = rows[np.isin(database.workload_index[rows], workloads)]
    return Cut(database.part(rows, platforms, workloads), rows)


def _most_diverse(database: Database, platforms: IntArray, count: int) -> IntArray:
    """Return `count` of the platforms. Each one is the first with the least-taken instruction set and, among these, the
    least-taken release year.

    An unknown year counts as different from all others.
    """
    instruction_sets = np.array(database.platform_table["architecture"], dtype=str)[platforms].tolist()
    years = microarchitecture_facts(tuple(database.platform_table["microarchitecture"]))[platforms, 0]
    candidates, taken = list(range(len(platforms))), list[int]()
    for _ in range(count):
        of_set, of_year = (Counter(words[place] for place in taken) for words in (instruction_sets, years))
        best = min(candidates, key=lambda place: (of_set[instruction_sets[place]], of_year[years[place]]))
        candidates.remove(best)
        taken.append(best)
    return platforms[taken]


def known_up_to(database: Database, workload: int, most: int) -> Database:
    """Return the database as if the workload had been measured with at most `most` threads on all platforms."""
    points = database.curve_n <= most
    return _with_points(database, points | (database.workload_index != workload)[_rows_of_points(database)])


def known_at(database: Database, at: KnownAt, workload: int | None = None, target: int = 0) -> Database:
    """Return the database as if profiles had been measured at some of their thread counts only.

    `ends`: every profile at its least and its largest n. `half`: those of every second platform, the target among them,
    at n up to 2, and the others unchanged. `most`: every profile at its largest n. `workload-most`: those of the
    workload at their largest n, and the others unchanged.
    """
    rows = _rows_of_points(database)
    if at == "half":
        is_whole = (database.platform_index - target) % 2 == 1
        return _with_points(database, (database.curve_n <= KNOWN_OF_HALF) | is_whole[rows])
    order = np.lexsort((database.curve_n, rows))  # stored points may be in any order of n
    has_curve = np.diff(database.curve_offsets) > 0
    points = np.zeros(len(order), dtype=bool)
    points[order[database.curve_offsets[:-1][has_curve]]] = at == "ends"
    points[order[database.curve_offsets[1:][has_curve] - 1]] = True
    if at == "workload-most":
        points |= (database.workload_index != workload)[rows]
    return _with_points(database, points)


def with_wrong_profiles(database: Database, share: float, seed: int) -> Database:
    """Return the database with a random share of wrong profiles.

    Each is wrong in one of four ways: a thousand times too fast or slow (another unit), two to ten times too fast or
    slow, n t(n) in place of t(n), or each time multiplied by a random factor exp(normal(0, 0.7)).
    """
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
    """Return the database with these points of the curves only. Features of profiles that lose points are removed,
    because they are fits of the whole curves, and profiles without points are removed."""
    row_of_point = _rows_of_points(database)
    before, lengths = (np.bincount(row_of_point[chosen], minlength=len(database)) for chosen in (slice(None), points))
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
