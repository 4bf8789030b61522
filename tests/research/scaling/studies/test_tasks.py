"""papers/002, Section 5, on a merge sort whose parts are known."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.scaling_models.base import TooFewPoints
from research.scaling.studies.tasks import model_size, split_by_size, task_study
from research.scaling.studies.workloads import MeasuredWorkload, measured_workloads
from tests.research.scaling.studies.kit import COUNTS, SORT_SIZES, runs_of, sort_parts_s, sort_runs, sweep

SORT = measured_workloads(sweep())[1]


def test_larger_sizes_are_asked():
    study = task_study(SORT)
    assert study["learned"] == {"sizes": list(SORT_SIZES[:6]), "n": list(COUNTS)}
    assert study["asked"] == {"sizes": list(SORT_SIZES[6:]), "n": list(COUNTS)}
    assert study["errors"]["task_graph"]["median"] < 10
    assert study["errors"]["task_graph"]["mean"] < study["errors"]["direct"]["mean"]
    assert study["parts"]["work_s"] < 10
    for row in study["points"]:
        assert row["measured_s"] == pytest.approx(sort_parts_s(row["size"], row["n"]).sum() / row["n"], rel=0.05)


def test_fewer_threads_are_learned_where_there_are_many():
    cells = [(n, size, np.nan, sort_parts_s(size, n)) for size in SORT_SIZES for n in range(1, 9)]
    many = MeasuredWorkload("mergesort", "box", "recursive", runs_of(cells, 2**20), 2.0**20)
    split = split_by_size(many.points.over_sizes)
    points = many.points.over_sizes
    assert points.n[split.learned].max() == 5
    assert points.n[split.held_out].min() == 6
    assert not (split.learned & split.held_out).any()
    assert task_study(many)["asked"]["n"] == [6, 7, 8]


def test_the_larger_sizes_do_not_reach_the_models():
    runs = sort_runs(noise=0.0)
    size = np.where(np.isnan(runs.size), 2.0**20, runs.size)
    larger = size > SORT_SIZES[5]
    doubled = runs.parts_ns.copy()
    doubled[larger] = np.where(doubled[larger] < 0, -1, 2 * doubled[larger])
    time_ns = np.where(larger, 2 * runs.time_ns, runs.time_ns)
    slower = replace(runs, parts_ns=doubled, time_ns=time_ns, time_s=time_ns / 1e9)

    def said(runs):
        rows = task_study(MeasuredWorkload("mergesort", "box", "recursive", runs, 2.0**20))["points"]
        return [(row["task_graph_s"], row["direct_s"]) for row in rows]

    assert np.array(said(slower)) == pytest.approx(np.array(said(runs)))


def test_exponential_work():
    """Section 5.1: n becomes 2^n for fib and nqueens."""
    assert model_size("nqueens", np.array([12.0])) == [4096]
    assert model_size("fib", np.array([1e6])) == [1e6]  # already a count
    assert model_size("mergesort", np.array([12.0])) == [12]


def test_refusals():
    with pytest.raises(TooFewPoints, match="sizes with a profile pass"):
        task_study(measured_workloads(sweep())[2])
    runs = sort_runs()
    alone = runs.take(np.flatnonzero(runs.n > 1))
    with pytest.raises(TooFewPoints, match="found 0"):
        task_study(MeasuredWorkload("mergesort", "box", "recursive", alone, 2.0**20))
