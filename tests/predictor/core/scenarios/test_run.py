from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.errors import SettingsError, UnknownTarget
from predictor.core.methods import METHODS, get_method
from predictor.core.scenarios import Scenario, ScenarioFacts, run_scenario
from predictor.core.scenarios.scenario import PlatformChanges, WorkloadChanges
from tests.predictor.core.scenarios.answers import assert_consistent, decomposed_database, in_scenario

VIRTUAL = Scenario(
    workload=WorkloadChanges.of({"lock_delay": 0.5}), platform=PlatformChanges.of({"n_ht": 6, "n_max": 12})
)


@pytest.fixture(scope="module")
def database():
    return decomposed_database()[0]


def asked(database, scenario, query=Query(0, 1), method="mpet", **facts):  # noqa: B008
    return run_scenario(database, in_scenario(query, method, scenario), ScenarioFacts(**facts))


@pytest.mark.parametrize("method", ["mpet", "mpet2020", "ridge"])
def test_a_migration_is_the_methods_own_answer_and_scaling_names_no_candidates_for_t1(database, method):
    chosen = get_method(method)
    plain = chosen.predict(database, Query(0, 1), chosen.settings())
    found, scaling = asked(database, None, method=method), asked(database, Scenario("scaling"), method=method)
    np.testing.assert_array_equal(found.time_s, plain.time_s)
    assert (found.baseline, found.changes, found.lowered) == (None, (), ())
    np.testing.assert_array_equal(scaling.time_s, plain.time_s)
    assert scaling.candidates_t1 == []


@pytest.mark.parametrize("method", METHODS)
def test_both_changes_by_every_method(database, method):
    platform = Scenario(platform=VIRTUAL.platform)
    found = asked(database, platform, method=method)
    assert found.n.tolist() == list(range(1, 13))
    assert found.baseline.n.tolist() == list(range(1, 9))
    assert_consistent(found)
    if method in ("mpet", "mpet2020"):
        both = asked(database, VIRTUAL, method=method)
        assert (both.time_s[1:] < found.time_s[1:]).all()
        assert len(both.changes) == 3
        assert_consistent(both)


def test_only_the_n_asked_for(database):
    found = asked(database, VIRTUAL, Query(0, 1, n=(4, 8)))
    assert found.n.tolist() == found.baseline.n.tolist() == [4, 8]


def test_changing_nothing_changes_nothing(database):
    same = Scenario(workload=WorkloadChanges.of({"lock_delay": 1, "work": 1}))
    found = asked(database, same)
    np.testing.assert_array_equal(found.time_s, found.baseline.time_s)
    np.testing.assert_array_equal(found.features, found.baseline.features)


def test_the_platform_itself_as_reference_is_what_was_measured():
    database, curves, _ = decomposed_database()
    own, query = curves[1 * 6 + 2], Query(2, 1, references=(1,))
    halved = Scenario(workload=WorkloadChanges.of({"lock_delay": 0.5}))
    found = asked(database, halved, query, curves=curves.__getitem__)
    np.testing.assert_allclose(found.baseline.time_s, own.time_s)
    np.testing.assert_allclose(found.time_s, own.time_s * (1 - own.curve("lock_delay") / 2))
    assert found.is_measured
    assert "times measured on p1" in found.changes[0]
    doubled = Scenario(workload=WorkloadChanges.of({"work": 2}))
    held = asked(database, doubled, replace(query, n=(3, 8, 16)), curves=curves.__getitem__)
    np.testing.assert_allclose(held.baseline.time_s[0], own.time_s[2])
    np.testing.assert_allclose(held.time_s[2] * 16, held.time_s[1] * 8)  # beyond what was measured
    assert any("beyond n = 8" in reason for _, reason in held.lowered)


def test_impossible_questions(database):
    with pytest.raises(SettingsError, match="not below"):
        asked(database, Scenario(platform=PlatformChanges.of({"n_nu": 5})))
    with pytest.raises(UnknownTarget):
        asked(database, Scenario(), Query(0, 99))
