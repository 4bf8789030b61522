"""The tarball as a stream, which is read once, under limits that do not depend on its headers, and never extracted by
name. Its problems are collected, so that one report is enough to repair it."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from profiles.arrays import IntArray
from profiles.measurements import UnreadableError
from profiles.measurements.bounds import MOST_ROWS, MOST_WORKLOADS

PROBLEMS_LISTED = 50  # problems listed in one report
PROBLEMS_LISTED_PER_KIND = 10  # of one kind, so that it does not hide the others
PIECE_BYTES = 1 << 16
IN_MEMORY_BYTES = 1 << 22
UNREADABLE = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValueError,  # tarfile raises these four for malformed headers
    IndexError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class ArchiveProblem:
    """One reason to refuse a tarball. `member` is None if it concerns the tarball as a whole, and `line` is None if it
    concerns no single line."""

    member: str | None
    line: int | None
    reason: str

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.member, self.line) if part is not None)
        return f"{place}: {self.reason}" if place else self.reason


class ArchiveError(UnreadableError):
    """A refused tarball. `problems` are in the order of members and lines, and `more` is the number of problems that
    are not listed."""

    def __init__(self, problems: list[ArchiveProblem], more: int = 0) -> None:
        super().__init__(problems, more)
        self.problems = problems
        self.more = more

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        return "\n".join(lines + [f"and {self.more} more"] * bool(self.more))


class ArchiveProblems:
    """A bounded list of problems, with the number of all problems."""

    def __init__(self) -> None:
        self._found: list[ArchiveProblem] = []
        self._kinds: Counter[tuple[str | None, str]] = Counter()
        self._members: dict[str | None, int] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def count(self) -> int:
        """The number of problems, listed or not."""
        return self._kinds.total()

    def add(self, member: str | None, line: int | None, reason: str, kind: str = "") -> None:
        """Add a problem. Of one `kind` and member, PROBLEMS_LISTED_PER_KIND problems are listed, and the others are
        only counted."""
        self._kinds[member, kind] += 1
        self._members.setdefault(member, len(self._members))
        if self._kinds[member, kind] <= (PROBLEMS_LISTED_PER_KIND if kind else PROBLEMS_LISTED):
            self._found.append(ArchiveProblem(member, line, reason))

    def add_rows(
        self, member: str, lines: IntArray, bad: NDArray[np.bool_], kind: str, reason: Callable[[int], str]
    ) -> None:
        """Add a problem for each row of the mask `bad`. `reason` is called only for the rows that are listed."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        named = max(0, PROBLEMS_LISTED_PER_KIND - self._kinds[member, kind])
        for row in rows[:named].tolist():
            self.add(member, int(lines[row]), reason(row), kind)
        self._kinds[member, kind] += max(0, len(rows) - named)

    def raise_if_any(self) -> None:
        if not self:
            return
        listed = sorted(self._found, key=lambda p: (self._members[p.member], p.line is None, p.line or 0))[
            :PROBLEMS_LISTED
        ]
        raise ArchiveError(listed, self.count - len(listed))


def quoted(value: object) -> str:
    """Return the value as shown in a reason: its repr, which has no control characters, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


@dataclass(frozen=True)
class Limits:
    """Limits for reading a tarball. `unpacked_bytes` includes tar headers, and `rows` is for all CSV members
    together."""

    packed_bytes: int = 64 * 2**20
    unpacked_bytes: int = 512 * 2**20
    members: int = 10_000
    json_bytes: int = 4 * 2**20
    rows: int = MOST_ROWS
    workloads: int = MOST_WORKLOADS
    log_bytes: int = 2**20


@dataclass
class Member:
    """One plain file of the tarball. `content` holds the whole content, its first `kept_bytes` and one more, or None if
    the content is not needed."""

    size: int
    sha256: str
    content: IO[bytes] | None

    def read(self) -> bytes:
        if self.content is None:
            return b""
        self.content.seek(0)
        return self.content.read()


Members = dict[str, Member]


@contextmanager
def open_members(
    fileobj: IO[bytes], limits: Limits, kept_bytes: dict[str, int | None], problems: ArchiveProblems
) -> Iterator[Members]:
    """Yield the plain files by their names below the top folder. Keep the content of the files in `kept_bytes`: all of
    it if the value is None, else this number of bytes and one more."""
    reader = _TarballReader(limits, kept_bytes, problems)
    try:
        reader.read(fileobj)
        problems.raise_if_any()
        yield _below_top_folder(reader.files, reader.folders, problems)
    finally:
        for member in reader.files.values():
            if member.content is not None:
                member.content.close()


class _LimitedReader:
    """A reader that refuses to return more bytes than its limit, whatever sizes the headers declare."""

    def __init__(self, fileobj: IO[bytes] | gzip.GzipFile, limit: int, reason: str) -> None:
        self.fileobj, self.limit, self.reason = fileobj, limit, reason
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        piece = self.fileobj.read(PIECE_BYTES if size < 0 else min(size, PIECE_BYTES))
        self.count += len(piece)
        if self.count > self.limit:
            _refuse(self.reason)
        return piece


def _refuse(reason: str) -> NoReturn:
    raise ArchiveError([ArchiveProblem(None, None, reason)])


class _TarballReader:
    """One pass over the tarball. Plain files are hashed and, if needed, kept. Members other than files and folders are
    problems."""

    def __init__(self, limits: Limits, kept_bytes: dict[str, int | None], problems: ArchiveProblems) -> None:
        self.limits, self.kept_bytes, self.problems = limits, kept_bytes, problems
        self.files: dict[str, Member] = {}
        self.folders: list[str] = []

    def read(self, fileobj: IO[bytes]) -> None:
        packed_bytes, unpacked_bytes = self.limits.packed_bytes, self.limits.unpacked_bytes
        packed = _LimitedReader(fileobj, packed_bytes, f"is larger than {_spell_bytes(packed_bytes)} packed")
        stage = "a gzip file"
        try:
            with gzip.GzipFile(fileobj=packed, mode="rb") as unzipped:  # type: ignore[call-overload]
                unzipped.peek(1)
                if not packed.count:
                    _refuse("is empty")
                stage = "a tar archive"
                reason = f"is larger than {_spell_bytes(unpacked_bytes)} unpacked"
                unpacked = _LimitedReader(unzipped, unpacked_bytes, reason)
                self._read_tar(unpacked)
                # Read up to gzip's checksum at the end. Only the zeros of tar's padding may follow the archive.
                while piece := unpacked.read():
                    if piece.strip(b"\0"):
                        _refuse("has data after the end of the tar archive")
        except UNREADABLE as error:
            # Remove the first bytes of the file, which Python's message contains if it is not a gzip file.
            said = str(error).partition(" (b'")[0]
            _refuse(f"is not {stage}, or is truncated or damaged: {said or type(error).__name__}")

    def _read_tar(self, unpacked: _LimitedReader) -> None:
        with tarfile.open(fileobj=unpacked, mode="r|", errors="replace") as tar:  # type: ignore[call-overload]
            for count, info in enumerate(tar, 1):
                if count > self.limits.members:
                    _refuse(f"has more than {self.limits.members} members")
                self._take(tar, info)

    def _take(self, tar: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        spelled = info.name if info.name.isprintable() else quoted(info.name)
        parts = [part for part in info.name.split("/") if part not in ("", ".")]
        path = "/".join(parts)
        if info.name.startswith("/"):
            self.problems.add(spelled, None, "is an absolute path")
        elif ".." in parts:
            self.problems.add(spelled, None, "is a path with '..'")
        elif info.isdir():
            self.folders.append(path)
        elif info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
            self.problems.add(spelled, None, f"is not a plain file but {_kind_of_member(info)}")
        elif not parts:
            self.problems.add(spelled, None, "has no name")
        elif path in self.files:
            self.problems.add(spelled, None, "occurs twice")
        else:
            wanted = parts[-1] in self.kept_bytes and len(parts) <= 2
            self.files[path] = _copy_member(tar, info, self.kept_bytes[parts[-1]] if wanted else -1)


def _kind_of_member(info: tarfile.TarInfo) -> str:
    kinds = {
        tarfile.LNKTYPE: "a hard link",
        tarfile.SYMTYPE: "a symbolic link",
        tarfile.CHRTYPE: "a character device",
        tarfile.BLKTYPE: "a block device",
        tarfile.FIFOTYPE: "a pipe",
    }
    return "a sparse file" if info.issparse() else kinds.get(info.type, f"of tar type {info.type!r}")


def _copy_member(tar: tarfile.TarFile, info: tarfile.TarInfo, most: int | None) -> Member:
    """Hash a member and keep its first `most` bytes and one more, all of it if `most` is None, or nothing if it is
    -1."""
    source = tar.extractfile(info)
    assert source is not None  # noqa: S101  plain files only
    content = None if most == -1 else SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115  open_members closes it
    digest, size = hashlib.sha256(), 0
    while piece := source.read(PIECE_BYTES):
        digest.update(piece)
        if content is not None:
            content.write(piece if most is None else piece[: max(0, most + 1 - size)])
        size += len(piece)
    return Member(size, digest.hexdigest(), content)


def _below_top_folder(files: dict[str, Member], folders: list[str], problems: ArchiveProblems) -> Members:
    """Return the files by their names relative to the folder of manifest.json, which is the root or the single top
    folder."""
    folder = ""
    if "manifest.json" not in files:
        tops = sorted({path.split("/")[0] for path in files if "/" in path})
        if len(tops) > 1:
            problems.add(None, None, f"has more than one top folder: {', '.join(map(quoted, tops[:5]))}")
        folder = tops[0] if tops else ""
    for path in folders:
        if path not in ("", folder):
            problems.add(path if path.isprintable() else quoted(path), None, "is not a plain file but a folder")
    prefix = f"{folder}/" if folder else ""
    for path in files:
        if not path.startswith(prefix):
            problems.add(path, None, f"is outside the top folder {quoted(folder)}")
    problems.raise_if_any()
    return {path.removeprefix(prefix): member for path, member in files.items()}


def _spell_bytes(count: int) -> str:
    return f"{count / 2**20:g} MiB" if count >= 2**20 else f"{count} bytes"
