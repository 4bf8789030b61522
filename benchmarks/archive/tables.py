"""CSV members: read in pieces of bounded size, as columns of checked numbers with line numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from operator import itemgetter
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.archive.container import ArchiveProblems, quoted
from benchmarks.archive.documents import load_schema
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.measurements.bounds import MOST_COLUMNS, RANGES, Range, invisible_character

CSV_ROWS_AT_ONCE = 1 << 14
CSV_CHARACTERS_AT_ONCE = 1 << 22
LONGEST_LINE = 1 << 20
LONGEST_NUMBER = 60  # characters of a number in a problem
LINES_A_ROW = 5  # allows for blank lines and line ends inside quotes

_INTEGER = r"-?[0-9]{1,19}"
_NUMBER = r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,4})?"
INTEGER, INTEGERS = re.compile(_INTEGER), re.compile(rf"{_INTEGER}(?:\n{_INTEGER})*")  # a cell, and a whole column
NUMBER, NUMBERS = re.compile(_NUMBER), re.compile(rf"{_NUMBER}(?:\n{_NUMBER})*")


@dataclass(frozen=True)
class CsvRows:
    """Consecutive rows of a CSV member, by column. The line of a row is the one on which it starts, and the header is
    on line 1."""

    member: str
    lines: IntArray
    columns: dict[str, tuple[str, ...]]
    problems: ArchiveProblems

    def __len__(self) -> int:
        return len(self.lines)

    def given(self, name: str) -> BoolArray:
        """Return which cells of a column are not empty."""
        return np.fromiter(map(bool, self.columns[name]), dtype=bool, count=len(self))

    def refuse(self, bad: BoolArray, kind: str, reason: Callable[[int], str]) -> None:
        self.problems.add_rows(self.member, self.lines, bad, kind, reason)

    def within(self, name: str, values: Any, good: BoolArray, bounds: Range | None = None, most: str = "") -> BoolArray:
        """Return which of the valid values are inside the bounds, by default those of the column. Add problems for the
        others. `most` describes an upper bound that is not that of the column."""
        text, bounds = self.columns[name], bounds or RANGES[name]
        low, high = bounds.outside(values)
        too_high = f"more than {most}" if most else bounds.too_high
        self.refuse(good & low, f"{name} low", lambda row: f"{name} {_shortened(text[row])} is {bounds.too_low}")
        self.refuse(good & high, f"{name} high", lambda row: f"{name} {_shortened(text[row])} is {too_high}")
        return good & ~low & ~high

    def counts(self, name: str, n_max: int | None = None) -> tuple[IntArray, BoolArray]:
        """Return a column of thread counts or repeat numbers, and which rows are valid."""
        values, good = self.integers(name)
        if n_max is None:
            return values, self.within(name, values, good)
        return values, self.within(name, values, good, Range(RANGES[name].least, n_max), f"n_max = {n_max}")

    def integers(self, name: str, given: BoolArray | None = None) -> tuple[IntArray, BoolArray]:
        """Return a column of 64-bit integers (0 where invalid or not `given`), and which of the given rows are
        valid."""
        text = self.columns[name]
        values, bad = _convert(text, INTEGERS, INTEGER, int, given)
        self.refuse(bad, name, lambda row: f"{name} {quoted(text[row])} is not a 64-bit integer")
        return values, ~bad if given is None else given & ~bad

    def numbers(self, name: str, given: BoolArray) -> tuple[FloatArray, BoolArray]:
        """Return a column of finite decimal numbers (NaN where invalid or not `given`), and which of the given rows are
        valid."""
        text = self.columns[name]
        values, bad = _convert(text, NUMBERS, NUMBER, float, given)
        bad |= ~np.isfinite(values)
        self.refuse(bad, name, lambda row: f"{name} {quoted(text[row])} is not a finite number")
        return np.where(given & ~bad, values, np.nan), given & ~bad

    def one_of(self, name: str, allowed: Sequence[str]) -> BoolArray:
        text = self.columns[name]
        good = np.isin(np.array(text, dtype=object), np.array(allowed, dtype=object))
        self.refuse(~good, name, lambda row: f"{name} {quoted(text[row])} is not one of {', '.join(allowed)}")
        return good

    def visible(self, name: str) -> BoolArray:
        """Return which texts of a column have no invisible character."""
        codes = [invisible_character(text) for text in self.columns[name]]
        bad = np.array([code is not None for code in codes], dtype=bool)
        self.refuse(bad, f"{name} visible", lambda row: f"{name} has the invisible character {codes[row]}")
        return ~bad

    def workloads(self, index: WorkloadIndex) -> tuple[IntArray, BoolArray]:
        """Return the workload column as indices, and which of its workloads are in workloads.json."""
        text = self.columns["workload"]
        values = np.fromiter(map(index.of, text), dtype=np.int64, count=len(text))
        self.refuse(values < 0, "workload", lambda row: f"workload {quoted(text[row])} is not in workloads.json")
        return values, values >= 0


@dataclass
class RowAllowance:
    """The maximum number of rows in all CSV members together, and the number of rows read so far."""

    limit: int
    taken: int = 0


class WorkloadIndex:
    """The index of each workload by name. If workloads.json could not be read, names are numbered as they occur."""

    def __init__(
        self, names: Sequence[str] | None, sizes: Sequence[float | None] = (), first_n: Sequence[int | None] = ()
    ) -> None:
        self.numbers = {name: number for number, name in enumerate(names or ())}
        self.names = list(names or ())
        self.known = names is not None
        self._sizes = np.array([*sizes], dtype=np.float64)  # None becomes NaN
        self._first_n = [first or 1 for first in first_n]

    def sizes(self, numbers: IntArray) -> FloatArray:
        """Return the size of each workload's own input, NaN where workloads.json has none."""
        sizes = np.full(len(numbers), np.nan)
        sized = (numbers >= 0) & (numbers < len(self._sizes))
        sizes[sized] = self._sizes[numbers[sized]]
        return sizes

    def first_n(self, number: int) -> int:
        """Return the smallest n at which the workload must have a row: 1, or `first_n` in workloads.json."""
        return self._first_n[number] if number < len(self._first_n) else 1

    def of(self, name: str) -> int:
        number = self.numbers.get(name, -1)
        if number < 0 and not self.known:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
        return number


def _convert(
    text: tuple[str, ...], whole: re.Pattern[str], single: re.Pattern[str], kind: type, given: BoolArray | None
) -> tuple[NDArray[Any], BoolArray]:
    """Return a column as numbers, and which cells are invalid. Cells are converted one by one only if one of them is
    invalid."""
    dtype = np.int64 if kind is int else np.float64
    cells = text if given is None else [cell if good else "0" for cell, good in zip(text, given.tolist(), strict=True)]
    if whole.fullmatch("\n".join(cells)):
        try:
            return np.array(list(map(kind, cells)), dtype=dtype), np.zeros(len(cells), dtype=bool)
        except (OverflowError, ValueError):
            pass
    values, bad = np.zeros(len(cells), dtype=dtype), np.zeros(len(cells), dtype=bool)
    for row, cell in enumerate(cells):
        try:
            if single.fullmatch(cell) is None:
                raise ValueError
            values[row] = kind(cell)
        except (OverflowError, ValueError):
            bad[row] = True
    return values, bad


@dataclass(frozen=True)
class _Header:
    """The positions of the schema's columns in a header, None for an optional column that is missing. At least two are
    present."""

    member: str
    width: int
    places: dict[str, int | None]

    @property
    def columns(self) -> list[int]:
        """The positions of the columns that are present."""
        return [place for place in self.places.values() if place is not None]


def read_rows(
    member: str, content: IO[bytes], schema: str, allowance: RowAllowance, problems: ArchiveProblems
) -> Iterator[CsvRows]:
    """Yield the rows of a CSV member that have the right number of cells, at most CSV_ROWS_AT_ONCE at a time, with the
    columns of the published schema."""
    content.seek(0)
    text = io.TextIOWrapper(content, encoding="utf-8-sig", newline="")
    try:
        records = _records(member, text, LINES_A_ROW * allowance.limit + 1, problems)
        header = _read_header(member, *next(records, (1, [])), load_schema(schema)["fields"], problems)
        if header is None:
            return
        good = _good_records(records, header, allowance, problems)
        while piece := list(_take_piece(good)):
            lines, rows = zip(*piece, strict=True)
            cells = dict(zip(header.columns, zip(*rows, strict=True), strict=True))
            nothing = ("",) * len(piece)
            named = {name: nothing if place is None else cells[place] for name, place in header.places.items()}
            yield CsvRows(member, np.array(lines, dtype=np.int64), named, problems)
    except UnicodeDecodeError:
        problems.add(member, _undecodable_line(content), "is not UTF-8")
    finally:
        text.detach()


def _records(
    member: str, text: io.TextIOWrapper, most_lines: int, problems: ArchiveProblems
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, and the line on which it starts."""
    reader = csv.reader(chain.from_iterable(_lines(text, most_lines)), strict=True)
    start = 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        problems.add(member, start, f"is not valid CSV: {error}")


def _good_records(
    records: Iterator[tuple[int, list[str]]], header: _Header, allowance: RowAllowance, problems: ArchiveProblems
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line and the schema's cells of each row that has as many cells as the header. Other rows are not
    kept."""
    promised = itemgetter(*header.columns)
    for line, row in records:
        allowance.taken += 1
        if allowance.taken > allowance.limit:
            reason = f"exceeds the limit of {allowance.limit} rows in all CSV members together"
            problems.add(header.member, line, reason)
            return
        if len(row) == header.width:
            yield line, promised(row)
            continue
        problems.add(header.member, line, f"has {len(row)} columns, the header has {header.width}", "ragged")
        if len(row) > MOST_COLUMNS:
            return


def _take_piece(good: Iterator[tuple[int, tuple[str, ...]]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield rows up to CSV_ROWS_AT_ONCE, or until they exceed CSV_CHARACTERS_AT_ONCE characters together."""
    characters = 0
    for line, row in islice(good, CSV_ROWS_AT_ONCE):
        yield line, row
        characters += sum(map(len, row))
        if characters > CSV_CHARACTERS_AT_ONCE:
            return


def _read_header(
    member: str, line: int, row: list[str], promised: list[dict[str, Any]], problems: ArchiveProblems
) -> _Header | None:
    """Return the header in this row, or None if it is refused. Columns that are not in the schema are allowed
    anywhere."""
    if not row:
        problems.add(member, line, "has no header")
        return None
    names = [field["name"] for field in promised]
    missing = [field["name"] for field in promised if field["name"] not in row and not field.get("optional")]
    twice = sorted({name for name in names if row.count(name) > 1})
    if len(row) > MOST_COLUMNS:
        problems.add(member, line, f"has {len(row)} columns, more than {MOST_COLUMNS}")
        return None
    if missing:
        problems.add(member, line, f"has no column {', '.join(missing)}")
    if twice:
        problems.add(member, line, f"has column {', '.join(twice)} twice")
    if missing or twice:
        return None
    return _Header(member, len(row), {name: row.index(name) if name in row else None for name in names})


def _lines(text: io.TextIOWrapper, most_lines: int) -> Iterator[list[str]]:
    """Yield lines in blocks, with their line ends. The last line of a block may continue in the next block, and is
    yielded with it."""
    rest, ends = "", 0
    while block := text.read(LONGEST_LINE):
        ends += max(block.count("\n"), block.count("\r"))
        if ends > most_lines:
            raise csv.Error(f"more than {most_lines} lines")
        lines = list(io.StringIO(rest + block, newline=""))
        # The csv module accepts NUL characters, but databases do not.
        if "\0" in block:
            yield list(takewhile(lambda line: "\0" not in line, lines))
            raise csv.Error("NUL character")
        rest = lines.pop()
        yield lines
        if len(rest) >= LONGEST_LINE:
            raise csv.Error(f"line longer than {LONGEST_LINE} characters")
    yield [rest] if rest else []


def _undecodable_line(content: IO[bytes]) -> int | None:
    content.seek(0)
    for number, line in enumerate(content, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return None


def _shortened(cell: str) -> str:
    """Return a number as written in the file, shortened if it is longer than LONGEST_NUMBER."""
    return cell if len(cell) <= LONGEST_NUMBER else quoted(cell)
