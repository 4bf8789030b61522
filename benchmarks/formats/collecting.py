"""What readers of foreign files have in common: runs with their lines, problems, and bounded input."""

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

from benchmarks.archive.container import Limits
from benchmarks.archive.documents import Document, parse_document
from benchmarks.archive.problems import ArchiveProblems, quoted
from profiles.bound_checks import record_complaints
from profiles.bounds import MOST_COLUMNS, RANGES
from profiles.measurements import Measurements, PlatformRecord, ProfileRecord, RunTable, TimeKind, WorkloadRecord

MOST_DOCUMENT_BYTES = Limits.json_bytes
THREAD_NAMES = ("threads", "n", "p", "num_threads", "nthreads", "thread", "cores", "jobs", "procs", "processes")
SECONDS_PER_UNIT = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
LONGEST_CSV_LINE = 1 << 16


@dataclass(frozen=True)
class ForeignFile:
    """A file by its name, as it is told in reasons, and its bytes."""

    name: str
    content: bytes


@dataclass(frozen=True)
class _Run:
    workload: WorkloadRecord
    n: int
    time_s: float
    file: str
    line: int | None


class Collected:
    """The runs of all files of one delivery, and what is wrong with them."""

    def __init__(self, platform: PlatformRecord | None, *, most_rows: int, most_workloads: int) -> None:
        self.platform, self.most_rows, self.most_workloads = platform, most_rows, most_workloads
        self.given = platform is not None
        self.problems = ArchiveProblems()
        self.left_out: Counter[str] = Counter()
        self.environment: dict[str, Any] = {}
        self._runs: list[_Run] = []
        self._kinds: dict[WorkloadRecord, TimeKind] = {}

    def describe(self, platform: PlatformRecord) -> None:
        """What a file says of the machine; counts where nobody said which platform it is."""
        if not self.given and self.platform is None:
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
        """One run. A number that cannot be one is a problem, and the file is refused."""
        number, seconds = as_count(n), as_number(time_s)
        bounds = RANGES["time_s" if kind == "absolute" else "relative time_s"]
        if number is None or RANGES["n"].complaint("n", number):
            self.problems.add(file.name, line, f"n is {quoted(n)}, not a number of threads", "n")
        elif seconds is None or not bounds.least <= seconds <= bounds.most:
            self.problems.add(file.name, line, f"the time is {quoted(time_s)}, not a number of seconds", "time")
        elif not workload.name.strip():
            self.problems.add(file.name, line, "the workload has no name", "name")
        elif self._kinds.setdefault(workload, kind) != kind:
            self.problems.add(file.name, line, f"{quoted(workload.name)} has times in seconds and others", "kind")
        else:
            self._runs.append(_Run(workload, number, seconds, file.name, line))
            self._refuse_too_many(file)

    def _refuse_too_many(self, file: ForeignFile) -> None:
        if len(self._runs) > self.most_rows:
            self.problems.add(file.name, None, f"has more than {self.most_rows} runs")
        elif len(self._kinds) > self.most_workloads:
            self.problems.add(file.name, None, f"has more than {self.most_workloads} workloads")
        else:
            return
        self.problems.raise_if_any()

    def measurements(self, form: str) -> Measurements:
        """All of it as one delivery. Raises ArchiveError."""
        self.problems.raise_if_any()
        if not self._runs:
            reasons = "; ".join(f"{count} {reason}" for reason, count in self.left_out.most_common())
            self.problems.add(None, None, "there are no runs" + (f" ({reasons})" if reasons else ""))
        if self.platform is None:
            self.problems.add(None, None, "the files do not say which machine this is: give the platform")
        self.problems.raise_if_any()
        assert self.platform is not None  # noqa: S101
        platform = self._fitting_platform(self.platform)
        workloads = list(dict.fromkeys(run.workload for run in self._runs))
        records: list[PlatformRecord | WorkloadRecord] = [platform, *workloads]
        for record in records:
            for complaint in record_complaints(record):
                self.problems.add(None, None, f"{quoted(record.name)}: {complaint}")
        self.problems.raise_if_any()
        positions = {workload: position for position, workload in enumerate(workloads)}
        tables = self._tables(positions)
        return Measurements(
            origin="measured",
            time_kinds={position: self._kinds[workload] for workload, position in positions.items()},
            platforms=[platform],
            workloads=workloads,
            profiles=[ProfileRecord(0, position, table) for position, table in sorted(tables.items())],
            generator=f"import_measurements {form}",
            environment=self.environment or None,
            warnings=[f"left out: {count} {reason}" for reason, count in self.left_out.most_common()],
        )

    def _fitting_platform(self, platform: PlatformRecord) -> PlatformRecord:
        n_max = platform.n_max or platform.threads
        for run in self._runs:
            if n_max is not None and run.n > n_max:
                self.problems.add(run.file, run.line, f"n is {run.n}, the platform has {n_max} threads", "n_max")
        return replace(platform, n_max=n_max or max(run.n for run in self._runs))

    def _tables(self, positions: Mapping[WorkloadRecord, int]) -> dict[int, RunTable]:
        """The runs of each workload, in the order of n; repeats are numbered in the order of the files."""
        rows: dict[int, list[tuple[int, int, float]]] = {}
        repeats: Counter[tuple[int, int]] = Counter()
        for run in self._runs:
            position = positions[run.workload]
            repeats[position, run.n] += 1
            rows.setdefault(position, []).append((run.n, repeats[position, run.n], run.time_s))
        return {position: _run_table(sorted(of_workload)) for position, of_workload in rows.items()}

    def document(self, file: ForeignFile) -> Document:
        """A JSON file. Raises ArchiveError."""
        document = parse_document(file.name, file.content, MOST_DOCUMENT_BYTES, self.problems)
        self.problems.raise_if_any()
        assert document is not None  # noqa: S101
        return document

    def refuse(self, file: ForeignFile, line: int | None, reason: str) -> NoReturn:
        """Add a problem, and stop reading."""
        self.problems.add(file.name, line, reason)
        self.problems.raise_if_any()
        raise AssertionError

    def lines(self, file: ForeignFile) -> list[str]:
        """A text file's lines. Raises ArchiveError."""
        if len(file.content) > 4 * MOST_DOCUMENT_BYTES:
            self.refuse(file, None, f"is larger than {4 * MOST_DOCUMENT_BYTES} bytes")
        try:
            text = file.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.refuse(file, file.content.count(b"\n", 0, error.start) + 1, "is not UTF-8")
        if "\0" in text:
            self.refuse(file, text.count("\n", 0, text.index("\0")) + 1, "has a NUL character")
        return text.splitlines()

    def csv_rows(self, file: ForeignFile) -> Iterator[tuple[int, list[str]]]:
        """The rows of a CSV file that are not blank, each with its line. Raises ArchiveError."""
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


def _run_table(rows: list[tuple[int, int, float]]) -> RunTable:
    n, repeat, time_s = (np.array(column) for column in zip(*rows, strict=True))
    return RunTable(n.astype(np.int64), repeat.astype(np.int64), np.zeros(len(rows), np.bool_), time_s.astype(float))


def as_number(value: Any) -> float | None:
    """A finite number, also one written as text; None for everything else.

    >>> as_number("1.5"), as_number(2), as_number("nan"), as_number(True), as_number([])
    (1.5, 2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str) or (isinstance(value, str) and "_" in value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_count(value: Any) -> int | None:
    """A whole number, or None.

    >>> as_count("4"), as_count(4.0), as_count(4.5)
    (4, 4, None)
    """
    number = as_number(value)
    return int(number) if number is not None and number.is_integer() else None


def thread_parameter(names: Mapping[str, Any]) -> str | None:
    """Which of these parameters counts threads, or None.

    >>> thread_parameter({"size": 1, "Threads": 2}), thread_parameter({"size": 1})
    ('Threads', None)
    """
    known = {re.sub(r"[\s-]", "_", name.casefold()): name for name in names}
    known = {name.removeprefix("omp_"): original for name, original in known.items()}
    return next((known[name] for name in THREAD_NAMES if name in known), None)


def spell_parameters(parameters: Mapping[str, Any], besides: str | None) -> str | None:
    """The other parameters as the input of a workload: `m=100, size=3`; None where there are no others.

    >>> spell_parameters({"p": 4, "m": 100.0}, "p")
    'm=100'
    """
    others = {name: value for name, value in parameters.items() if name != besides}
    return ", ".join(f"{name}={_plain(value)}" for name, value in sorted(others.items())) or None


def _plain(value: Any) -> str:
    return json.dumps(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
