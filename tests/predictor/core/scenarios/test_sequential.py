"""Scenario 1: t(1) from what is known at n = 1 alone."""

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.database import Database, Group
from predictor.core.errors import TooFewCandidates
from predictor.core.scenarios import Scenario, ScenarioFacts, run_scenario
from predictor.core.scenarios.sequential import MEASURE_ELEMENTS, relative_measures_at_one, sequential_database
from tests.predictor.core.databases import rebuilt
from tests.predictor.core.scenarios.answers import decomposed_database, in_scenario

SEQUENTIAL = Scenario("sequential")


def asked(database, query, method="mpet", counted=None):
    return run_scenario(database, in_scenario(query, method, SEQUENTIAL), ScenarioFacts(counted=lambda: counted))


@pytest.mark.parametrize("method", ["mpet", "mpet2020", "speed-ratio"])
def test_a_sequential_program_from_sequential_profiles(method):
    """w0 was never run in parallel. t(1) is a product of work and speed, so that ratios are exact but for noise."""
    database, _, counted = decomposed_database(sequential=("w0",))
    answer = asked(database, Query(0, 2), method, counted)
    measured = database.t1_s[database.lookup(2, 0, 0)]
    assert answer.t1_s == pytest.approx(measured, rel=0.05)
    assert answer.n.tolist() == [1]
    np.testing.assert_array_equal(answer.time_s, [answer.t1_s])
    assert answer.candidates_t1
    assert answer.candidates_scaling == []
    assert not any("scaling" in text for text in answer.warnings)


def test_nothing_but_one_thread_takes_part():
    """Absurd times beyond n = 1, and absurd elements of the scaling, change nothing."""
    database, _, counted = decomposed_database()
    absurd = database.features.copy()
    absurd[:, :42] = 1e9
    other = rebuilt(database, features=absurd, curve_time_s=np.where(database.curve_n > 1, 1e9, database.curve_time_s))
    for method in ("mpet", "mpet2020"):
        one, two = (asked(known, Query(0, 2), method, counted) for known in (database, other))
        assert (one.t1_s, one.candidates_t1) == (two.t1_s, two.candidates_t1)


def test_the_target_is_hidden():
    database, _, counted = decomposed_database()
    row = database.lookup(2, 0, 0)
    t1_s, times = database.t1_s.copy(), database.curve_time_s.copy()
    t1_s[row] = times[database.curve_offsets[row]] = 1e9
    other = rebuilt(database, t1_s=t1_s, curve_time_s=times)
    first, second = (asked(each, Query(0, 2), counted=counted).t1_s for each in (database, other))
    assert first == second


def test_the_paper_ranks_by_counters_and_refuses_without():
    database, _, _ = decomposed_database(sequential=("w0",))
    without = rebuilt(database, features=np.full_like(database.features, np.nan))
    with pytest.raises(TooFewCandidates, match="no valid feature"):
        asked(without, Query(0, 2), "mpet2020")
    assert asked(without, Query(0, 2), "mpet").t1_s > 0


def test_counters_at_one_thread_are_counted_or_of_the_fit():
    database, _, counted = decomposed_database(sequential=("w0",))
    fitted = relative_measures_at_one(database)
    rows = database.workload_index == 0
    assert np.isnan(fitted[rows]).all()
    np.testing.assert_allclose(fitted[~rows], counted[~rows])
    known = sequential_database(database, lambda: counted)
    np.testing.assert_allclose(known.features[:, MEASURE_ELEMENTS], counted)


def test_profiles_of_all_groups_are_comparable_but_origins_stay_apart():
    groups = (Group(True, "a", "measured"), Group(False, "b", "measured"), Group(False, "", "simulated"))
    database = Database.build(
        platforms=["p", "q"],
        workloads=["v", "w"],
        platform_index=[0, 0, 0, 1, 1],
        workload_index=[0, 0, 0, 0, 1],
        groups=groups,
        group=[1, 0, 2, 1, 1],
        features=np.full((5, 84), np.nan),
        t1_s=[2.0, 1.0, 3.0, 4.0, 5.0],
        curve_offsets=[0, 1, 2, 3, 4, 5],
        curve_n=[1, 1, 1, 1, 2],
        curve_time_s=[2.0, 1.0, 3.0, 4.0, 2.5],
        n_nu=[np.nan] * 2,
        n_ht=[np.nan] * 2,
        n_max=[4, 4],
    )
    known = sequential_database(database, lambda: None)
    assert known.groups == (Group(False, "", "measured"), Group(False, "", "simulated"))
    assert known.t1_s.tolist() == [1.0, 3.0, 4.0]  # decomposed first; (q, w) has no run at n = 1
    hidden = sequential_database(database.without(0, 0), lambda: None)
    assert hidden.lookup(0, 0, (0, 1)) == -1
    assert hidden.lookup(1, 0, 0) >= 0
