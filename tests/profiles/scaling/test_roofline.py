import math

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from profiles.figures.roofline import roofline_chart
from profiles.ingest import ingest
from profiles.scaling.roofline import Roof, Roofline, RooflinePoint, read_roofline
from tests.pages import figures_of, text_of
from tests.samples import sample_measurements

MEASURED = {
    "peak_flops": [{"n": 2, "flop_per_s": 240_000_000_000}, {"n": 1, "flop_per_s": 120_000_000_000}],
    "bandwidth": [{"n": 1, "bytes_per_s": 15_000_000_000}, {"n": 2, "bytes_per_s": 30_000_000_000}],
    "handover": [{"from": 0, "to": 1, "one_way_ps": 61_651}],
    "lock_handover": [{"n": 1, "ps": 6_115}, {"n": 2, "ps": 64_383}],
}


def test_what_the_kit_writes_is_read_in_si_units():
    roofline = read_roofline({"roofline": MEASURED})
    assert roofline.roofs == (Roof(1, 120e9, 15e9), Roof(2, 240e9, 30e9))
    assert roofline.roofs[0].ridge == 8
    assert roofline.handover == ((0, 1, pytest.approx(61.651e-9)),)
    assert roofline.lock[1] == (2, pytest.approx(64.383e-9))
    assert roofline.document["handover"] == MEASURED["handover"]


@pytest.mark.parametrize(
    "environment",
    [
        None,
        [],
        {},
        {"roofline": None},
        {"roofline": []},
        {"roofline": {"peak_flops": 3, "handover": {"from": 1}}},
        {"roofline": {"peak_flops": [{"n": 1, "flop_per_s": "many"}], "bandwidth": [{"n": 1, "bytes_per_s": 1}]}},
        {"roofline": {"lock_handover": [{"n": 1, "ps": -5}, {"n": 1.5, "ps": 5}, {"n": True, "ps": 5}, None]}},
    ],
)
def test_what_is_no_roofline_is_none(environment):
    assert read_roofline(environment) is None


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "ps", "from", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["peak_flops", "bandwidth", "handover", "lock_handover"]), json))
def test_no_environment_breaks_the_reader(found):
    roofline = read_roofline({"roofline": found})
    assert roofline is None or all(math.isfinite(s) and s > 0 for *_, s in (*roofline.handover, *roofline.lock))


def test_the_figure_has_a_roof_for_one_thread_and_for_the_most():
    roofs = tuple(Roof(n, 1e11 * n, 1e10 * min(n, 4)) for n in (1, 2, 4, 8))
    chart = roofline_chart(Roofline(roofs, (), ()))
    assert [trace.name for trace in chart.figure.data] == ["1 thread", "8 threads"]
    for trace, roof in zip(chart.figure.data, (roofs[0], roofs[-1]), strict=True):
        assert trace.x[1] == roof.ridge
        assert trace.y[1] == trace.y[2] == roof.flop_per_s
        assert trace.y[0] == pytest.approx(roof.bytes_per_s * trace.x[0])
    assert chart.figure.layout.xaxis.type == chart.figure.layout.yaxis.type == "log"
    assert "flop/byte" in chart.figure.layout.xaxis.title.text


def test_a_workload_s_distance_to_the_slanted_roof_is_the_bandwidth_that_it_leaves():
    """64 bytes a miss: 1e8 misses in a second are 6.4e9 bytes/s, whatever the instructions do."""
    roof = Roof(1, 1e11, 12.8e9)
    for instructions in (1e9, 5e10):
        one = RooflinePoint("sweep", 1, instructions, 1e8, 1.0)
        assert one.rate / (roof.bytes_per_s * one.intensity) == pytest.approx(0.5)
    chart = roofline_chart(Roofline((roof,), (), ()), [one])
    assert chart.figure.data[-1].mode == "markers"
    assert chart.table.rows[-1][3] == pytest.approx(6.4e9)


def test_latencies_alone_are_no_figure():
    assert roofline_chart(read_roofline({"roofline": {"lock_handover": MEASURED["lock_handover"]}})) is None


@pytest.mark.django_db
def test_the_page_of_a_platform_draws_it_with_its_workloads(client):
    measurements = sample_measurements(1, 2, environment={"roofline": MEASURED})
    ingest(measurements, kind="tarball", label="x", sha256="a" * 64, owner=None, private=False)
    page = client.get(reverse("platform", args=["machine-0"]))
    figure = figures_of(page)["roofline"]
    assert [trace["name"] for trace in figure["data"]] == ["1 thread", "2 threads", "workloads, by instructions"]
    assert figure["data"][2]["text"] == ["app0/section0, 16 threads", "app0/section1, 16 threads"]
    words = text_of(page)
    assert "CPU 0 and CPU 1 61.7 ns" in words
    assert "2 threads 64.4 ns" in words


@pytest.mark.django_db
def test_a_platform_whose_ceilings_nobody_measured_has_no_empty_section(client):
    measurements = sample_measurements(1, 1, environment={"roofline": {"peak_flops": "?"}})
    ingest(measurements, kind="tarball", label="x", sha256="a" * 64, owner=None, private=False)
    page = client.get(reverse("platform", args=["machine-0"]))
    assert "Ceilings" not in text_of(page)
    assert "plotly" not in page.content.decode()
