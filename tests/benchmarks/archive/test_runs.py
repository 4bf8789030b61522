"""runs.csv: every rule that a row, or all rows of a workload, can break."""

import json
from itertools import zip_longest

import jsonschema
import numpy as np
import pytest

from benchmarks.archive import ArchiveProblem, load_schema
from tests.benchmarks.archive.refusals import changed_row, first, refused_csv, same
from tests.benchmarks.tarballs import csv_of, files_of, pack, packed, read, refusal, rows_of, with_manifest
from tests.samples import sample_measurements, varied_measurements

# In the sample, line 2 is a clean row at n = 1 and line 5 the first profile row.
BAD_CELLS = [
    (2, {"n": "0"}, "n 0 is less than 1"),
    (3, {"n": "-5"}, "n -5 is less than 1"),
    (3, {"n": "17"}, "n 17 is more than n_max = 16"),
    (3, {"n": "1.0"}, "n '1.0' is not a 64-bit integer"),
    (3, {"n": ""}, "n '' is not a 64-bit integer"),
    (3, {"n": " 1"}, "n ' 1' is not a 64-bit integer"),
    (3, {"n": "+1"}, "n '+1' is not a 64-bit integer"),
    (3, {"n": "\u0661"}, "n '\u0661' is not a 64-bit integer"),
    (3, {"n": "1_0"}, "n '1_0' is not a 64-bit integer"),
    (3, {"repeat": "-1"}, "repeat -1 is less than 0"),
    (3, {"repeat": str(2**31)}, "repeat 2147483648 is more than 2147483647"),
    (3, {"repeat": "x"}, "repeat 'x' is not a 64-bit integer"),
    (3, {"time_ns": "0"}, "time_ns 0 is less than 1"),
    (3, {"time_ns": "-7"}, "time_ns -7 is less than 1"),
    (3, {"time_ns": "1e9"}, "time_ns '1e9' is not a 64-bit integer"),
    (3, {"time_ns": str(2**63)}, f"time_ns '{2**63}' is not a 64-bit integer"),
    (3, {"time_ns": "9" * 5000}, f"time_ns '{'9' * 58}… is not a 64-bit integer"),
    (3, {"time_ns": str(10**16 + 1)}, f"time_ns {10**16 + 1} is more than {10**16}"),
    (3, {"time_ns": str(2**59)}, f"time_ns {2**59} is more than {10**16}"),
    (3, {"pass": "warm"}, "pass 'warm' is not one of clean, profile"),
    (3, {"workload": "no/such"}, "workload 'no/such' is not in workloads.json"),
    (3, {"use_ns": "0"}, "use_ns is given in a clean row"),
    (5, {"join_ns": ""}, "join_ns is empty in a profile row"),
    (5, {"lock_ns": "x"}, "lock_ns 'x' is not a 64-bit integer"),
    (5, {"lock_ns": "-1"}, "lock_ns -1 is less than 0"),
    (3, {"output_checksum": "other"}, "output_checksum 'other' of 'app0/section0' differs from 'abc123' in line 2"),
    (2, {"output_checksum": "c" * 129}, "output_checksum is longer than 128 characters"),
    (3, {"repeat": "1"}, "same workload, n, repeat and pass as in line 2"),
]
BAD_READINGS = [
    ({"workload": "no/such"}, "workload 'no/such' is not in workloads.json"),
    ({"n": "0"}, "n 0 is less than 1"),
    ({"n": "17"}, "n 17 is more than n_max = 16"),
    ({"repeat": "r"}, "repeat 'r' is not a 64-bit integer"),
    ({"counter": ""}, "counter '' does not have 1 to 40 characters"),
    ({"counter": "INSTR"}, "same workload, n, repeat and counter as in line 2"),
    ({"status": "fine"}, "status 'fine' is not one of ok, multiplexed, unsupported, no-permission, not-scheduled"),
    ({"status": "unsupported"}, "value is given although status is unsupported"),
    ({"value": ""}, "value is empty although status is ok"),
    ({"value": "", "status": "multiplexed"}, "value is empty although status is multiplexed"),
    ({"value": "-1"}, "value -1 is less than 1e-09 and not 0"),
    ({"value": "nan"}, "value 'nan' is not a finite number"),
    ({"value": "inf"}, "value 'inf' is not a finite number"),
    ({"value": "1e999"}, "value '1e999' is not a finite number"),
    ({"value": "1,5"}, "value '1,5' is not a finite number"),
]


@pytest.mark.parametrize(("line", "cells", "reason"), BAD_CELLS, ids=range(len(BAD_CELLS)))
def test_a_bad_run(files, line, cells, reason):
    assert first(changed_row(files, line, **cells)) == ("runs.csv", line, reason)


@pytest.mark.parametrize("off_by", [-1, 1])
def test_parts_that_do_not_sum_up(files, off_by):
    row = rows_of(files["runs.csv"])[3]
    total = int(row["n"]) * int(row["time_ns"])
    member, line, reason = first(changed_row(files, 5, use_ns=int(row["use_ns"]) + off_by))
    assert (member, line) == ("runs.csv", 5)
    assert reason == f"parts sum to {total + off_by}, but n * time_ns = 1 * {total} = {total}"


def test_parts_whose_sum_overflows_do_not_sum_up(files):
    """Seven parts that sum to n * time_ns modulo 2**64 only."""
    row = rows_of(files["runs.csv"])[3]
    total = int(row["n"]) * int(row["time_ns"])
    parts = dict.fromkeys([key for key in row if key.endswith("_ns") and key != "time_ns"], "0")
    parts |= {"use_ns": 2**63 - 1, "lock_ns": 2**63 - 1, "imbalance_ns": 2, "creation_ns": total}
    assert first(changed_row(files, 5, **parts))[2].startswith(f"parts sum to {2**64 + total}, but ")


def test_no_run_at_one_thread(files):
    rows = rows_of(files["runs.csv"])
    rows = [row for row in rows if row["workload"] != "app0/section1" or row["n"] != "1"]
    line = next(number for number, row in enumerate(rows, 2) if row["workload"] == "app0/section1")
    reason = "workload 'app0/section1' has no run at n = 1"
    assert first(refused_csv(files, csv_of(rows))) == ("runs.csv", line, reason)


def without_one_thread(files, first_n) -> dict[str, bytes]:
    """The sample with no row of app0/section1 at n = 1, and that workload's `first_n`."""
    workloads = json.loads(files["workloads.json"])
    workloads[1]["first_n"] = first_n
    rows = [row for row in rows_of(files["runs.csv"]) if row["workload"] != "app0/section1" or row["n"] != "1"]
    return with_manifest(files | {"workloads.json": json.dumps(workloads).encode(), "runs.csv": csv_of(rows)})


def test_a_workload_may_say_that_it_begins_later(files):
    counts = sorted({int(row["n"]) for row in rows_of(files["runs.csv"])})
    measurements = read(pack(without_one_thread(files, counts[1])))
    (profile,) = [p for p in measurements.profiles if measurements.workloads[p.workload].name == "app0/section1"]
    assert profile.runs.n.min() == counts[1]
    assert same(read(packed(measurements)), measurements)  # what is written says it, too

    assert [problem.reason for problem in refusal(pack(without_one_thread(files, counts[-1] + 1))).problems] == [
        f"workload 'app0/section1' has no run at n = {counts[-1] + 1}",
        f"workload 'app0/section1' has a run on fewer threads than its first_n = {counts[-1] + 1}",
    ]
    files["workloads.json"] = without_one_thread(files, 2)["workloads.json"]
    (problem,) = refusal(pack(with_manifest(files))).problems
    assert problem.reason == "workload 'app0/section1' has a run on fewer threads than its first_n = 2"
    bad = refusal(pack(without_one_thread(files, 1)))
    assert first(bad)[0] == "workloads.json"


def varied_refusal(change) -> list[ArchiveProblem]:
    files = files_of(packed(varied_measurements()))
    rows = rows_of(files["runs.csv"])
    change(rows)
    return refusal(pack(with_manifest(files | {"runs.csv": csv_of(rows)}))).problems


FIRST_OF_50 = 68  # line of the first row of size 50: 66 rows of the workload's own size and the header are before it


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("size", "0", "size 0 is less than 1e-09"),
        ("size", "-5", "size -5 is less than 1e-09"),
        ("size", "big", "size 'big' is not a finite number"),
        ("size", "1e999", "size '1e999' is not a finite number"),
        ("clock_mhz", "0.0", "clock_mhz 0.0 is less than 1"),
        ("clock_mhz", "nan", "clock_mhz 'nan' is not a finite number"),
        ("output_checksum", "ff", "output_checksum 'of50' of 'app0/section0' at size 50 differs from 'ff' in line 68"),
        ("repeat", "2", "same workload, n, repeat, size, clock_mhz and pass as in line 68"),
    ],
)
def test_wrong_variations(column, cell, reason):
    problems = varied_refusal(lambda rows: rows[FIRST_OF_50 - 2].update({column: cell}))
    assert problems[0].reason == reason
    assert problems[0].member == "runs.csv"
    assert problems[0].line == (FIRST_OF_50 if cell not in {"ff", "2"} else FIRST_OF_50 + 1)


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("tasks", "-1", "tasks -1 is less than 0"),
        ("tasks", "1.5", "tasks '1.5' is not a 64-bit integer"),
        ("disturbed", "2", "disturbed 2 is more than 1"),
        ("disturbed", "yes", "disturbed 'yes' is not a 64-bit integer"),
    ],
)
def test_wrong_counts_and_flags(column, cell, reason):
    def fill(rows):
        for row, value in zip_longest(rows, ("0", "1", "", cell), fillvalue=""):
            row[column] = value

    (problem,) = varied_refusal(fill)
    assert (problem.line, problem.reason) == (5, reason)


def test_checksums_are_of_a_size_not_of_a_clock():
    files = files_of(packed(varied_measurements()))
    rows = [row | {"output_checksum": "abc123"} for row in rows_of(files["runs.csv"])]
    read(pack(with_manifest(files | {"runs.csv": csv_of(rows)})))
    next(row for row in rows if row["clock_mhz"])["output_checksum"] = "other"
    problems = refusal(pack(with_manifest(files | {"runs.csv": csv_of(rows)}))).problems
    assert "differs from 'abc123' in line 2" in problems[0].reason


def test_variations_do_not_stand_in_for_the_row_at_one_thread():
    def only_varied(rows):
        rows[:] = [row for row in rows if row["size"] or row["n"] != "1" or row["workload"] != "app0/section0"]

    (problem,) = varied_refusal(only_varied)
    more = " of its own size at the machine's own clocks"
    assert problem.reason == f"workload 'app0/section0' has no run at n = 1{more}"


def test_other_sizes_and_clocks_are_read_as_written():
    measurements = varied_measurements()
    files = files_of(packed(measurements))
    header = files["runs.csv"].decode().splitlines()[0].split(",")
    assert header[-3:] == ["output_checksum", "size", "clock_mhz"]
    jsonschema.validate(json.loads(files["workloads.json"]), load_schema("workloads"))
    again = read(packed(measurements))
    assert same(again, measurements)
    runs = again.profiles[0].runs
    assert set(runs.size[~np.isnan(runs.size)]) == {50, 200}
    assert set(runs.clock_mhz[~np.isnan(runs.clock_mhz)]) == {1500}
    assert same(runs.own, sample_measurements(1, 2).profiles[0].runs)
    assert again.profiles[1].runs.own is again.profiles[1].runs


def test_a_size_that_is_the_workloads_own_is_no_variation():
    files = files_of(packed(varied_measurements()))
    rows = rows_of(files["runs.csv"])
    for row in rows:
        if row["workload"] == "app0/section0":
            row["size"] = row["size"] or "100.0"
    assert same(read(pack(with_manifest(files | {"runs.csv": csv_of(rows)}))), varied_measurements())


@pytest.mark.parametrize(("cells", "reason"), BAD_READINGS, ids=range(len(BAD_READINGS)))
def test_a_bad_counter_reading(files, cells, reason):
    assert first(changed_row(files, 3, "counters.csv", **cells)) == ("counters.csv", 3, reason)
