"""Everything public, written as one revision: a folder that holds all of the dump, or nothing."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from profiles.consistency import consistent_reads
from profiles.dump.files import SQLITE_FILE, DumpRow, write_table
from profiles.dump.package import PACKAGE_FILE, package_document
from profiles.dump.registry import dumped_tables
from profiles.dump.rows import credited_sources, public_profiles
from profiles.dump.tables import DumpTable
from profiles.models import Revision

DATASETTE_FILE = "metadata.json"
MOST_ATTEMPTS_TO_EXPORT = 5

TableProgress = Callable[[str, Iterator[DumpRow]], Iterator[DumpRow]]


class ExportError(Exception):
    """Why nothing was exported."""


@dataclass(frozen=True)
class Exported:
    """What was written: the revision, and the rows of each table."""

    revision: int
    rows: dict[str, int]


def export_dump(folder: Path, form: str, progress: TableProgress = lambda name, rows: rows) -> Exported:
    """Write the dump into a folder that is empty or not there yet. Raises ExportError."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportError(f"{folder} is there already, and is no empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(MOST_ATTEMPTS_TO_EXPORT):
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            exported = _write_all(unfinished, form, progress)
            if exported is not None:
                if folder.exists():
                    folder.rmdir()
                unfinished.chmod(0o755)
                unfinished.rename(folder)
                return exported
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    raise ExportError("the database changed all the time while it was read")


def _write_all(folder: Path, form: str, progress: TableProgress) -> Exported | None:
    """All files as of one moment; None where the database changed meanwhile."""
    with consistent_reads() as is_consistent:
        revision = Revision.current()[0]
        keys = list(public_profiles().values_list("pk", flat=True))
        counts: list[tuple[DumpTable, int]] = []
        for dumped in dumped_tables():
            rows = progress(dumped.table.name, dumped.rows(keys))
            counts.append((dumped.table, write_table(folder, dumped.table, form, rows)))
        sources = credited_sources()
        if not is_consistent and Revision.current()[0] != revision:
            return None
    document = package_document(
        counts, folder, form, revision=revision, created=timezone.now(), sources=sources, site=settings.SITE_URL
    )
    _write_json(folder / PACKAGE_FILE, document)
    if form == "sqlite":
        _write_json(folder / DATASETTE_FILE, _datasette_metadata(document, [table for table, _ in counts]))
    return Exported(revision, {table.name: many for table, many in counts})


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _datasette_metadata(document: dict[str, Any], tables: list[DumpTable]) -> dict[str, Any]:
    """What Datasette shows beside the tables: `datasette mpet.sqlite --metadata metadata.json`."""
    described = {
        table.name: {
            "title": table.title,
            "columns": {column.name: column.meaning for column in table.columns if column.meaning},
        }
        for table in tables
    }
    return {
        "title": document["title"],
        "description": document["description"],
        "license": "; ".join(licence["title"] for licence in document["licenses"]),
        "databases": {Path(SQLITE_FILE).stem: {"tables": described}},
    }
