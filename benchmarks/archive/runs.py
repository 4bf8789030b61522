"""Reading of `runs.csv` and `counters.csv`: the rules for each row, and for all rows of a workload together. A row of
`counters.csv` is one reading of a hardware counter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.archive.container import ArchiveProblems, quoted
from benchmarks.archive.tables import CsvRows, WorkloadIndex
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.measurements import (
    COUNTER_STATUSES,
    FURTHER_COLUMNS,
    PART_COLUMNS,
    PARTS,
    CounterTable,
    RunTable,
    column_or_none,
)
from profiles.measurements.bounds import LONGEST_TEXTS, RANGES

RUNS_MEMBER = "runs.csv"
PASSES = ("clean", "profile")

# (workload, size) -> (checksum, line). The size is 0 for the workload's own input.
Checksums = dict[tuple[int, float], tuple[str, int]]
COUNTERS_MEMBER = "counters.csv"
WITH_VALUE = ("ok", "multiplexed")


@dataclass(frozen=True)
class _RunColumns:
    """The columns of the rows with a valid workload, n, repeat, pass, size and clock. Problems of the other columns
    have been added to the list."""

    lines: IntArray
    workload: IntArray
    n: IntArray
    repeat: IntArray
    is_profile_pass: BoolArray
    time_ns: IntArray
    parts_ns: NDArray[np.int64]
    size: FloatArray
    clock_mhz: FloatArray
    tasks: FloatArray
    waits: FloatArray
    disturbed: FloatArray
    has_checksum: BoolArray

    @property
    def is_variation(self) -> BoolArray:
        return ~(np.isnan(self.size) & np.isnan(self.clock_mhz))


def read_runs(
    pieces: Iterable[CsvRows], index: WorkloadIndex, n_max: int | None, problems: ArchiveProblems
) -> dict[int, RunTable]:
    """Return the runs of each workload that has any. They are in the order of the file."""
    checksums: Checksums = {}
    checked = [_check_rows(rows, index, n_max, checksums) for rows in pieces]
    if not checked:
        if not problems:
            problems.add(RUNS_MEMBER, 1, "has no runs")
        return {}
    columns: list[Any] = [
        np.concatenate([getattr(piece, field.name) for piece in checked]) for field in fields(_RunColumns)
    ]
    runs = _RunColumns(*columns)
    _refuse_duplicates(runs, problems)
    _refuse_without_one_thread(runs, index, problems)
    return {} if problems else _run_tables(runs, checksums)


def _check_rows(rows: CsvRows, index: WorkloadIndex, n_max: int | None, checksums: Checksums) -> _RunColumns:
    workload, workload_good = rows.workloads(index)
    n, n_good = rows.counts("n", n_max)
    repeat, repeat_good = rows.counts("repeat")
    size, size_good = _numbers_or_nan(rows, "size")
    size[size == index.sizes(workload)] = np.nan
    clock_mhz, clock_good = _numbers_or_nan(rows, "clock_mhz")
    good = workload_good & n_good & repeat_good & rows.one_of("pass", PASSES) & size_good & clock_good
    is_profile = np.array([cell == "profile" for cell in rows.columns["pass"]])
    time_ns = _times_ns(rows, n, good)
    parts_ns = _parts_ns(rows, n, is_profile, time_ns, good)
    has_checksum = _check_checksums(rows, workload, size, good, checksums)
    columns: tuple[Any, ...] = (
        *(rows.lines, workload, n, repeat, is_profile, time_ns, parts_ns),
        *(size, clock_mhz, *(_counts_or_nan(rows, name) for name in ("tasks", "waits", "disturbed")), has_checksum),
    )
    return _RunColumns(*(column[good] for column in columns))


def _counts_or_nan(rows: CsvRows, name: str) -> FloatArray:
    """Return a column of counts, NaN where empty or invalid."""
    values, good = rows.integers(name, rows.given(name))
    return np.where(rows.within(name, values, good), values.astype(np.float64), np.nan)


def _numbers_or_nan(rows: CsvRows, name: str) -> tuple[FloatArray, BoolArray]:
    """Return a column of numbers, NaN where empty, and which rows are valid."""
    given = rows.given(name)
    values, good = rows.numbers(name, given)
    return values, np.where(given, rows.within(name, values, good), True)


def _times_ns(rows: CsvRows, n: IntArray, good: BoolArray) -> IntArray:
    """Return time_ns where it is valid and n * time_ns fits in 63 bits, else 0."""
    text = rows.columns["time_ns"]
    time_ns, integer = rows.integers("time_ns")
    time_good = rows.within("time_ns", time_ns, integer)
    fits = time_ns <= RANGES["n * time_ns"].most // np.maximum(n, 1)
    rows.refuse(
        good & time_good & ~fits, "product", lambda row: f"n * time_ns = {n[row]} * {text[row]} exceeds 63 bits"
    )
    return np.where(time_good & fits, time_ns, 0)


def _parts_ns(
    rows: CsvRows, n: IntArray, is_profile: BoolArray, time_ns: IntArray, good: BoolArray
) -> NDArray[np.int64]:
    """Return the seven parts, -1 in clean rows. Check their sum by subtracting them one by one from n * time_ns, which
    cannot overflow."""
    parts_ns = np.full((len(rows), len(PARTS)), -1, dtype=np.int64)
    remaining = n * time_ns
    complete = good & is_profile & (time_ns > 0)
    for place, name in enumerate(PART_COLUMNS):
        given = rows.given(name)
        _refuse_stray_parts(rows, name, given, good, is_profile)
        values, integer = rows.integers(name, given & is_profile)
        complete &= rows.within(name, values, integer)
        parts_ns[is_profile, place] = values[is_profile]
        values = np.where(complete & (remaining >= 0), values, 0)
        # No overflow: where `values` is not 0, `remaining` is >= 0, and the difference at least -(2**63 - 1).
        remaining = remaining - values
    total = [rows.columns[name] for name in PART_COLUMNS]
    rows.refuse(
        complete & (remaining != 0),
        "sum",
        lambda row: (
            f"parts sum to {sum(int(column[row]) for column in total)}, "
            f"but n * time_ns = {n[row]} * {time_ns[row]} = {int(n[row]) * int(time_ns[row])}"
        ),
    )
    return parts_ns


def _refuse_stray_parts(rows: CsvRows, name: str, given: BoolArray, good: BoolArray, is_profile: BoolArray) -> None:
    rows.refuse(good & is_profile & ~given, "part missing", lambda row: f"{name} is empty in a profile row")
    rows.refuse(good & ~is_profile & given, "part in clean", lambda row: f"{name} is given in a clean row")


def _check_checksums(
    rows: CsvRows, workload: IntArray, size: FloatArray, good: BoolArray, checksums: Checksums
) -> BoolArray:
    """Return which rows have a checksum. Store the first checksum of each workload and size, with its line, in
    `checksums`. Add problems for rows with another checksum."""
    text = rows.columns["output_checksum"]
    keys = list(zip(workload.tolist(), np.nan_to_num(size).tolist(), text, strict=True))
    first_rows = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    differing = set()
    for (number, of_size, cell), row in sorted(first_rows.items(), key=lambda item: item[1]):
        if not cell or number < 0:
            continue
        if checksums.setdefault((number, of_size), (cell, int(rows.lines[row])))[0] != cell:
            differing.add((number, of_size, cell))
    differs = np.array([key in differing for key in keys]) if differing else np.zeros(len(rows), dtype=bool)
    rows.refuse(differs, "checksum", lambda row: _describe_difference(rows, row, checksums[keys[row][:2]]))
    length = np.fromiter(map(len, text), dtype=np.int64, count=len(rows))
    most = LONGEST_TEXTS["output_checksum"]
    rows.refuse(length > most, "long", lambda row: f"output_checksum is longer than {most} characters")
    rows.visible("output_checksum")
    return length > 0


def _describe_difference(rows: CsvRows, row: int, first: tuple[str, int]) -> str:
    found, name, size = (rows.columns[column][row] for column in ("output_checksum", "workload", "size"))
    where = f" at size {size}" if size else ""
    return (
        f"output_checksum {quoted(found)} of {quoted(name)}{where} differs from {quoted(first[0])} in line {first[1]}"
    )


def _refuse_duplicates(runs: _RunColumns, problems: ArchiveProblems) -> None:
    sizes = (np.nan_to_num(column).view(np.int64) for column in (runs.clock_mhz, runs.size))
    key = np.stack([*sizes, runs.is_profile_pass.astype(np.int64), runs.repeat, runs.n, runs.workload])
    repeated, first = find_duplicates(key)
    varied = runs.is_variation

    def reason(row: int) -> str:
        columns = "workload, n, repeat, size, clock_mhz" if varied[repeated[row]] else "workload, n, repeat"
        return f"same {columns} and pass as in line {runs.lines[first[row]]}"

    problems.add_rows(RUNS_MEMBER, runs.lines[repeated], np.ones(len(repeated), dtype=bool), "duplicate", reason)


def find_duplicates(key: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Return the indices of the columns of `key` (K x M) that equal an earlier column, ascending, and the indices of
    these earlier columns."""
    order = np.lexsort(key)
    same = (np.diff(key[:, order], axis=1) == 0).all(axis=0)
    repeated, first = order[1:][same], order[:-1][same]
    ascending = np.argsort(repeated)
    return repeated[ascending], first[ascending]


def _refuse_without_one_thread(runs: _RunColumns, index: WorkloadIndex, problems: ArchiveProblems) -> None:
    """Add a problem for each workload that has no run at its smallest n (1, or `first_n` in workloads.json), or has a
    run at a smaller one. The problem is on the line of the workload's first run."""
    varied = runs.is_variation
    workloads, first = np.unique(runs.workload, return_index=True)
    begins = np.array([index.first_n(workload) for workload in workloads.tolist()], dtype=np.int64)
    begin_of_row = begins[np.searchsorted(workloads, runs.workload)]
    has_one = np.isin(workloads, runs.workload[(runs.n == begin_of_row) & ~varied])
    has_earlier = np.isin(workloads, runs.workload[runs.n < begin_of_row])
    has_variation = np.isin(workloads, runs.workload[varied])

    def reason(row: int) -> str:
        more = " of its own size at the machine's own clocks" if has_variation[row] else ""
        return f"workload {quoted(index.names[workloads[row]])} has no run at n = {begins[row]}{more}"

    def stray(row: int) -> str:
        name = quoted(index.names[workloads[row]])
        return f"workload {name} has a run on fewer threads than its first_n = {begins[row]}"

    problems.add_rows(RUNS_MEMBER, runs.lines[first], ~has_one, "no n = 1", reason)
    problems.add_rows(RUNS_MEMBER, runs.lines[first], has_earlier, "before first_n", stray)


def _run_tables(runs: _RunColumns, checksums: Checksums) -> dict[int, RunTable]:
    order = np.argsort(runs.workload, kind="stable")
    workloads, starts = np.unique(runs.workload[order], return_index=True)
    tables = {}
    for workload, rows in zip(workloads.tolist(), np.split(order, starts[1:]), strict=True):
        given = zip(runs.has_checksum[rows].tolist(), np.nan_to_num(runs.size[rows]).tolist(), strict=True)
        texts = tuple(checksums[workload, size][0] if has else "" for has, size in given)
        optional: dict[str, Any] = {name: column_or_none(getattr(runs, name)[rows]) for name in FURTHER_COLUMNS}
        tables[workload] = RunTable(
            n=runs.n[rows],
            repeat=runs.repeat[rows],
            is_profile_pass=runs.is_profile_pass[rows],
            time_s=runs.time_ns[rows] / 1e9,
            time_ns=runs.time_ns[rows],
            parts_ns=runs.parts_ns[rows],
            output_checksum=texts if any(texts) else None,
            **optional,
        )
    return tables


def read_counters(
    pieces: Iterable[CsvRows], index: WorkloadIndex, n_max: int | None, problems: ArchiveProblems
) -> dict[int, CounterTable]:
    """Return the readings of each workload that has any. They are in the order of the file."""
    checked = [_check_readings(rows, index, n_max) for rows in pieces]
    if not any(len(lines) for lines, *_ in checked):
        return {}
    lines, workload, n, repeat, value, counter, status = map(np.concatenate, zip(*checked, strict=True))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(counter.tolist()))}
    number_of_counter = np.array([numbers[name] for name in counter.tolist()], dtype=np.int64)
    repeated, first = find_duplicates(np.stack([number_of_counter, repeat, n, workload]))
    problems.add_rows(
        COUNTERS_MEMBER,
        lines[repeated],
        np.ones(len(repeated), dtype=bool),
        "duplicate",
        lambda row: f"same workload, n, repeat and counter as in line {lines[first[row]]}",
    )
    order = np.argsort(workload, kind="stable")
    workloads, starts = np.unique(workload[order], return_index=True)
    return {
        number: CounterTable(
            n=n[rows],
            repeat=repeat[rows],
            counter=tuple(counter[rows].tolist()),
            value=value[rows],
            status=tuple(status[rows].tolist()),
        )
        for number, rows in zip(workloads.tolist(), np.split(order, starts[1:]), strict=True)
    }


def _check_readings(rows: CsvRows, index: WorkloadIndex, n_max: int | None) -> tuple[NDArray[Any], ...]:
    """Return lines, workload, n, repeat, value, counter and status of the rows without a problem."""
    workload, good = rows.workloads(index)
    n, n_good = rows.counts("n", n_max)
    repeat, repeat_good = rows.counts("repeat")
    value, value_good = _check_values(rows)
    good &= n_good & repeat_good & value_good & _check_names(rows)
    good_rows = np.flatnonzero(good).tolist()
    counter, status = (
        np.array([intern(rows.columns[name][row]) for row in good_rows], dtype=object) for name in ("counter", "status")
    )
    return rows.lines[good], workload[good], n[good], repeat[good], value[good], counter, status


def _check_names(rows: CsvRows) -> BoolArray:
    text = rows.columns["counter"]
    most = LONGEST_TEXTS["counter"]
    good = np.fromiter((0 < len(name) <= most for name in text), dtype=bool, count=len(rows))
    rows.refuse(~good, "counter", lambda row: f"counter {quoted(text[row])} does not have 1 to {most} characters")
    return good & rows.visible("counter")


def _check_values(rows: CsvRows) -> tuple[FloatArray, BoolArray]:
    """Return the values, NaN where the status implies that there is none, and which rows have a valid status and
    value."""
    status, given = rows.columns["status"], rows.given("value")
    status_good = rows.one_of("status", COUNTER_STATUSES)
    due = np.fromiter((word in WITH_VALUE for word in status), dtype=bool, count=len(rows))
    rows.refuse(status_good & due & ~given, "no value", lambda row: f"value is empty although status is {status[row]}")
    rows.refuse(
        status_good & ~due & given, "stray value", lambda row: f"value is given although status is {status[row]}"
    )
    value, value_good = rows.numbers("value", given & due)
    return value, status_good & np.where(due, rows.within("value", value, value_good), ~given)
