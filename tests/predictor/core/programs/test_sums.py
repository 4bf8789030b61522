"""Adding times and intervals: what the rule says, and what a simulation of correlated errors says of the rule."""

import numpy as np
import pytest

from predictor.core.programs.sums import sum_times

TIMES = np.array([[4.0, 2.0], [1.0, 0.5], [0.5, 0.5]])


def summed(half_widths, correlation):
    factor = np.exp(np.array(half_widths))[:, None]
    return sum_times(TIMES, TIMES / factor, TIMES * factor, correlation)


def half_width(total):
    return np.log(total.high_s / total.low_s) / 2


def test_times_are_added_at_each_n():
    assert summed([0.1, 0.2, 0.3], 0.5).time_s.tolist() == [5.5, 3.0]


def test_errors_that_are_all_the_same_do_not_cancel():
    total = summed([0.2, 0.2, 0.2], 1.0)
    assert half_width(total) == pytest.approx([0.2, 0.2])
    assert total.low_s * total.high_s == pytest.approx(total.time_s**2)


def test_independent_errors_are_the_root_of_the_sum_of_squares():
    by_hand = np.sqrt((4 * 0.1) ** 2 + (1 * 0.2) ** 2 + (0.5 * 0.4) ** 2) / 5.5
    assert half_width(summed([0.1, 0.2, 0.4], 0.0))[0] == pytest.approx(by_hand)


def test_the_interval_grows_with_the_correlation():
    widths = [half_width(summed([0.1, 0.2, 0.4], correlation))[0] for correlation in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_one_part_keeps_its_interval_whatever_the_correlation():
    one = np.array([[3.0]])
    for correlation in (0.0, 0.5, 1.0):
        total = sum_times(one, one / 1.5, one * 2.0, correlation)
        assert total.high_s / total.low_s == pytest.approx([3.0])


def test_what_is_not_known_of_a_part_is_not_known_of_the_whole():
    times = np.array([[1.0, 2.0], [np.nan, 1.0]])
    total = sum_times(times, times / 2, times * 2)
    assert np.isnan(total.time_s).tolist() == [True, False]
    assert np.isnan([total.low_s[0], total.high_s[0]]).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_it_holds_as_many_sums_as_single_times_where_errors_correlate_so(correlation):
    """Ten equal parts with normal errors of ln t: 90 % of the sums lie inside."""
    rng = np.random.default_rng(1)
    deviation, draws, parts = 0.1, 4000, 10
    common, own = rng.normal(size=(draws, 1)), rng.normal(size=(draws, parts))
    errors = deviation * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
    one, half = np.ones((parts, 1)), 1.6449 * deviation
    total = sum_times(one, one * np.exp(-half), one * np.exp(half), correlation)
    sums = np.exp(errors).sum(axis=1)
    assert np.mean((total.low_s[0] <= sums) & (sums <= total.high_s[0])) == pytest.approx(0.9, abs=0.02)
