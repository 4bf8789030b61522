"""Execution of scenarios: the base answer, then changes of the platform, then changes of the workload (Table 3, Figure
7)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predictor.core.answers import (
    MEDIUM,
    Answer,
    answer_at,
    answered_thread_counts,
    predicted_thread_counts,
    refit_features,
)
from predictor.core.database import Database
from predictor.core.errors import NoScaling, PredictionError
from predictor.core.references import check_query
from predictor.core.scenarios.parallelisation import parallelise
from predictor.core.scenarios.scenario import PlatformTopology, ScenarioFacts, ScenarioQuery
from predictor.core.scenarios.sequential import predict_sequential, sequential_database, sequential_query
from predictor.core.scenarios.virtual_platform import (
    changed_database,
    continue_on_platform,
    known_until,
    longer_segments,
    move_platform,
    source_counts,
    widen_by_relatives,
)
from predictor.core.scenarios.virtual_workload import change_workload
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.names import CURVE_NAMES, FRACTIONS
from profiles.scaling.runs import CurveTable


def run_scenario(database: Database, query: ScenarioQuery, facts: ScenarioFacts | None = None) -> Answer:
    """Return the answer to the query in its scenario. Raise a PredictionError, and SettingsError for an impossible
    platform."""
    check_query(database, query)
    facts = facts or ScenarioFacts()
    return (_answer_changed if query.scenario.is_virtual else _answer_as_it_is)(database, query, facts)


def _answer_as_it_is(database: Database, query: ScenarioQuery, facts: ScenarioFacts) -> Answer:
    """Return the answer to the scenario for the unchanged workload and platform."""
    scenario = query.scenario
    if scenario.name == "parallelisation":
        return parallelise(database, query, facts)
    if scenario.name == "sequential":
        return predict_sequential(database, query, facts)
    if scenario.is_virtual and (curves := measured_curves(database, query, facts)) is not None:
        return measured_answer(database, query.target, query.n, curves)
    if scenario.name == "scaling":
        check_scaling(database, query)
        return replace(query.answer(database), candidates_t1=[])
    return query.answer(database)


def _answer_changed(database: Database, query: ScenarioQuery, facts: ScenarioFacts) -> Answer:
    """Return the answer with the changes, and the base answer as its `baseline`. If the topology or the clock changes,
    the base answer is computed at the thread counts from which the platform is moved, else at the requested n and 1."""
    scenario = query.scenario
    old = platform_topology(database, query.target)
    new = scenario.platform.of_platform(old)
    wanted = predicted_thread_counts(database, query.target, query.n)
    if query.n is None:
        wanted = answered_thread_counts(new.n_max)
    wanted_and_one, answered = np.union1d(wanted, [1]), answered_thread_counts(old.n_max)
    moves = not new.is_as(old)
    needed = wanted_and_one
    if moves:
        until = known_until(database.without(query.target, query.workload), query.target, old, new)
        unmoved = wanted_and_one[wanted_and_one <= old.n_max]
        bends = [until, *(int(start) for start in old.starts if 0 < start < old.n_max)]
        needed = np.unique(np.concatenate([answered, bends, unmoved, source_counts(wanted_and_one, old, new)]))
    base = answer = _answer_as_it_is(database, replace(query, n=tuple(needed.tolist())), facts)
    if moves:
        answer = _answer_moved(database, query, answer, old, new, until=until, n=wanted_and_one, facts=facts)
    answer = change_workload(answer, scenario.workload, facts.bound)
    if scenario.workload.changed:
        answer = refit_features(answer, new.n_nu, new.n_ht)
    return replace(answer_at(answer, wanted), baseline=answer_at(base, answered if query.n is None else wanted))


def _answer_moved(
    database: Database,
    query: ScenarioQuery,
    answer: Answer,
    old: PlatformTopology,
    new: PlatformTopology,
    *,
    until: int,
    n: IntArray,
    facts: ScenarioFacts,
) -> Answer:
    """Return the answer for the changed platform at thread counts `n`.

    If the changed platform has more threads in a segment, the answer beyond `until` is that of the method for this
    platform, measured up to `until` only. Otherwise the segments are moved, and always those of measured curves, of
    methods that predict elements, and of a parallelisation.
    """
    is_longer = len(longer_segments(np.arange(1, new.n_max + 1), old, new)) > 0  # for any requested n
    predicts_curves = not query.predicts_elements and not answer.is_measured
    if is_longer and predicts_curves and query.scenario.name in ("migration", "scaling"):
        changed = changed_database(database, query.target, old, new, until)
        if len(changed.rows_of_platform(query.target)):
            beyond = (until, *n[n > until].tolist())
            further = _answer_as_it_is(changed, replace(query, n=beyond), facts)
            known = answer_at(answer, np.union1d(n[n <= until], [until]))
            joined = continue_on_platform(known, further, old, new, bound=facts.bound)
            return widen_by_relatives(joined, database.without(query.target, query.workload), query)
    return move_platform(database, query, answer, old, new, n=n, bound=facts.bound)


def refusal_of_scenario(
    database: Database, query: ScenarioQuery, facts: ScenarioFacts | None = None
) -> PredictionError | None:
    """Return the error with which `run_scenario` refuses, None if it does not. The answer is computed only if the
    method's check is not enough. Raise SettingsError for an impossible platform."""
    scenario, method, facts = query.scenario, query.method, facts or ScenarioFacts()
    try:
        check_query(database, query)
        if scenario.is_virtual or scenario.name == "parallelisation":  # these can only be checked by the answer
            run_scenario(database, query, facts)
        elif scenario.name == "sequential":
            at_one = sequential_database(database, facts.counted)
            return method.refusal(at_one, sequential_query(query), query.settings)
        else:
            if scenario.name == "scaling":
                check_scaling(database, query)
            return method.refusal(database, query, query.settings)
    except PredictionError as error:
        return error
    return None


def check_scaling(database: Database, query: ScenarioQuery) -> None:
    """Raise NoScaling if the workload has references, but none was measured beyond n = 1."""
    database = database.without(query.target, query.workload)
    rows = database.rows_of_workload(query.workload)
    if query.references is not None:
        rows = rows[np.isin(database.platform_index[rows], query.references)]
    if len(rows) and all(database.curve(row)[0].max(initial=1) == 1 for row in rows.tolist()):
        workload = database.workloads[query.workload]
        raise NoScaling(f"no scaling of {workload} is known: it was measured at n = 1 only")


def platform_topology(database: Database, platform: int) -> PlatformTopology:
    """Return the breakpoints, n_max and clock of a platform of the database."""
    clock = np.asarray(database.platform_table["base_mhz"], dtype=np.float64)
    bends = float(database.n_nu[platform]), float(database.n_ht[platform])
    return PlatformTopology(*bends, int(database.n_max[platform]), float(clock[platform]))


def measured_curves(database: Database, query: ScenarioQuery, facts: ScenarioFacts) -> CurveTable | None:
    """Return the measured curves of A on T, decomposed if possible; None if T is not the only requested reference."""
    if query.references != (query.target,) or facts.curves is None:
        return None
    order = sorted(range(len(database.groups)), key=lambda group: not database.groups[group].decomposed)
    row = int(database.lookup(query.target, query.workload, order))
    return None if row < 0 else facts.curves(row)


def measured_answer(database: Database, target: int, counts: tuple[int, ...] | None, curves: CurveTable) -> Answer:
    """Return measured curves on T at any n as an answer without candidates and interval (Figure 7c).

    Between measured thread counts ln(n t) and the fractions are linear in ln n, outside them they are constant; R
    follows from Eq. 3, so that Eq. 3-4 hold at every n. Parameters: `counts`, thread counts; None: those of T.
    """
    n = predicted_thread_counts(database, target, counts)
    time_s = np.exp(interpolate_over_log_n(curves.n, np.log(curves.n * curves.time_s), n)) / n
    values = {name: interpolate_over_log_n(curves.n, curves.curve(name), n) for name in CURVE_NAMES[1:]}
    used = 1.0 - np.sum([values[name] for name in FRACTIONS], axis=0) if curves.decomposed else np.ones(len(n))
    values |= {"redundancy": n * time_s * used / curves.t1_s, "utilisation": used}
    answer = Answer(curves.t1_s, n, time_s, np.empty(0), values, [], [])
    is_beyond = n.max() > curves.n[-1]
    return replace(
        refit_features(answer, float(database.n_nu[target]), float(database.n_ht[target])),
        changes=(f"based on the times measured on {database.platforms[target]}",),
        lowered=((MEDIUM, f"beyond n = {curves.n[-1]} the last measured value is kept"),) if is_beyond else (),
        largest_measured_n=int(curves.n[-1]),
        is_measured=True,
    )


def interpolate_over_log_n(measured_n: IntArray, values: FloatArray, n: IntArray) -> FloatArray:
    """Return the values at n, linear in ln n, and constant outside the measured range. NaN if nothing was measured.

    >>> interpolate_over_log_n(np.array([1, 4]), np.array([0.0, 2.0]), np.array([1, 2, 8])).tolist()
    [0.0, 1.0, 2.0]
    """
    is_measured = np.isfinite(values)
    if not is_measured.any():
        return np.full(len(n), np.nan)
    return np.asarray(np.interp(np.log(n), np.log(measured_n[is_measured]), values[is_measured]))
