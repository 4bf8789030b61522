"""Files of a public source, read from an archive, a plain folder, or a Git clone with or without its files checked
out."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO

from benchmarks.public_data.interface import PublicSource

MOST_FILE_BYTES = 8 * 2**20
MOST_HELD_BYTES = 64 * 2**20  # largest total size of the files of a source with scattered folders
UNREADABLE_ORIGIN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
)

WantedFile = tuple[str, str, bytes | None]  # folder, name in it, content or None above MOST_FILE_BYTES


class UnreadableOrigin(Exception):
    """An archive, clone or folder that cannot be read. The message is the reason."""


@dataclass(frozen=True)
class FoundFolder:
    """The files of one machine by name, and the SHA-256 of all of them. `too_large` is the first file above the
    limit."""

    name: str
    files: dict[str, bytes]
    sha256: str
    too_large: str | None = None


def find_folders(source: PublicSource, origin: Path) -> Iterator[FoundFolder]:
    """Yield the folders of a source one by one. Raise UnreadableOrigin if the origin cannot be read or has no files of
    the source."""
    empty = True
    for name, files in (_gathered if source.scattered else _one_by_one)(source, origin):
        empty = False
        yield _found_folder(source, name, files)
    if empty:
        raise UnreadableOrigin(f"{origin}: has no files of {source.title}")


def _one_by_one(source: PublicSource, origin: Path) -> Iterator[tuple[str, dict[str, bytes | None]]]:
    """Yield the folders of a source that stores the files of each folder together."""
    read_folders = set[str]()
    for folder, members in groupby(_wanted_files(source, origin), key=itemgetter(0)):
        if folder in read_folders:
            raise UnreadableOrigin(f"{origin}: the files of {folder} are not stored together")
        read_folders.add(folder)
        yield folder, {member: content for _, member, content in members}


def _gathered(source: PublicSource, origin: Path) -> Iterator[tuple[str, dict[str, bytes | None]]]:
    """Yield the folders of a source that may store the files of a folder anywhere."""
    folders: dict[str, dict[str, bytes | None]] = {}
    held_bytes = 0
    for folder, member, content in _wanted_files(source, origin):
        folders.setdefault(folder, {})[member] = content
        held_bytes += len(content or b"")
        if held_bytes > MOST_HELD_BYTES:
            raise UnreadableOrigin(f"{origin}: has more than {MOST_HELD_BYTES} bytes of measurements")
    yield from sorted(folders.items())


def _found_folder(source: PublicSource, name: str, files: dict[str, bytes | None]) -> FoundFolder:
    digest = hashlib.sha256(f"{source.name} {source.version} {name}\n".encode())
    for member in sorted(files):
        digest.update(f"{member} {hashlib.sha256(files[member] or b'').hexdigest()}\n".encode())
    too_large = next((member for member in sorted(files) if files[member] is None), None)
    present = {member: content for member, content in files.items() if content is not None}
    return FoundFolder(name, present, digest.hexdigest(), too_large)


def _wanted_files(source: PublicSource, origin: Path) -> Iterator[WantedFile]:
    try:
        if (origin / "HEAD").is_file() and (origin / "objects").is_dir():
            yield from _files_of_bare_clone(source, origin)
        elif origin.is_dir():
            yield from _files_of_folder(source, origin)
        elif zipfile.is_zipfile(origin):
            yield from _files_of_zip(source, origin)
        else:
            with tarfile.open(origin, mode="r|*") as archive:
                yield from _files_of_tar(source, archive)
    except UNREADABLE_ORIGIN as error:
        raise UnreadableOrigin(f"{origin}: cannot be read: {error}") from error


def _read(source: PublicSource, place: tuple[str, str], file: IO[bytes]) -> WantedFile:
    folder, member = place
    content = file.read(MOST_FILE_BYTES + 1)
    return folder, member, source.excerpt(member, content) if len(content) <= MOST_FILE_BYTES else None


def _files_of_folder(source: PublicSource, origin: Path) -> Iterator[WantedFile]:
    for folder, folders, names in os.walk(origin):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            path = Path(folder, name)
            place = source.wanted(path.relative_to(origin).as_posix())
            if place and path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    yield _read(source, place, file)


def _files_of_zip(source: PublicSource, origin: Path) -> Iterator[WantedFile]:
    with zipfile.ZipFile(origin) as archive:
        for name in sorted(archive.namelist()):
            if place := source.wanted(name):
                with archive.open(name) as file:
                    yield _read(source, place, file)


def _files_of_tar(source: PublicSource, archive: tarfile.TarFile) -> Iterator[WantedFile]:
    for member in archive:
        place = source.wanted(member.name) if member.isfile() else None
        if place and (file := archive.extractfile(member)):
            yield _read(source, place, file)
        archive.members = []  # type: ignore[attr-defined]  # otherwise tarfile keeps all of them


def _files_of_bare_clone(source: PublicSource, origin: Path) -> Iterator[WantedFile]:
    command = ["git", "-C", str(origin), "archive", "--format=tar", "HEAD"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as git:  # noqa: S603
        assert git.stdout and git.stderr  # noqa: S101  for mypy
        try:
            with tarfile.open(fileobj=git.stdout, mode="r|") as archive:
                yield from _files_of_tar(source, archive)
        except tarfile.TarError as error:
            git.kill()
            raise UnreadableOrigin(f"{origin}: {git.stderr.read().decode(errors='replace').strip()}") from error
        finally:
            git.kill()
