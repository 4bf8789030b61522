"""What a comparison of curves draws, and tabulates."""

import numpy as np

from profiles.figures.base import MeasuredCurve
from profiles.figures.comparison import comparison_charts
from tests.figures import plotly_figure

CURVES = [
    MeasuredCurve("one", np.array([1, 2, 4]), np.array([8.0, 4.0, 2.0]), 8.0),
    MeasuredCurve("two", np.array([1, 4, 8]), np.array([9.0, 3.0, 1.5]), 9.0),
    MeasuredCurve("no t(1)", np.array([2, 4]), np.array([3.0, 2.0]), None),
    MeasuredCurve("one point", np.array([1]), np.array([5.0]), 5.0),
]


def test_a_comparison_draws_a_line_a_platform_and_tabulates_a_row_a_platform():
    time, speedup = comparison_charts(CURVES)
    assert [one.name for one in plotly_figure(time).data] == ["one", "two", "no t(1)"]
    assert [one.name for one in plotly_figure(speedup).data] == ["ideal", "one", "two"]
    assert time.table.columns == ("curve", "n = 1", "n = 2", "n = 4", "n = 8")
    assert time.table.rows[1] == ("two", 9.0, None, 3.0, 1.5)
    assert speedup.table.rows[0] == ("one", 1.0, 2.0, 4.0, None)
    assert plotly_figure(time).layout.yaxis.title.text == "time t(n) (s)"
    assert comparison_charts(CURVES[3:]) == [], "sequential profiles alone"
    time, _ = comparison_charts(CURVES, "unknown unit")
    assert plotly_figure(time).layout.yaxis.title.text == "time t(n) (unknown unit)"
