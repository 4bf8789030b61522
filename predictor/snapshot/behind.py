"""A large snapshot is built behind the request that first needs it, by one thread of one process of this machine."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connections

logger = logging.getLogger(__name__)
_building: set[Path] = set()
_lock = threading.Lock()


def build_behind(folder: Path, build: Callable[[], Any]) -> None:
    """Have `build` called in a thread, unless this process or another is at it for the folder's viewer."""
    with _lock:
        if folder in _building:
            return
        _building.add(folder)
    threading.Thread(target=_build, args=(folder, build), name=f"snapshot {folder.name}", daemon=True).start()


def _build(folder: Path, build: Callable[[], Any]) -> None:
    try:
        with alone_on_this_machine(folder) as is_alone:
            if is_alone:
                build()
    except Exception:
        logger.exception("the snapshot %s was not built", folder.name)
    finally:
        connections.close_all()
        with _lock:
            _building.discard(folder)


@contextmanager
def alone_on_this_machine(folder: Path) -> Iterator[bool]:
    """Whether no other process builds a snapshot of the same viewer and origins; the lock ends with its process."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder.parent / f"{folder.name.split(',')[0]}.lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
