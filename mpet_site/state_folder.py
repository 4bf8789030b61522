"""The state folder, which only its owner may read: it holds the database, the uploads and the secret key.

It may also hold files left by killed processes, which `is_older_than` recognises by their age.
"""

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
    """Create the folder, or restrict the permissions of an existing folder and its files to the owner.

    The files directly in the folder are checked at every call. Files in subfolders are only checked where the folder
    was open to other users, because there may be many uploads. In a read-only folder, or one of another owner, all
    permissions stay as they are.
    """
    folder.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
    was_open = mode_of(folder) != PRIVATE_FOLDER_MODE
    with contextlib.suppress(OSError):
        for path in folder.rglob("*") if was_open else folder.iterdir():
            close(path)
        close(folder)  # last, so that an interrupted call is repeated in full


def close(path: Path) -> None:
    """Remove the permissions of all users but the owner from a file or folder. Ignore a file that no longer exists."""
    if path.is_symlink():
        return
    with contextlib.suppress(FileNotFoundError):
        mode = PRIVATE_FOLDER_MODE if path.is_dir() else PRIVATE_FILE_MODE
        if mode_of(path) != mode:
            path.chmod(mode)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def replace_private_file(path: Path, content: bytes) -> None:
    """Write the content to a new file and rename it, so that a killed process leaves either the old or the new
    content."""
    new = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE_MODE), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def stored_text(path: Path, make: Callable[[], str]) -> str:
    """Return the text of a private file. If the file is missing or empty, store the text that `make` returns.

    `make` is called only once, even if several processes start at the same time.
    """
    if not _text_of(path):
        with file_lock(path.with_name(f"{path.name}.lock")):
            if not _text_of(path):
                replace_private_file(path, make().encode())
    return _text_of(path)


def _text_of(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock the file for the block, and yield whether this process holds the lock.

    The value is False only if another process holds the lock and `wait` is False. The kernel releases the lock when the
    process ends, even if it is killed. The file is not deleted.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE_MODE), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def is_older_than(path: Path, seconds: float) -> bool:
    """Return whether a file was written, or the entries of a folder changed, more than `seconds` ago.

    Return False if the path no longer exists because another process deleted it first.
    """
    try:
        return time.time() - path.stat().st_mtime > seconds
    except FileNotFoundError:
        return False
