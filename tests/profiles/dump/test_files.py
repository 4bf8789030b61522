"""Each form of file gives back what was written: every type, null, empty texts, extreme numbers."""

import csv
import math
from datetime import UTC, datetime

import pytest

from profiles.dump.files import DUMP_FORMS, DumpError, member_name, read_table, write_table
from profiles.dump.tables import DumpColumn, DumpTable

TYPES = ("string", "integer", "number", "boolean", "datetime", "object", "array")
TABLE = DumpTable(
    "all",
    "",
    (
        *(DumpColumn(f"{name}_or_null", name, "") for name in TYPES),
        *(DumpColumn(name, name, "", required=True) for name in TYPES),
    ),
    (),
)
MOMENT = datetime(2026, 11, 23, 6, 5, 4, 321, tzinfo=UTC)
FULL = ('a, "b"\nc', 2**62, 0.1 + 0.2, True, MOMENT, {"ä": [1, None]}, ["x"])
ROWS = [
    (*FULL, *FULL),
    (*[None] * 7, "", -1, 5e-324, False, MOMENT, {}, []),
    (*[None] * 7, "=1+1", 0, 1.7976931348623157e308, False, MOMENT, {}, []),
]


def test_what_is_written_is_read_though_the_rows_are_read_only_once(tmp_path):
    folders = {form: tmp_path / form for form in DUMP_FORMS}
    for folder in folders.values():
        folder.mkdir()
    assert write_table(folders, TABLE, iter(ROWS)) == 3
    assert [list(read_table(folder, TABLE, form)) for form, folder in folders.items()] == [ROWS] * len(DUMP_FORMS)


def test_the_longest_cell_of_other_readers_stays_as_it_was(tmp_path):
    """Also while two tables are half read, and one of them is never read to its end."""
    before = csv.field_size_limit()
    long = (FULL[0] * before, *FULL[1:])
    write_table({"csv": tmp_path}, TABLE, [(*long, *FULL)] * 2)
    first, second = (read_table(tmp_path, TABLE, "csv") for _ in range(2))
    assert next(first)[0] == long[0]
    assert next(second)[0] == long[0]
    list(first)
    assert csv.field_size_limit() == before
    second.close()
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("form", DUMP_FORMS)
def test_invalid_numbers_are_null_and_no_rows_are_a_file_too(tmp_path, form):
    assert write_table({form: tmp_path}, TABLE, []) == 0
    assert list(read_table(tmp_path, TABLE, form)) == []
    other = tmp_path / "other"
    other.mkdir()
    write_table({form: other}, TABLE, [(None, None, math.nan, *FULL[3:], *FULL)])
    assert next(read_table(other, TABLE, form))[2] is None


@pytest.mark.parametrize("form", DUMP_FORMS)
def test_bytes_of_something_else_are_refused(tmp_path, form):
    (tmp_path / member_name(TABLE, form)).write_bytes(b"\x00\xff not this" * 100)
    with pytest.raises(DumpError, match=r"all\.|mpet\.sqlite"):
        list(read_table(tmp_path, TABLE, form))


WRONG = {"integer": "1.5", "number": "nan", "boolean": "maybe", "datetime": "2026-11-23", "object": "[]", "array": "{}"}


@pytest.mark.parametrize("name", WRONG)
def test_a_cell_of_another_type_is_refused(tmp_path, name):
    write_table({"csv": tmp_path}, TABLE, [])
    cells = [""] * 7 + ["text", "1", "1", "true", "2026-11-23T00:00:00Z", "{}", "[]"]
    cells[TABLE.names.index(name)] = WRONG[name]
    with (tmp_path / "all.csv").open("a") as file:
        file.write(",".join(cells) + "\n")
    with pytest.raises(DumpError, match=rf"all.csv, row 1: {name} is .* not of type {name}"):
        list(read_table(tmp_path, TABLE, "csv"))
