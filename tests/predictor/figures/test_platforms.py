import json

import numpy as np
import pytest

from predictor.figures.platforms import (
    MOST_DOTS,
    MOST_PARTS_DRAWN,
    OTHER_REGIONS,
    PlatformTime,
    ProgramPart,
    dot_chart,
    merge_small_parts,
    program_chart,
    sequential_charts,
)
from tests.figures import plotly_figure

ROWS = [
    PlatformTime("Quick", "quick", 1.0, 0.8, 1.5, measured_s=1.2, n=8),
    PlatformTime("Twin", "twin-1", 2.0, 1.5, 2.2, n=4),
    PlatformTime("Twin", "twin-2", 3.0, n=2),
]
N = np.array([1, 2, 4])


def chart(rows=ROWS):
    return dot_chart("ranking", "Ranking", "Caption.", rows, axis="time (s)")


def test_each_platform_has_a_dot_with_its_interval_in_the_given_order():
    predicted, measured = plotly_figure(chart()).data
    assert predicted.x == (1.0, 2.0, 3.0)
    assert predicted.y == ("Quick", "Twin (twin-1)", "Twin (twin-2)")
    assert predicted.error_x.array == pytest.approx((0.5, 0.2, 0.0))
    assert predicted.error_x.arrayminus == pytest.approx((0.2, 0.5, 0.0))
    assert (measured.x, measured.y) == ((1.2,), ("Quick",))
    assert plotly_figure(chart()).layout.yaxis.categoryarray == ("Twin (twin-2)", "Twin (twin-1)", "Quick")
    json.dumps(chart().json, allow_nan=False)


def test_the_table_has_all_rows_and_the_chart_those_that_fit():
    rows = [PlatformTime(f"m{index}", f"m{index}", 1.0 + index) for index in range(MOST_DOTS + 5)]
    dots = chart(rows)
    assert len(plotly_figure(dots).data[0].x) == MOST_DOTS
    assert len(dots.table.rows) == MOST_DOTS + 5
    assert f"first {MOST_DOTS} of {MOST_DOTS + 5}" in dots.caption
    assert plotly_figure(dots).data[0].error_x.array is None


def test_t1_alone_stands_beside_what_one_thread_took_elsewhere():
    answer = {
        "target": "here",
        "curve": [{"n": 1, "time_s": 4.0, "low_s": 3.0, "high_s": 5.0}],
        "measured": {"t1_s": 4.5},
        "reference_curves": [
            {"platform": "there", "curve": [{"n": 1, "time_s": 6.0}, {"n": 2, "time_s": 3.5}]},
            {"platform": "late", "curve": [{"n": 4, "time_s": 2.0}]},
        ],
    }
    (dots,) = sequential_charts(answer, {"here": "Here", "there": "There"}, "s")
    assert [row[:1] + row[4:] for row in dots.table.rows] == [("Here", 4.5, 1), ("There", 6.0, 1)]
    assert dots.table.rows[0][1:4] == (4.0, 3.0, 5.0)
    assert np.isnan(dots.table.rows[1][1])


def test_platforms_with_the_same_beginning_have_ticks_of_their_own():
    names = [f"KVM guest, 2 vCPUs of an {cpu}" for cpu in ("AMD EPYC", "Intel Xeon with AMX", "Intel Xeon with 105 MB")]
    ticks = plotly_figure(chart([PlatformTime(name, name, 1.0) for name in names])).layout.yaxis.ticktext
    assert len(set(ticks)) == 3
    assert all(tick.startswith("KVM guest") for tick in ticks), "no label is cut in front"


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
