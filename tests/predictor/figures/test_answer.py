import json

import pytest

from predictor.figures.answer import answer_charts, answer_drawing
from profiles.figures.base import Breakpoints
from profiles.scaling.names import FRACTIONS
from tests.figures import plotly_figure


def answer(**fields) -> dict:
    """As a stored one, with the fields that figures read."""
    rows = [(1, 8.0, 7.0, 9.0), (2, 4.4, 4.0, 5.0), (4, 2.5, None, None)]
    return {
        "workload": "work",
        "target": "machine",
        "t1_s": 8.0,
        "time_kind": "absolute",
        "curve": [
            {"n": n, "time_s": time_s, "low_s": low, "high_s": high, "speedup": 8.0 / time_s}
            for n, time_s, low, high in rows
        ],
        "scaling_curves": {
            "n": [1, 2, 4],
            "redundancy": [1.0, 1.1, 1.2],
            **{name: [0.0, 0.02, 0.04] for name in FRACTIONS},
        },
        "measured": {"t1_s": 10.0, "curve": [{"n": 1, "time_s": 10.0}, {"n": 4, "time_s": 2.0}], "error_percent": 22.5},
        "reference_curves": [{"platform": "other", "curve": [{"n": 2, "time_s": 6.0}, {"n": 4, "time_s": 3.5}]}],
    } | fields


def charts(given: dict) -> dict:
    all_charts = answer_charts(answer_drawing(given, {"other": "Other machine"}, Breakpoints(2, None)))
    return {chart.name: chart for chart in all_charts}


def traces_of(chart) -> dict:
    return {trace.name: trace for trace in plotly_figure(chart).data}


def names(chart) -> list[str]:
    return [trace.name for trace in plotly_figure(chart).data]


def test_the_answer_is_drawn_beside_references_interval_and_measurement():
    expected = ["Other machine", "reference: Other machine", "low", "interval", "predicted", "measured"]
    assert names(charts(answer())["time"]) == expected


def test_a_reference_beyond_the_threads_that_are_shown_does_not_stretch_the_times():
    curve = [{"n": 2**k, "time_s": 8.0 / 2**k} for k in range(11)]
    time = charts(answer(reference_curves=[{"platform": "other", "curve": curve}]))["time"]
    assert list(traces_of(time)["Other machine"].x) == [1, 2, 4]
    assert min(plotly_figure(time).layout.yaxis.tickvals) > 0.5


def test_without_measurement_interval_or_references_only_the_answer_is_drawn():
    curve = [row | {"low_s": None, "high_s": None} for row in answer()["curve"]]
    bare = charts(answer(measured=None, reference_curves=[], curve=curve))
    assert (names(bare["time"]), names(bare["speedup"])) == (["predicted"], ["ideal", "predicted"])


def test_the_table_has_the_error_at_every_n_that_both_have():
    time = charts(answer())["time"].table
    assert time.columns == ("n", "predicted", "low", "high", "measured", "error (%)", "Other machine")
    assert time.rows == [
        (1, 8.0, 7.0, 9.0, 10.0, pytest.approx(20.0), None),
        (2, 4.4, 4.0, 5.0, None, None, 6.0),
        (4, 2.5, None, None, 2.0, pytest.approx(25.0), 3.5),
    ]


def test_the_speedup_of_a_reference_that_starts_later_uses_the_stand_in_for_t1():
    reference = traces_of(charts(answer())["speedup"])["Other machine"]
    assert reference.y == pytest.approx((2.0, 12.0 / 3.5))  # t(2)*2 / t(n)


def test_shares_are_drawn_only_where_all_six_fractions_are_predicted():
    assert "shares" in charts(answer())
    scaling = answer()["scaling_curves"] | {"lock_delay": [None, None, None]}
    assert "shares" not in charts(answer(scaling_curves=scaling))


def test_relative_times_have_no_seconds_on_their_axis():
    relative = charts(answer(time_kind="relative"))["time"]
    assert plotly_figure(relative).layout.yaxis.title.text == "time t(n) (unknown unit)"


def test_figures_are_valid_json_and_mark_the_targets_breakpoints():
    for chart in charts(answer()).values():
        json.dumps(chart.json, allow_nan=False)
        assert [shape.x0 for shape in plotly_figure(chart).layout.shapes] == [2]


def test_the_scaling_alone_has_no_times_to_draw():
    """As the scenario `scaling` answers: times are null, speedups are there."""
    curve = [row | {"time_s": None, "low_s": None, "high_s": None} for row in answer()["curve"]]
    scaling = charts(answer(t1_s=None, curve=curve))
    assert set(scaling) == {"speedup", "shares"}
    assert scaling["speedup"].table.rows[1][1] == pytest.approx(8.0 / 4.4)


def test_one_thread_makes_no_curve():
    assert charts(answer(curve=answer()["curve"][:1])) == {}


def test_the_baseline_stays_with_a_changed_curve():
    baseline = [{"n": n, "time_s": time_s, "speedup": 9.0 / time_s} for n, time_s in ((1, 9.0), (2, 5.0), (8, 2.0))]
    changed = charts(answer(baseline=baseline))
    for name, values in (("time", (9.0, 5.0, 2.0)), ("speedup", (1.0, 1.8, 4.5))):
        assert traces_of(changed[name])["baseline"].y == pytest.approx(values)
        column = changed[name].table.columns.index("baseline")
        first, second, last = (row[column] for row in changed[name].table.rows)
        assert ((first, second), last) == (pytest.approx(values[:2]), None)
