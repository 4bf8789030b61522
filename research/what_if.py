"""Accuracy of hypothetical platforms: a machine with the threads of a larger one, compared with the larger one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictor.core.answers import Method
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.scenarios import Scenario, ScenarioQuery, run_scenario
from profiles.arrays import BoolArray, FloatArray, IntArray

LEAST_FACTOR = 2  # in threads, between a machine and the larger one


@dataclass(frozen=True, eq=False)
class WhatIfErrors:
    """The answer for a machine with more threads, and what was measured on a machine that has them; the first arrays
    are over n, and empty after a refusal. Times are in seconds."""

    platform: str
    larger: str
    workload: str
    factor: FloatArray  # n divided by the threads of the machine
    measured_s: FloatArray
    time_s: FloatArray
    is_inside: BoolArray


def evaluate_what_if(
    database: Database, method: Method[Any], *, sample: int, seed: int, alone: bool = False
) -> Iterator[WhatIfErrors]:
    """Yield the errors for random pairs of machines of the same `cpu_model` and threads per core.

    The larger machine is hidden; with `alone`, all other machines of the `cpu_model` are. A random workload that was
    measured on the larger machine, with more threads than the smaller one has, is predicted on the smaller one as if it
    had as many threads. Each application has the same probability.
    """
    random = np.random.default_rng(seed)
    pairs = larger_relatives(database)
    applications = np.array(database.workload_table["application"], dtype=str)
    cpu = np.array(database.platform_table["cpu_model"], dtype=str)
    found = 0
    for smaller, larger in pairs[random.permutation(len(pairs))].tolist():
        if found == sample:
            return
        rows = _longer_rows(database, larger, int(database.n_max[smaller]))
        if not len(rows):
            continue
        found += 1
        names = applications[database.workload_index[rows]]
        row = int(random.choice(rows[names == random.choice(np.unique(names))]))
        hidden = database.platform_index == larger
        if alone:
            hidden = (cpu[database.platform_index] == cpu[smaller]) & (database.platform_index != smaller)
        yield _errors_of_pair(database, database.part(np.flatnonzero(~hidden)), method, smaller, row)


def larger_relatives(database: Database) -> IntArray:
    """Return the pairs of platforms, the smaller one and one with at least twice its threads, (K, 2)."""
    n_max, cores = database.n_max, np.asarray(database.platform_table["physical_cores"], dtype=np.float64)
    cpu = np.array(database.platform_table["cpu_model"], dtype=str)
    per_core = n_max / cores
    alike = (cpu[:, None] == cpu) & (cpu != "") & np.isclose(per_core[:, None], per_core)
    return np.argwhere(alike & (n_max >= LEAST_FACTOR * n_max[:, None]))


def _longer_rows(database: Database, platform: int, n: int) -> IntArray:
    """Return the rows of a platform that were measured at several n and beyond this one."""
    rows = database.rows_of_platform(platform)
    counts = [database.curve(row)[0] for row in rows.tolist()]
    return rows[[len(measured) > 1 and int(measured.max()) > n for measured in counts]]


def _errors_of_pair(whole: Database, known: Database, method: Method[Any], smaller: int, row: int) -> WhatIfErrors:
    larger, workload = int(whole.platform_index[row]), int(whole.workload_index[row])
    names = whole.platforms[smaller], whole.platforms[larger], whole.workloads[workload]
    n, time_s = whole.curve(row)
    query = ScenarioQuery(
        target=smaller,
        workload=workload,
        n=tuple(n.tolist()),
        method=method,
        settings=method.settings(),
        scenario=Scenario.of(platform_changes={"n_max": int(whole.n_max[larger])}, strategies=()),
    )
    try:
        answer = run_scenario(known, query)
    except PredictionError:
        return WhatIfErrors(*names, np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
    inside = np.zeros(len(n), dtype=bool)
    if answer.low_s is not None and answer.high_s is not None:
        inside = (answer.low_s <= time_s) & (time_s <= answer.high_s)
    return WhatIfErrors(*names, n / whole.n_max[smaller], time_s, answer.time_s, inside)
