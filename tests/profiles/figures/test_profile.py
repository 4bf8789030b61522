"""Figures are functions of numbers: what they draw is read back from the figure, with no browser and no database."""

import json
from dataclasses import replace

import numpy as np
import pytest

from profiles.figures.base import Breakpoints, Chart
from profiles.figures.profile import ProfileDrawing, profile_charts
from profiles.measurements import RunTable
from profiles.scaling.features import feature_fit
from profiles.scaling.quality import repeat_spread
from profiles.scaling.runs import scaling_curves
from tests.figures import plotly_figure
from tests.samples import sample_counters, sample_runs


def drawing(decomposed=True, counts=(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16), n_nu=4, n_ht=8) -> ProfileDrawing:
    rng = np.random.default_rng(1)
    curves = scaling_curves(sample_runs(rng, counts=counts, decomposed=decomposed), sample_counters(rng))
    return ProfileDrawing(curves, feature_fit(curves, n_nu, n_ht).values, Breakpoints(n_nu, n_ht))


@pytest.fixture
def profile() -> ProfileDrawing:
    return drawing()


def chart(name: str, profile: ProfileDrawing, **options) -> Chart:
    return next(one for one in profile_charts(profile, **options) if one.name == name)


def trace(name: str, of: Chart):
    return next(one for one in plotly_figure(of).data if one.name == name)


def test_a_sequential_profile_has_no_figures():
    assert profile_charts(drawing(counts=(1,))) == []


def with_spread(**columns) -> ProfileDrawing:
    """Of three runs at each n, at 0.9, 1 and 1.3 times the time of the curve."""
    shown = drawing(decomposed=False, counts=(1, 2, 4))
    time_s = np.outer(shown.curves.time_s, [0.9, 1.0, 1.3]).ravel()
    n = np.repeat(shown.curves.n, 3)
    columns = {name: np.array(column, dtype=float) for name, column in columns.items()}
    runs = RunTable(n, np.tile([1, 2, 3], 3), np.zeros(9, bool), time_s, **columns)
    return replace(shown, spread=repeat_spread(runs))


def test_bars_reach_from_quartile_to_quartile_of_the_repeats():
    shown = with_spread()
    of = chart("speedup", shown)
    measured = trace("measured", of)
    speedup = np.array(measured.y)
    np.testing.assert_allclose(speedup + np.array(measured.error_y.array), speedup / 0.95)
    np.testing.assert_allclose(speedup - np.array(measured.error_y.arrayminus), speedup / 1.15)
    assert list(measured.customdata) == ["3 runs, standard deviation 21 %"] * 3
    assert "quartiles" in of.caption
    columns = list(of.table.columns)
    assert columns[2:6] == ["runs", "standard deviation (s)", "lower quartile (s)", "upper quartile (s)"]
    assert "disturbed runs" not in columns
    of = chart("speedup", with_spread(disturbed=[1, 1, 0, 0, 0, 0, np.nan, np.nan, np.nan]))
    place = list(of.table.columns).index("disturbed runs")
    assert [row[place] for row in of.table.rows][:2] == [2, 0]
    of = chart("speedup", replace(shown, spread=None))
    assert trace("measured", of).error_y.array is None
    assert "quartiles" not in of.caption


def test_the_measured_speedup_is_t1_over_tn_and_its_table_says_the_same(profile):
    speedup = chart("speedup", profile)
    expected = profile.curves.t1_s / profile.curves.time_s
    assert trace("measured", speedup).y == pytest.approx(expected.tolist())
    column = speedup.table.columns.index("speedup")
    assert [row[column] for row in speedup.table.rows] == pytest.approx(expected.tolist())
    ideal = trace("ideal", speedup)
    assert list(ideal.x) == list(ideal.y) == [1, 16]


def test_the_seven_shares_are_the_measured_ones_and_sum_to_100_percent_or_to_n_t_of_n(profile):
    shares = chart("shares", profile)
    assert np.sum([one.y for one in plotly_figure(shares).data], axis=0) == pytest.approx(100)
    assert trace("work imbalance", shares).y == pytest.approx((100 * profile.curves.curve("work_imbalance")).tolist())
    assert {one.stackgroup for one in plotly_figure(shares).data} == {"parts"}
    budget = chart("budget", profile, in_time=True)
    stacked = [one.y for one in plotly_figure(budget).data if one.stackgroup]
    assert np.sum(stacked, axis=0) == pytest.approx(profile.curves.n * profile.curves.time_s)
    assert trace("t(1), the ideal", budget).y == pytest.approx([profile.curves.t1_s] * len(profile.curves.n))


def test_the_residuals_are_what_the_error_of_the_fit_is_the_mean_of(profile):
    rebuilt = np.array(trace("t(n), rebuilt", chart("residuals", profile)).y)
    assert np.abs(rebuilt).mean() / 100 == pytest.approx(feature_fit(profile.curves, 4, 8).fit_error)


def test_a_fit_without_residuals_is_drawn_at_zero_on_an_axis_of_percents():
    """Rounding left 1e-14 percent, and an axis that said "10f"."""
    exact = chart("residuals", drawing(counts=(1, 2), decomposed=False))
    figure = plotly_figure(exact)
    assert {value for trace in figure.data for value in trace.y} == {0}
    assert figure.layout.yaxis.range == pytest.approx((-1.1, 1.1))


def test_where_no_thread_computed_anything_no_residual_is_drawn(profile):
    """Of the kind of trust 15: all thread time in waiting is accepted, and its redundancy is 0."""
    profile.curves.redundancy[1:] = 0.0
    drawn = trace("R(n), fitted", chart("residuals", profile)).y
    assert drawn[0] is not None
    assert not np.isfinite(np.array(drawn[1:], dtype=float)).any()


def test_pop_efficiencies_multiply_to_speedup_over_n(profile):
    drawn = plotly_figure(chart("pop", profile)).data
    parallel, computation, whole = (np.array(one.y) for one in drawn)
    assert parallel * computation / 100 == pytest.approx(whole)
    assert whole == pytest.approx(100 * profile.speedup / profile.curves.n)


def test_the_ratios_of_counters_are_drawn_where_they_are_known(profile):
    known = chart("counters", profile)
    at = [n for n, value in zip(trace("BR/INSTR", known).x, trace("BR/INSTR", known).y, strict=True) if value]
    assert at == [1, 2, 4, 8, 16]
    profile.curves.values[8:] = np.nan
    assert "counters" not in [one.name for one in profile_charts(profile)]


def test_the_fitted_curve_is_the_one_of_the_features(profile):
    """The sample's redundancy is not exactly linear, so the fit has a residual; it still passes close by."""
    redundancy = chart("redundancy", profile)
    fitted = trace("fitted, Eq. 5-7", redundancy)
    assert list(fitted.x) == list(range(1, 17))
    at = dict(zip(fitted.x, fitted.y, strict=True))
    measured = dict(zip(profile.curves.n.tolist(), profile.curves.redundancy.tolist(), strict=True))
    assert [at[n] for n in measured] == pytest.approx(list(measured.values()), rel=0.05)


def test_breakpoints_are_marked_where_the_measured_range_crosses_them():
    marked = chart("speedup", drawing(n_nu=4, n_ht=16))
    assert [shape.x0 for shape in plotly_figure(marked).layout.shapes] == [4]
    assert [note.text for note in plotly_figure(marked).layout.annotations if not note.name] == ["NUMA: n > 4"]
    assert not plotly_figure(chart("speedup", drawing(n_nu=None, n_ht=None))).layout.shapes


def test_no_speedup_is_drawn_where_the_fitted_redundancy_is_not_positive_or_unknown():
    profile = drawing(decomposed=False)
    features = np.full(84, np.nan)
    features[:2] = 1.0, -2.5  # R(n) = n - 2.5
    fitted = ProfileDrawing(profile.curves, features, Breakpoints()).fitted_speedup(np.array([1, 2, 3, 4]))
    np.testing.assert_allclose(fitted, [np.nan, np.nan, 3 / 0.5, 4 / 1.5], rtol=1e-6)
    unfitted = ProfileDrawing(profile.curves, None, profile.breakpoints)
    assert set(trace("fitted, Eq. 5-7", chart("speedup", unfitted)).y) == {None}


def test_gaps_leave_as_null_so_that_the_page_carries_valid_json(profile):
    profile.curves.values[1, 3] = np.nan
    for one in profile_charts(profile):
        json.dumps(one.json, allow_nan=False)
