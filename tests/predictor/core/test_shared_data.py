"""The paper's method on public measurements: errors near those of an independent implementation."""

import os

import pytest

from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS
from predictor.core.tabulated import database_from_measurements
from profiles.jobs.executors import Processes
from profiles.measurements.datasets import read_dataset

pytestmark = pytest.mark.shared_data


def report_of(folder, **protocol):
    database = database_from_measurements(read_dataset(folder))
    jobs = min(2, os.cpu_count() or 1) if protocol.get("sample", 0) > 500 else 1
    return (
        evaluate(database, [METHODS["mpet2020"]], Protocol(**protocol), executor=Processes(jobs))
        .report()
        .methods["mpet2020"]
    )


def test_one_reference_agrees_with_published_numbers(shared_data):
    """rrze-likwid, all 32 pairs: 13.4 / 6.2 / 43 % (mean, median, p95), found with other code, which gives a time where
    the redundancy falls below 0, as in one of the pairs; without that one 13.3 / 5.9 / 44 %."""
    full = report_of(shared_data / "rrze-likwid").full
    assert [round(full.mean, 1), round(full.median, 1)] == [13.3, 5.9]
    assert round(full.p95) == 44
    assert (full.count, full.refused) == (31, 1)


@pytest.mark.parametrize(
    ("name", "mean", "median", "t1_median"),
    [
        ("sparecores-gb6", 18.6, 13.6, 4.8),
        pytest.param("sparecores-llama", 29.0, 16.2, None, marks=pytest.mark.lab),
        pytest.param("gbm", 30.3, 28.5, None, marks=pytest.mark.lab),
    ],
)
def test_errors_are_near_the_known(shared_data, *, name, mean, median, t1_median):
    """Random pairs differ, and so do rules for segments of a single n: half as much again is still near."""
    report = report_of(shared_data / name, sample=300, seed=7)
    assert 0.6 * mean < report.full.mean < 1.5 * mean
    assert 0.6 * median < report.full.median < 1.5 * median
    if t1_median:
        assert report.t1.median == pytest.approx(t1_median, rel=0.35)


def test_low_rank_answers_where_the_default_driver_of_the_svd_does_not_converge(shared_data):
    database = database_from_measurements(read_dataset(shared_data / "sparecores-gb6"))
    target = database.platforms.index("upcloud/GENERAL/AMD EPYC 7542 32-Core Processor")
    workload = database.workloads.index("gb6_structure_from_motion")
    protocol = Protocol("microarchitecture", targets=(target,), workloads=(workload,))
    full = evaluate(database, [METHODS["low-rank"]], protocol).report().methods["low-rank"].full
    assert (full.count, full.refused) == (1, 0)
