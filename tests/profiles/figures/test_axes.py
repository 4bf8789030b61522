"""What every figure has: axes that say what they mean, lines that say what they are."""

import numpy as np
import pytest

from predictor.figures.answer import REFERENCES_DRAWN, answer_charts
from predictor.figures.platforms import ProgramPart, program_chart
from profiles.figures.axes import THREADS, speedup_axis
from profiles.figures.base import MOST_LINES, Breakpoints, MeasuredCurve
from profiles.figures.comparison import comparison_charts
from profiles.figures.profile import profile_charts
from tests.figures import plotly_figure
from tests.predictor.figures.test_answer import answer, answer_drawing
from tests.profiles.figures.test_profile import drawing


def curves(count: int, counts=(1, 2, 4, 8, 16)) -> list[MeasuredCurve]:
    n = np.array(counts)
    return [MeasuredCurve(f"machine {index}", n, (8.0 + index) / n, 8.0 + index) for index in range(count)]


def answered(**fields):
    return answer_charts(answer_drawing(answer(**fields), {}, Breakpoints(2, None)))


ALL_CHARTS = [
    *profile_charts(drawing()),
    *profile_charts(drawing(), in_time=True),
    *profile_charts(drawing(decomposed=False)),
    *comparison_charts(curves(3), measures=("time", "speedup", "efficiency", "cost")),
    *answered(),
    program_chart(np.array([1, 2, 4]), [ProgramPart("part", np.array([4.0, 2.0, 1.0]))], ""),
]


@pytest.mark.parametrize("chart", ALL_CHARTS, ids=[chart.name for chart in ALL_CHARTS])
def test_axes_start_at_one_thread_have_no_si_prefixes_and_the_pointer_names_threads_and_unit(chart):
    figure = plotly_figure(chart)
    axis = figure.layout.xaxis
    assert (axis.title.text, axis.type, axis.ticktext[:3]) == (THREADS, "log", ("1", "2", "4"))
    assert -0.05 <= axis.range[0] < 0, "the first point is not on the edge"
    assert axis.tickvals == tuple(float(text) for text in axis.ticktext)
    assert {axis.exponentformat, figure.layout.yaxis.exponentformat} == {"power"}
    unit = figure.layout.yaxis.title.text.rpartition("(")[2].removesuffix(")")
    for trace in (trace for trace in figure.data if trace.hoverinfo != "skip"):
        assert trace.name, "Plotly writes the name beside the value"
        assert figure.layout.hovermode == "x unified" or "n = %{x}" in trace.hovertemplate
        assert unit in {"ratio", "count"} or f" {unit}" in trace.hovertemplate


def test_few_thread_counts_are_dots_or_bars():
    two = drawing(counts=(1, 2))
    rows = answer()["curve"][:2]
    scaling = {name: values[:2] for name, values in answer()["scaling_curves"].items()}
    charts = [
        *profile_charts(two),
        *profile_charts(two, in_time=True),
        *answered(curve=rows, scaling_curves=scaling),
        program_chart(np.array([1, 2]), [ProgramPart("part", np.array([4.0, 2.0]))], ""),
        *comparison_charts(curves(2, counts=(1, 16))),
    ]
    assert {trace.mode for trace in plotly_figure(charts[-2]).data} == {"markers"}
    for chart in charts:
        for trace in plotly_figure(chart).data:
            assert trace.type == "bar" or (trace.stackgroup is None and trace.fill is None), chart.name
    time = next(chart for chart in charts if chart.name == "time")
    predicted, interval = (
        next(trace for trace in plotly_figure(time).data if trace.name == name) for name in ("predicted", "interval")
    )
    assert predicted.mode == "markers"
    assert interval.x == (1, 1, 1, 2, 2, 2)
    assert interval.y == (7.0, 9.0, None, 4.0, 5.0, None)


def test_lines_have_their_names_at_their_ends_where_these_do_not_cover_each_other():
    (time,) = comparison_charts(curves(3), measures=("time",))
    layout = plotly_figure(time).layout
    notes = {note.text: note for note in layout.annotations}
    assert set(notes) == {"machine 0", "machine 1", "machine 2"}
    assert all(10**note.x == pytest.approx(16) for note in notes.values())
    heights = sorted(note.y for note in notes.values())
    assert min(np.diff(heights)) >= 0.0599
    assert heights[0] >= 0
    assert not layout.showlegend, "a legend would say the same again"
    assert layout.margin.r > 50


def test_more_than_six_lines_wait_until_somebody_asks():
    time, speedup = comparison_charts(curves(9))
    for chart in (time, speedup):
        shown = [trace for trace in plotly_figure(chart).data if trace.visible is not False and trace.name != "ideal"]
        assert len(shown) == MOST_LINES
        assert chart.hidden_lines == 3
        assert len(chart.table.rows) == 9
    references = [
        {"platform": f"m{index}", "curve": [{"n": n, "time_s": 8.0 / n} for n in (1, 2, 4)]} for index in range(9)
    ]
    assert {chart.hidden_lines for chart in answered(reference_curves=references) if chart.name != "shares"} == {
        9 - REFERENCES_DRAWN
    }


def test_the_axis_of_speedups_shows_poor_ones_and_slowdowns():
    assert 10 ** speedup_axis(np.array([1, 192]), [1.0, 6.0])["range"][1] < 12
    assert 10 ** speedup_axis(np.array([1, 8]), [1.0, 7.0])["range"][1] < 10
    axis = speedup_axis(np.array([1, 4]), [1.0, 0.3, np.nan])
    assert 10 ** axis["range"][0] < 0.3
    assert "0.5" in axis["ticktext"]
