import json

import numpy as np
import pytest

from predictor.figures.answer import answer_drawing
from predictor.figures.candidates import CandidateCurves, candidate_charts
from profiles.figures.base import Breakpoints
from tests.predictor.figures.test_answer import answer, traces_of

N = np.array([1, 2, 8])
CANDIDATE = CandidateCurves(
    "p", "b", -0.25, (N, np.array([4.0, 2.0, 1.0])), (N, np.array([6.0, 4.0, 2.0])), (N, np.array([3.0, 2.0, 1.5]))
)
NAMES = {"p": "Old machine", "b": "stencil", "work": "solver"}


def charts(given: dict):
    return candidate_charts(answer_drawing(given, {}, Breakpoints(2, None)), [CANDIDATE], NAMES, "work")


def test_three_measured_speedups_stand_beside_the_predicted_one():
    (chart,) = charts(answer())
    traces = traces_of(chart)
    assert list(traces) == [
        *("ideal", "benchmark, reference", "benchmark, target", "workload, reference", "workload, predicted"),
        "measured",
    ]
    assert traces["benchmark, target"].y == pytest.approx((1.0, 1.5, 3.0))
    dashed = {name for name, trace in traces.items() if trace.line.dash == "dash"}
    assert dashed == {"ideal", "benchmark, reference", "workload, reference"}
    assert chart.title == "stencil on Old machine"
    assert "Weight -0.25" in chart.caption
    assert "Blue: solver on Old machine" in chart.caption
    json.dumps(chart.json, allow_nan=False)


def test_the_table_has_every_thread_count_of_any_of_them():
    (chart,) = charts(answer())
    assert [row[0] for row in chart.table.rows] == [1, 2, 4, 8]
    assert chart.table.rows[2][2:] == (None, None, None)
    assert chart.table.rows[3][1] is None


def test_t1_alone_has_no_speedups_to_compare():
    assert charts(answer(curve=answer()["curve"][:1])) == []
