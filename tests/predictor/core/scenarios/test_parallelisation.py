"""Scenario 4: t(n) of what is not parallel yet."""

import numpy as np
import pytest
from scipy.stats import t as student

from predictor.core.answers import Query
from predictor.core.errors import TooFewCandidates
from predictor.core.methods import METHODS
from predictor.core.scenarios import Scenario, ScenarioFacts, run_scenario
from predictor.core.scenarios.parallelisation import counter_distances
from predictor.core.scenarios.sequential import sequential_database
from profiles.measurements import STRATEGIES
from tests.predictor.core.curves import database_of_times
from tests.predictor.core.scenarios.answers import assert_consistent, decomposed_database, in_scenario


def asked(database, query, strategy="wavefront", method="mpet", counted=None, **settings):
    scenario = Scenario.of("parallelisation", strategy, strategies=STRATEGIES)
    query = in_scenario(query, method, scenario, **settings)
    return run_scenario(database, query, ScenarioFacts(counted=lambda: counted))


def two_benchmarks(strategies=("sequential", "wavefront", "wavefront", "locks", "locks")):
    """One platform: w0 takes 12 s on one thread; w1 and w2 have speedups 4 and 2 at n = 4, w3 and w4 1 and 1.5."""
    times = ([12.0], [8.0, 4.0, 2.0], [6.0, 4.0, 3.0], [5.0, 5.0, 5.0], [3.0, 2.5, 2.0])
    curves = {("p", f"w{at}"): dict(zip((1, 2, 4), time_s, strict=False)) for at, time_s in enumerate(times)}
    return database_of_times(curves, {"p": 4}, workload_table={"strategy": strategies})


LOSSES = np.log([1, 2, 4, 8 / 3])  # at n = 4; the first two are of the strategy


def test_by_hand():
    """At n = 4 the losses are 0 and ln 2 with weight 1 of the strategy, and 0, ln 2, ln 8/3 and ln 4 with 10/4 of all.

    In this order the middles of the weights are at 0.5, 2.25 (0), 4, 5.75 (ln 2), 8.25 and 10.75; half of 12 is a tenth
    of the way from ln 2 to ln 8/3.
    """
    found = asked(two_benchmarks(), Query(0, 0))
    loss = np.log(2) + (np.log(8 / 3) - np.log(2)) / 10
    np.testing.assert_allclose(found.time_s[[0, 3]], [12.0, 3 * np.exp(loss)])
    assert found.t1_s == 12.0
    assert [one.workload for one in found.candidates_scaling] == ["w1", "w2"]
    assert {one.weight for one in found.candidates_scaling} == {1.0}
    assert any("t(1) was measured on p" in text for text in found.warnings)
    assert_consistent(found)


def test_the_interval_by_hand():
    """K = 2: s^2 = (1 s_K^2 + 3 s_all^2) / 4 with 4 degrees of freedom, and one more benchmark: sqrt(1 + 1/5)."""
    found = asked(two_benchmarks(), Query(0, 0))
    variance = (LOSSES[:2].var(ddof=1) + 3 * LOSSES.var(ddof=1)) / 4
    half = student.ppf(0.95, 4) * np.sqrt(variance * 1.2)
    assert np.log(found.high_s[3] / found.time_s[3]) == pytest.approx(half)
    assert np.log(found.time_s[3] / found.low_s[3]) == pytest.approx(half)
    assert found.high_s[0] == found.low_s[0] == 12.0
    assert asked(two_benchmarks(), Query(0, 0), level=0.5).high_s[3] < found.high_s[3]


def test_by_hand_where_there_are_no_others():
    """Losses 0 and ln 2: t(4) = 12/4 sqrt 2."""
    found = asked(two_benchmarks().without(0, [3, 4]), Query(0, 0))
    assert found.time_s[3] == pytest.approx(3 * np.sqrt(2))
    half = student.ppf(0.95, 1) * np.sqrt(np.log(2) ** 2 / 2 * 1.5)
    assert np.log(found.high_s[3] / found.time_s[3]) == pytest.approx(half)


def test_the_paper_averages_feature_vectors():
    """R = 1, 1, 1 and 1, 4/3, 2: the mean vector has m = 0.17, and Eq. 3 gives t(4) = 12 R(4) / 4."""
    database = two_benchmarks()
    found = asked(database, Query(0, 0), method="mpet2020")
    mean = database.features[1:3, :2].mean(axis=0)
    np.testing.assert_allclose(found.features[:2], mean)
    np.testing.assert_allclose(found.time_s, 12.0 * (mean[0] * np.arange(1, 5) + mean[1]) / np.arange(1, 5))


def test_another_strategy_is_another_answer():
    found = asked(two_benchmarks(), Query(0, 0), "locks")
    # At the loss 8/3: the weights before it are 5, its own 1 + 2.5; half of all is 6.
    assert found.time_s[3] == pytest.approx(3 * np.exp(LOSSES[3]))


def test_a_strategy_that_nobody_uses_is_refused_with_those_there_are():
    with pytest.raises(TooFewCandidates, match="locks, wavefront"):
        asked(two_benchmarks(), Query(0, 0), "pipeline")


def test_one_benchmark_alone_has_no_interval():
    database = two_benchmarks(strategies=("sequential", "wavefront", "unknown", "unknown", "unknown"))
    assert asked(database, Query(0, 0)).high_s is not None  # the others tell how benchmarks differ
    alone = asked(database.without(0, [2, 3, 4]), Query(0, 0))
    assert alone.low_s is None
    assert alone.lowered[0][0] == 2


def test_benchmarks_with_like_counters_weigh_more():
    database, _, counted = decomposed_database(sequential=("w0",))
    distances = counter_distances(sequential_database(database, lambda: counted), 0, (1, 2, 5))
    assert (np.diff(distances) > 0).all()
    weights = [one.weight for one in asked(database, Query(0, 1), counted=counted).candidates_scaling]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0


def test_absurd_counters_of_another_program_do_not_make_all_benchmarks_alike():
    database, _, counted = decomposed_database(sequential=("w0",))
    usual = counter_distances(sequential_database(database, lambda: counted), 0, (1, 2))
    absurd = counted.copy()
    absurd[np.flatnonzero(database.workload_index == 5)[0]] *= 1e9
    database, _, _ = decomposed_database(sequential=("w0",))  # what is derived of a database is kept
    assert counter_distances(sequential_database(database, lambda: absurd), 0, (1, 2)) == pytest.approx(usual, rel=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_but_one_thread_of_the_program_takes_part(method):
    """A workload that was measured in parallel gives the answer that its sequential profiles alone would give."""
    whole, _, counted = decomposed_database()
    cut, _, _ = decomposed_database(sequential=("w0",))
    answers = [asked(database, Query(0, 1), method=method, counted=counted) for database in (whole, cut)]
    np.testing.assert_allclose(answers[0].time_s, answers[1].time_s, rtol=0.02)  # t(1) differ by the noise
    if method != "mpet2020":  # whose curves are shown before they are clamped
        assert_consistent(answers[0])


@pytest.mark.parametrize("method", ["mpet", "mpet2020"])
def test_on_a_platform_where_the_program_never_ran(method):
    database, _, counted = decomposed_database(sequential=("w0",))
    elsewhere = database.without(1, 0)
    found = asked(elsewhere, Query(0, 1), method=method, counted=counted)
    assert found.t1_s == pytest.approx(database.t1_s[database.lookup(1, 0, 0)], rel=0.05)
    assert found.candidates_t1
    assert {one.platform for one in found.candidates_scaling} == {"p1"}
    without_own = asked(database, Query(0, 1, references=(2, 3)), method=method, counted=counted)
    assert {one.platform for one in without_own.candidates_t1} <= {"p2", "p3"}


def test_where_no_benchmark_of_the_strategy_is_they_are_predicted():
    strategies = ["wavefront", "wavefront", "locks", "locks", "locks", "locks"]
    database, _, counted = decomposed_database(sequential=("w0",), strategies=strategies)
    measured = asked(database, Query(0, 1), counted=counted)
    found = asked(database.without(1, 1), Query(0, 1), counted=counted)
    np.testing.assert_allclose(found.time_s, measured.time_s, rtol=0.15)
    assert any("predictions are used" in text for text in found.warnings)
    assert found.lowered[0][0] == 2


def test_beyond_the_benchmarks_their_efficiency_is_held():
    found = asked(two_benchmarks(), Query(0, 0, n=(4, 8)))
    assert found.time_s[1] == pytest.approx(found.time_s[0] / 2)
    assert any("beyond 4 threads" in text for text in found.warnings)
