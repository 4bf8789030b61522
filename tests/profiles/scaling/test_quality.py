"""Warnings on measurements: each kind at its threshold, one line per workload and kind. How far repeats agree: by hand,
and against a simulation."""

from dataclasses import replace

import numpy as np
import pytest

from profiles.measurements import Measurements, ProfileRecord, RunTable
from profiles.scaling.quality import MEASURED_ONCE, find_faults, quality_warnings, repeat_spread, repeat_summary
from tests.samples import runs_of, sample_measurements, sample_platform, sample_workload


def delivery(*tables: RunTable, platforms: int = 1, workloads: int = 1) -> Measurements:
    pairs = [(p, w) for p in range(platforms) for w in range(workloads)]
    return Measurements(
        origin="measured",
        time_kinds={},
        platforms=[sample_platform(p) for p in range(platforms)],
        workloads=[sample_workload(w) for w in range(workloads)],
        profiles=[ProfileRecord(p, w, table) for (p, w), table in zip(pairs, tables, strict=True)],
    )


def run_warnings(table: RunTable) -> list[str]:
    """The lines about one profile, without the name of its workload."""
    lines = quality_warnings(delivery(table))
    return [line.removeprefix("app0/section0: ") for line in lines if line.startswith("app0/section0: ")]


QUIET = {1: [1.0, 1.0, 1.0], 2: [0.5, 0.5, 0.5], 4: [0.25, 0.25, 0.25]}


def test_disturbed_repeats_are_counted_once_for_all_sections():
    """Two sections of one application are measured by the same repeats; an undisturbed delivery says nothing."""
    quiet = sample_measurements(1, 2)

    def lines(disturbed):
        profiles = [replace(one, runs=replace(one.runs, disturbed=disturbed(one.runs.n))) for one in quiet.profiles]
        return quality_warnings(replace(quiet, profiles=profiles))

    (line,) = lines(lambda n: (n == 1).astype(float))
    assert line.startswith("6 of 66 repeats were disturbed by other programs: ")
    assert lines(lambda n: np.zeros(len(n))) == quality_warnings(quiet) == []


def test_few_repeats_say_how_far_they_tell_a_time():
    """Two that differ by 2 % each: the error is 1 %, and 90 % are within 1.645 times as much."""
    lines = quality_warnings(delivery(runs_of({1: [1.0, np.exp(0.02)], 2: [0.5, 0.5 * np.exp(0.02)]})))
    assert lines[-1] == "with 2 repeats, 90 % intervals of times are about ±1.6 % (median of the workloads)"
    assert not any("intervals of times" in line for line in quality_warnings(delivery(runs_of(QUIET))))
    once = quality_warnings(delivery(runs_of({1: [1.0], 2: [0.5]})))
    assert once[-1] == MEASURED_ONCE


OVERHEAD = {n: [1.19 * t for t in times] for n, times in QUIET.items()}
SAID = {
    "growth below": ((QUIET | {8: [0.27] * 3},), []),
    "growth": ((QUIET | {8: [0.3] * 3},), ["t(n) grows by 20.0 % to n = 8"]),
    "medians": ((QUIET | {8: [0.2, 0.25, 0.26]},), ["the coefficient of variation is 13.6 % at n = 8"]),
    "overhead below": ((QUIET, OVERHEAD), []),
    "overhead": (
        (QUIET, {2: [0.625] * 3, 4: [0.5] * 3}),
        ["the profile pass takes 2.00 times as long as the clean pass at n = 4, and at 1 more thread count"],
    ),
    "repeats": (
        ({1: [1.0] * 3, 2: [0.5] * 2, 4: [0.25], 8: [0.25]},),
        ["fewer than 3 repeats: 1 at n = 4, and at 2 more thread counts"],
    ),
    "variation below": (({1: [0.91, 1.0, 1.09]},), []),  # 0.9, 1.0, 1.1 has 0.1 / 1.0
    "variation": (({1: [0.89, 1.0, 1.11]},), ["the coefficient of variation is 11.0 % at n = 1"]),
    # Two profile runs are enough where three clean ones give t(n); where there is no clean run they are t(n).
    "clean runs": ((QUIET, {1: [1.0, 1.0]}), []),
    "no clean run": (
        ({1: [1.0] * 3}, {1: [1.0] * 3, 2: [1.5, 1.5]}),
        ["t(n) grows by 50.0 % to n = 2", "fewer than 3 repeats: 2 at n = 2"],
    ),
    "good": ((QUIET, QUIET), []),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_said_of_one_profile(case):
    passes, warnings = SAID[case]
    assert run_warnings(runs_of(*passes)) == warnings


def test_order_of_rows_does_not_matter():
    table = runs_of(QUIET | {8: [0.2, 0.3, 0.4]}, {1: [1.5]})
    order = np.random.default_rng(0).permutation(len(table))
    mixed = RunTable(table.n[order], table.repeat[order], table.is_profile_pass[order], table.time_s[order])
    assert run_warnings(mixed) == run_warnings(table) != []


def test_one_line_per_workload_and_kind_with_the_worst_platform():
    noisy = runs_of({1: [0.8, 1.0, 1.2]})
    worse = runs_of({1: [0.5, 1.0, 1.5], 2: [0.8, 1.0, 1.2]})
    assert quality_warnings(delivery(noisy, runs_of(QUIET), worse, noisy, platforms=2, workloads=2)) == [
        "app0/section0: the coefficient of variation is 50.0 % at n = 1 on machine-1, "
        "and at 2 more thread counts of 2 machines",
        "app0/section1: the coefficient of variation is 20.0 % at n = 1 on machine-1",
    ]


def test_virtual_platforms():
    quiet = delivery(runs_of(QUIET))
    virtual = [sample_platform(p, virtualised=True) for p in range(3)]
    assert quality_warnings(replace(quiet, platforms=virtual[:1])) == [
        "machine machine-0 is virtualised: other virtual machines on its host may affect its times"
    ]
    assert quality_warnings(replace(quiet, platforms=[*virtual, sample_platform(3, virtualised=None)])) == [
        "3 of 4 machines are virtualised (machine-0 and others): "
        "other virtual machines on their hosts may affect their times"
    ]


def test_nothing_measured_is_nothing_to_warn_of():
    assert find_faults([]) == []
    assert quality_warnings(Measurements("measured", {}, [], [], [])) == []


def timed(n, time_s, is_profile_pass=False, **columns) -> RunTable:
    n, time_s = np.array(n), np.array(time_s, dtype=float)
    columns = {name: np.array(column, dtype=float) for name, column in columns.items()}
    return RunTable(n, np.arange(len(n)), np.zeros(len(n), bool) | is_profile_pass, time_s, **columns)


def test_spread_by_hand():
    spread = repeat_spread(timed([1, 1, 1, 2, 2, 4], [1, 2, 6, 3, 5, 7], disturbed=[1, 0, 1, np.nan, np.nan, 0]))
    assert spread.n.tolist() == [1, 2, 4]
    assert spread.count.tolist() == [3, 2, 1]
    assert spread.disturbed_count.tolist() == [2, -1, 0]
    assert spread.deviation_s.round(6).tolist()[:2] == [2.645751, 1.414214]
    assert np.isnan(spread.deviation_s[2])
    assert spread.low_quartile_s.tolist() == [1.5, 3.5, 7]
    assert spread.high_quartile_s.tolist() == [4, 4.5, 7]


def test_only_runs_that_make_the_curve_count_for_the_spread():
    """Clean ones, at an n without any the profile runs; variations never. Disturbances are counted in both passes."""
    clean = np.array([True, True, False, False, True])
    table = timed(
        [1, 1, 1, 2, 1],
        [10, 20, 99, 7, 50],
        is_profile_pass=~clean,
        size=[np.nan, np.nan, np.nan, np.nan, 5],
        disturbed=[0, 1, 1, 0, 1],
    )
    spread = repeat_spread(table)
    assert (spread.n.tolist(), spread.count.tolist()) == ([1, 2], [2, 1])
    assert spread.disturbed_count.tolist() == [1, 0]
    summary = repeat_summary(table)
    assert (summary.run_count, summary.disturbed_count) == (4, 2)
    assert summary.standard_error == pytest.approx(np.log(2) / np.sqrt(2) * np.sqrt((1 / 2 + 1) / 2))


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_the_standard_error_is_that_of_the_median(repeats):
    """Of 400 profiles with noise of 3 % the curves are off by what their summaries say, on the average."""
    rng = np.random.default_rng(1)
    counts = np.repeat(np.arange(1, 9), repeats)
    told, squares = [], []
    for _ in range(400):
        noise = 0.03 * rng.standard_normal(len(counts))
        told.append(repeat_summary(timed(counts, np.exp(noise))).standard_error ** 2)
        squares.append((np.median(noise.reshape(-1, repeats), axis=1) ** 2).mean())
    ratio = np.sqrt(np.mean(told) / np.mean(squares))
    assert 0.97 < ratio < 1.12  # pi / 2 is the factor of many repeats, and a little much for few
