"""Accuracy of predictions in two steps, on a fleet that has three suites.

One suite represents the programs and the kit: the home, a machine of its own, has nothing else, and each program is
known there only. A few machines have that suite, without the program, and a second one. The targets have the second
and the third suite, or the third only, and then other machines have both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from predictor.core.answers import Query, log_half_widths
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import METHODS
from predictor.core.steps import single_thread
from profiles.arrays import FloatArray, IntArray
from research.bridge import REPORT_SEED, SUITES, Fleet

SECOND_AND_THIRD = {
    "geekbench": ("stress-ng", "compression"),
    "compression": ("stress-ng", "geekbench"),
    "stress-ng": ("compression", "geekbench"),
}
MACHINES_THAT_RAN_BOTH = (1, 2, 5)
FLEET = 400  # machines per draw, half of them targets
PROGRAMS, TARGETS = 3, 4  # per draw
METHOD = METHODS["mpet"]
ONE_STEP, TWO_STEPS, TWO_ROUNDS = "second suite at home", "two steps", "two rounds"


def measure_two_steps(fleet: Fleet, sample: int, seed: int = REPORT_SEED) -> dict[str, Any]:
    """Return the statistics of `mpet` by case and hidden suite, in the form of `measure_bridges`."""
    sets: dict[str, Any] = {}
    for count in MACHINES_THAT_RAN_BOTH:
        for suite in SECOND_AND_THIRD:
            for case, results in _errors(fleet, suite, count, sample, seed).items():
                name = f"{case}, {count} with both"
                of_set = sets.setdefault(name, {"workloads": [], "hidden": {}})
                of_set["hidden"][suite] = {METHOD.name: _statistics(results)}
    return {"machines": fleet.machines, "pairs": sample, "sets": sets}


def measure_programs_in_two_steps(database: Database) -> dict[str, Any]:
    """Return the same for all programs, each of which is known on one machine that did not run stress-ng alone. Of the
    target, which did, only stress-ng is known; other machines have their programs without this one.

    Raise ValueError if there are no such machines.
    """
    stress_ng = np.isin(np.array(database.workload_table["application"], dtype=str), SUITES["stress-ng"])
    has = np.zeros((2, len(database.platforms)), dtype=bool)
    has[stress_ng[database.workload_index].astype(np.int64), database.platform_index] = True
    homes, both = np.flatnonzero(has[0] & ~has[1]), np.flatnonzero(has.all(axis=0))
    if not len(homes) or len(both) < 2:
        raise ValueError("two machines must have stress-ng and other programs, and another one only other programs")
    results: list[FloatArray | None] = []
    for target in both.tolist():
        of_target = database.without(target, np.flatnonzero(~stress_ng))
        for home in homes.tolist():
            for program in np.unique(database.workload_index[database.rows_of_platform(home)]).tolist():
                row = int(database.lookup(target, program, range(len(database.groups))))
                if row >= 0:
                    n, measured = database.curve(row)
                    view = of_target.without(np.setdiff1d(np.append(homes, both), home), program)
                    results.append(_result(view, Query(program, target, n=tuple(n.tolist())), measured))
    of_case = {"workloads": [], "hidden": {"programs": {METHOD.name: _statistics(results)}}}
    return {"machines": len(homes) + len(both), "pairs": len(results), "sets": {TWO_STEPS: of_case}}


def _errors(fleet: Fleet, suite: str, count: int, sample: int, seed: int) -> dict[str, list[FloatArray | None]]:
    """Return for each case and pair the relative error, the share inside the interval and half its width in ln t; None
    if refused."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[FloatArray | None]] = {ONE_STEP: [], TWO_STEPS: [], TWO_ROUNDS: []}
    machines = np.unique(fleet.database.platform_index)
    while len(found[ONE_STEP]) < sample:
        home, both = np.split(rng.choice(machines, 1 + count, replace=False), [1])
        others = np.setdiff1d(rng.choice(machines, min(FLEET, len(machines)), replace=False), np.append(home, both))
        between, targets = np.array_split(rng.permutation(others), 2)
        cases = _cases(fleet, suite, (home, both, between, targets))
        rows = fleet.database.rows_of_platform(int(home[0]))
        programs = np.intersect1d(fleet.database.workload_index[rows], fleet.suites[suite])
        for program in rng.choice(programs, min(PROGRAMS, len(programs)), replace=False).tolist():
            views = {case: database.without(both, program) for case, database in cases.items()}
            for target in rng.choice(targets, min(TARGETS, len(targets)), replace=False).tolist():
                row = int(fleet.database.lookup(target, program, range(len(fleet.database.groups))))
                if row < 0:
                    continue
                n, measured = fleet.database.curve(row)
                query = Query(program, target, n=tuple(n.tolist()))
                for case, view in views.items():
                    found[case].append(_result(view, query, measured))
    return found


def _cases(fleet: Fleet, suite: str, machines: tuple[IntArray, IntArray, IntArray, IntArray]) -> dict[str, Database]:
    """Return the database of each case. `machines` are the home, those with both suites, those between, and the
    targets."""
    database, (home, both, between, targets) = fleet.database, machines
    own, second, third = (np.array(fleet.suites[name]) for name in (suite, *SECOND_AND_THIRD[suite]))
    known = [(home, own), (both, np.append(own, second)), (between, np.append(second, third))]
    cases = {
        ONE_STEP: [*known, (home, second), (targets, np.append(second, third))],
        TWO_STEPS: [*known, (targets, np.append(second, third))],
        TWO_ROUNDS: [*known, (targets, third)],
    }
    found = {}
    for case, having in cases.items():
        rows = np.zeros(len(database), dtype=bool)
        for platforms, workloads in having:
            rows |= np.isin(database.platform_index, platforms) & np.isin(database.workload_index, workloads)
        found[case] = database.part(np.flatnonzero(rows))
    return found


def _result(view: Database, query: Query, measured: FloatArray) -> FloatArray | None:
    try:
        with single_thread():
            answer = METHOD.predict(view, query, METHOD.settings())
    except PredictionError:
        return None
    if answer.low_s is None or answer.high_s is None or not np.isfinite(answer.time_s).all():
        return None
    inside = (answer.low_s <= measured) & (measured <= answer.high_s)
    return np.array([np.abs(answer.time_s / measured - 1).mean(), inside.mean(), log_half_widths(answer).mean()])


def _statistics(results: list[FloatArray | None]) -> dict[str, Any]:
    answered = np.array([result for result in results if result is not None]).reshape(-1, 3)
    error, inside, half_width = answered.T
    return {
        "full": {
            "mean": 100 * float(error.mean()),
            "median": 100 * float(np.median(error)),
            "refused": len(results) - len(answered),
        },
        "coverage": float(inside.mean()),
        "interval_width": float(np.median(np.exp(2 * half_width) - 1)),
    }
