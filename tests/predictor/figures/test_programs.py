import numpy as np

from predictor.figures.programs import MOST_PARTS_DRAWN, OTHER_REGIONS, ProgramPart, merge_small_parts, program_chart
from tests.figures import plotly_figure

N = np.array([1, 2, 4])


def part(index, seconds):
    return ProgramPart(f"part {index}", seconds / N)


def test_parts_are_stacked_in_order_and_add_up_in_the_table():
    chart = program_chart(N, [part(0, 4.0), part(1, 2.0)], "caption")
    assert [trace.name for trace in plotly_figure(chart).data] == ["part 0", "part 1"]
    assert {trace.stackgroup for trace in plotly_figure(chart).data} == {"parts"}
    assert chart.table.columns == ("n", "part 0 (s)", "part 1 (s)", "program (s)")
    assert chart.table.rows == [(1, 4.0, 2.0, 6.0), (2, 2.0, 1.0, 3.0), (4, 1.0, 0.5, 1.5)]


def test_two_thread_counts_are_bars_as_nothing_is_known_between_them():
    chart = program_chart(N[:2], [ProgramPart("one", np.array([2.0, 1.0]))], "")
    (bars,) = plotly_figure(chart).data
    assert (bars.type, bars.x, bars.y) == ("bar", (1, 2), (2.0, 1.0))
    assert plotly_figure(chart).layout.barmode == "stack"


def test_many_parts_share_a_band():
    parts = [part(index, 1.0 + index) for index in range(MOST_PARTS_DRAWN + 4)]
    drawn = merge_small_parts(parts)
    assert len(drawn) == MOST_PARTS_DRAWN + 1
    assert drawn[-1].label == OTHER_REGIONS
    assert [one.label for one in drawn[:-1]] == [f"part {index}" for index in range(4, MOST_PARTS_DRAWN + 4)]
    assert np.allclose(sum(one.time_s for one in drawn), sum(one.time_s for one in parts))


def test_one_more_than_the_colours_is_drawn_as_it_is():
    parts = [part(index, 1.0) for index in range(MOST_PARTS_DRAWN + 1)]
    assert merge_small_parts(parts) == parts
