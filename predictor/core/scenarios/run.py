"""Any scenario: the base answer, then the platform moved, then the workload changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from predictor.core.answers import Method, Query
from predictor.core.database import Database
from predictor.core.errors import NoScaling, PredictionError
from predictor.core.reconstruct import answered_thread_counts, predicted_thread_counts
from predictor.core.references import check_query
from predictor.core.scenarios.measured import measured_answer, measured_curves
from predictor.core.scenarios.outcome import Assumed, ScenarioOutcome, answer_at, refit_features
from predictor.core.scenarios.parallelisation import parallelise
from predictor.core.scenarios.scenario import Inquiry, PlatformTopology, Scenario, ScenarioFacts
from predictor.core.scenarios.sequential import predict_sequential, sequential_database, sequential_query
from predictor.core.scenarios.virtual_platform import move_platform, source_counts
from predictor.core.scenarios.virtual_workload import change_workload


def run_scenario(
    database: Database,
    query: Query,
    method: Method[Any],
    settings: Any,
    *,
    scenario: Scenario | None = None,
    facts: ScenarioFacts | None = None,
) -> ScenarioOutcome:
    """Answer the query as the scenario asks. Raises a PredictionError, and SettingsError for an impossible platform."""
    check_query(database, query)
    scenario = scenario or Scenario()
    inquiry = Inquiry(database, query, method, settings, facts or ScenarioFacts())
    return _answer_changed(inquiry, scenario) if scenario.is_virtual else _answer_as_it_is(inquiry, scenario)


def _answer_as_it_is(inquiry: Inquiry, scenario: Scenario) -> ScenarioOutcome:
    """The answer to the scenario of the workload and platform as they are, without any change."""
    if scenario.name == "parallelisation":
        return parallelise(inquiry, str(scenario.strategy))
    if scenario.name == "sequential":
        return ScenarioOutcome(predict_sequential(inquiry))
    if scenario.is_virtual and (curves := measured_curves(inquiry)) is not None:
        return measured_answer(inquiry, curves)
    if scenario.name == "scaling":
        check_scaling(inquiry)
    answer = inquiry.answer()
    return ScenarioOutcome(replace(answer, candidates_t1=[]) if scenario.name == "scaling" else answer)


def _answer_changed(inquiry: Inquiry, scenario: Scenario) -> ScenarioOutcome:
    """The base answer at the platform's own thread counts, or at the n asked for and 1, and what the changes make of
    it."""
    query = inquiry.query
    old = platform_topology(inquiry.database, query.target)
    new = scenario.platform.of_platform(old)
    wanted = predicted_thread_counts(inquiry.database, query.target, query.n)
    if query.n is None:
        wanted = answered_thread_counts(new.n_max)
    wanted_and_one, own = np.union1d(wanted, [1]), answered_thread_counts(old.n_max)
    moves = not new.is_as(old)
    needed = wanted_and_one
    if moves:
        unmoved = wanted_and_one[wanted_and_one <= old.n_max]
        bends = [int(start) for start in old.starts if 0 < start < old.n_max]
        needed = np.unique(np.concatenate([own, bends, unmoved, source_counts(wanted_and_one, old, new)]))
    base = _answer_as_it_is(inquiry.at(tuple(needed.tolist())), scenario)
    moved = Assumed(base.answer)
    if moves:
        moved = move_platform(inquiry, base.answer, old, new, wanted_and_one)
    changed = change_workload(moved.answer, scenario.workload, inquiry.facts.bound)
    answer = refit_features(changed.answer, new.n_nu, new.n_ht) if scenario.workload.changed else changed.answer
    return replace(
        base,
        answer=answer_at(answer, wanted),
        baseline=answer_at(base.answer, own if query.n is None else wanted),
        changes=(*base.changes, *moved.changes, *changed.changes),
        lowered=(*base.lowered, *moved.lowered, *changed.lowered),
    )


def refusal_of_scenario(
    database: Database,
    query: Query,
    method: Method[Any],
    settings: Any,
    *,
    scenario: Scenario | None = None,
    facts: ScenarioFacts | None = None,
) -> PredictionError | None:
    """The error with which `run_scenario` refuses, without its answer where the method's check tells; None where it
    answers. Raises SettingsError for an impossible platform."""
    scenario, facts = scenario or Scenario(), facts or ScenarioFacts()
    inquiry = Inquiry(database, query, method, settings, facts)
    try:
        check_query(database, query)
        if scenario.is_virtual or scenario.name == "parallelisation":  # what these need, only the answer tells
            run_scenario(database, query, method, settings, scenario=scenario, facts=facts)
        elif scenario.name == "sequential":
            return method.refusal(sequential_database(database, facts.counted), sequential_query(query), settings)
        else:
            if scenario.name == "scaling":
                check_scaling(inquiry)
            return method.refusal(database, query, settings)
    except PredictionError as error:
        return error
    return None


def check_scaling(inquiry: Inquiry) -> None:
    """Raise NoScaling where the workload has references, and none of them was measured beyond n = 1."""
    database, query = inquiry.database.without(inquiry.query.target, inquiry.query.workload), inquiry.query
    rows = database.rows_of_workload(query.workload)
    if query.references is not None:
        rows = rows[np.isin(database.platform_index[rows], query.references)]
    if len(rows) and all(database.curve(row)[0].max(initial=1) == 1 for row in rows.tolist()):
        raise NoScaling(database.workloads[query.workload])


def platform_topology(database: Database, platform: int) -> PlatformTopology:
    """The breakpoints, n_max and clock of a platform of the database."""
    clock = np.asarray(database.platform_table["base_mhz"], dtype=np.float64)
    bends = float(database.n_nu[platform]), float(database.n_ht[platform])
    return PlatformTopology(*bends, int(database.n_max[platform]), float(clock[platform]))
