"""Members of good tarballs, and the errors of changed ones, for tests."""

import json
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np

from benchmarks.archive import ArchiveError
from profiles.measurements import Measurements
from tests.benchmarks import tarballs
from tests.benchmarks.tarballs import csv_of, pack, read, refusal, rows_of, with_manifest
from tests.samples import sample_measurements


@cache
def good_members() -> dict[str, bytes]:
    return tarballs.good_files()


def first(error: ArchiveError) -> tuple:
    problem = error.problems[0]
    return problem.member, problem.line, problem.reason


def reason_of(content: bytes, **limits) -> str:
    """Return the first reason for which the tarball is refused."""
    return refusal(content, **limits).problems[0].reason


def line_of(content: bytes, wanted: str) -> int:
    """Return the number of the line on which a text first occurs."""
    return content.decode().split(wanted)[0].count("\n") + 1


@cache
def small_tarball() -> bytes:
    return tarballs.packed(sample_measurements(1, 1))


def refused_csv(files, content: bytes, name: str = "runs.csv") -> ArchiveError:
    return refusal(pack(with_manifest(files | {name: content})))


HEADER = good_members()["runs.csv"].split(b"\n")[0] + b"\n"


def changed_row(files, number: int, name: str = "runs.csv", **cells) -> ArchiveError:
    """Return the error after changing some cells of the row on line `number`."""
    rows = rows_of(files[name])
    rows[number - 2].update(cells)
    return refused_csv(files, csv_of(rows), name)


def with_platform(files, **fields) -> dict[str, bytes]:
    platform = json.dumps(json.loads(files["platform.json"]) | fields, indent=1).encode()
    return files | {"platform.json": platform}


def refused_field(files, **fields) -> str:
    """Return the reason for which a tarball with these fields of the platform is refused, on the line of the first of
    them."""
    changed = with_platform(files, **fields)
    member, line, reason = first(refusal(pack(with_manifest(changed))))
    assert (member, line) == ("platform.json", line_of(changed["platform.json"], f'"{next(iter(fields))}"'))
    return reason


def survives(content: bytes) -> None:
    try:
        measurements = read(content)
    except ArchiveError as error:
        assert error.problems
        str(error).encode("utf-8")
    else:
        assert measurements.profiles


def same(a, b) -> bool:
    """Return whether nested dataclasses of arrays are equal, where NaN equals NaN."""
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def accepted(files: dict[str, bytes], **options) -> Measurements:
    return read(pack(with_manifest(files), **options))
