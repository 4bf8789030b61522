"""The file format of backups, `mpet-backup/1`: a tar of the database, the uploaded files and the secret key.

The last member, `manifest.json`, lists the size and SHA-256 of every other member. A truncated file has no manifest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self, cast

from mpet_site.state_folder import PRIVATE_FILE_MODE

BACKUP_SCHEMA = "mpet-backup/1"
MANIFEST = "manifest.json"
DATABASE = "database.gz"
SECRET_KEY = "secret_key"  # noqa: S105  the name of a file
MEDIA = "media/"
MOST_MANIFEST_BYTES = 1 << 30
READ_BYTES = 1 << 20
INSTEAD = "copy it again from its origin, or restore an earlier backup"


class BackupError(Exception):
    """The reason why a backup cannot be created or restored, as a message for the operator."""


@dataclass(frozen=True)
class Manifest:
    """The content of a backup. `migrations` are those applied to its database, as `application.name`."""

    created: str
    version: str
    engine: str
    migrations: list[str]
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    schema: str = BACKUP_SCHEMA

    @classmethod
    def parsed(cls, text: bytes) -> Self:
        try:
            document = json.loads(text)
            if document["schema"] != BACKUP_SCHEMA:
                raise BackupError(f"its schema is {document['schema']!r}, but only {BACKUP_SCHEMA!r} can be read")
            return cls(**document)
        except (ValueError, TypeError, KeyError) as error:
            raise BackupError(f"its {MANIFEST} cannot be read") from error


class _Hashing:
    """A file that computes the SHA-256 of the bytes that are read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self.file.read(size)
        self.sha256.update(piece)
        return piece


class BackupWriter:
    """A writer that adds members to a backup and records their sizes and digests."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.tar = tar
        self.members: dict[str, dict[str, Any]] = {}

    def add(self, name: str, path: Path) -> None:
        with path.open("rb") as file:
            member = tarfile.TarInfo(name)
            member.size, member.mode = os.fstat(file.fileno()).st_size, PRIVATE_FILE_MODE
            hashing = _Hashing(file)
            self.tar.addfile(member, cast(IO[bytes], hashing))
        self.members[name] = {"bytes": member.size, "sha256": hashing.sha256.hexdigest()}

    def finish(self, manifest: Manifest, folder: Path) -> None:
        """Write the manifest with all members that were added."""
        path = folder / MANIFEST
        path.write_text(json.dumps(asdict(manifest) | {"members": self.members}, indent=1))
        self.add(MANIFEST, path)


@contextmanager
def new_backup(path: Path) -> Iterator[BackupWriter]:
    """Create a backup file, readable by its owner only. It gets its name when it is completely written to the disk."""
    part = path.with_name(f"{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                yield BackupWriter(tar)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def check_backup(path: Path, on_read: Callable[[int], Any] = lambda _: None) -> Manifest:
    """Check that all members of a backup are complete and unchanged, and return its manifest. Raise BackupError
    otherwise.

    `on_read` is called with the number of bytes of each piece that was read.
    """
    found: dict[str, dict[str, Any]] = {}
    text = b""
    with _opened(path) as tar:
        for name, file in _members(tar):
            hashing, size_bytes = _Hashing(file), 0
            while piece := hashing.read(READ_BYTES):
                size_bytes += len(piece)
                text += piece if name == MANIFEST and len(text) < MOST_MANIFEST_BYTES else b""
                on_read(len(piece))
            if name in found:
                raise BackupError(f"member {name} occurs twice")
            found[name] = {"bytes": size_bytes, "sha256": hashing.sha256.hexdigest()}
    if MANIFEST not in found:
        raise BackupError(f"it has no {MANIFEST}: it is truncated, or is not a backup of MPET; {INSTEAD}")
    manifest = Manifest.parsed(text)
    del found[MANIFEST]
    for name in sorted({*found, *manifest.members}):
        if found.get(name) != manifest.members.get(name):
            raise BackupError(f"its member {name} differs from {MANIFEST}; {INSTEAD}")
    if DATABASE not in found:
        raise BackupError("it has no database")
    return manifest


def extract(path: Path, folder: Path) -> None:
    """Write every member below the folder. Raise BackupError for an unexpected name, such as a path outside the
    folder."""
    with _opened(path) as tar:
        for name, file in _members(tar):
            to = folder / name
            to.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE), "wb") as written:
                shutil.copyfileobj(file, written, READ_BYTES)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """Open the tar of a backup for the block. If it turns out to be damaged, raise BackupError."""
    try:
        with tarfile.open(path, mode="r:") as tar:
            yield tar
    except tarfile.TarError as error:
        raise BackupError(f"it is not a tar file, or is truncated ({error}); {INSTEAD}") from error


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    for member in tar:
        file = tar.extractfile(member) if member.isreg() else None
        if file is None or not _is_expected(member.name):
            raise BackupError(f"member {member.name!r} does not belong in a backup")
        yield member.name, file


def _is_expected(name: str) -> bool:
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or str(inside) != name:
        return False
    return name in {MANIFEST, DATABASE, SECRET_KEY} or name.startswith(MEDIA)
