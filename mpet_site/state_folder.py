"""The state folder is its owner's alone: the database, uploads and the secret key are in it. Some of its files were
left by killed processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PRIVATE_FOLDER_MODE = 0o700
PRIVATE_FILE_MODE = 0o600


def make_private(folder: Path) -> None:
    """Makes the folder, or mends who may enter one that was made before; then its files are mended, too.

    What lies right in the folder is looked at every time. Everything below it only where the folder was open to others,
    as there may be many uploads. Where the folder is somebody else's or read-only, they stay as they are.
    """
    folder.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
    was_open = mode_of(folder) != PRIVATE_FOLDER_MODE
    with contextlib.suppress(OSError):
        for path in folder.rglob("*") if was_open else folder.iterdir():
            close(path)
        close(folder)  # the last: as long as it is open, this is not finished


def close(path: Path) -> None:
    """Takes a file or folder from everybody but its owner; one that is being deleted meanwhile is left alone."""
    if path.is_symlink():
        return
    with contextlib.suppress(FileNotFoundError):
        mode = PRIVATE_FOLDER_MODE if path.is_dir() else PRIVATE_FILE_MODE
        if mode_of(path) != mode:
            path.chmod(mode)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def replace_private_file(path: Path, content: bytes) -> None:
    """Writes the file beside its place and renames it, so that a killed process leaves the former content or this."""
    beside = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE_MODE), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def stored_text(path: Path, make: Callable[[], str]) -> str:
    """Returns the text of a private file. Where it is missing or empty, `make` gives the text: once, also where several
    processes start at the same moment."""
    if not _text_of(path):
        with file_lock(path.with_name(f"{path.name}.lock")):
            if not _text_of(path):
                replace_private_file(path, make().encode())
    return _text_of(path)


def _text_of(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Yields whether this process holds the lock; False only where another process holds it and this one does not
    `wait`. The kernel releases the lock when the process ends, also when it is killed. The file stays."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE_MODE), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def is_older_than(path: Path, seconds: float) -> bool:
    """Whether the file was written, or something put into or out of the folder, longer ago than that. Where it is gone,
    because another process was faster, it is not."""
    try:
        return time.time() - path.stat().st_mtime > seconds
    except FileNotFoundError:
        return False
