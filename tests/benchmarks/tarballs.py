"""Results tarballs for tests: packing, unpacking, and repacking of changed members."""

import csv
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime

from benchmarks.archive import ArchiveError, Limits, read_archive, write_archive
from tests.samples import sample_measurements

CREATED = datetime(2026, 11, 20, 10, tzinfo=UTC)
TOP = "mpet-results"


def packed(measurements=None) -> bytes:
    buffer = io.BytesIO()
    write_archive(buffer, measurements or sample_measurements(1), created=CREATED)
    return buffer.getvalue()


def files_of(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {info.name.removeprefix(f"{TOP}/"): tar.extractfile(info).read() for info in tar}


def good_files() -> dict[str, bytes]:
    return files_of(packed(sample_measurements(1, 2, environment={"LANG": "C"}, log="all well\n")))


def with_manifest(files: dict[str, bytes], /, **fields) -> dict[str, bytes]:
    """Return the files with a manifest that matches them."""
    members = {name: content for name, content in files.items() if name != "manifest.json"}
    manifest = json.loads(files["manifest.json"]) | {"files": {name: entry(members[name]) for name in members}}
    return {"manifest.json": json.dumps(manifest | fields, indent=1).encode()} | members


def entry(content: bytes) -> dict:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def pack(files: dict[str, bytes], top: str = TOP, also: Callable[[tarfile.TarFile], None] | None = None) -> bytes:
    """Pack exactly these files below `top` ('' for the root), and then the members that `also` adds."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            add(tar, f"{top}/{name}" if top else name, content)
        if also:
            also(tar)
    return buffer.getvalue()


def add(tar: tarfile.TarFile, name: str, content: bytes = b"", **fields) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    tar.addfile(info, io.BytesIO(content))


def packed_tar(tar: bytes) -> bytes:
    return gzip.compress(tar, mtime=0)


def read(content: bytes, **limits):
    return read_archive(io.BytesIO(content), limits=Limits(**limits))


def refusal(content: bytes, **limits) -> ArchiveError:
    """Return the ArchiveError that reading raises, or fail the test."""
    try:
        read(content, **limits)
    except ArchiveError as error:
        return error
    raise AssertionError("the tarball was accepted")


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def csv_of(rows: list[dict[str, str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
