"""Planted profiles that cannot be right are found; honest ones are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.core.database import Database
from predictor.core.outliers import MeasuredProfile, find_outliers, judge_profile
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database


def everything(database):
    return [MeasuredProfile.row(database, row) for row in range(len(database))]


def with_curve(arrays, position, change):
    """The arguments of Database.build with the times (5,) of one profile changed."""
    times = np.array(arrays["curve_time_s"]).reshape(-1, len(COUNTS))
    times[position] = change(times[position])
    t1_s = np.array(arrays["t1_s"])
    t1_s[position] = times[position, 0]
    return arrays | {"curve_time_s": times.ravel(), "t1_s": t1_s}


def accused(database):
    """Return the outliers, and their pairs of platform and workload."""
    found = find_outliers(database, everything(database))
    positions = [one.position for one in found]
    pairs = zip(database.platform_index[positions].tolist(), database.workload_index[positions].tolist(), strict=True)
    return found, list(pairs)


def pair_of(arrays, position):
    return int(arrays["platform_index"][position]), int(arrays["workload_index"][position])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.lab) for seed in (1, 2))])
def test_honest_profiles_are_hardly_ever_accused(seed):
    database = curve_database(seed, 15, 10, noise=0.03)
    assert len(find_outliers(database, everything(database))) <= 0.01 * len(database)


ABSURD = {
    "a million times too slow": lambda t: 1e6 * t,
    "a million times too fast": lambda t: 1e-6 * t,
    "ten times too slow": lambda t: 10 * t,
    "growing with n": lambda t: t * np.array(COUNTS) ** 2.0,
    "one count a hundred times too slow": lambda t: t * np.array([1, 1, 100, 1, 1]),
}


@pytest.mark.parametrize("change", ABSURD.values(), ids=ABSURD)
def test_what_cannot_be_right_is_found_and_nothing_else(change):
    arrays = with_curve(curve_arrays(4, 15, 10), 33, change)
    found, pairs = accused(Database.build(**arrays))
    assert pairs == [pair_of(arrays, 33)]
    assert "predicted from all other profiles" in found[0].reason


def test_two_absurd_profiles_of_one_workload_accuse_nobody_else():
    arrays = with_curve(with_curve(curve_arrays(4, 15, 10), 33, lambda t: 1e6 * t), 43, lambda t: 50 * t)
    _, pairs = accused(Database.build(**arrays))
    assert set(pairs) == {pair_of(arrays, 33), pair_of(arrays, 43)}


@given(st.integers(0, 100))
@settings(max_examples=20)
def test_the_reason_says_how_far_off_it_is(seed):
    arrays = curve_arrays(seed, 12, 8, missing=0.0)
    database = Database.build(**with_curve(arrays, 20, lambda t: 1000 * t))
    reason = judge_profile(database, MeasuredProfile.row(database, 20)).reason
    assert "times slower than predicted from all other profiles" in reason
    assert 300 < float(reason.split()[0]) < 3000


def test_two_platforms_or_identical_times_accuse_nobody():
    """The intervals of identical times have no width at all."""
    arrays = curve_arrays(0, 8, 6)
    same = arrays | {name: np.ones_like(arrays[name]) for name in ("curve_time_s", "t1_s")}
    for given_arrays in (with_curve(curve_arrays(1, 2, 6, missing=0.0), 3, lambda t: 1e6 * t), same):
        assert accused(Database.build(**given_arrays)) == ([], [])
