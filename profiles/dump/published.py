"""The dump that anybody can download: made at night by a chore of the server, or by `manage.py publish_dump`.

A folder of `dumps/` in the state folder holds one archive for each form, and `dump.json`, which says what they are. The
folder gets its name when all of it is written, so that no reader sees a part; the two newest stay. The process that
makes it holds a lock, which the kernel releases when the process ends: whatever lies in `making/` then is left over.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
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
    """What can be downloaded: one archive a form, all of one revision."""

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
    """The one to download; None before the first was made."""
    for folder in sorted(dumps_folder().glob("[0-9]*"), reverse=True):
        with suppress(OSError, ValueError, KeyError, TypeError):  # one that is being removed, or was damaged
            document = json.loads((folder / CONTENTS_FILE).read_text(encoding="utf-8"))
            created = datetime.fromisoformat(document["created"])
            return PublishedDump(folder, int(document["revision"]), created, list(document["files"]))
    return None


def dump_is_due() -> bool:
    """Whether the newest dump is a day old, or there is none, and something public has changed since."""
    if not settings.DUMP_HOURS:
        return False
    newest = newest_dump()
    if newest is None:
        return True
    is_young = timezone.now() - newest.created < timedelta(hours=settings.DUMP_HOURS)
    return not is_young and newest.revision != Revision.current()[0]


def publish_if_due() -> None:
    """Have a process of low priority make the dump where it is due, and wait for it: a thread of this one would take
    minutes of processor time from its requests."""
    if not dump_is_due():
        return
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "publish_dump"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:  # noqa: S603  ours
        os.setpriority(os.PRIO_PROCESS, process.pid, LEAST_PRIORITY)


def publish_dump() -> PublishedDump | None:
    """Make all archives again; None where another process is making them. Raises ExportError."""
    home = dumps_folder()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(home.with_name("dumps.lock"), wait=False) as is_ours:
        if not is_ours:
            return None
        making = home / "making"
        shutil.rmtree(making, ignore_errors=True)  # of a process that was killed
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
    """One archive a form, of one revision: all are written while the tables are read once. Raises ExportError."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        folders = {form: Path(made) / form for form in DUMP_FORMS}
        revision = export_dump(folders).revision
        files = []
        for form, unpacked in folders.items():
            archive = folder / f"mpet-{revision}-{form}.zip"
            _pack(unpacked, archive)
            shutil.rmtree(unpacked)
            files.append(
                {"format": form, "name": archive.name, "bytes": archive.stat().st_size, "sha256": file_sha256(archive)}
            )
    return {"revision": revision, "created": timezone.now().isoformat(), "files": files}


def _pack(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, path.name)
