"""Bounds of all numbers, texts and containers that MPET accepts. This module does not import Django.

Readers refuse values outside the bounds with file, line and reason. `number_outside` checks them again for
`profiles.ingest`, the database has them as constraints, and the published schemas and docs/formats.md repeat them
(test_bounds.py compares them). docs/decisions/bounds.md gives the reason for each bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mpet_site.web.invisible import INVISIBLE
from profiles.arrays import BoolArray
from profiles.measurements import PART_COLUMNS, Measurements, PlatformRecord, ProfileRecord, WorkloadRecord

# Columns of a RunTable, some of them optional.
NUMBER_COLUMNS = ("n", "repeat", "time_ns", "size", "clock_mhz", "tasks", "waits", "disturbed")


@dataclass(frozen=True)
class Range:
    """An inclusive range from `least` to `most`. With `or_zero`, 0 is valid too: it means unknown, or none counted."""

    least: float
    most: float
    or_zero: bool = False

    def outside(self, numbers: Any) -> tuple[BoolArray, BoolArray]:
        """Return masks (M,) of the numbers below and above the range. NaN means no number and is in neither mask.

        >>> [side.tolist() for side in Range(1, 9, or_zero=True).outside(np.array([0, 0.5, 9, 10, np.nan]))]
        [[False, True, False, False, False], [False, False, False, True, False]]
        """
        low, high = np.less(numbers, self.least), np.greater(numbers, self.most)
        return (low & np.not_equal(numbers, 0) if self.or_zero else low), high

    def complaint(self, name: str, number: Any) -> str | None:
        """Return the fault of one number, or None. Python integers may have any length.

        >>> Range(1, 65_536).complaint("threads", 2**31)
        'threads 2147483648 is more than 65536'
        """
        if number < self.least and not (self.or_zero and number == 0):
            return f"{name} {number} is {self.too_low}"
        return f"{name} {number} is {self.too_high}" if number > self.most else None

    @property
    def too_low(self) -> str:
        return f"less than {spell_bound(self.least)}" + (" and not 0" if self.or_zero else "")

    @property
    def too_high(self) -> str:
        return f"more than {spell_bound(self.most)}"


def spell_bound(number: float) -> str:
    """Return a bound as it is written in messages and docs.

    >>> spell_bound(65_536), spell_bound(1e-18)
    ('65536', '1e-18')
    """
    return str(number) if isinstance(number, int) else f"{number:g}"


LARGEST_INTEGER = 2**63 - 1  # the largest integer of a database column
THREAD_COUNT = Range(1, 65_536)
CLOCK = Range(1, 100_000)

RANGES: dict[str, Range] = {
    **dict.fromkeys(("n", "threads", "physical_cores", "sockets", "numa_nodes", "n_nu", "n_ht", "n_max"), THREAD_COUNT),
    "first_n": Range(2, THREAD_COUNT.most),
    "word_bits": Range(1, 1024),
    "placement": Range(0, THREAD_COUNT.most - 1),  # each CPU number
    **dict.fromkeys(("base_mhz", "max_mhz"), Range(CLOCK.least, CLOCK.most, or_zero=True)),
    "clock_mhz": CLOCK,
    **dict.fromkeys(("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes"), Range(0, 2**60)),
    "repeat": Range(0, 2**31 - 1),
    "time_ns": Range(1, 10**16),
    "n * time_ns": Range(1, LARGEST_INTEGER),
    **dict.fromkeys(PART_COLUMNS, Range(0, LARGEST_INTEGER)),
    "time_s": Range(1e-18, 1e7),
    "relative time_s": Range(1e-18, 1e18),
    "size": Range(1e-9, 1e18),
    **dict.fromkeys(("tasks", "waits"), Range(0, 2**53)),
    "disturbed": Range(0, 1),
    "value": Range(1e-9, 1e21, or_zero=True),  # the reading of a counter
}

LONGEST_TEXTS: dict[str, int] = {  # maximum number of characters
    **dict.fromkeys(("name", "cpu_model", "kernel", "compiler"), 200),
    **dict.fromkeys(("vendor", "microarchitecture"), 100),
    "architecture": 50,
    "device_class": 20,
    "compiler_flags": 10_000,
    **dict.fromkeys(("application", "section", "input"), 200),
    **dict.fromkeys(("runtime", "version", "size_unit"), 50),
    "description": 10_000,
    "counter": 40,
    "output_checksum": 128,
    "generator": 200,
    **dict.fromkeys(("licence", "source", "note"), 20_000),
}

MOST_ROWS = 200_000  # rows of all CSV members of a tarball together; MPET_UPLOAD_MAX_ROWS
MOST_WORKLOADS = 1_000  # workloads of a tarball; MPET_UPLOAD_MAX_WORKLOADS
MOST_COLUMNS = 200  # columns of a CSV member
MOST_JSON_CONTAINERS = 20_000  # objects and lists of one JSON member
MOST_JSON_VALUES = 200_000  # values of one JSON member, enough for a placement of 65,536 threads
DEEPEST_JSON = 32  # nesting depth of objects and lists

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def bad_text(name: str, text: str | None) -> str | None:
    """Return the fault of a text, or None.

    >>> bad_text("architecture", "x" * 51), bad_text("name", "laptop\\u200b")
    ('architecture is longer than 50 characters', 'name has the invisible character U+200B')
    """
    if not text:
        return None
    most = LONGEST_TEXTS[name]
    if len(text) > most:
        return f"{name} is longer than {most} characters"
    code = invisible_character(text)
    return code and f"{name} has the invisible character {code}"


def invisible_character(text: str) -> str | None:
    """Return the code of the first invisible character of a text, or None.

    >>> invisible_character("EPYC\\u202e 7B13"), invisible_character("Zen 4, 2 × 96 cores")
    ('U+202E', None)
    """
    found = None if text.isprintable() else INVISIBLE.search(text)
    return found and f"U+{ord(found[0]):04X}"


def is_unstorable(text: str) -> bool:
    """Return whether a database cannot store the text because it contains NUL or half a surrogate pair.

    >>> is_unstorable(chr(0xD800)), is_unstorable("x")
    (True, False)
    """
    return _UNSTORABLE.search(text) is not None


def bad_placement(placement: Sequence[int] | None, threads: int | None) -> str | None:
    """Return the fault of a placement (CPU numbers in the order in which threads fill them), or None.

    >>> bad_placement((0, 1, 2), threads=2)
    'placement has 3 entries, more than threads = 2'
    >>> bad_placement((0, -1), threads=2)
    'placement: CPU number -1 is less than 0'
    """
    if not placement:
        return None
    if len(placement) > (threads or THREAD_COUNT.most):
        most = f"threads = {threads}" if threads else spell_bound(THREAD_COUNT.most)
        return f"placement has {len(placement)} entries, more than {most}"
    for cpu in (min(placement), max(placement)):
        if complaint := RANGES["placement"].complaint("CPU number", cpu):
            return f"placement: {complaint}"
    return None


def number_outside(measurements: Measurements) -> str | None:
    """Return a description of the first number, text or placement outside its bounds, or None if all are inside."""
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


def fact_complaint(name: str, value: Any, threads: int | None) -> str | None:
    """Return the fault of one fact of a platform with this number of threads, or of a workload, or None."""
    if isinstance(value, str):
        return bad_text(name, value) if name in LONGEST_TEXTS else None
    if name == "placement":
        return bad_placement(value, threads)
    return RANGES[name].complaint(name, value) if value is not None and name in RANGES else None


def record_complaints(record: PlatformRecord | WorkloadRecord) -> Iterator[str]:
    """Yield a description of each value of a platform or a workload that is outside its bounds."""
    threads = getattr(record, "threads", None)
    for name, value in ((field.name, getattr(record, field.name)) for field in fields(record)):
        if complaint := fact_complaint(name, value, threads):
            yield complaint
        if isinstance(value, str) and is_unstorable(value):
            yield f"{name} has NUL or an unpaired surrogate"


def _column_complaints(name: str, columns: Iterable[Any], bound: str = "") -> Iterator[str]:
    """Yield the faults of the columns that are not None. NaN is ignored."""
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
    """Yield the faults of the exact nanoseconds: n * time_ns, and the parts of the profile runs."""
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
