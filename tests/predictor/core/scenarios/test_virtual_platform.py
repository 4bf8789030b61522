"""Scenario 6: breakpoints carry what is behind them along."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from predictor.core.answers import Query, answered_thread_counts
from predictor.core.scenarios import Scenario, run_scenario
from predictor.core.scenarios.pieces import cut_piece, logs_of_answer, move_pieces, unchanged_until
from predictor.core.scenarios.scenario import PlatformChanges, PlatformTopology
from predictor.core.scenarios.virtual_platform import UnknownEffect, move_elements, move_platform, source_counts
from tests.predictor.core.scenarios.answers import answer_of, assert_consistent, decomposed_database, in_scenario

NONE = np.nan
EIGHT = PlatformTopology(NONE, 4.0, 8, 2000.0)
N = np.arange(1, 9)
# thread time 8 s to n = 4, then 1 s more with each thread
TIMES = (8.0 + np.maximum(N - 4, 0)) / N


def moved(new, n, *, bound=None, method="mpet", answer=None, interval=None):
    answer = answer or answer_of(N, TIMES, n_ht=4, interval=interval)
    query = in_scenario(Query(0, 1), method)
    return move_platform(decomposed_database()[0], query, answer, EIGHT, new, n=np.asarray(n), bound=bound)


BOTH_WAYS = pytest.mark.parametrize("method", ["mpet", "mpet2020"])  # by curves, and by elements


@BOTH_WAYS
@pytest.mark.parametrize(
    ("n_ht", "n_max", "thread_time"),
    [
        (6.0, 8, [8, 8, 8, 8, 8, 8, 9, 10]),  # later
        (2.0, 6, [8, 8, 9, 10, 11, 12]),  # earlier, and as many threads behind it as there were
    ],
)
def test_another_breakpoint(method, n_ht, n_max, thread_time):
    n = np.arange(1, n_max + 1)
    found = moved(PlatformTopology(NONE, n_ht, n_max, 2000.0), n, method=method)
    np.testing.assert_allclose(n * found.time_s, thread_time, rtol=1e-9)
    assert_consistent(found)


@BOTH_WAYS
def test_no_hyperthreads(method):
    found = moved(PlatformTopology(NONE, NONE, 8, 2000.0), N, method=method)
    np.testing.assert_allclose(N * found.time_s, 8.0, rtol=1e-9)
    assert "no effect of SMT threads" in found.changes[0]
    assert np.isnan(found.features[4])


@BOTH_WAYS
def test_more_threads_continue_the_last_slope(method):
    found = moved(PlatformTopology(NONE, 4.0, 16, 2000.0), np.arange(1, 17), method=method, interval=1.1)
    times = np.arange(1, 17) * found.time_s
    np.testing.assert_allclose(times[:8], 8.0 + np.maximum(N - 4, 0), rtol=1e-9)
    if method == "mpet2020":  # Eq. 5 is linear in n
        assert times[15] == pytest.approx(20.0)
    else:  # linear in ln n as from 6 to 8 threads, where n t rose from 10 to 12 s
        slope = np.log(12 / 10) / np.log(8 / 6)
        assert times[15] == pytest.approx(12 * 2**slope)
    assert any("beyond n = 8" in reason for _, reason in found.lowered)
    width = np.log(found.high_s / found.low_s) / 2
    np.testing.assert_allclose(width[:8], np.log(1.1))
    assert width[15] == pytest.approx(np.log(1.1) + 0.2 * np.log(2))


def test_an_effect_that_the_platform_lacks_is_that_of_others():
    """No platform of the database has further NUMA nodes; all but the first have hyperthreads."""
    database = decomposed_database()[0]
    query = in_scenario(Query(0, 0), "mpet")
    plain = query.answer(database)
    old = PlatformTopology(NONE, NONE, 4, 2000.0)
    new = PlatformTopology(NONE, 4.0, 6, 2000.0)
    found = move_platform(database, query, plain, old, new, n=np.arange(1, 7), bound=None)
    others = [database.curve(row) for row in database.rows_of_workload(0).tolist()[1:]]
    added = np.mean([np.log(6 * time_s[5] / (4 * time_s[3])) for _, time_s in others])
    assert np.log(6 * found.time_s[5] / (4 * found.time_s[3])) == pytest.approx(added)
    assert (2, "the machine has no SMT threads: their effect is taken from other machines") in found.lowered
    assert_consistent(found)
    for name in ("mpet", "mpet2020"):
        query = in_scenario(Query(0, 0), name)
        new = PlatformTopology(2.0, NONE, 4, 2000.0)
        with pytest.raises(UnknownEffect, match="further NUMA nodes"):
            move_platform(database, query, query.answer(database), old, new, n=N[:4], bound=None)


def test_a_breakpoint_beyond_all_threads_changes_nothing():
    four = PlatformTopology(NONE, NONE, 4, 2000.0)
    answer = answer_of(N[:4], TIMES[:4])
    query, new = in_scenario(Query(0, 1), "mpet"), PlatformTopology(NONE, 9.0, 4, 2000.0)
    found = move_platform(decomposed_database()[0], query, answer, four, new, n=N[:4], bound=None)
    np.testing.assert_array_equal(found.time_s, answer.time_s)
    assert "no thread count is beyond it" in found.changes[0]


@pytest.mark.parametrize(("bound", "factor", "wider"), [("computation", 0.5, 1), ("memory", 1, 1), (None, 0.5**0.5, 2)])
def test_a_clock_of_twice_the_speed(bound, factor, wider):
    """Unknown: half way in ln t, and the interval reaches from half the time to all of it."""
    found = moved(PlatformTopology(NONE, 4.0, 8, 4000.0), N, bound=bound, interval=1.1)
    np.testing.assert_allclose(found.time_s, TIMES * factor)
    assert found.t1_s == pytest.approx(8 * factor)
    np.testing.assert_allclose(found.high_s / found.low_s, 1.21 * wider)
    assert_consistent(found)


def test_what_is_unexplained_is_carried_along():
    """The model is a line in each segment; t(3) and t(7) are off it by 0.5 s."""
    bumpy = TIMES + 0.5 / N * np.isin(N, [3, 7])
    answer = answer_of(N, bumpy, n_ht=4)
    elements = answer.features.reshape(14, 6)
    same = move_elements(answer, EIGHT, EIGHT, N, elements)
    np.testing.assert_allclose(same.time_s, bumpy, rtol=1e-12)
    assert source_counts(np.array([9]), EIGHT, PlatformTopology(NONE, 6.0, 16)).tolist() == [7]


def test_a_sequential_workload_has_no_breakpoints():
    answer = answer_of(N, [8.0, *[np.nan] * 7])
    with pytest.raises(UnknownEffect, match="no scaling"):
        moved(PlatformTopology(NONE, 6.0, 8, 2000.0), N, answer=answer)


TOPOLOGIES = st.tuples(st.sampled_from([NONE, 2.0, 3.0]), st.sampled_from([NONE, 4.0, 6.0]), st.integers(5, 24))


@given(old=TOPOLOGIES, new=TOPOLOGIES, seed=st.integers(0, 5))
def test_pieces_stay_consistent_and_begin_as_before(old, new, seed):
    rng = np.random.default_rng(seed)
    old, new = PlatformTopology(*old), PlatformTopology(*new)
    assume(not any(new.starts[at] < new.n_max and old.starts[at] >= old.n_max for at in (1, 2)))
    n = np.arange(1, old.n_max + 1)
    answer = answer_of(n, 8 / n**0.8 * rng.uniform(0.9, 1.1, len(n)), lock_delay=rng.uniform(0, 0.4, len(n)))
    found = move_pieces(answer, old, new, np.arange(1, new.n_max + 1), {})
    assert_consistent(found)
    until = int(min(unchanged_until(old, new), new.n_max))
    np.testing.assert_array_equal(found.time_s[:until], answer.time_s[:until])
    if old == new:
        np.testing.assert_array_equal(found.time_s, answer.time_s)


def test_a_piece_rises_at_most_as_n():
    answer = answer_of(N, np.full(8, 8.0))
    piece = cut_piece(answer.n, logs_of_answer(answer), 4, 8)
    assert piece.slope[0] == pytest.approx(1.0)
    assert piece.at(np.array([12]), 4.0)[0, 0] == pytest.approx(np.log(16 / 4))


@pytest.mark.parametrize("method", ["mpet", "mpet2020", "ridge"])
def test_the_same_platform_again_is_the_same_answer(method):
    database = decomposed_database()[0]
    same = Scenario(platform=PlatformChanges.of({"n_max": 8, "n_ht": 4, "base_mhz": 2000}))
    plain = in_scenario(Query(0, 1), method).answer(database)
    found = run_scenario(database, in_scenario(Query(0, 1), method, same))
    np.testing.assert_array_equal(found.time_s, plain.time_s)
    np.testing.assert_array_equal(found.baseline.time_s, plain.time_s)
    assert found.changes == ()


def test_some_thread_counts_of_a_large_machine_stand_for_all():
    """Between those at which it is known a curve is linear in ln n: moved as if it were known everywhere."""
    n = np.arange(1, 3001)
    times = (8.0 + 0.01 * np.maximum(n - 1500, 0)) / n
    old, new = PlatformTopology(NONE, 1500.0, 3000), PlatformTopology(NONE, 700.0, 3000)
    wanted = answered_thread_counts(3000)
    some = np.union1d(wanted, source_counts(wanted, old, new))
    whole = move_pieces(answer_of(n, times, n_ht=1500), old, new, wanted, {})
    thinned = move_pieces(answer_of(some, times[some - 1], n_ht=1500), old, new, wanted, {})
    np.testing.assert_allclose(thinned.time_s, whole.time_s, rtol=2e-3)
    for name in ("redundancy", "utilisation"):
        np.testing.assert_allclose(thinned.curves[name], whole.curves[name], rtol=2e-3)
