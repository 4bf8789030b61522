"""The reader of a plain CSV table with a header and one run per row. A mapping assigns its columns."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

from benchmarks.archive import quoted
from benchmarks.formats.collecting import SECONDS_PER_UNIT, Collected, ForeignFile, as_number
from profiles.measurements import WorkloadRecord

TIME_COLUMNS = {f"time_{unit}": factor for unit, factor in SECONDS_PER_UNIT.items() if unit.isascii()}
NAMED_BY_TEXT = ("workload", "application", "section", "version", "input", "runtime")
ROWS_SHOWN, COLUMNS_SHOWN, LONGEST_CELL_SHOWN = 5, 40, 60  # in the preview of a table
HEAD_BYTES = 1 << 16
KNOWN_COLUMNS = ("n", *TIME_COLUMNS, *NAMED_BY_TEXT)


def read_plain_csv(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    unknown = [name for name in columns if name not in KNOWN_COLUMNS]
    if unknown:
        collected.refuse(file, None, f"{quoted(unknown[0])} is not a known field: {', '.join(KNOWN_COLUMNS)}")
    rows = collected.csv_rows(file)
    line, header = next(rows, (1, []))
    places = _places(collected, file, line, header, columns)
    (unit,) = [name for name in TIME_COLUMNS if name in places]
    stem = file.name.rpartition(".")[0] or file.name
    for number, row in rows:
        if len(row) != len(header):
            collected.note(file.name, number, f"has {len(row)} cells, the header has {len(header)}", "cells")
            continue
        texts: dict[str, Any] = {name: row[places[name]] or None for name in NAMED_BY_TEXT if name in places}
        name = texts.pop("workload", stem) or ""
        time = as_number(row[places[unit]])
        time_s = row[places[unit]] if time is None else time * TIME_COLUMNS[unit]
        collected.add(WorkloadRecord(name, **texts), row[places["n"]], time_s, file=file, line=number)


def _places(
    collected: Collected, file: ForeignFile, line: int, header: list[str], columns: Mapping[str, str]
) -> dict[str, int]:
    """Return the index of each known column, found by the mapping or by its own name."""
    places = {}
    says_time = any(name in columns for name in TIME_COLUMNS)
    for name in KNOWN_COLUMNS:
        if says_time and name in TIME_COLUMNS and name not in columns:
            continue  # another column is mapped to the time
        title = columns.get(name, name)
        if header.count(title) > 1:
            collected.refuse(file, line, f"column {quoted(title)} occurs twice")
        if title in header:
            places[name] = header.index(title)
        elif name in columns:
            collected.refuse(file, line, f"column {quoted(title)} is missing")
    times = [name for name in TIME_COLUMNS if name in places]
    if "n" not in places:
        collected.refuse(file, line, "no column is mapped to n")
    if len(times) != 1:
        collected.refuse(file, line, f"{len(times)} columns are mapped to a time (time_s, time_ms, ...), not one")
    return places


def table_head(file: ForeignFile) -> dict[str, Any] | None:
    """Return the titles and the first rows of a table, so that the user can assign its columns. Return None if the file
    has no table."""
    text = file.content[:HEAD_BYTES].decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines()[: 4 * ROWS_SHOWN] if line.strip()][: ROWS_SHOWN + 1]
    try:
        header, *rows = csv.reader(lines, strict=True)
    except (csv.Error, ValueError):
        return None
    titles = [cell.strip() for cell in header[:COLUMNS_SHOWN]]
    cells = [[cell.strip()[:LONGEST_CELL_SHOWN] for cell in row[: len(titles)]] for row in rows]
    return {"name": file.name, "columns": titles, "rows": cells}
