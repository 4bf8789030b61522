"""What the figure of a machine's ceilings draws."""

import pytest

from profiles.figures.roofline import roofline_chart
from profiles.scaling.roofline import Roof, Roofline, RooflinePoint, read_roofline
from tests.figures import plotly_figure
from tests.profiles.scaling.ceilings import MEASURED


def test_the_figure_has_a_roof_for_one_thread_and_for_the_most():
    roofs = tuple(Roof(n, 1e11 * n, 1e10 * min(n, 4)) for n in (1, 2, 4, 8))
    chart = roofline_chart(Roofline(roofs, (), ()), [])
    assert [trace.name for trace in plotly_figure(chart).data] == ["1 thread", "8 threads"]
    for trace, roof in zip(plotly_figure(chart).data, (roofs[0], roofs[-1]), strict=True):
        assert trace.x[1] == roof.ridge
        assert trace.y[1] == trace.y[2] == roof.flop_per_s
        assert trace.y[0] == pytest.approx(roof.bytes_per_s * trace.x[0])
    layout = plotly_figure(chart).layout
    assert layout.xaxis.type == layout.yaxis.type == "log"
    assert "flop/byte" in layout.xaxis.title.text


def test_a_workload_s_distance_to_the_slanted_roof_is_the_bandwidth_that_it_leaves():
    """64 bytes a miss: 1e8 misses in a second are 6.4e9 bytes/s, whatever the instructions do."""
    roof = Roof(1, 1e11, 12.8e9)
    for instructions in (1e9, 5e10):
        one = RooflinePoint("sweep", 1, instructions, 1e8, 1.0)
        assert one.rate / (roof.bytes_per_s * one.intensity) == pytest.approx(0.5)
    chart = roofline_chart(Roofline((roof,), (), ()), [one])
    assert plotly_figure(chart).data[-1].mode == "markers"
    assert chart.table.rows[-1][3] == pytest.approx(6.4e9)


def test_latencies_alone_are_no_figure():
    assert roofline_chart(read_roofline({"roofline": {"lock_handover": MEASURED["lock_handover"]}}), []) is None
