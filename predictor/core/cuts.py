"""Small databases drawn from a large one: how right a method is where little was measured yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predictor.core.database import Database
from profiles.arrays import IntArray


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


def random_cut(database: Database, size: Size, seed: int, which: int) -> Cut:
    """The profiles of so many random platforms, each of another `cpu_model`, and so many random workloads of theirs.

    A platform of unknown `cpu_model` is like no other. Where pairs were not measured, fewer profiles than
    platforms x workloads are in it. The same seed and number `which` draw the same. Raises ValueError where the
    database is smaller.
    """
    random = np.random.default_rng([seed, which])
    visible = np.flatnonzero(~database.hidden)
    order = random.permutation(np.unique(database.platform_index[visible]))
    models = [database.platform_table["cpu_model"][platform] or f"unknown {platform}" for platform in order.tolist()]
    _, first = np.unique(np.array(models, dtype=str), return_index=True)
    different = order[np.sort(first)]
    if len(different) < size.platforms:
        raise ValueError(f"a cut of {size}: there are {len(different)} platforms of different cpu_model only")
    platforms = np.sort(different[: size.platforms])
    rows = visible[np.isin(database.platform_index[visible], platforms)]
    measured = np.unique(database.workload_index[rows])
    if len(measured) < size.workloads:
        raise ValueError(f"a cut of {size}: {len(measured)} workloads only were measured on the platforms")
    workloads = np.sort(random.choice(measured, size.workloads, replace=False))
    rows = rows[np.isin(database.workload_index[rows], workloads)]
    return Cut(database.part(rows, platforms, workloads), rows)
