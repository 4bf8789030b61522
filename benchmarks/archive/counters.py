"""`counters.csv`: hardware counters, one reading a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from sys import intern

import numpy as np

from benchmarks.archive.problems import ArchiveProblems, quoted
from benchmarks.archive.runs import find_duplicates
from benchmarks.archive.tables import CsvRows, WorkloadIndex
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.measurements import COUNTER_STATUSES, CounterTable
from profiles.validity.bounds import LONGEST_TEXTS

COUNTERS_MEMBER = "counters.csv"
WITH_VALUE = ("ok", "multiplexed")


@dataclass
class _Readings:
    """Rows without a problem, gathered piece by piece."""

    lines: list[IntArray] = field(default_factory=list)
    workload: list[IntArray] = field(default_factory=list)
    n: list[IntArray] = field(default_factory=list)
    repeat: list[IntArray] = field(default_factory=list)
    value: list[FloatArray] = field(default_factory=list)
    counter: list[str] = field(default_factory=list)
    status: list[str] = field(default_factory=list)


def read_counters(
    pieces: Iterable[CsvRows], index: WorkloadIndex, n_max: int | None, problems: ArchiveProblems
) -> dict[int, CounterTable]:
    """The readings of each workload that has any, in the order of the file."""
    readings = _Readings()
    for rows in pieces:
        _check_readings(rows, index, n_max, readings)
    if not any(map(len, readings.lines)):
        return {}
    lines, workload = np.concatenate(readings.lines), np.concatenate(readings.workload)
    n, repeat = np.concatenate(readings.n), np.concatenate(readings.repeat)
    names = {name: number for number, name in enumerate(dict.fromkeys(readings.counter))}
    counter = np.array([names[name] for name in readings.counter], dtype=np.int64)
    repeated, first = find_duplicates(np.stack([counter, repeat, n, workload]))
    problems.add_rows(
        COUNTERS_MEMBER,
        lines[repeated],
        np.ones(len(repeated), dtype=bool),
        "duplicate",
        lambda row: f"same workload, n, repeat and counter as in line {lines[first[row]]}",
    )
    order = np.argsort(workload, kind="stable")
    workloads, starts = np.unique(workload[order], return_index=True)
    value = np.concatenate(readings.value)
    return {
        number: CounterTable(
            n=n[rows],
            repeat=repeat[rows],
            counter=tuple(readings.counter[row] for row in rows.tolist()),
            value=value[rows],
            status=tuple(readings.status[row] for row in rows.tolist()),
        )
        for number, rows in zip(workloads.tolist(), np.split(order, starts[1:]), strict=True)
    }


def _check_readings(rows: CsvRows, index: WorkloadIndex, n_max: int | None, readings: _Readings) -> None:
    workload, good = rows.workloads(index)
    n, n_good = rows.counts("n", n_max)
    repeat, repeat_good = rows.counts("repeat")
    value, value_good = _check_values(rows)
    good &= n_good & repeat_good & value_good & _check_names(rows)
    readings.lines.append(rows.lines[good])
    readings.workload.append(workload[good])
    readings.n.append(n[good])
    readings.repeat.append(repeat[good])
    readings.value.append(value[good])
    for row in np.flatnonzero(good).tolist():
        readings.counter.append(intern(rows.columns["counter"][row]))
        readings.status.append(intern(rows.columns["status"][row]))


def _check_names(rows: CsvRows) -> BoolArray:
    text = rows.columns["counter"]
    most = LONGEST_TEXTS["counter"]
    good = np.fromiter((0 < len(name) <= most for name in text), dtype=bool, count=len(rows))
    rows.refuse(~good, "counter", lambda row: f"counter {quoted(text[row])} does not have 1 to {most} characters")
    return good & rows.visible("counter")


def _check_values(rows: CsvRows) -> tuple[FloatArray, BoolArray]:
    """The values, NaN where the status says that there is none, and which rows have a good status and value."""
    text, status = rows.columns["value"], rows.columns["status"]
    status_good = rows.one_of("status", COUNTER_STATUSES)
    given = np.fromiter(map(bool, text), dtype=bool, count=len(rows))
    due = np.fromiter((word in WITH_VALUE for word in status), dtype=bool, count=len(rows))
    rows.refuse(status_good & due & ~given, "no value", lambda row: f"value is empty although status is {status[row]}")
    rows.refuse(
        status_good & ~due & given, "stray value", lambda row: f"value is given although status is {status[row]}"
    )
    value, value_good = rows.numbers("value", given & due)
    return value, status_good & np.where(due, rows.within("value", value, value_good), ~given)
