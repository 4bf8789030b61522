"""The dump for download, created by a periodic task of the server or by `manage.py publish_dump`.

Each folder in `dumps/` of the state folder holds one archive for each format, and `dump.json`, which describes them. A
folder gets its name when it is complete, so that readers never see an incomplete one. The two newest are kept. The
process that creates a dump holds a lock, which the kernel releases when the process ends. If no process holds it, the
files in `making/` were left by a killed process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from mpet_site.state_folder import file_lock
from profiles.dump.export import export_dump
from profiles.dump.files import DUMP_FORMS
from profiles.dump.package import file_sha256
from profiles.models import Revision

CONTENTS_FILE = "dump.json"
DUMPS_KEPT = 2
LEAST_PRIORITY = 19


@dataclass(frozen=True)
class PublishedDump:
    """A dump for download: one archive per format, all of one revision."""

    folder: Path
    revision: int
    created: datetime
    files: list[dict[str, Any]]  # form, name, bytes, sha256

    def archive(self, form: str) -> Path | None:
        name = next((file["name"] for file in self.files if file["format"] == form), None)
        return None if name is None else self.folder / name


def dumps_folder() -> Path:
    return Path(settings.STATE_DIR) / "dumps"


def newest_dump() -> PublishedDump | None:
    """Return the newest dump, or None if none has been created yet."""
    for folder in sorted(dumps_folder().glob("[0-9]*"), reverse=True):
        # Skip a dump that is being deleted or is damaged.
        with suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads((folder / CONTENTS_FILE).read_text(encoding="utf-8"))
            created = datetime.fromisoformat(document["created"])
            return PublishedDump(folder, int(document["revision"]), created, list(document["files"]))
    return None


def dump_is_due() -> bool:
    """Return whether there is no dump, or the newest is MPET_DUMP_HOURS old and public data has changed since.

    If MPET_DUMP_HOURS is 0, no dump is ever due.
    """
    if not settings.DUMP_HOURS:
        return False
    newest = newest_dump()
    if newest is None:
        return True
    is_young = timezone.now() - newest.created < timedelta(hours=settings.DUMP_HOURS)
    return not is_young and newest.revision != Revision.current()[0]


def publish_if_due() -> None:
    """Create the dump if it is due, in a process of low priority, and wait for it.

    A thread would take minutes of processor time from the requests of this process.
    """
    if not dump_is_due():
        return
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "publish_dump"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:  # noqa: S603  ours
        os.setpriority(os.PRIO_PROCESS, process.pid, LEAST_PRIORITY)


def publish_dump() -> PublishedDump | None:
    """Create all archives. Return None if another process is creating them. Raise ExportError."""
    home = dumps_folder()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(home.with_name("dumps.lock"), wait=False) as is_ours:
        if not is_ours:
            return None
        making = home / "making"
        shutil.rmtree(making, ignore_errors=True)  # left by a killed process
        making.mkdir()
        try:
            document = _make_archives(making)
            (making / CONTENTS_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            making.rename(home / f"{time.time_ns():020d}")
        finally:
            shutil.rmtree(making, ignore_errors=True)
        for old in sorted(home.glob("[0-9]*"), reverse=True)[DUMPS_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
    return newest_dump()


def _make_archives(folder: Path) -> dict[str, Any]:
    """Create one archive per format, all of one revision. The tables are read once for all formats. Raise
    ExportError."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        folders = {form: Path(made) / form for form in DUMP_FORMS}
        revision = export_dump(folders).revision
        files = []
        for form, unpacked in folders.items():
            archive = Path(shutil.make_archive(str(folder / f"mpet-{revision}-{form}"), "zip", unpacked))
            shutil.rmtree(unpacked)
            files.append(
                {"format": form, "name": archive.name, "bytes": archive.stat().st_size, "sha256": file_sha256(archive)}
            )
    return {"revision": revision, "created": timezone.now().isoformat(), "files": files}
