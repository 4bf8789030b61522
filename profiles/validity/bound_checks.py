"""Whether measurements are inside the table of bounds: the last line of defence, behind every reader. No Django."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from profiles.measurements import PART_COLUMNS, Measurements, PlatformRecord, ProfileRecord, WorkloadRecord
from profiles.validity.bounds import LONGEST_TEXTS, RANGES, bad_placement, bad_text, is_unstorable

# Of a RunTable, where it has them.
NUMBER_COLUMNS = ("n", "repeat", "time_ns", "size", "clock_mhz", "tasks", "waits", "disturbed")


def number_outside(measurements: Measurements) -> str | None:
    """The first number, text or placement found outside its bounds, in words; None where all are inside."""
    return next(_complaints(measurements), None)


def _complaints(measurements: Measurements) -> Iterator[str]:
    for kind, records in (("platform", measurements.platforms), ("workload", measurements.workloads)):
        for record in records:
            yield from (f"{kind} {record.name[:60]!r}: {complaint}" for complaint in record_complaints(record))
    for name in ("licence", "source", "note"):
        if complaint := bad_text(name, getattr(measurements, name)):
            yield complaint
    for name in NUMBER_COLUMNS:
        yield from _column_complaints(name, (getattr(record.runs, name) for record in measurements.profiles))
    yield from _time_complaints(measurements)
    yield from _exact_complaints(measurements.profiles)
    yield from _counter_complaints(measurements.profiles)


def record_complaints(record: PlatformRecord | WorkloadRecord) -> Iterator[str]:
    """What of a platform or a workload is outside its bounds, in words."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    for name, value in values.items():
        if isinstance(value, str):
            complaint = bad_text(name, value) if name in LONGEST_TEXTS else None
        elif name == "placement":
            complaint = bad_placement(value, values["threads"])
        else:
            complaint = RANGES[name].complaint(name, value) if value is not None and name in RANGES else None
        if complaint:
            yield complaint
        if isinstance(value, str) and is_unstorable(value):
            yield f"{name} has NUL or half a surrogate pair"


def _column_complaints(name: str, columns: Iterable[Any], bound: str = "") -> Iterator[str]:
    """Of the columns that are there; NaN is no number."""
    given = [column for column in columns if column is not None]
    if not given:
        return
    values, bounds = np.concatenate(given), RANGES[bound or name]
    for outside, fault in zip(bounds.outside(values), (bounds.too_low, bounds.too_high), strict=True):
        if outside.any():
            yield f"{name} {values[outside][0]} is {fault}"


def _time_complaints(measurements: Measurements) -> Iterator[str]:
    times: dict[str, list[Any]] = {"time_s": [], "relative time_s": []}
    for record in measurements.profiles:
        is_relative = measurements.time_kinds.get(record.workload) == "relative"
        times["relative time_s" if is_relative else "time_s"].append(record.runs.time_s)
    for bound, columns in times.items():
        if any(np.isnan(column).any() for column in columns):
            yield "a time is not a number"
        yield from _column_complaints("time_s", columns, bound)


def _exact_complaints(records: list[ProfileRecord]) -> Iterator[str]:
    """Nanoseconds, which are exact: n * time_ns, and the parts of the profile runs."""
    for runs in (record.runs for record in records):
        if runs.time_ns is None:
            continue
        if (runs.time_ns > RANGES["n * time_ns"].most // runs.n).any():
            yield "n * time_ns exceeds 63 bits"
        if runs.parts_ns is not None:
            parts = runs.parts_ns[runs.is_profile_pass]
            yield from (f"{PART_COLUMNS[part]} is negative" for part in np.unique(np.nonzero(parts < 0)[1]).tolist())


def _counter_complaints(records: list[ProfileRecord]) -> Iterator[str]:
    tables = [record.counters for record in records if record.counters is not None]
    yield from _column_complaints("value", (table.value for table in tables))
    for name in ("n", "repeat"):
        yield from _column_complaints(name, (getattr(table, name) for table in tables))
    counters = {counter for table in tables for counter in table.counter}
    yield from (complaint for counter in counters if (complaint := bad_text("counter", counter)))
