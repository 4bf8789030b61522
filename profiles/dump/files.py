"""The files of a dump: writing and reading the rows of a table as Parquet, CSV or SQLite. This module does not import
Django.

Numbers are preserved exactly: CSV has the shortest text that is parsed to the same number. Null is an empty cell. A
text column that is never null may contain empty texts.
"""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from profiles.dump.tables import JSON_TYPES, DumpColumn, DumpTable

SQLITE_FILE = "mpet.sqlite"
DUMP_ROWS_AT_ONCE = 20_000
LARGEST_CELL = 1 << 27  # characters; a stored prediction is one cell
SQLITE_TYPES = {"integer": "INTEGER", "number": "REAL", "boolean": "INTEGER"}
DumpRow = tuple[Any, ...]
DumpBatch = list[Sequence[Any]]  # the columns of a batch of rows
BatchWriter = Callable[[DumpBatch], Any]


class DumpError(Exception):
    """An error in a dump: the file, the row (1 is the first after the header) or None, and the reason."""

    def __init__(self, member: str, row: int | None, reason: str) -> None:
        self.member, self.row, self.reason = member, row, reason
        super().__init__(f"{member}: {reason}" if row is None else f"{member}, row {row}: {reason}")


def member_name(table: DumpTable, form: str) -> str:
    """Return the name of the file that contains the table.

    >>> from profiles.dump.tables import RUNS_TABLE
    >>> member_name(RUNS_TABLE, "parquet"), member_name(RUNS_TABLE, "sqlite")
    ('runs.parquet', 'mpet.sqlite')
    """
    return SQLITE_FILE if form == "sqlite" else f"{table.name}.{form}"


def write_table(folders: Mapping[str, Path], table: DumpTable, rows: Iterable[DumpRow]) -> int:
    """Write one table to a folder for each format (`parquet`, `csv`, `sqlite`). Return the number of rows.

    The rows are read once for all formats.
    """
    read, count = iter(rows), 0
    with ExitStack() as opened:
        writers = [
            opened.enter_context(_WRITERS[form](folder / member_name(table, form), table))
            for form, folder in folders.items()
        ]
        while batch := list(islice(read, DUMP_ROWS_AT_ONCE)):
            columns = zip(table.columns, zip(*batch, strict=True), strict=True)
            plain = [_plain(column, values) for column, values in columns]
            for write in writers:
                write(plain)
            count += len(batch)
    return count


def read_table(folder: Path, table: DumpTable, form: str) -> Iterator[DumpRow]:
    """Yield the rows of one table in the order in which they were written. Raise DumpError for an invalid row."""
    for batch in _read_batches(folder, table, form, table.names):
        yield from zip(*batch, strict=True)


def read_arrays(folder: Path, table: DumpTable, form: str, names: Sequence[str]) -> dict[str, Any]:
    """Return some columns of one table as arrays. Raise DumpError.

    Numbers and nullable integers become 64-bit floats with NaN for null. Integers and booleans that are never null keep
    their type. All other columns have the type that NumPy infers.
    """
    columns = [column for name in names for column in table.columns if column.name == name]
    dtypes = [_DTYPES.get((column.type, column.required), _DTYPES.get((column.type, False))) for column in columns]
    parts = [
        [np.array(values, dtype=dtype) for values, dtype in zip(batch, dtypes, strict=True)]
        for batch in _read_batches(folder, table, form, names)
    ]
    parts = parts or [[np.zeros(0, dtype=dtype) for dtype in dtypes]]
    return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))


def _read_batches(folder: Path, table: DumpTable, form: str, names: Sequence[str]) -> Iterator[DumpBatch]:
    path = folder / member_name(table, form)
    if not path.is_file():
        raise DumpError(path.name, None, "is missing")
    columns = {column.name: column for column in table.columns}
    first = 1
    for batch in _READERS[form](path, table, names):
        yield [_values(columns[name], cells, path.name, first) for name, cells in zip(names, batch, strict=True)]
        first += len(batch[0])


def _plain(column: DumpColumn, values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of one column in a form for all formats: JSON as text, times as ISO text, NaN as null."""
    if column.type == "number":
        return [None if value != value else value for value in values]  # noqa: PLR0124  only NaN differs from itself
    if column.type in JSON_TYPES:
        return [None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values]
    if column.type == "datetime":
        return [value and value.astimezone(UTC).isoformat().replace("+00:00", "Z") for value in values]
    return values


def _values(column: DumpColumn, cells: Sequence[Any], member: str, first: int) -> Sequence[Any]:
    """Return the values of one column. `first` is the number of the first row.

    Valid columns, which are nearly all, are converted at once. Otherwise each cell is converted separately to find the
    invalid one.
    """
    kinds = set(map(type, cells))
    if kinds == {type(None)} and not column.required:
        return cells
    if column.type in _NUMBERS and not column.required and kinds == {str}:
        with suppress(ValueError, OverflowError):
            values = [_NUMBERS[column.type](cell) if cell else None for cell in cells]
            if all(value is None or math.isfinite(value) for value in values):
                return values
    if kinds == {_TYPED.get(column.type)} and (column.type != "number" or all(map(math.isfinite, cells))):
        return cells
    return [_value(column, cell, member, row) for row, cell in enumerate(cells, start=first)]


def _value(column: DumpColumn, cell: Any, member: str, row: int) -> Any:
    if cell is None or cell == "":
        if not column.required:
            return None
        if column.type == "string" and cell == "":
            return ""
        raise DumpError(member, row, f"{column.name} is empty")
    try:
        return _CONVERT[column.type](cell)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DumpError(member, row, f"{column.name} is {str(cell)[:60]!r}, not of type {column.type}") from error


def _read_text(cell: Any) -> str:
    if not isinstance(cell, str) or "\0" in cell:
        raise ValueError("not text, or text with a NUL character")
    return cell


def _read_integer(cell: Any) -> int:
    if isinstance(cell, float | bool):
        raise ValueError("not an integer")
    return int(cell)


def _read_number(cell: Any) -> float:
    number = float(cell)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _read_truth(cell: Any) -> bool:
    if cell not in _TRUTHS:
        raise ValueError(f"{cell!r} is neither true nor false")
    return _TRUTHS[cell]


def _read_time(cell: Any) -> datetime:
    moment = datetime.fromisoformat(_read_text(cell).replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment


def _read_json(kind: type) -> Callable[[Any], Any]:
    def read(cell: Any) -> Any:
        content = json.loads(_read_text(cell))
        if not isinstance(content, kind):
            raise TypeError(f"not a {kind.__name__}")
        return content

    return read


_NUMBERS: dict[str, Callable[[Any], float]] = {"integer": int, "number": float}
_TYPED: dict[str, type] = {"integer": int, "number": float, "boolean": bool}
_DTYPES: dict[tuple[str, bool], Any] = {
    ("integer", True): np.int64,
    ("integer", False): np.float64,
    ("number", False): np.float64,
    ("boolean", True): np.bool_,
}
_TRUTHS = {True: True, False: False, "true": True, "false": False}
_CONVERT: dict[str, Callable[[Any], Any]] = {
    "string": _read_text,
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_truth,
    "datetime": _read_time,
    "object": _read_json(dict),
    "array": _read_json(list),
}


@contextmanager
def _csv_writer(path: Path, table: DumpTable) -> Iterator[BatchWriter]:
    truths = {True: "true", False: "false"}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.names)

        def write(batch: DumpBatch) -> None:
            columns = zip(table.columns, batch, strict=True)
            texts = [map(truths.get, values) if column.type == "boolean" else values for column, values in columns]
            writer.writerows(zip(*texts, strict=True))

        yield write


def _read_csv(path: Path, table: DumpTable, names: Sequence[str]) -> Iterator[DumpBatch]:
    chosen = [table.names.index(name) for name in names]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = _rows_of_any_length(csv.reader(file, strict=True))
            _check_names(path.name, table, next(rows, []))
            first = 1
            while batch := list(islice(rows, DUMP_ROWS_AT_ONCE)):
                for number, cells in enumerate(batch, start=first):
                    if len(cells) != len(table.columns):
                        raise DumpError(path.name, number, f"has {len(cells)} cells, not {len(table.columns)}")
                columns = list(zip(*batch, strict=True))
                yield [columns[place] for place in chosen]
                first += len(batch)
    except (csv.Error, UnicodeDecodeError) as error:
        raise DumpError(path.name, None, f"is not valid CSV: {error}") from error


def _rows_of_any_length(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield rows with cells of up to LARGEST_CELL characters.

    The limit is a setting of the whole process that protects other readers, so it is raised for one row at a time.
    """
    while True:
        before = csv.field_size_limit(LARGEST_CELL)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row


@contextmanager
def _sqlite_writer(path: Path, table: DumpTable) -> Iterator[BatchWriter]:
    columns = [
        f"{_quoted(column.name)} {SQLITE_TYPES.get(column.type, 'TEXT')}{' NOT NULL' if column.required else ''}"
        for column in table.columns
    ]
    if table.key:
        columns.append(f"PRIMARY KEY ({', '.join(map(_quoted, table.key))})")
    columns += [
        f"FOREIGN KEY ({_quoted(column)}) REFERENCES {_quoted(other)} ({_quoted(named)})"
        for column, other, named in table.refers
    ]
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE {_quoted(table.name)} ({', '.join(columns)})")
        into = f"INSERT INTO {_quoted(table.name)} VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608
        yield lambda batch: database.executemany(into, zip(*batch, strict=True))
        for column, _, _ in table.refers:
            index = _quoted(f"{table.name}_{column}")
            database.execute(f"CREATE INDEX {index} ON {_quoted(table.name)} ({_quoted(column)})")
        database.commit()


def _read_sqlite(path: Path, table: DumpTable, names: Sequence[str]) -> Iterator[DumpBatch]:
    chosen = [table.names.index(name) for name in names]
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(f"SELECT * FROM {_quoted(table.name)} ORDER BY rowid")  # noqa: S608  our own names
            _check_names(path.name, table, [name for name, *_ in rows.description])
            while batch := rows.fetchmany(DUMP_ROWS_AT_ONCE):
                columns = list(zip(*batch, strict=True))
                yield [columns[place] for place in chosen]
    except sqlite3.Error as error:
        raise DumpError(path.name, None, f"cannot be read: {error}") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _parquet_writer(path: Path, table: DumpTable) -> Iterator[BatchWriter]:
    import pyarrow as pa  # noqa: PLC0415  only needed for Parquet
    from pyarrow import parquet  # noqa: PLC0415

    types = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    schema = pa.schema(
        [
            pa.field(column.name, types.get(column.type, pa.string()), nullable=not column.required)
            for column in table.columns
        ]
    )

    def write(batch: DumpBatch) -> None:
        arrays = [pa.array(column, type=field.type) for column, field in zip(batch, schema, strict=True)]
        writer.write_batch(pa.record_batch(arrays, schema=schema))

    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        yield write


def _read_parquet(path: Path, table: DumpTable, names: Sequence[str]) -> Iterator[DumpBatch]:
    try:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise DumpError(path.name, None, "is Parquet, which needs pyarrow: pip install pyarrow") from error
    try:
        with parquet.ParquetFile(path) as file:
            _check_names(path.name, table, file.schema_arrow.names)
            for batch in file.iter_batches(DUMP_ROWS_AT_ONCE, columns=list(names)):
                yield [batch.column(name).to_pylist() for name in names]
    except (pa.ArrowException, OSError) as error:
        raise DumpError(path.name, None, f"cannot be read: {error}") from error


def _check_names(member: str, table: DumpTable, names: Sequence[str]) -> None:
    if list(names) != list(table.names):
        missing = [name for name in table.names if name not in names]
        raise DumpError(
            member,
            None,
            f"lacks the columns {', '.join(missing)}" if missing else "columns are in another order, or unknown",
        )


_WRITERS: dict[str, Callable[[Path, DumpTable], AbstractContextManager[BatchWriter]]] = {
    "parquet": _parquet_writer,
    "csv": _csv_writer,
    "sqlite": _sqlite_writer,
}
_READERS: dict[str, Callable[[Path, DumpTable, Sequence[str]], Iterator[DumpBatch]]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "sqlite": _read_sqlite,
}
DUMP_FORMS = tuple(_WRITERS)
