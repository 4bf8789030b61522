"""Scenario 5: hand-worked numbers, and that Eq. 3-4 hold whatever is changed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.core.scenarios.scenario import CHARACTERISTICS, WorkloadChanges
from predictor.core.scenarios.virtual_workload import MISS_COST, UnknownCharacteristic, change_workload, memory_share
from profiles.scaling.names import FRACTIONS
from tests.predictor.core.scenarios.answers import answer_of, assert_consistent

N = [1, 2, 4]
HALF_LOCKED = {"n": N, "time_s": [8.0, 5.0, 2.5], "lock_delay": [0.0, 0.1, 0.2]}


def changed(answer, bound=None, **factors):
    return change_workload(answer, WorkloadChanges.of(factors), bound)


def test_locks_halved():
    """n t(4) = 10 s, of which 2 s lock; 9 s are left. n t(2) = 10 s, of which 1 s; 9.5 s are left."""
    found = changed(answer_of(**HALF_LOCKED), lock_delay=0.5)
    np.testing.assert_allclose(found.time_s, [8.0, 4.75, 2.25])
    np.testing.assert_allclose(found.curves["lock_delay"], [0, 0.5 / 9.5, 1 / 9])
    np.testing.assert_allclose(found.curves["redundancy"], [1, 9 / 8, 1])
    assert found.t1_s == 8.0
    assert_consistent(found)


def test_imbalance_removed_at_one_thread_too():
    """8 s at n = 1, a quarter of them imbalance: t(1) becomes 6 s."""
    found = changed(answer_of(N, [8.0, 4.0, 2.0], work_imbalance=0.25), work_imbalance=0)
    np.testing.assert_allclose(found.time_s, [6.0, 3.0, 1.5])
    assert found.t1_s == pytest.approx(6.0)
    np.testing.assert_allclose(found.curves["utilisation"], 1.0)


def test_redundancy_halved_is_its_excess_over_one_thread():
    """R = 1, 1.25, 1.25 without any fraction: halved 1, 1.125, 1.125."""
    found = changed(answer_of(N, [8.0, 5.0, 2.5], decomposed=False), redundancy=0.5)
    np.testing.assert_allclose(found.curves["redundancy"], [1, 1.125, 1.125])
    np.testing.assert_allclose(found.time_s, [8, 4.5, 2.25])
    assert_consistent(found)


def test_more_work_leaves_the_cost_of_threads():
    """n t(4) = 10 s: 8 s computing, 1 s lock, 1 s join. Twice the work: 16 + 2 + 1 = 19 s."""
    answer = answer_of(N, [8.0, 5.0, 2.5], lock_delay=[0, 0.1, 0.1], task_join=[0, 0, 0.1])
    found = changed(answer, work=2)
    assert found.time_s[2] == pytest.approx(19 / 4)
    assert found.t1_s == pytest.approx(16)
    assert_consistent(found)


def test_memory_doubled_where_computing_waits_for_memory():
    answer = answer_of(**HALF_LOCKED)
    found = changed(answer, "memory", memory=2)
    np.testing.assert_allclose(found.time_s, [16.0, 9.5, 4.5])  # 2 x 8; (2 x 9 + 1)/2; (2 x 8 + 2)/4
    assert "memory-bound" in found.changes[0]
    assert_consistent(found)


def test_memory_by_the_counters():
    """0.4 loads an instruction, every twentieth misses: x = 50 * 0.02 = 1, half of computing waits."""
    answer = answer_of(N, [8.0, 4.0, 2.0], measures={"L1-LD/INSTR": 0.4, "L1-LD/LLC-LDM": 20.0})
    mu, how = memory_share(answer, "memory")
    np.testing.assert_allclose(mu, MISS_COST * 0.02 / (1 + MISS_COST * 0.02))
    assert "50 %" in how
    np.testing.assert_allclose(changed(answer, memory=2).time_s, 1.5 * answer.time_s)


def test_memory_of_a_computation_bound_workload_is_in_the_interval_alone():
    answer = answer_of(**HALF_LOCKED, interval=1.1)
    found = changed(answer, "computation", memory=3)
    np.testing.assert_allclose(found.time_s, answer.time_s)
    np.testing.assert_allclose(found.low_s, answer.low_s)
    np.testing.assert_allclose(found.high_s, 3 * answer.high_s)


@pytest.mark.parametrize("bound", [None, "communication"])
def test_memory_of_which_nothing_is_known_is_refused(bound):
    with pytest.raises(UnknownCharacteristic, match="neither last-level counters"):
        changed(answer_of(**HALF_LOCKED), bound, memory=2)


@pytest.mark.parametrize("part", FRACTIONS)
def test_parts_of_a_time_only_profile_are_refused(part):
    answer = answer_of(N, [8.0, 5.0, 2.5], decomposed=False)
    with pytest.raises(UnknownCharacteristic, match="time-only") as caught:
        changed(answer, **{part: 0.5})
    assert caught.value.characteristic == part
    np.testing.assert_allclose(changed(answer, **{part: 1, "work": 2}).time_s, 2 * answer.time_s)


def test_nothing_cannot_take_time():
    with pytest.raises(UnknownCharacteristic, match="no time would be left"):
        changed(answer_of(N, [8.0, 4.0, 2.0], decomposed=False), "memory", memory=0)


def test_a_part_that_is_not_there_says_so():
    found = changed(answer_of(**HALF_LOCKED), task_join=0.5)
    np.testing.assert_array_equal(found.time_s, HALF_LOCKED["time_s"])
    assert "the workload has none" in found.changes[0]


def test_the_interval_moves_along_and_widens():
    answer = answer_of(**HALF_LOCKED, interval=1.2)
    found = changed(answer, lock_delay=0)
    half = 1.2 * np.exp(0.25 * np.abs(np.log(found.time_s / answer.time_s)))
    np.testing.assert_allclose(found.high_s / found.time_s, half)
    np.testing.assert_allclose(found.low_s / found.time_s, 1 / half)


def test_factors_of_one_change_nothing_at_all():
    answer = answer_of(**HALF_LOCKED)
    found = changed(answer, **dict.fromkeys(CHARACTERISTICS, 1))
    assert found is answer
    assert (found.changes, found.lowered) == ((), ())


@given(
    factors=st.dictionaries(st.sampled_from([*FRACTIONS, "redundancy", "work", "memory"]), st.floats(0.01, 5)),
    locks=st.lists(st.floats(0, 0.3), min_size=3, max_size=3),
    joins=st.lists(st.floats(0, 0.3), min_size=3, max_size=3),
)
def test_the_parts_stay_consistent(factors, locks, joins):
    answer = answer_of(N, [8.0, 5.0, 3.0], lock_delay=locks, task_join=joins)
    assert_consistent(changed(answer, "memory", **factors))


@given(st.sampled_from(FRACTIONS[:2]), st.floats(0, 0.99), st.floats(1.01, 5))
def test_less_of_a_loss_is_never_slower(part, less, more):
    answer = answer_of(N, [8.0, 5.0, 3.0], lock_delay=0.1, work_imbalance=[0, 0.1, 0.2])
    faster, slower = (changed(answer, **{part: factor}).time_s for factor in (less, more))
    assert (faster <= answer.time_s + 1e-12).all()
    assert (slower >= answer.time_s - 1e-12).all()
