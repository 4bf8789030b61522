import csv
import io
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_cell, csv_lines
from tests.mpet_site.api_samples import strict_json


def test_json_has_null_for_what_is_no_number():
    data = {"a": float("nan"), "b": [np.inf, -np.inf, np.float64(1.5)], "c": np.array([1, 2])}
    assert strict_json(JSONRenderer().render(data)) == {"a": None, "b": [None, None, 1.5], "c": [1, 2]}


def test_a_value_that_is_no_json_is_an_error():
    with pytest.raises(TypeError):
        JSONRenderer().render({"a": object()})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (float("nan"), ""),
        (-1.5, -1.5),
        (True, "true"),
        ([1, 2], "1; 2"),
        ([], ""),
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        (["=1"], "'=1"),
    ],
)
def test_cell(value, expected):
    assert csv_cell(value) == expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=2, max_size=2))
def test_csv_reads_back(texts):
    lines = "".join(csv_lines(["a", "b"], [dict(zip("ab", texts, strict=True))]))
    (row,) = csv.DictReader(io.StringIO(lines, newline=""))
    assert [row["a"].removeprefix("'"), row["b"].removeprefix("'")] == [text.removeprefix("'") for text in texts]


def test_csv_is_not_rendered_at_once():
    with pytest.raises(TypeError):
        CSVRenderer().render({"created": datetime.now()})
