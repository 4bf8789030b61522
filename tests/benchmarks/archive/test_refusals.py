"""mpet-results/1: everything that docs/formats.md refuses, by member and line."""

import gzip
import hashlib
import io
import json
import re
import tarfile
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.archive import ArchiveError, ArchiveProblem
from tests.benchmarks import tarballs
from tests.benchmarks.tarballs import TOP, add, csv_of, pack, packed_tar, read, refusal, rows_of, with_manifest
from tests.samples import sample_measurements, varied_measurements


@cache
def _good() -> dict[str, bytes]:
    return tarballs.good_files()


@pytest.fixture
def files() -> dict[str, bytes]:
    return dict(_good())


def first(error: ArchiveError) -> tuple:
    assert error.problems[0] == ArchiveProblem(error.member, error.line, error.reason)
    return error.member, error.line, error.reason


def line_of(content: bytes, wanted: str) -> int:
    """The line on which a text first stands."""
    return content.decode().split(wanted)[0].count("\n") + 1


# The container


def test_not_gzip():
    assert first(refusal(b"plain text")) == (
        None,
        None,
        "is not a gzip file, or is truncated or damaged: Not a gzipped file (b'pl')",
    )
    assert refusal(b"").reason == "is empty"


def test_not_tar():
    assert "is not a tar archive" in refusal(gzip.compress(b"no tar " * 1000)).reason
    assert "is not a tar archive" in refusal(gzip.compress(b"")).reason


def test_wrong_checksum_of_gzip(files):
    content = bytearray(pack(files))
    content[-6] ^= 1
    assert "CRC check failed" in refusal(bytes(content)).reason


def test_something_behind_the_archive(files):
    tar = gzip.decompress(pack(files))
    assert refusal(packed_tar(tar + b"more")).reason == "has something behind the end of the tar archive"
    assert "gzip" in refusal(pack(files) + b"more").reason


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_truncated_anywhere(data):
    content = _small()
    refusal(content[: data.draw(st.integers(0, len(content) - 1))])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_tar_truncated_inside_an_intact_gzip(data):
    tar = gzip.decompress(_small())
    end = len(tar.rstrip(b"\0"))
    refusal(packed_tar(tar[: data.draw(st.integers(0, end - 1))]))


@cache
def _small() -> bytes:
    return tarballs.packed(sample_measurements(1, 1))


LINKS = {
    tarfile.SYMTYPE: "is not a plain file but a symbolic link",
    tarfile.LNKTYPE: "is not a plain file but a hard link",
    tarfile.CHRTYPE: "is not a plain file but a character device",
    tarfile.BLKTYPE: "is not a plain file but a block device",
    tarfile.FIFOTYPE: "is not a plain file but a pipe",
    tarfile.DIRTYPE: "is not a plain file but a folder",
}


@pytest.mark.parametrize(("kind", "reason"), LINKS.items())
@pytest.mark.parametrize("name", ["odd", "runs.csv"])
def test_a_member_that_is_not_a_plain_file(files, kind, reason, name):
    error = refusal(pack(files, also=lambda tar: add(tar, f"{TOP}/{name}", type=kind, linkname="/etc/passwd")))
    assert first(error) == (f"{TOP}/{name}", None, reason)


def test_a_sparse_member_cannot_unpack_to_more_than_it_holds(files):
    headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(2**50)}

    def sparse(tar):
        add(tar, f"{TOP}/holes", b"1\n0\n0\n".ljust(512, b"\0"), pax_headers=headers)

    assert first(refusal(pack(files, also=sparse)))[2] == "is not a plain file but a sparse file"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/etc/passwd", "is an absolute path"),
        ("../up", "is a path with '..'"),
        (f"{TOP}/../up", "is a path with '..'"),
        (f"{TOP}/a/..", "is a path with '..'"),
    ],
)
def test_a_path_that_leads_elsewhere(files, name, reason):
    assert first(refusal(pack(files, also=lambda tar: add(tar, name)))) == (name, None, reason)


def test_a_member_that_is_there_twice(files):
    error = refusal(pack(files, also=lambda tar: add(tar, f"./{TOP}//runs.csv", b"other")))
    assert first(error) == (f"./{TOP}//runs.csv", None, "is there twice")


def test_more_than_one_top_folder(files):
    error = refusal(pack(files, also=lambda tar: add(tar, "other/a", b"x")))
    assert first(error) == (None, None, f"has more than one top folder: {TOP!r}, 'other'")


def test_a_member_beside_the_top_folder(files):
    error = refusal(pack(files, also=lambda tar: add(tar, "stray", b"x")))
    assert first(error) == ("stray", None, f"is outside the top folder {TOP!r}")


def test_all_odd_members_are_reported_at_once(files):
    def odd(tar):
        add(tar, "/a")
        add(tar, "../b\n")
        add(tar, "c", type=tarfile.SYMTYPE, linkname="d")

    error = refusal(pack(files, also=odd))
    assert [problem.member for problem in error.problems] == ["/a", r"'../b\n'", "c"]
    assert str(error).splitlines()[0] == "/a: is an absolute path"


# Limits


class Endless(io.RawIOBase):
    """A stream that counts what is taken from it, and has always more."""

    def __init__(self, start: bytes, more: bytes) -> None:
        self.start, self.more, self.taken = start, more, 0

    def read(self, size=-1):
        piece = (self.start or self.more)[: size if size >= 0 else None]
        self.start = self.start[len(piece) :]
        self.taken += len(piece)
        return piece


def test_over_the_packed_limit_stops_reading(files):
    content = pack(files)
    assert read(content, packed_bytes=len(content))
    assert refusal(content, packed_bytes=len(content) - 1).reason == f"is larger than {len(content) - 1} bytes packed"
    stored = gzip.compress(b"\0" * 100, 0)
    endless = Endless(stored, stored * 1000)
    with pytest.raises(ArchiveError, match=r"larger than 1 MiB packed|tar archive"):
        read_endless(endless, packed_bytes=2**20)
    assert endless.taken < 2**21


def read_endless(stream, **limits):
    return tarballs.read_archive(stream, limits=tarballs.Limits(**limits))


def test_a_gzip_bomb_is_stopped_while_it_is_read(files):
    def bomb(tar):
        add(tar, f"{TOP}/zeros", b"\0" * 2**25)

    content = pack(files, also=bomb)
    assert len(content) < 2**17
    stream = io.BytesIO(content)
    with pytest.raises(ArchiveError, match="larger than 1 MiB unpacked"):
        read_endless(stream, unpacked_bytes=2**20)


def test_zeros_behind_the_archive_count_as_unpacked(files):
    tar = gzip.decompress(pack(files))
    error = refusal(packed_tar(tar + b"\0" * 2**24), unpacked_bytes=2**23)
    assert error.reason == "is larger than 8 MiB unpacked"


def test_a_header_that_claims_too_much_is_not_believed(files):
    """A size of 8 GiB with no content is a truncated archive, not an allocation."""
    info = tarfile.TarInfo(f"{TOP}/huge")
    info.size = 8 * 2**30 - 1
    tar = gzip.decompress(pack(files)).rstrip(b"\0")
    tar += b"\0" * (-len(tar) % 512)
    assert "unexpected end of data" in refusal(packed_tar(tar + info.tobuf() + b"x" * 512)).reason


def test_too_many_members(files):
    content = pack(with_manifest(files | {f"{number}": b"" for number in range(5)}))
    assert read(content, members=len(files) + 5)
    limit = len(files) + 4
    assert refusal(content, members=limit).reason == f"has more than {limit} members"


def test_too_many_rows(files):
    rows = len(rows_of(files["runs.csv"]))
    assert read(pack(files), rows=rows)
    assert first(refusal(pack(files), rows=rows - 1)) == ("runs.csv", None, f"has more than {rows - 1} rows")


def test_too_large_json(files):
    error = refusal(pack(files), json_bytes=100)
    assert first(error) == ("manifest.json", None, "is larger than 100 bytes")


# The manifest


def test_no_manifest(files):
    del files["manifest.json"]
    assert first(refusal(pack(files))) == ("manifest.json", None, "is missing")


@pytest.mark.parametrize("name", ["platform.json", "workloads.json", "runs.csv"])
def test_a_missing_member(files, name):
    line = line_of(with_manifest(files)["manifest.json"], f'"{name}"')
    listed = {key: content for key, content in files.items() if key != name}
    assert first(refusal(pack(listed)))[:2] == (name, None)
    manifest = with_manifest(files)["manifest.json"]
    reason = f"is missing, although line {line} of manifest.json lists it"
    assert first(refusal(pack(listed | {"manifest.json": manifest}))) == (name, None, reason)
    assert first(refusal(pack(with_manifest(listed)))) == (name, None, "is missing")


def test_a_missing_optional_member_that_is_listed(files):
    del files["log.txt"]
    assert first(refusal(pack(files)))[0] == "log.txt"


def test_an_unlisted_member(files):
    error = refusal(pack(files | {"more.txt": b"x"}))
    assert first(error) == ("more.txt", None, "is not listed in manifest.json")


def test_wrong_size_and_wrong_sha256(files):
    changed = files | {"runs.csv": files["runs.csv"] + b"\n", "log.txt": b"all w3ll\n"}
    error = refusal(pack(changed))
    size = len(files["runs.csv"])
    assert {(problem.member, problem.reason) for problem in error.problems} == {
        ("runs.csv", f"has {size + 1} bytes, manifest.json says {size}"),
        (
            "log.txt",
            f"has sha256 {hashlib.sha256(b'all w3ll' + bytes([10])).hexdigest()}, "
            f"manifest.json says {hashlib.sha256(files['log.txt']).hexdigest()}",
        ),
    }


def test_unknown_schema(files):
    changed = with_manifest(files, schema="mpet-results/2")
    line = line_of(changed["manifest.json"], '"schema"')
    reason = "unknown schema 'mpet-results/2', not 'mpet-results/1'"
    assert first(refusal(pack(changed))) == ("manifest.json", line, reason)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"origin": "guessed"}, "origin: 'guessed' is not one of"),
        ({"created": "yesterday"}, "created: 'yesterday' is not a 'date-time'"),
        ({"generator": "kit"}, "generator: 'kit' is not of type 'object'"),
        ({"files": []}, "files: [] is not of type 'object'"),
    ],
)
def test_a_manifest_against_its_schema(files, fields, reason):
    changed = with_manifest(files, **fields)
    member, line, said = first(refusal(pack(changed)))
    assert (member, line) == ("manifest.json", line_of(changed["manifest.json"], f'"{next(iter(fields))}"'))
    assert said.startswith(reason)


@pytest.mark.parametrize("field", ["schema", "created", "generator", "origin", "files"])
def test_a_manifest_without_a_field(files, field):
    manifest = {key: value for key, value in json.loads(files["manifest.json"]).items() if key != field}
    error = refusal(pack(files | {"manifest.json": json.dumps(manifest).encode()}))
    assert first(error) == ("manifest.json", 1, f"{field!r} is a required property")


# JSON


BAD_JSON = {
    b'{"name": "a",\n "b" 1}': (2, "is not valid JSON: Expecting ':' delimiter"),
    b"": (1, "is not valid JSON: Expecting value"),
    b'{"name": "a"}\n{}': (2, "is not valid JSON: Extra data"),
    b'{"name": "a",\n "name": "b"}': (2, "is not valid JSON: Duplicate key 'name'"),
    b'{"name": "a",\n"base_mhz": NaN}': (2, "is not valid JSON: NaN and Infinity are not JSON"),
    b'{"name": "a",\n"base_mhz": [\n-Infinity]}': (3, "is not valid JSON: NaN and Infinity are not JSON"),
    b'{"name": "a",\n"base_mhz": 1e999}': (2, "is not valid JSON: Number too large"),
    b'{"name": "a",\n"base_mhz": ' + b"1" * 5000 + b"}": (2, "is not valid JSON: Number too long"),
    b'{"name":\n "a\\u0000"}': (2, "is not valid JSON: String with NUL or half a surrogate pair"),
    b'{"name":\n "a\\ud800"}': (2, "is not valid JSON: String with NUL or half a surrogate pair"),
    b'{"name": "a",\n "\\ud800": 1}': (2, "is not valid JSON: String with NUL or half a surrogate pair"),
    b'{"name": "a",\n\n "x": "\xff"}': (3, "is not UTF-8"),
    b"[" * 100_000: (1, "is not valid JSON: Nested too deeply"),
    b"[]": (1, "[] is not of type 'object'"),
}


@pytest.mark.parametrize(("content", "expected"), BAD_JSON.items(), ids=range(len(BAD_JSON)))
def test_invalid_json(files, content, expected):
    error = refusal(pack(with_manifest(files | {"platform.json": content})))
    assert first(error) == ("platform.json", *expected)


@pytest.mark.parametrize("name", ["manifest.json", "workloads.json", "environment.json"])
def test_invalid_json_in_each_document(files, name):
    broken = files | {name: b"{\n'single quotes'}"}
    error = refusal(pack(broken if name == "manifest.json" else with_manifest(broken)))
    assert first(error)[:2] == (name, 2)


def test_all_of_a_text_may_be_invalid_without_a_long_report(files):
    error = refusal(pack(with_manifest(files | {"workloads.json": json.dumps(["x" * 1000] * 500).encode()})))
    assert len(error.problems) == 50
    assert error.more == 450
    assert str(error).endswith("\nand 450 more")
    assert max(map(len, str(error).splitlines())) < 300


# Platform and workloads


@pytest.mark.parametrize("field", ["sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht", "n_max"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "4", True])
def test_a_count_that_is_none(files, field, value):
    member, line, reason = first(refused_platform(files, **{field: value}))
    platform = json.dumps(json.loads(files["platform.json"]) | {field: value}, indent=1)
    assert (member, line) == ("platform.json", line_of(platform.encode(), f'"{field}"'))
    assert reason.startswith(f"{field}: {value!r} is ")


def refused_platform(files, **fields):
    platform = json.dumps(json.loads(files["platform.json"]) | fields, indent=1).encode()
    return refusal(pack(with_manifest(files | {"platform.json": platform})))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"physical_cores": 17}, "physical_cores = 17 is more than threads = 16"),
        ({"sockets": 9}, "sockets = 9 is more than physical_cores = 8"),
        ({"numa_nodes": 9}, "numa_nodes = 9 is more than physical_cores = 8"),
        ({"n_max": 17}, "n_max = 17 is more than threads = 16"),
        ({"n_nu": 9}, "n_nu = 9 is not less than n_ht = 8"),
        ({"n_ht": 17}, "n_ht = 17 is more than threads = 16"),
        ({"n_nu": 17, "n_ht": None}, "n_nu = 17 is more than threads = 16"),
        ({"n_nu": 8}, "n_nu = 8 is not less than n_ht = 8"),
    ],
)
def test_impossible_topology(files, fields, reason):
    member, line, said = first(refused_platform(files, **fields))
    assert (member, said) == ("platform.json", f"impossible topology: {reason}")
    assert line == line_of(files["platform.json"], f'"{next(iter(fields))}"')


@pytest.mark.parametrize(
    "fields",
    [
        {"name": None},
        {"name": ""},
        {"name": "x" * 201},
        {"device_class": "phone"},
        {"virtualised": "no"},
        {"placement": [0, -1]},
        {"base_mhz": -1},
        {"l3_bytes": 2**63},
    ],
)
def test_a_platform_against_its_schema(files, fields):
    member, line, reason = first(refused_platform(files, **fields))
    field = next(iter(fields))
    assert (member, reason.startswith(field)) == ("platform.json", True)
    assert line >= line_of(files["platform.json"], f'"{field}"')


@pytest.mark.parametrize(("field", "value"), [("strategy", "magic"), ("bound", "luck"), ("name", None), ("input", 3)])
def test_a_workload_against_its_schema(files, field, value):
    workloads = json.loads(files["workloads.json"])
    workloads[1][field] = value
    content = json.dumps(workloads, indent=1).encode()
    member, line, reason = first(refusal(pack(with_manifest(files | {"workloads.json": content}))))
    second = content.index(f'"{field}"'.encode(), content.index(b"}"))
    assert (member, line) == ("workloads.json", content[:second].count(b"\n") + 1)
    assert reason.startswith(f"[1].{field}: {value!r} is not ")


def test_a_workload_that_is_there_twice(files):
    workloads = json.loads(files["workloads.json"])
    workloads[1]["name"] = workloads[0]["name"]
    error = refusal(pack(with_manifest(files | {"workloads.json": json.dumps(workloads).encode()})))
    assert first(error) == ("workloads.json", 1, f"{workloads[0]['name']!r} is there twice")


def test_no_workloads(files):
    error = refusal(pack(with_manifest(files | {"workloads.json": b"[]"})))
    assert error.member == "workloads.json"


# CSV


def refused_csv(files, content: bytes, name: str = "runs.csv") -> ArchiveError:
    return refusal(pack(with_manifest(files | {name: content})))


HEADER = _good()["runs.csv"].split(b"\n")[0] + b"\n"
CLEAN = b"app0/section0,%d,%d,clean,1000,,,,,,,,\n"
BAD_CSV = {
    b"": (1, "has no header"),
    HEADER: (None, "has no runs"),
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


def changed_row(files, number: int, name: str = "runs.csv", **cells) -> ArchiveError:
    """The refusal after some cells of the row on line `number` were changed."""
    rows = rows_of(files[name])
    rows[number - 2].update(cells)
    return refused_csv(files, csv_of(rows), name)


# In the sample, line 2 is a clean row at n = 1 and line 5 the first profile row.
BAD_CELLS = [
    (2, {"n": "0"}, "n 0 is less than 1"),
    (3, {"n": "-5"}, "n -5 is less than 1"),
    (3, {"n": "17"}, "n 17 is more than n_max = 16"),
    (3, {"n": "1.0"}, "n '1.0' is not a 64-bit integer"),
    (3, {"n": ""}, "n '' is not a 64-bit integer"),
    (3, {"n": " 1"}, "n ' 1' is not a 64-bit integer"),
    (3, {"n": "+1"}, "n '+1' is not a 64-bit integer"),
    (3, {"n": "\u0661"}, "n '\u0661' is not a 64-bit integer"),
    (3, {"n": "1_0"}, "n '1_0' is not a 64-bit integer"),
    (3, {"repeat": "-1"}, "repeat -1 is less than 0"),
    (3, {"repeat": str(2**31)}, "repeat 2147483648 is more than 2147483647"),
    (3, {"repeat": "x"}, "repeat 'x' is not a 64-bit integer"),
    (3, {"time_ns": "0"}, "time_ns 0 is not above 0"),
    (3, {"time_ns": "-7"}, "time_ns -7 is not above 0"),
    (3, {"time_ns": "1e9"}, "time_ns '1e9' is not a 64-bit integer"),
    (3, {"time_ns": str(2**63)}, f"time_ns '{2**63}' is not a 64-bit integer"),
    (3, {"time_ns": "9" * 5000}, f"time_ns '{'9' * 58}… is not a 64-bit integer"),
    (8, {"time_ns": str(2**62)}, f"n * time_ns = 2 * {2**62} exceeds 64 bits"),
    (3, {"pass": "warm"}, "pass 'warm' is not one of clean, profile"),
    (3, {"workload": "no/such"}, "workload 'no/such' is not in workloads.json"),
    (3, {"use_ns": "0"}, "use_ns is given in a clean row"),
    (5, {"join_ns": ""}, "join_ns is empty in a profile row"),
    (5, {"lock_ns": "x"}, "lock_ns 'x' is not a 64-bit integer"),
    (5, {"lock_ns": "-1"}, "lock_ns -1 is negative"),
    (3, {"output_checksum": "other"}, "output_checksum 'other' of 'app0/section0' differs from 'abc123' in line 2"),
    (2, {"output_checksum": "c" * 129}, "output_checksum is longer than 128 characters"),
    (3, {"repeat": "1"}, "same workload, n, repeat and pass as in line 2"),
]


@pytest.mark.parametrize(("line", "cells", "reason"), BAD_CELLS, ids=range(len(BAD_CELLS)))
def test_a_bad_run(files, line, cells, reason):
    assert first(changed_row(files, line, **cells)) == ("runs.csv", line, reason)


@pytest.mark.parametrize("off_by", [-1, 1])
def test_parts_that_do_not_sum_up(files, off_by):
    row = rows_of(files["runs.csv"])[3]
    total = int(row["n"]) * int(row["time_ns"])
    member, line, reason = first(changed_row(files, 5, use_ns=int(row["use_ns"]) + off_by))
    assert (member, line) == ("runs.csv", 5)
    assert reason == f"parts sum to {total + off_by}, but n * time_ns = 1 * {total} = {total}"


def test_parts_whose_sum_overflows_do_not_sum_up(files):
    """Seven parts that sum to n * time_ns modulo 2**64 only."""
    row = rows_of(files["runs.csv"])[3]
    total = int(row["n"]) * int(row["time_ns"])
    parts = dict.fromkeys([key for key in row if key.endswith("_ns") and key != "time_ns"], "0")
    parts |= {"use_ns": 2**63 - 1, "lock_ns": 2**63 - 1, "imbalance_ns": 2, "creation_ns": total}
    assert first(changed_row(files, 5, **parts))[2].startswith(f"parts sum to {2**64 + total}, but ")


def test_no_run_at_one_thread(files):
    rows = rows_of(files["runs.csv"])
    rows = [row for row in rows if row["workload"] != "app0/section1" or row["n"] != "1"]
    line = next(number for number, row in enumerate(rows, 2) if row["workload"] == "app0/section1")
    reason = "workload 'app0/section1' has no run at n = 1"
    assert first(refused_csv(files, csv_of(rows))) == ("runs.csv", line, reason)


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


BAD_READINGS = [
    ({"workload": "no/such"}, "workload 'no/such' is not in workloads.json"),
    ({"n": "0"}, "n 0 is less than 1"),
    ({"n": "17"}, "n 17 is more than n_max = 16"),
    ({"repeat": "r"}, "repeat 'r' is not a 64-bit integer"),
    ({"counter": ""}, "counter '' does not have 1 to 40 characters"),
    ({"counter": "INSTR"}, "same workload, n, repeat and counter as in line 2"),
    ({"status": "fine"}, "status 'fine' is not one of ok, multiplexed, unsupported, no-permission, not-scheduled"),
    ({"status": "unsupported"}, "value is given although status is unsupported"),
    ({"value": ""}, "value is empty although status is ok"),
    ({"value": "", "status": "multiplexed"}, "value is empty although status is multiplexed"),
    ({"value": "-1"}, "value -1 is negative"),
    ({"value": "nan"}, "value 'nan' is not a finite number"),
    ({"value": "inf"}, "value 'inf' is not a finite number"),
    ({"value": "1e999"}, "value '1e999' is not a finite number"),
    ({"value": "1,5"}, "value '1,5' is not a finite number"),
]


@pytest.mark.parametrize(("cells", "reason"), BAD_READINGS, ids=range(len(BAD_READINGS)))
def test_a_bad_counter_reading(files, cells, reason):
    assert first(changed_row(files, 3, "counters.csv", **cells)) == ("counters.csv", 3, reason)


def test_problems_of_all_members_are_reported_together(files):
    rows = [row | {"time_ns": "0"} for row in rows_of(files["runs.csv"])]
    platform = json.dumps(json.loads(files["platform.json"]) | {"n_nu": 9}).encode()
    counters = files["counters.csv"].replace(b"ok", b"okay", 1)
    broken = files | {"runs.csv": csv_of(rows), "platform.json": platform, "counters.csv": counters}
    error = refusal(pack(with_manifest(broken)))
    assert [p.member for p in error.problems] == ["platform.json", *["runs.csv"] * 10, "counters.csv"]
    assert error.more == len(rows) - 10
    assert str(error).splitlines()[1] == "runs.csv:2: time_ns 0 is not above 0"


def test_runs_are_checked_even_where_workloads_and_platform_cannot_be_read(files):
    broken = files | {"workloads.json": b"[", "platform.json": b"["}
    broken["runs.csv"] = broken["runs.csv"].replace(b"clean", b"dirty", 1)
    members = {problem.member for problem in refusal(pack(with_manifest(broken))).problems}
    assert members == {"platform.json", "workloads.json", "runs.csv"}


# Damage at random: refused or harmless, and never another exception


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_bytes(data):
    content = bytearray(_small())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(content))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_tar(data):
    tar = bytearray(gzip.decompress(_small()))
    headers = [match.start() for match in re.finditer(rb"mpet-results/", tar)]
    for _ in range(data.draw(st.integers(1, 3))):
        header = data.draw(st.sampled_from(headers))
        tar[header + data.draw(st.integers(0, 700))] = data.draw(st.integers(0, 255))
        tar[header : header + 512] = with_header_sum(tar[header : header + 512])
    survives(packed_tar(bytes(tar)))


def with_header_sum(header: bytearray) -> bytearray:
    """A tar header whose checksum fits, so that the damage behind it is looked at."""
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return header


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_members_whose_manifest_fits(data):
    files = dict(_good())
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    place = data.draw(st.integers(0, len(content)))
    content[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    files[name] = bytes(content)
    survives(pack(files if name == "manifest.json" else with_manifest(files)))


def survives(content: bytes) -> None:
    try:
        measurements = read(content)
    except ArchiveError as error:
        assert error.problems
        str(error).encode("utf-8")
    else:
        assert measurements.profiles


def _varied_refusal(change) -> list[ArchiveProblem]:
    files = tarballs.files_of(tarballs.packed(varied_measurements()))
    rows = rows_of(files["runs.csv"])
    change(rows)
    return refusal(pack(with_manifest(files | {"runs.csv": csv_of(rows)}))).problems


FIRST_OF_50 = 68  # line of the first row of size 50: 66 rows of the workload's own size and the header are before it


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("size", "0", "size 0 is not above 0"),
        ("size", "-5", "size -5 is not above 0"),
        ("size", "big", "size 'big' is not a finite number"),
        ("size", "1e999", "size '1e999' is not a finite number"),
        ("clock_mhz", "0.0", "clock_mhz 0.0 is not above 0"),
        ("clock_mhz", "nan", "clock_mhz 'nan' is not a finite number"),
        (
            "output_checksum",
            "ff",
            "output_checksum 'of50' of 'app0/section0' at size 50 differs from 'ff' in line 68",
        ),
        ("repeat", "2", "same workload, n, repeat, size, clock_mhz and pass as in line 68"),
    ],
)
def test_wrong_variations(column, cell, reason):
    problems = _varied_refusal(lambda rows: rows[FIRST_OF_50 - 2].update({column: cell}))
    assert problems[0].reason == reason
    assert problems[0].member == "runs.csv"
    assert problems[0].line == (FIRST_OF_50 if cell not in {"ff", "2"} else FIRST_OF_50 + 1)


@pytest.mark.parametrize(
    ("cell", "reason"), [("-1", "tasks -1 is negative"), ("1.5", "tasks '1.5' is not a 64-bit integer")]
)
def test_wrong_counts(cell, reason):
    def count(rows):
        for row in rows:
            row["tasks"] = "7"
        rows[3]["tasks"] = cell

    (problem,) = _varied_refusal(count)
    assert (problem.line, problem.reason) == (5, reason)


def test_checksums_are_of_a_size_not_of_a_clock():
    def same_everywhere(rows):
        for row in rows:
            row["output_checksum"] = "abc123"

    files = tarballs.files_of(tarballs.packed(varied_measurements()))
    rows = rows_of(files["runs.csv"])
    same_everywhere(rows)
    read(pack(with_manifest(files | {"runs.csv": csv_of(rows)})))
    next(row for row in rows if row["clock_mhz"])["output_checksum"] = "other"
    problems = refusal(pack(with_manifest(files | {"runs.csv": csv_of(rows)}))).problems
    assert "differs from 'abc123' in line 2" in problems[0].reason


def test_variations_do_not_stand_in_for_the_row_at_one_thread():
    def only_varied(rows):
        rows[:] = [row for row in rows if row["size"] or row["n"] != "1" or row["workload"] != "app0/section0"]

    (problem,) = _varied_refusal(only_varied)
    more = " of its own size at the platform's own clocks"
    assert problem.reason == f"workload 'app0/section0' has no run at n = 1{more}"


@pytest.mark.parametrize("size", [0, -1, "big", 10**400])
def test_wrong_sizes_of_workloads(files, size):
    workloads = json.loads(files["workloads.json"])
    workloads[0]["size"] = size
    content = json.dumps(workloads, indent=1).encode()
    (problem,) = refusal(pack(with_manifest(files | {"workloads.json": content}))).problems
    assert problem.reason.startswith("[0].size: ")
    assert content.decode().splitlines()[problem.line - 1].strip().startswith('"size"')
