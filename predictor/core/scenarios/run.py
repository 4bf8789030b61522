"""Any scenario: the base answer, then the platform moved, then the workload changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from predictor.core.answers import Method, Query
from predictor.core.candidates import check_query
from predictor.core.database import Database, FloatArray
from predictor.core.reconstruct import thread_counts
from predictor.core.scenarios.changes import Topology
from predictor.core.scenarios.outcome import Assumed, Outcome, at, is_decomposed, refitted
from predictor.core.scenarios.parallelisation import parallelise
from predictor.core.scenarios.scenario import Scenario
from predictor.core.scenarios.sequential import predict_sequential
from predictor.core.scenarios.virtual_platform import moved_platform
from predictor.core.scenarios.virtual_workload import changed_workload
from profiles.scaling.names import CURVE_NAMES, ELEMENTS


@dataclass(frozen=True, eq=False)
class Facts:
    """What scenarios use beside the database: the workload's bound, and a way to the counters at n = 1 of its rows."""

    bound: str | None = None
    counted: Callable[[], FloatArray | None] = lambda: None


def run(
    database: Database, query: Query, method: Method[Any], settings: Any, scenario: Scenario, facts: Facts | None = None
) -> Outcome:
    """Answer the query as the scenario asks. Raises a PredictionError, and SettingsError for an impossible platform."""
    facts = facts or Facts()
    check_query(database, query)
    if not scenario.is_virtual:
        return _plain(database, query, method, settings, scenario, facts)
    old = topology(database, query.target)
    new = scenario.platform.of_platform(old)
    wanted = np.arange(1, new.n_max + 1) if query.n is None else thread_counts(database, query.target, query.n)
    asked = np.union1d(wanted, [1])
    moves = not new.is_as(old)
    base_n = np.arange(1, old.n_max + 1) if moves else asked
    base = _plain(database, replace(query, n=tuple(base_n.tolist())), method, settings, scenario, facts)
    moved = Assumed(base.answer)
    if moves:
        borrowed = borrowed_elements(database, query, decomposed=is_decomposed(base.answer))
        moved = moved_platform(base.answer, old, new, asked, bound=facts.bound, borrowed=borrowed)
    changed = changed_workload(moved.answer, scenario.workload, facts.bound)
    answer = refitted(changed.answer, new.n_nu, new.n_ht) if scenario.workload.changed else changed.answer
    return replace(
        base,
        answer=at(answer, wanted),
        baseline=base.answer if moves and query.n is None else at(base.answer, wanted),
        changes=(*moved.changes, *changed.changes),
        lowered=(*base.lowered, *moved.lowered, *changed.lowered),
    )


def _plain(
    database: Database, query: Query, method: Method[Any], settings: Any, scenario: Scenario, facts: Facts
) -> Outcome:
    """What the scenario asks, of the workload and platform as they are."""
    if scenario.name == "parallelisation":
        return parallelise(database, query, str(scenario.strategy), method, settings, facts.counted())
    if scenario.name == "sequential":
        return Outcome(predict_sequential(database, query, method, settings, facts.counted()))
    answer = method.predict(database, query, settings)
    return Outcome(replace(answer, candidates_t1=[]) if scenario.name == "scaling" else answer)


def topology(database: Database, platform: int) -> Topology:
    clock = database.platform_table["base_mhz"]
    return Topology(
        float(database.n_nu[platform]),
        float(database.n_ht[platform]),
        int(database.n_max[platform]),
        float(clock[platform]),
    )


def borrowed_elements(database: Database, query: Query, *, decomposed: bool) -> FloatArray:
    """The mean elements of the workload's other profiles (14, 6), for effects that T lacks. NaN = nobody has them."""
    rows = database.without(query.target, query.workload).rows_of_workload(query.workload)
    alike = np.array([group.decomposed == decomposed for group in database.groups])
    values = database.features[rows[alike[database.group[rows]]]].reshape(-1, len(CURVE_NAMES), len(ELEMENTS))
    valid = ~np.isnan(values)
    total = np.where(valid, values, 0.0).sum(axis=0)
    return np.where(valid.any(axis=0), total / np.maximum(valid.sum(axis=0), 1), np.nan)
