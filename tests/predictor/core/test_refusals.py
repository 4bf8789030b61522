"""What a method's check and the rule for all targets say, and what its prediction then does, are one."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.availability import answered_pairs, lacks_by_target
from predictor.core.database import Database, Group
from predictor.core.errors import PredictionError
from predictor.core.methods import METHODS, Query
from predictor.core.scenarios import Scenario, ScenarioFacts, refusal_of_scenario, run_scenario
from profiles.scaling.names import RELATIVE_MEASURES
from tests.predictor.core.databases import database_of, features, random_arrays
from tests.predictor.core.scenarios.answers import in_scenario

SEEDS = range(6)
PLATFORMS, WORKLOADS = 5, 5
SETTINGS = [(name, {"trees": 1} if name == "gradient-boosting" else {}) for name in METHODS] + [
    ("mpet2020", {"mix_runtimes": "never"}),
    ("mpet2020", {"mix_runtimes": "always", "t1_workload_distance": "individual"}),
]
ORIGINS = (Group(True, "mpal", "measured"), Group(False, "", "measured"), Group(True, "mpal", "simulated"))


def sparse_database(seed, groups=None):
    """A few profiles, some without a curve, on machines of which some have no known clock; some pairs are hidden."""
    rng = np.random.default_rng(seed)
    arrays = random_arrays(seed, PLATFORMS, WORKLOADS, missing=0.8, invalid=0.95, groups=groups)
    clocks = np.where(rng.random(PLATFORMS) < 0.3, np.nan, 2000.0)
    lengths = np.where(rng.random(len(arrays["t1_s"])) < 0.2, 0, 3)
    kept = np.repeat(lengths > 0, 3)
    curves = {
        "curve_offsets": np.append(0, np.cumsum(lengths)),
        "curve_n": np.asarray(arrays["curve_n"])[kept],
        "curve_time_s": np.asarray(arrays["curve_time_s"])[kept],
    }
    table = arrays["platform_table"] | {"base_mhz": clocks}
    database = Database.build(**(arrays | curves | {"platform_table": table}))
    return database.without(rng.integers(PLATFORMS, size=4), rng.integers(WORKLOADS, size=4))


def refusal(predict, *arguments):
    """Return the type and text of the raised or returned error; None if there is an answer."""
    try:
        found = predict(*arguments)
    except PredictionError as error:
        found = error
    return None if found is None or hasattr(found, "time_s") else (type(found), str(found))


def queries(rng):
    for workload in range(WORKLOADS):
        for target in range(PLATFORMS):
            few = tuple(sorted({int(p) for p in rng.integers(PLATFORMS, size=2)}))
            yield Query(workload, target, references=few if rng.random() < 0.3 else None, n=(1, 3))


@pytest.mark.parametrize(("name", "values"), SETTINGS)
def test_the_check_refuses_what_the_prediction_refuses(name, values):
    method = METHODS[name]
    settings, seen = method.settings_from(values), set()
    for seed in SEEDS[:1] if name == "gradient-boosting" else SEEDS:  # which is slow
        database = sparse_database(seed)
        for query in queries(np.random.default_rng(seed)):
            expected = refusal(method.predict, database, query, settings)
            assert refusal(method.refusal, database, query, settings) == expected
            seen.add(expected and expected[0].lacks)
    assert {None, "reference"} <= seen


@pytest.mark.parametrize("groups", [None, ORIGINS], ids=["one origin", "two origins"])
def test_the_rule_for_all_targets_is_that_for_one(groups):
    method, seen = METHODS["mpet"], set()
    for seed in range(12):
        database = sparse_database(seed, groups)
        for workload in range(WORKLOADS):
            expected = [method.refusal(database, Query(workload, t), method.settings()) for t in range(PLATFORMS)]
            lacks = method.lacks_by_target(database, workload)
            assert lacks == tuple("" if error is None else error.lacks for error in expected)
            in_one_step = lacks_by_target(database, workload)
            assert answered_pairs(database)[workload].tolist() == [not word for word in in_one_step]
            seen |= set(lacks)
    assert seen >= {"", "reference", "benchmark", "shared"}
    assert groups is None or "comparable" in seen


@pytest.mark.parametrize("scenario", ["migration", "sequential", "scaling", "parallelisation"])
@pytest.mark.parametrize("name", ["mpet", "mpet2020", "frequency-scaling"])
def test_a_scenario_is_refused_as_it_is_run(name, scenario):
    answered, refused = 0, 0
    for seed in range(3):
        database = sparse_database(seed)
        counted = np.random.default_rng(seed).random((len(database), len(RELATIVE_MEASURES)))
        asked = Scenario(scenario, "locks" if scenario == "parallelisation" else None)
        facts = ScenarioFacts(counted=lambda counted=counted: counted)
        strategies = ("locks", "nested") * WORKLOADS
        database = replace(
            database, workload_table=dict(database.workload_table) | {"strategy": strategies[:WORKLOADS]}
        )
        for query in queries(np.random.default_rng(seed)):
            arguments = database, in_scenario(query, name, asked), facts
            expected = refusal(run_scenario, *arguments)
            assert refusal(refusal_of_scenario, *arguments) == expected
            answered, refused = answered + (expected is None), refused + (expected is not None)
    assert answered
    assert refused


def test_no_scaling_is_known_of_what_ran_on_one_thread_alone():
    row = 1.0, features(redundancy_m=0.1, redundancy_b=0.9)
    database = database_of({("p", "a"): row, ("p", "b"): row, ("t", "b"): row})
    sequential = replace(database, curve_offsets=np.array([0, 1, 4, 7]), curve_n=np.array([1, 1, 2, 4, 1, 2, 4]))
    sequential = replace(sequential, curve_time_s=np.ones(7))
    asked = in_scenario(Query(0, 1, n=(1, 2)), "mpet", Scenario("scaling"))
    assert refusal_of_scenario(database, asked) is None
    error = refusal_of_scenario(sequential, asked)
    assert str(error) == "no scaling of a is known: it was measured at n = 1 only"
    assert error.lacks == "scaling"
    assert refusal_of_scenario(sequential, replace(asked, scenario=Scenario("migration"))) is None
