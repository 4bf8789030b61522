"""How far repeats agree: by hand, and against a simulation."""

import numpy as np
import pytest

from profiles.measurements import RunTable
from profiles.scaling.repeats import repeat_spread, repeat_summary


def runs(n, time_s, is_profile_pass=False, **columns) -> RunTable:
    n, time_s = np.array(n), np.array(time_s, dtype=float)
    columns = {name: np.array(column, dtype=float) for name, column in columns.items()}
    return RunTable(n, np.arange(len(n)), np.zeros(len(n), bool) | is_profile_pass, time_s, **columns)


def test_spread_by_hand():
    spread = repeat_spread(runs([1, 1, 1, 2, 2, 4], [1, 2, 6, 3, 5, 7], disturbed=[1, 0, 1, np.nan, np.nan, 0]))
    assert spread.n.tolist() == [1, 2, 4]
    assert spread.count.tolist() == [3, 2, 1]
    assert spread.disturbed_count.tolist() == [2, -1, 0]
    assert spread.deviation_s.round(6).tolist()[:2] == [2.645751, 1.414214]
    assert np.isnan(spread.deviation_s[2])
    assert spread.low_quartile_s.tolist() == [1.5, 3.5, 7]
    assert spread.high_quartile_s.tolist() == [4, 4.5, 7]


def test_only_runs_that_make_the_curve_count_for_the_spread():
    """Clean ones, at an n without any the profile runs; variations never. Disturbances are counted in both passes."""
    clean = np.array([True, True, False, False, True])
    table = runs(
        [1, 1, 1, 2, 1],
        [10, 20, 99, 7, 50],
        is_profile_pass=~clean,
        size=[np.nan, np.nan, np.nan, np.nan, 5],
        disturbed=[0, 1, 1, 0, 1],
    )
    spread = repeat_spread(table)
    assert (spread.n.tolist(), spread.count.tolist()) == ([1, 2], [2, 1])
    assert spread.disturbed_count.tolist() == [1, 0]
    summary = repeat_summary(table)
    assert (summary.run_count, summary.disturbed_count) == (4, 2)
    assert summary.standard_error == pytest.approx(np.log(2) / np.sqrt(2) * np.sqrt((1 / 2 + 1) / 2))


def test_nothing_repeated_is_unknown_not_certain():
    assert np.isnan(repeat_summary(runs([1, 2], [1, 2])).standard_error)


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_the_standard_error_is_that_of_the_median(repeats):
    """Of 400 profiles with noise of 3 % the curves are off by what their summaries say, on the average."""
    rng = np.random.default_rng(1)
    counts = np.repeat(np.arange(1, 9), repeats)
    told, squares = [], []
    for _ in range(400):
        noise = 0.03 * rng.standard_normal(len(counts))
        told.append(repeat_summary(runs(counts, np.exp(noise))).standard_error ** 2)
        squares.append((np.median(noise.reshape(-1, repeats), axis=1) ** 2).mean())
    ratio = np.sqrt(np.mean(told) / np.mean(squares))
    assert 0.97 < ratio < 1.12  # pi / 2 is the factor of many repeats, and a little much for few
