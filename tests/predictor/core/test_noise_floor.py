import numpy as np
import pytest

from predictor.core.noise_floor import noise_floor, repeat_errors
from profiles.measurements import RunTable


def runs_of(times, profile_pass=()):
    """From {n: times of its repeats}; `profile_pass` as well, of profile runs."""
    rows = [
        (n, repeat, is_profile, time)
        for is_profile, by_n in ((False, times), (True, dict(profile_pass)))
        for n, values in by_n.items()
        for repeat, time in enumerate(values, start=1)
    ]
    n, repeat, is_profile, time_s = (np.array(column) for column in zip(*rows, strict=True))
    return RunTable(n=n, repeat=repeat, is_profile_pass=is_profile.astype(bool), time_s=time_s.astype(float))


def test_each_run_is_compared_with_the_median_of_the_others():
    """At n = 1: 10, 11, 13 against 12, 11.5, 10.5; at n = 2: 4 and 5 against each other."""
    errors = repeat_errors(runs_of({1: [10, 11, 13], 2: [4, 5]}))
    at_1 = [10 / 12 - 1, 11 / 11.5 - 1, 13 / 10.5 - 1]
    np.testing.assert_allclose(errors["t1"], at_1)
    np.testing.assert_allclose(errors["full"], [*at_1, 4 / 5 - 1, 5 / 4 - 1])
    at_2 = [(4 / 5) / (10 / 12) - 1, (5 / 4) / (11 / 11.5) - 1]
    np.testing.assert_allclose(errors["scaling"], [0, 0, 0, *at_2], atol=1e-15)


def test_thread_counts_with_one_run_say_nothing():
    errors = repeat_errors(runs_of({1: [10], 2: [4, 5], 4: [3]}))
    assert (len(errors["full"]), len(errors["t1"]), len(errors["scaling"])) == (2, 0, 0)


def test_only_the_runs_that_times_are_made_of_count():
    clean = {1: [10, 12]}
    both = repeat_errors(runs_of(clean, {1: [99, 1], 2: [6, 8]}))
    np.testing.assert_allclose(both["full"], [10 / 12 - 1, 12 / 10 - 1, 6 / 8 - 1, 8 / 6 - 1])


def test_the_floor_names_pairs_and_refuses_what_was_measured_once():
    known, unknown = noise_floor([("p", "a", runs_of({1: [10, 12]})), ("p", "b", runs_of({1: [10], 2: [5]}))])
    assert (known.method, known.platform, known.workload) == ("noise-floor", "p", "a")
    assert known.errors["full"] == pytest.approx((1 / 6 + 1 / 5) / 2)
    assert known.biases["full"] == pytest.approx((-1 / 6 + 1 / 5) / 2)
    assert unknown.errors == {}
    assert "twice" in unknown.refusal
