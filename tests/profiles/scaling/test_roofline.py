"""Reading a machine's ceilings, whatever the environment holds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.scaling.roofline import Roof, read_roofline
from tests.profiles.scaling.ceilings import MEASURED


def test_what_the_kit_writes_is_read_in_si_units():
    roofline = read_roofline({"roofline": MEASURED})
    assert roofline.roofs == (Roof(1, 120e9, 15e9), Roof(2, 240e9, 30e9))
    assert roofline.roofs[0].ridge == 8
    assert roofline.handover == ((0, 1, pytest.approx(61.651e-9)),)
    assert roofline.lock[1] == (2, pytest.approx(64.383e-9))
    assert roofline.document["handover"] == MEASURED["handover"]


NONE = [
    *(None, [], {}, {"roofline": None}, {"roofline": []}),
    {"roofline": {"peak_flops": 3, "handover": {"from": 1}}},
    {"roofline": {"peak_flops": [{"n": 1, "flop_per_s": "many"}], "bandwidth": [{"n": 1, "bytes_per_s": 1}]}},
    {"roofline": {"lock_handover": [{"n": 1, "ps": -5}, {"n": 1.5, "ps": 5}, {"n": True, "ps": 5}, None]}},
]


def test_what_is_no_roofline_is_none():
    assert [read_roofline(environment) for environment in NONE] == [None] * len(NONE)


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
