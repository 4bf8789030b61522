"""The common part of all readers of foreign files: collected runs with their lines, problems, and limits of the
input."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from benchmarks.archive import ArchiveProblems, quoted
from benchmarks.archive.documents import Document, parse_document
from benchmarks.archive.tables import LONGEST_NUMBER
from profiles.measurements import Measurements, PlatformRecord, ProfileRecord, RunTable, TimeKind, WorkloadRecord
from profiles.measurements.bounds import MOST_COLUMNS, MOST_ROWS, MOST_WORKLOADS, RANGES, record_complaints

THREAD_NAMES = ("threads", "n", "p", "num_threads", "nthreads", "thread", "cores", "jobs", "procs", "processes")
SECONDS_PER_UNIT = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
LONGEST_CSV_LINE = 1 << 16
LONGEST_FIELD = 300  # characters of a text to which a regular expression is applied; names have at most 200
MOST_PROBLEMS = 100  # per delivery; reading stops at the last one
MOST_REASONS = 20  # reported for the runs that were left out
COUNTS_64_BIT = 1 << 63
BLANK_OR_DASH = re.compile(r"[\s-]")


@dataclass(frozen=True)
class ForeignFile:
    """A file of another tool: its content, and its name as error messages show it."""

    name: str
    content: bytes


@dataclass(frozen=True)
class ForeignLimits:
    """The limits above which files of other tools are refused: bytes of each file, runs and workloads of all files."""

    file_bytes: int = 2 * 2**20
    rows: int = MOST_ROWS
    workloads: int = MOST_WORKLOADS


@dataclass(frozen=True)
class _Run:
    workload: WorkloadRecord
    n: int
    time_s: float
    file: str
    line: int | None


class Collected:
    """The runs in all files of one delivery, and the problems found in them."""

    def __init__(self, platform: PlatformRecord | None, limits: ForeignLimits) -> None:
        self.platform, self.limits = platform, limits
        self._problems = ArchiveProblems()
        self.left_out: Counter[str] = Counter()
        self.environment: dict[str, Any] = {}
        self._runs: list[_Run] = []
        self._kinds: dict[WorkloadRecord, TimeKind] = {}

    def describe(self, platform: PlatformRecord) -> None:
        """Set the platform to the one that a file describes, unless the platform is known already."""
        if self.platform is None:
            self.platform = platform

    def add(
        self,
        workload: WorkloadRecord,
        n: Any,
        time_s: Any,
        *,
        file: ForeignFile,
        line: int | None,
        kind: TimeKind = "absolute",
    ) -> None:
        """Add one run. Note a problem if a value is invalid. The delivery is then refused."""
        number, seconds = as_count(n), as_number(time_s)
        bounds = RANGES["time_s" if kind == "absolute" else "relative time_s"]
        if number is None or RANGES["n"].complaint("n", number):
            self.note(file.name, line, f"n is {quoted(n)}, not a thread count from 1 to {RANGES['n'].most}", "n")
        elif seconds is None or not bounds.least <= seconds <= bounds.most:
            accepted = f"{bounds.least:g} to {bounds.most:g}"
            self.note(file.name, line, f"the time is {quoted(time_s)}, not a number from {accepted}", "time")
        elif not workload.name.strip():
            self.note(file.name, line, "the workload has no name", "name")
        elif self._kinds.setdefault(workload, kind) != kind:
            self.note(file.name, line, f"{quoted(workload.name)} has absolute and relative times", "kind")
        else:
            self._runs.append(_Run(workload, number, seconds, file.name, line))
            if len(self._runs) > self.limits.rows:
                self.refuse(file, None, f"has more than {self.limits.rows} runs")
            if len(self._kinds) > self.limits.workloads:
                self.refuse(file, None, f"has more than {self.limits.workloads} workloads")

    def note(self, file: str | None, line: int | None, reason: str, kind: str = "") -> None:
        """Add a problem. Raise ArchiveError when there are MOST_PROBLEMS."""
        self._problems.add(file, line, reason, kind)
        if self._problems.count >= MOST_PROBLEMS:
            self._problems.raise_if_any()

    def measurements(self, form: str) -> Measurements:
        """Return all runs as one delivery. Raise ArchiveError if there are problems, no runs or no platform."""
        self._problems.raise_if_any()
        left_out = [f"{count} {reason}" for reason, count in self.left_out.most_common(MOST_REASONS)]
        if len(self.left_out) > MOST_REASONS:
            left_out.append(f"results for {len(self.left_out) - MOST_REASONS} more reasons")
        if not self._runs:
            self.note(None, None, "there are no runs" + (f" ({'; '.join(left_out)})" if left_out else ""))
        if self.platform is None:
            self.note(None, None, "the files do not name the machine: specify it")
        self._problems.raise_if_any()
        assert self.platform is not None  # noqa: S101
        platform = self._fitting_platform(self.platform)
        workloads = list(dict.fromkeys(run.workload for run in self._runs))
        records: list[PlatformRecord | WorkloadRecord] = [platform, *workloads]
        for record in records:
            for complaint in record_complaints(record):
                self.note(None, None, f"{quoted(record.name)}: {complaint}")
        self._problems.raise_if_any()
        positions = {workload: position for position, workload in enumerate(workloads)}
        return Measurements(
            origin="measured",
            time_kinds={position: self._kinds[workload] for workload, position in positions.items()},
            platforms=[platform],
            workloads=workloads,
            profiles=self._profiles(positions),
            generator=f"import_measurements {form}",
            environment=self.environment or None,
            warnings=[f"left out: {text}" for text in left_out],
        )

    def _fitting_platform(self, platform: PlatformRecord) -> PlatformRecord:
        n_max = platform.n_max or platform.threads
        for run in self._runs:
            if n_max is not None and run.n > n_max:
                self.note(run.file, run.line, f"n is {run.n}, but the machine has {n_max} threads", "n_max")
        return replace(platform, n_max=n_max or max(run.n for run in self._runs))

    def _profiles(self, positions: Mapping[WorkloadRecord, int]) -> list[ProfileRecord]:
        """Return the runs of each workload in the order of n. Repeats are numbered in the order of the files."""
        rows: dict[int, list[tuple[int, int, float]]] = {}
        repeats: Counter[tuple[int, int]] = Counter()
        for run in self._runs:
            position = positions[run.workload]
            repeats[position, run.n] += 1
            rows.setdefault(position, []).append((run.n, repeats[position, run.n], run.time_s))
        profiles = []
        for position, of_workload in sorted(rows.items()):
            n, repeat, time_s = (np.array(column) for column in zip(*sorted(of_workload), strict=True))
            table = RunTable(
                n.astype(np.int64), repeat.astype(np.int64), np.zeros(len(n), np.bool_), time_s.astype(float)
            )
            profiles.append(ProfileRecord(0, position, table))
        return profiles

    def document(self, file: ForeignFile) -> Document:
        """Parse a JSON file. Raise ArchiveError if it is invalid or too large."""
        document = parse_document(file.name, file.content, self.limits.file_bytes, self._problems)
        self._problems.raise_if_any()
        assert document is not None  # noqa: S101
        return document

    def refuse(self, file: ForeignFile, line: int | None, reason: str) -> NoReturn:
        """Add a problem, and stop reading by raising ArchiveError."""
        self._problems.add(file.name, line, reason)
        self._problems.raise_if_any()
        raise AssertionError

    def content(self, file: ForeignFile) -> bytes:
        """Return the content of a file. Raise ArchiveError if it is too large."""
        if len(file.content) > self.limits.file_bytes:
            self.refuse(file, None, f"is larger than {self.limits.file_bytes} bytes")
        return file.content

    def lines(self, file: ForeignFile) -> list[str]:
        """Return the lines of a text file. Raise ArchiveError if it is too large or not valid text."""
        self.content(file)
        try:
            text = file.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.refuse(file, file.content.count(b"\n", 0, error.start) + 1, "is not UTF-8")
        if "\0" in text:
            self.refuse(file, text.count("\n", 0, text.index("\0")) + 1, "has a NUL character")
        return text.splitlines()

    def csv_rows(self, file: ForeignFile) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the cells of each CSV row that is not blank. Raise ArchiveError if the file is
        invalid."""
        lines = self.lines(file)
        long = next((line for line, text in enumerate(lines, start=1) if len(text) > LONGEST_CSV_LINE), None)
        if long is not None:
            self.refuse(file, long, f"is longer than {LONGEST_CSV_LINE} characters")
        rows = csv.reader(lines, strict=True)
        try:
            for row in rows:
                if len(row) > MOST_COLUMNS * 20:
                    self.refuse(file, rows.line_num, f"has more than {MOST_COLUMNS * 20} cells")
                if any(cell.strip() for cell in row):
                    yield rows.line_num, [cell.strip() for cell in row]
        except csv.Error as error:
            self.refuse(file, rows.line_num, f"is not valid CSV: {error}")


def as_number(value: Any) -> float | None:
    """Return the value as a finite number, also if it is written as text, else None. Every number in a file is read by
    this function or by `as_count`, because Python accepts `true` as a number and does not convert a number of 5,000
    digits.

    >>> as_number("1.5"), as_number(2), as_number("nan"), as_number(True), as_number([]), as_number("1" * 5000)
    (1.5, 2.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (len(value) > LONGEST_NUMBER or "_" in value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_count(value: Any) -> int | None:
    """Return the value as a whole number of 64 bits, or None.

    >>> as_count("4"), as_count(4.0), as_count(4.5), as_count(True), as_count(1e300)
    (4, 4, None, None, None)
    """
    number = as_number(value)
    if number is None or not number.is_integer() or abs(number) >= COUNTS_64_BIT:
        return None
    return value if isinstance(value, int) else int(number)


def thread_parameter(names: Mapping[str, Any]) -> str | None:
    """Return the name of the parameter that counts threads, or None.

    >>> thread_parameter({"size": 1, "Threads": 2}), thread_parameter({"size": 1})
    ('Threads', None)
    """
    known = {BLANK_OR_DASH.sub("_", name.casefold()): name for name in names}
    known = {name.removeprefix("omp_"): original for name, original in known.items()}
    return next((known[name] for name in THREAD_NAMES if name in known), None)


def spell_parameters(parameters: Mapping[str, Any], besides: str | None) -> str | None:
    """Return all parameters except `besides` as the input of a workload, such as `m=100, size=3`. Return None if there
    are no others.

    >>> spell_parameters({"p": 4, "m": 100.0}, "p")
    'm=100'
    """
    others = {name: value for name, value in parameters.items() if name != besides}
    return ", ".join(f"{name}={_plain(value)}" for name, value in sorted(others.items())) or None


def _plain(value: Any) -> str:
    return json.dumps(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
