"""Reader of dataset folders (`mpet-dataset/1`). This module does not import Django."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpet_site.web.invisible import INVISIBLE
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.measurements import (
    DEVICE_CLASSES,
    CounterTable,
    Measurements,
    PlatformRecord,
    ProfileRecord,
    RunTable,
    WorkloadRecord,
    column_or_none,
)
from profiles.measurements.bounds import LONGEST_TEXTS, RANGES, THREAD_COUNT, bad_text, invisible_character

DATASET_SCHEMA = "mpet-dataset/1"
TEXT_COLUMNS = ("vendor", "architecture", "microarchitecture", "device_class")
COUNT_COLUMNS = ("sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht")
SIZE_COLUMNS = ("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes")
DATASET_PLATFORM_COLUMNS = (
    *("platform_id", "name", "cpu_model", *TEXT_COLUMNS, *COUNT_COLUMNS),
    *("base_mhz", *SIZE_COLUMNS, "virtualised"),
)
RUN_COLUMNS = ("platform_id", "workload", "n", "repeat", "time_s", "time_kind")
VARIATION_COLUMNS = ("size", "clock_mhz")
OPTIONAL_RUN_COLUMNS = (*VARIATION_COLUMNS, "disturbed")
RUN_KEY = ["platform_id", "workload", "n", "repeat"]
COUNTER_COLUMNS = (*RUN_KEY, "counter", "value")
TIME_KINDS = ("absolute", "relative")
BOOLEANS = {"true": True, "false": False, "": None}

FileProgress = Callable[[str], Any]


class DatasetError(Exception):
    """Raised when a dataset folder is invalid, with the file, the line (1 is the header) and the reason."""

    def __init__(self, member: str, line: int | None, reason: str) -> None:
        self.member, self.line, self.reason = member, line, reason
        super().__init__(f"{member}: {reason}" if line is None else f"{member}, line {line}: {reason}")


def read_dataset(path: Path, progress: FileProgress | None = None) -> Measurements:
    """Read and check a dataset folder. `progress` is called with the name of each file before it is read.

    Raises DatasetError for the first fault. Counter values that are not finite or outside their bounds are left out
    with a warning.
    """
    tell = progress or (lambda member: None)
    members = _find_members(path)
    tell("dataset.json")
    description = _read_description(members["dataset.json"])
    tell("platforms.csv")
    platforms = _CsvTable(members["platforms.csv"], DATASET_PLATFORM_COLUMNS)
    tell(members["runs.csv"].name)
    runs = _CsvTable(members["runs.csv"], RUN_COLUMNS, OPTIONAL_RUN_COLUMNS)
    records = _read_platforms(platforms)
    warnings: list[str] = []
    measured = _RunRows(runs, platforms, records)
    counters: dict[int, CounterTable] = {}
    if "counters.csv" in members:
        tell(members["counters.csv"].name)
        counters = _read_counters(_CsvTable(members["counters.csv"], COUNTER_COLUMNS), measured, warnings)
    return Measurements(
        origin="measured",
        time_kinds=measured.time_kinds(),
        platforms=measured.with_n_max(),
        workloads=[_workload_record(name) for name in measured.workloads],
        profiles=measured.profiles(counters),
        platform_ids=list(platforms.text("platform_id")),
        warnings=warnings,
        **description,
    )


def dataset_sha256(path: Path) -> str:
    """Return the SHA-256 of the names and the bytes of the dataset's files."""
    digest = hashlib.sha256()
    for member in sorted(_find_members(path).values()):
        with member.open("rb") as file:
            digest.update(f"{member.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def _find_members(path: Path) -> dict[str, Path]:
    if not path.is_dir():
        raise DatasetError(str(path), None, "is not a folder")
    members = {}
    for name in ("dataset.json", "platforms.csv", "runs.csv", "counters.csv"):
        packed = (name, f"{name}.gz") if name in ("runs.csv", "counters.csv") else (name,)
        present = [path / spelling for spelling in packed if (path / spelling).is_file()]
        if len(present) > 1:
            raise DatasetError(name, None, f"exists twice, as {name} and {name}.gz")
        if present:
            members[name] = present[0]
        elif name != "counters.csv":
            raise DatasetError(name, None, "is missing")
    return members


def _read_description(member: Path) -> dict[str, Any]:
    try:
        content = json.loads(member.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(member.name, None, f"is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise DatasetError(member.name, None, "is not a JSON object")
    if content.get("schema") != DATASET_SCHEMA:
        raise DatasetError(member.name, None, f"schema is {content.get('schema')!r}, expected {DATASET_SCHEMA!r}")
    for key in ("licence", "source", "note"):
        if not isinstance(content.get(key), str):
            raise DatasetError(member.name, None, f"{key} is missing or not text")
        if complaint := bad_text(key, content[key]):
            raise DatasetError(member.name, None, complaint)
    return {key: content[key] for key in ("licence", "source", "note")}


class _CsvTable:
    """A CSV file as texts, with its columns checked. Every DatasetError has the file's name and the line."""

    def __init__(self, member: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        self.name = member.name
        try:
            frame = pd.read_csv(member, dtype=str, keep_default_na=False, na_values=[], skip_blank_lines=False)
        except (OSError, EOFError, ValueError) as error:  # pandas' parser errors are ValueErrors
            raise DatasetError(self.name, None, f"is not valid CSV: {error}") from error
        for column in columns:
            if column not in frame.columns:
                raise DatasetError(self.name, 1, f"column {column!r} is missing")
        if not isinstance(frame.index, pd.RangeIndex):
            raise DatasetError(self.name, 2, "has more values than there are columns")
        frame = frame.reindex(columns=[*columns, *optional], fill_value="").fillna("")
        self.frame = frame[(frame != "").any(axis=1)].reset_index()  # without blank lines
        self.lines = self.frame.pop("index").to_numpy(dtype=np.int64) + 2
        if self.frame.empty:
            raise DatasetError(self.name, None, "has no rows")

    def __len__(self) -> int:
        return len(self.frame)

    def refuse(self, wrong: Any, reason: str | Callable[[int], str]) -> None:
        rows = np.flatnonzero(wrong)
        if len(rows):
            self.fail(int(rows[0]), reason if isinstance(reason, str) else reason(int(rows[0])))

    def fail(self, row: int, reason: str) -> NoReturn:
        raise DatasetError(self.name, int(self.lines[row]), reason)

    def text(self, column: str, required: bool = True) -> list[str]:
        texts = self.frame[column].str.strip()
        if required:
            self.refuse((texts == "").to_numpy(), f"{column} is empty")
        most = LONGEST_TEXTS.get("name" if column == "workload" else column)
        if most is not None:
            self.refuse((texts.str.len() > most).to_numpy(), f"{column} is longer than {most} characters")
            self.refuse(
                texts.str.contains(INVISIBLE).to_numpy(),
                lambda row: f"{column} has the invisible character {invisible_character(texts[row])}",
            )
        return cast(list[str], texts.tolist())

    def numbers(self, column: str, *, required: bool = True, finite: bool = True) -> FloatArray:
        """Return the numbers of the column, NaN where it is empty. Empty cells are refused if `required`."""
        texts = self.frame[column].str.strip()
        if required:
            self.refuse((texts == "").to_numpy(), f"{column} is empty")
        numbers: FloatArray = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
        spelled_nan = texts.str.lower().isin(["nan", "+nan", "-nan"]).to_numpy()
        wrong = np.isnan(numbers) & (texts != "").to_numpy() & ~(spelled_nan & (not finite))
        self.refuse(wrong, lambda row: f"{column} is {texts[row]!r}, not a number")
        if finite:
            self.refuse(np.isinf(numbers), f"{column} is not finite")
        return numbers

    def counts(self, column: str, *, required: bool) -> FloatArray:
        """Return the whole numbers of the column inside their bounds, NaN where it is empty. Empty cells are refused if
        `required`."""
        numbers = self.numbers(column, required=required)
        whole = np.isnan(numbers) | (np.floor(numbers) == numbers)
        self.refuse(~whole, lambda row: f"{column} is {self.frame[column][row]}, not a whole number")
        return self.within(column, numbers)

    def within(self, column: str, numbers: FloatArray, bound: str = "", rows: BoolArray | None = None) -> FloatArray:
        """Return the numbers after checking them against the bounds of the column, or of `bound`, in the given rows."""
        bounds = RANGES[bound or column]
        checked = np.ones(len(self), dtype=np.bool_) if rows is None else rows
        low, high = bounds.outside(numbers)
        self.refuse(low & checked, lambda row: f"{column} is {self.frame[column][row]}, {bounds.too_low}")
        self.refuse(high & checked, lambda row: f"{column} is {self.frame[column][row]}, {bounds.too_high}")
        return numbers


def _read_platforms(table: _CsvTable) -> list[PlatformRecord]:
    _refuse_duplicates(table, pd.DataFrame({"platform_id": table.text("platform_id")}))
    columns: dict[str, list[Any]] = {name: table.text(name) for name in ("name", "cpu_model")}
    columns |= {name: [text or None for text in table.text(name, required=False)] for name in TEXT_COLUMNS}
    for row, text in enumerate(columns["device_class"]):
        if text is not None and text not in DEVICE_CLASSES:
            table.fail(row, f"device_class is {text!r}, not one of {', '.join(DEVICE_CLASSES)}")
    for name in (*COUNT_COLUMNS, *SIZE_COLUMNS):
        columns[name] = _none_where_unknown(table.counts(name, required=False), int)
    base_mhz = table.within("base_mhz", table.numbers("base_mhz", required=False))
    # Some datasets have 0 for an unknown clock.
    columns["base_mhz"] = [value or None for value in _none_where_unknown(base_mhz, float)]
    virtualised = table.text("virtualised", required=False)
    for row, text in enumerate(virtualised):
        if text.lower() not in BOOLEANS:
            table.fail(row, f"virtualised is {text!r}, not True or False")
    columns["virtualised"] = [BOOLEANS[text.lower()] for text in virtualised]
    records = [
        PlatformRecord(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)
    ]
    for row, record in enumerate(records):
        if (reason := impossible_topology(record)) is not None:
            table.fail(row, reason)
    return records


def impossible_topology(platform: PlatformRecord) -> str | None:
    """Return the contradiction in a platform's topology, or None.

    >>> impossible_topology(PlatformRecord("a", "b", physical_cores=8, threads=4))
    'physical_cores 8 is more than threads 4'
    """

    def exceeds(smaller: str, larger: str, or_equal: bool = False) -> str | None:
        low, high = getattr(platform, smaller), getattr(platform, larger)
        if low is None or high is None or low < high or (low == high and not or_equal):
            return None
        return f"{smaller} {low} is {'not less' if or_equal else 'more'} than {larger} {high}"

    return (
        exceeds("physical_cores", "threads")
        or exceeds("n_nu", "n_ht", or_equal=True)
        or exceeds("n_nu", "threads")
        or exceeds("n_ht", "threads")
    )


def _none_where_unknown(numbers: Any, kind: type) -> list[Any]:
    return [None if math.isnan(number) else kind(number) for number in numbers.tolist()]


def _refuse_duplicates(table: _CsvTable, key: pd.DataFrame) -> None:
    what = ", ".join(key.columns)
    table.refuse(key.duplicated().to_numpy(), f"the same {what} is on an earlier line")


def _workload_record(name: str) -> WorkloadRecord:
    application, slash, section = name.partition("/")
    if not slash:
        return WorkloadRecord(name=name)
    return WorkloadRecord(name=name, application=application or None, section=section or None)


class _RunRows:
    """The checked rows of runs.csv in the order of the file, with the platform and workload of each row."""

    def __init__(self, table: _CsvTable, platforms: _CsvTable, records: list[PlatformRecord]) -> None:
        self.table, self.records = table, records
        self.ids = pd.Index(platforms.text("platform_id"))
        codes, workloads = pd.factorize(np.array(table.text("workload"), dtype=object))  # in order of appearance
        self.workload: IntArray = codes.astype(np.int64)
        self.workloads: list[str] = list(workloads)
        self.platform = _positions_in(table, "platform_id", self.ids, "is not in platforms.csv")
        self.n = table.counts("n", required=True).astype(np.int64)
        self.repeat = table.counts("repeat", required=True).astype(np.int64)
        self.time_s = self._times()
        threads = np.array([record.threads or THREAD_COUNT.most for record in records])[self.platform]
        table.refuse(self.n > threads, lambda row: f"n is {self.n[row]}, the platform has {threads[row]} threads")
        self.size, self.clock_mhz = (
            table.within(column, table.numbers(column, required=False)) for column in VARIATION_COLUMNS
        )
        self.disturbed = table.counts("disturbed", required=False)
        self.own = np.isnan(self.size) & np.isnan(self.clock_mhz)
        key = {"platform_id": self.platform, "workload": self.workload, "n": self.n, "repeat": self.repeat}
        varied = {
            name: getattr(self, name) for name in VARIATION_COLUMNS if column_or_none(getattr(self, name)) is not None
        }
        _refuse_duplicates(table, pd.DataFrame(key | varied))
        table.refuse(
            ~np.isin(self.pair, self.pair[self.own]),
            lambda row: f"{self.workloads[self.workload[row]]!r} has only runs with a size or clock_mhz here",
        )

    def _times(self) -> FloatArray:
        time_s = self.table.numbers("time_s")
        relative = np.array(self.table.text("time_kind"), dtype=object) == "relative"
        self.table.within("time_s", time_s, rows=~relative)
        return self.table.within("time_s", time_s, bound="relative time_s")

    @property
    def pair(self) -> IntArray:
        return self.platform * len(self.workloads) + self.workload

    def time_kinds(self) -> dict[int, Any]:
        kinds = np.array(self.table.text("time_kind"), dtype=object)
        is_time_kind = np.isin(kinds, TIME_KINDS)
        self.table.refuse(~is_time_kind, lambda row: f"time_kind is {kinds[row]!r}, not absolute or relative")
        first = np.unique(self.workload, return_index=True)[1]
        mixed = kinds != kinds[first][self.workload]
        self.table.refuse(
            mixed, lambda row: f"time_kind of {self.workloads[self.workload[row]]!r} differs from an earlier line"
        )
        return dict(enumerate(kinds[first].tolist()))

    def with_n_max(self) -> list[PlatformRecord]:
        largest = np.ones(len(self.records), dtype=np.int64)
        np.maximum.at(largest, self.platform, self.n)
        pairs = zip(self.records, largest.tolist(), strict=True)
        return [replace(record, n_max=max(record.threads or 1, n)) for record, n in pairs]

    def profiles(self, counters: dict[int, CounterTable]) -> list[ProfileRecord]:
        clean_pass = np.zeros(len(self.table), dtype=np.bool_)
        return [
            ProfileRecord(
                platform=pair // len(self.workloads),
                workload=pair % len(self.workloads),
                runs=RunTable(
                    *(self.n[rows], self.repeat[rows], clean_pass[rows], self.time_s[rows]),
                    size=column_or_none(self.size[rows]),
                    clock_mhz=column_or_none(self.clock_mhz[rows]),
                    disturbed=column_or_none(self.disturbed[rows]),
                ),
                counters=counters.get(pair),
            )
            for pair, rows in _rows_by_key(self.pair)
        ]


def _positions_in(table: _CsvTable, column: str, index: pd.Index, complaint: str) -> IntArray:
    texts = table.text(column)
    positions: IntArray = index.get_indexer(texts).astype(np.int64)
    table.refuse(positions < 0, lambda row: f"{column} {texts[row]!r} {complaint}")
    return positions


def _rows_by_key(keys: IntArray) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the distinct keys in ascending order, each with its rows in their order."""
    order = np.argsort(keys, kind="stable")
    distinct, starts = np.unique(keys[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)


def _read_counters(table: _CsvTable, runs: _RunRows, warnings: list[str]) -> dict[int, CounterTable]:
    """Return the readings of each (platform, workload) pair."""
    platform = _positions_in(table, "platform_id", runs.ids, "is not in platforms.csv")
    workload = _positions_in(table, "workload", pd.Index(runs.workloads), "is not in the runs")
    pair = platform * len(runs.workloads) + workload
    n = table.counts("n", required=True).astype(np.int64)
    repeat = table.counts("repeat", required=True).astype(np.int64)
    names = np.array(table.text("counter"), dtype=object)
    value = table.numbers("value", finite=False)
    measured = pd.MultiIndex.from_arrays([column[runs.own] for column in (runs.pair, runs.n, runs.repeat)])
    table.refuse(~pd.MultiIndex.from_arrays([pair, n, repeat]).isin(measured), "there is no such run")
    _refuse_duplicates(table, pd.DataFrame({"platform_id, workload": pair, "n": n, "repeat": repeat, "counter": names}))
    usable = np.isfinite(value) & ~np.any(RANGES["value"].outside(value), axis=0)
    if not usable.all():
        line = int(table.lines[np.flatnonzero(~usable)[0]])
        warnings.append(
            f"{table.name}: {int((~usable).sum())} values that are not finite or outside their bounds were left out, "
            f"the first on line {line}"
        )
    positions = np.flatnonzero(usable)
    return {
        key: CounterTable(n[rows], repeat[rows], tuple(names[rows]), value[rows], ("ok",) * len(rows))
        for key, rows in ((key, positions[rows]) for key, rows in _rows_by_key(pair[positions]))
    }
