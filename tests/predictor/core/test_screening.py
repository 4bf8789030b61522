"""Profiles that contradict all others: found among many wrong ones, and not among right ones."""

import numpy as np
import pytest

from predictor.core.screening import outlying_profiles

PLATFORMS, WORKLOADS, KNOTS = 60, 24, 4
FIRST = 3  # platforms of the kind


def outlying(level, is_known=None):
    """Of values (P, B) at one thread count on platforms that are alike on paper."""
    return found(level[None], is_known=is_known)


def additive(platforms, workloads, noise_seed=None):
    """Values (P, B) of platforms and workloads that differ by a constant, with little noise."""
    level = np.add.outer(np.arange(float(platforms)), np.arange(float(workloads)))
    return level if noise_seed is None else level + np.random.default_rng(noise_seed).normal(0.0, 0.05, level.shape)


def made_curves(seed):
    """ln(n t(n)) (J, P, B) by a speed of the platform, a size of the workload, two common factors and little noise."""
    rng = np.random.default_rng(seed)
    speed, size = rng.normal(0.0, 0.5, (1, PLATFORMS, 1)), rng.normal(0.0, 2.0, (1, 1, WORKLOADS))
    factors = rng.normal(0.0, 0.2, (PLATFORMS, 2)) @ rng.normal(0.0, 1.0, (2, WORKLOADS))
    overhead = np.linspace(0.0, 1.0, KNOTS)[:, None, None] * rng.uniform(0.0, 0.5, (1, 1, WORKLOADS))
    return speed + size + factors + overhead + rng.normal(0.0, 0.05, (KNOTS, PLATFORMS, WORKLOADS))


def found(curves, on_paper=None, is_known=None):
    known = np.ones(curves.shape[1:], dtype=bool) if is_known is None else is_known
    return outlying_profiles(curves, known, np.zeros((len(known), 1)) if on_paper is None else on_paper)


@pytest.mark.parametrize(("how_many", "are_outlying"), [(1, True), (2, True), (3, False), (5, False)])
def test_platforms_that_are_far_off_together_are_a_kind(how_many, are_outlying):
    """Machines with a GPU run one kind of program forty times faster: that is no error of three measurements."""
    level = additive(20, 6, noise_seed=3)
    level[:how_many, 1] -= np.log(40.0)
    expected = np.zeros(level.shape, dtype=bool)
    expected[:how_many, 1] = are_outlying
    assert outlying(level).tolist() == expected.tolist()


@pytest.mark.parametrize(("factor", "is_absurd"), [(150.0, True), (10.0, False)])
def test_absurd_is_what_no_spread_of_few_machines_explains(factor, is_absurd):
    """Among ten machines that differ by a half on the workload, on others hardly."""
    level = additive(10, 10, noise_seed=2)
    level[:, 4] += np.tile([-0.4, 0.4], 5)
    level[3, 4] += np.log(factor)
    assert np.argwhere(outlying(level)).tolist() == ([[3, 4]] if is_absurd else [])


def test_a_profile_that_a_serial_program_explains_is_no_error():
    """With 192 threads, n t(n) of a serial program is 96 times as long as with two."""
    level = additive(4, 8, noise_seed=4)
    level[0, -1] -= np.log(96.0)
    assert np.argwhere(outlying(level)).tolist() == [[0, 7]]
    displaced = np.zeros(level.shape)
    displaced[0, -1] = np.log(96.0)
    known, on_paper = np.ones(level.shape, dtype=bool), np.zeros((4, 1))
    assert not outlying_profiles(level[None], known, on_paper, displaced).any()


@pytest.mark.parametrize("workloads", [2, 3])
def test_few_workloads_do_not_show_which_value_is_wrong(workloads):
    """The ratio of two workloads, such as one of memory and one of the caches, may have any spread over machines."""
    level = additive(40, workloads, noise_seed=5)
    level[:, -1] += np.clip(np.random.default_rng(6).standard_t(1.0, 40), -2.0, 2.0) / 2
    assert not outlying(level).any()
    level[5, -1] += np.log(1e6)
    assert np.argwhere(outlying(level))[:, 0].tolist() == [5]  # an absurd value is found in any case


def test_one_too_fast_and_two_too_slow_are_no_kind():
    level = additive(20, 6)
    level[[3, 8, 11], 2] += [-5.0, 5.0, 5.0]
    assert np.argwhere(outlying(level)).tolist() == [[3, 2], [8, 2], [11, 2]]


@pytest.mark.parametrize("factor", [1e3, 1e-3])
@pytest.mark.parametrize(
    ("platforms", "unknown", "are_outlying"),
    [(2, [], False), (3, [], True), (9, [0, *range(3, 9)], False)],
    ids=["two", "three", "two of nine"],
)
def test_three_platforms_tell_which_value_is_wrong_and_two_do_not(platforms, unknown, are_outlying, factor):
    level = additive(platforms, 4)
    level[1, 2] += np.log(factor)
    is_known = np.ones(level.shape, dtype=bool)
    is_known[unknown, 2] = False
    assert np.argwhere(outlying(level, is_known)).tolist() == ([[1, 2]] if are_outlying else [])


@pytest.mark.parametrize("seed", range(5))
def test_nothing_right_is_outlying(seed):
    assert not found(made_curves(seed)).any()


@pytest.mark.parametrize(("share", "at_least"), [(0.02, 0.85), (0.05, 0.97), (0.1, 0.8)])
@pytest.mark.parametrize("log_factor", [np.log(1e3), np.log(4.0)])
def test_wrong_profiles_are_found_and_hardly_a_right_one(share, at_least, log_factor):
    """In another unit, or four times too fast or slow. Of few, three on one side of a workload hide each other."""
    rng = np.random.default_rng(7)
    is_wrong = rng.random((PLATFORMS, WORKLOADS)) < share
    side = rng.choice([-1.0, 1.0], is_wrong.shape)
    is_outlying = found(made_curves(7) + is_wrong * side * log_factor)
    assert is_outlying[is_wrong].mean() > at_least
    assert is_outlying[~is_wrong].mean() < 0.002


def test_thread_time_taken_for_time_is_found():
    """n t(n) for t(n): right with one thread, 64 times too slow with 64."""
    rng = np.random.default_rng(8)
    is_wrong = rng.random((PLATFORMS, WORKLOADS)) < 0.05
    is_outlying = found(made_curves(8) + is_wrong * np.log([1.0, 4.0, 16.0, 64.0])[:, None, None])
    assert is_outlying[is_wrong].all()


def test_what_other_workloads_show_too_is_a_kind_of_machine():
    """A third of the workloads runs thirty times faster on every tenth platform: none of these profiles is wrong."""
    curves = made_curves(9)
    curves[:, ::10, ::3] -= np.log(30.0)
    assert found(curves).sum() == 0


def test_what_is_alike_on_paper_may_be_unlike_all_others():
    """One workload five times slower on platforms of one kind, among many profiles that are wrong."""
    rng, curves = np.random.default_rng(10), made_curves(10)
    is_wrong = rng.random((PLATFORMS, WORKLOADS)) < 0.05
    is_wrong[:, 1] = False
    curves[:, ::FIRST, 1] += np.log(5.0)
    curves += is_wrong * np.log(20.0)
    on_paper = np.where(np.arange(PLATFORMS) % FIRST == 0, 3.0, 0.0)[:, None]
    assert not found(curves, on_paper)[:, 1].any()


def test_absurd_and_missing_values_are_no_error():
    curves, known = made_curves(11), np.random.default_rng(11).random((PLATFORMS, WORKLOADS)) < 0.3
    known[:, 0] = False
    known[5] = False
    curves[:, 7, 3] = 600.0
    known[7, 3] = True
    is_outlying = found(np.where(known, curves, 0.0), is_known=known)
    assert is_outlying[7, 3]
    assert not is_outlying[~known].any()
