"""The times and intervals of an answer at an n do not depend on which other n are asked for (docs/formats.md)."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.methods import METHODS, Query
from predictor.core.programs import ProgramParts, predict_program
from predictor.core.reconstruct import knots
from predictor.core.scenarios import Scenario, run_scenario
from predictor.core.scenarios.scenario import PlatformChanges, WorkloadChanges
from tests.predictor.core.curves import curve_arrays
from tests.predictor.core.scenarios.answers import in_scenario

MEASURED = ((1, 2, 4, 8, 16, 32), (1, 3, 6, 12, 24), (1, 5, 10, 20, 30), tuple(range(1, 33)), (2, 4, 8))
ASKED = ((5,), (7, 40), (1, 3, 30))  # on grids, between them and beyond all that was measured
EVERY_METHOD = pytest.mark.parametrize("method", list(METHODS.values()), ids=lambda method: method.name)
CHANGED_MACHINES = [{"n_ht": 8}, {"n_ht": 20, "n_max": 96}, {"n_max": 2000}, {"n_max": 3, "n_ht": 2}]
CURVES_AND_ELEMENTS = pytest.mark.parametrize("name", ["mpet", "mpet2020"])  # each is changed in a way of its own


def uneven_database(seed, platforms, workloads=10, **columns):
    """Profiles that were measured at different thread counts."""
    arrays = curve_arrays(seed, platforms, workloads, counts=tuple(range(1, 33)))
    rng = np.random.default_rng(seed)
    counts = [np.array(MEASURED[kind]) for kind in rng.integers(len(MEASURED), size=len(arrays["t1_s"]))]
    times = [row[n - 1] for row, n in zip(arrays["curve_time_s"].reshape(-1, 32), counts, strict=True)]
    return Database.build(
        **arrays
        | {
            "curve_n": np.concatenate(counts),
            "curve_time_s": np.concatenate(times),
            "curve_offsets": np.cumsum([0, *map(len, counts)]),
        }
        | columns
    )


def assert_same_whatever_else_is_asked(ask, asked=ASKED):
    """`ask(n)` gives rows of numbers over the columns n."""
    for n in asked:
        alone = ask(n)
        for others in ((2, 6), tuple(range(1, 49))):
            both = tuple(sorted({*n, *others}))
            columns = np.searchsorted(both, n)
            np.testing.assert_allclose(ask(both)[:, columns], alone, rtol=1e-9, equal_nan=True)


def times_of(answer):
    intervals = [] if answer.low_s is None else [answer.low_s, answer.high_s]
    return np.stack([answer.time_s, *intervals])


@EVERY_METHOD
@pytest.mark.parametrize("platforms", [2, 15, 60, None])  # one for each way of transfer of `mpet`
def test_by_every_method(method, platforms):
    """None: more thread counts were measured than a method works at."""
    many = curve_arrays(5, 24, 8, counts=tuple(range(1, 41)))
    database = Database.build(**many) if platforms is None else uneven_database(3, platforms)

    def ask(n):
        return times_of(method.predict(database, Query(0, 1, n=n), method.settings()))

    assert_same_whatever_else_is_asked(ask)
    every = method.predict(database, Query(0, 1), method.settings())
    np.testing.assert_allclose(times_of(every), ask(tuple(every.n.tolist())), rtol=1e-9)


@EVERY_METHOD
def test_of_a_program(method):
    database = uneven_database(3, 15)

    def ask(n):
        total = predict_program(database, ProgramParts((0, 2), 5), 1, method, method.settings(), n=n).total
        return np.stack(total)

    assert_same_whatever_else_is_asked(ask)


def assert_scenario_is_the_same(database, name, scenario, asked=ASKED):
    def ask(n):
        return times_of(run_scenario(database, in_scenario(Query(0, 1, n=n), name, scenario)))

    assert_same_whatever_else_is_asked(ask, asked)


@CURVES_AND_ELEMENTS
@pytest.mark.parametrize("changes", CHANGED_MACHINES, ids=str)
@pytest.mark.parametrize("n_max", [32, 1024])
def test_of_a_changed_machine(name, changes, n_max):
    database = uneven_database(3, 15, n_max=np.full(15, n_max), n_ht=np.full(15, 16.0))
    scenario = Scenario(platform=PlatformChanges.of(changes))
    assert_scenario_is_the_same(database, name, scenario, asked=((3,), (7, 20), (2, 700)))


@CURVES_AND_ELEMENTS
@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(workload=WorkloadChanges.of({"work": 2, "redundancy": 0.5})),
        Scenario("scaling"),
        Scenario("parallelisation", "loop"),
        Scenario("parallelisation", "graph"),
    ],
    ids=["changed workload", "scaling", "parallelisation", "parallelisation by predicted benchmarks"],
)
def test_of_the_other_scenarios(name, scenario):
    strategies = ["loop"] * 7 + ["graph"] * 3  # none of these on the target
    database = uneven_database(4, 15, workload_table={"strategy": strategies}).without(1, np.array([7, 8, 9]))
    assert_scenario_is_the_same(database, name, scenario)


def test_the_knots_are_the_targets_and_the_ends_of_the_workload():
    on_target, of_workload = np.array([2, 4, 8]), np.array([1, 2, 3, 12, 16, 64])
    assert knots(on_target, of_workload, 32).tolist() == [1, 2, 4, 8, 16]
    assert knots(on_target, of_workload, 8).tolist() == [1, 2, 4, 8]
    many = knots(np.arange(1, 65), np.array([128]), 128)
    assert len(many) <= 12
    assert {1, 64, 128} <= set(many.tolist())
