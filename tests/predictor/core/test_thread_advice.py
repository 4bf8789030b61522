import numpy as np
import pytest

from predictor.core.thread_advice import MOST_DRAWN_COUNTS, advise_threads

N = np.array([1, 2, 4, 8, 16])


def advised(time_s, width=1.05, n=N):
    time_s = np.asarray(time_s, dtype=float)
    found = advise_threads(n, time_s, time_s / width, time_s * width)
    return int(n[found.position]), found.probability


def test_the_fastest_is_advised_and_is_sure_where_nothing_comes_near():
    assert advised([16, 8, 4, 2, 3]) == (8, 1.0)
    n, probability = advised([1, 1.5, 2, 3, 4])
    assert n == 1 and probability == 1.0


def test_of_equally_good_counts_the_smallest_is_advised():
    assert advised([8, 4, 2, 2, 2], width=1.001)[0] == 4


def test_a_wide_interval_alone_does_not_make_a_slower_count_the_advice():
    """It may be the fastest with some probability, but the expected loss is larger."""
    times = np.array([8.0, 4.0, 2.2, 2.3, 2.0])
    width = np.array([1.01, 1.01, 1.01, 5.0, 1.01])
    found = advise_threads(N, times, times / width, times * width)
    assert N[found.position] == 16


def test_a_wider_interval_is_less_sure():
    times = [8, 4.5, 3.0, 2.6, 2.75]
    sure, unsure = advised(times, width=1.02)[1], advised(times, width=1.5)[1]
    assert 0.3 < unsure < sure - 0.1


def test_an_error_of_the_whole_curve_moves_no_advice():
    """Neighbours err alike: with independent errors of 20 %, the advice would be half as sure."""
    times = np.array([8.0, 4.0, 2.4, 2.0, 2.3])
    together = advised(times, width=1.39)[1]
    rng = np.random.default_rng(3)
    drawn = np.log(times) + 0.2 * rng.standard_normal((4000, 5))
    independent = (drawn[:, 3] <= drawn.min(axis=1) + np.log(1.05)).mean()
    assert together > independent + 0.1


def test_the_probability_is_the_share_of_draws_of_the_same_model():
    """Truths drawn as the docstring says: the advised n is as often within 5 % as it was said to be."""
    rng = np.random.default_rng(5)
    octaves = np.log2(N)
    cov = np.exp(-np.abs(octaves[:, None] - octaves[None, :]) / 5.0)
    times = np.array([8.0, 4.4, 2.9, 2.5, 2.65])
    s = np.log(1.3) / 1.645
    found = advise_threads(N, times, times / 1.3, times * 1.3)
    truth = (
        np.log(times) + s * rng.multivariate_normal(np.zeros(5), cov, 20_000) + 0.02 * rng.standard_normal((20_000, 5))
    )
    held = (truth[:, found.position] <= truth.min(axis=1) + np.log(1.05)).mean()
    assert held == pytest.approx(found.probability, abs=0.04)


def test_the_same_curve_has_the_same_advice_whatever_else_is_unknown():
    times = [8, 4.5, 3.0, 2.6, 2.75]
    assert advised([*times, np.nan], n=np.append(N, 32)) == advised(times)
    nothing = np.full(5, np.nan)
    found = advise_threads(N, np.array(times), nothing, nothing)
    assert N[found.position] == 8 and found.probability > 0.95
    with pytest.raises(ValueError, match="no time is known"):
        advise_threads(N, nothing, nothing, nothing)


def test_thousands_of_thread_counts_are_advised_from_some_of_them():
    n = np.arange(1, 4097)
    time_s = 1 / n + n / 1e5  # least at sqrt(1e5) = 316
    found = advise_threads(n, time_s, time_s / 1.001, time_s * 1.001)
    assert time_s[found.position] <= 1.05 * time_s.min() and n[found.position] <= 316
    assert len(n) > MOST_DRAWN_COUNTS and found.probability > 0.8
