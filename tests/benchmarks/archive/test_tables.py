"""CSV members: what is no table is refused by its line."""

import pytest

from tests.benchmarks.archive.refusals import HEADER, accepted, changed_row, first, refused_csv, same
from tests.benchmarks.tarballs import csv_of, good_files, pack, read, refusal, rows_of


def test_too_many_rows(files):
    """All CSV members count together."""
    runs, readings = (len(rows_of(files[name])) for name in ("runs.csv", "counters.csv"))
    assert read(pack(files), rows=runs + readings)
    for member, rows, line in (("runs.csv", runs - 1, runs + 1), ("counters.csv", runs + readings - 1, readings + 1)):
        reason = f"exceeds the limit of {rows} rows in all CSV members together"
        assert first(refusal(pack(files), rows=rows)) == (member, line, reason)


CLEAN = b"app0/section0,%d,%d,clean,1000,,,,,,,,\n"

BAD_CSV = {
    b"": (1, "has no header"),
    HEADER: (1, "has no runs"),
    HEADER + CLEAN % (1, 1) + b"a,b\n": (3, "has 2 columns, the header has 13"),
    HEADER + CLEAN % (1, 1) + b",".join([b"x"] * 14) + b"\n": (3, "has 14 columns, the header has 13"),
    HEADER + CLEAN % (1, 1) + b'"a"b,1\n': (3, "is not valid CSV: ',' expected after '\"'"),
    HEADER + b'\n"app0/section0' + b",\n" * 9: (3, "is not valid CSV: unexpected end of data"),
    HEADER + CLEAN % (1, 1) + b"a\0b": (3, "is not valid CSV: NUL character"),
    HEADER + b"x" * 2**18: (2, "is not valid CSV: field larger than field limit (131072)"),
    HEADER + CLEAN % (1, 1) + b"," * 2**20: (3, "is not valid CSV: line longer than 1048576 characters"),
    HEADER + CLEAN % (1, 1) + b"\xff": (3, "is not UTF-8"),
    HEADER.replace(b"lock_ns", b"time_ns"): (1, "has no column lock_ns"),
    HEADER.strip() + b",n\n": (1, "has column n twice"),
}


@pytest.mark.parametrize(("content", "expected"), BAD_CSV.items(), ids=range(len(BAD_CSV)))
def test_invalid_csv(files, content, expected):
    assert ("runs.csv", *expected) in {(p.member, p.line, p.reason) for p in refused_csv(files, content).problems}


@pytest.mark.parametrize("name", ["runs.csv", "counters.csv"])
def test_a_missing_column(files, name):
    for column in rows_of(files[name])[0]:
        rows = [{key: cell for key, cell in row.items() if key != column} for row in rows_of(files[name])]
        assert first(refused_csv(files, csv_of(rows), name)) == (name, 1, f"has no column {column}")


def test_lines_are_counted_as_an_editor_counts_them(files):
    """Blank lines and newlines inside quotes are lines too."""
    content = HEADER.strip() + b',note\n\napp0/section0,1,1,clean,1000,,,,,,,,,"two\nlines"\n'
    content += b'app0/section0,1,2,clean,0,,,,,,,,,""\n'
    assert first(refused_csv(files, content))[:2] == ("runs.csv", 5)


def test_line_numbers_beyond_the_first_piece(files, monkeypatch):
    monkeypatch.setattr("benchmarks.archive.tables.CSV_ROWS_AT_ONCE", 4)
    assert first(changed_row(files, 40, time_ns="0"))[1] == 40
    assert first(changed_row(files, 60, repeat="1"))[1:] == (60, "same workload, n, repeat and pass as in line 59")
    assert first(changed_row(files, 60, output_checksum="x"))[2].endswith("differs from 'abc123' in line 2")


def test_columns_may_stand_in_any_order_with_any_line_ends_and_blank_lines():
    files = good_files()
    runs = [dict(reversed(row.items())) for row in rows_of(files["runs.csv"])]
    changed = files | {"runs.csv": csv_of(runs).replace(b"\n", b"\r\n") + b"\r\n\n"}
    assert same(accepted(changed), accepted(files))


def test_a_tarball_has_so_many_workloads_at_most():
    files = good_files()
    assert read(pack(files), workloads=2)
    member, _, reason = first(refusal(pack(files), workloads=1))
    assert (member, reason) == ("workloads.json", "has more than 1 workloads")
