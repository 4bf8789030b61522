"""Export of all public data of one revision to folders, each of which is complete or not created."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from mpet_site.web.consistency import consistent_reads
from profiles.dump.croissant import CROISSANT_FILE, croissant_document
from profiles.dump.files import SQLITE_FILE, DumpRow, write_table
from profiles.dump.package import PACKAGE_FILE, package_document
from profiles.dump.rows import DumpedKeys, credited_sources, dumped_tables
from profiles.dump.tables import DumpTable
from profiles.models import Revision

DATASETTE_FILE = "metadata.json"
MOST_ATTEMPTS_TO_EXPORT = 5

TableProgress = Callable[[str, Iterator[DumpRow]], Iterator[DumpRow]]


class ExportError(Exception):
    """The reason why nothing was exported."""


@dataclass(frozen=True)
class Exported:
    """The result of an export: the revision and the number of rows of each table."""

    revision: int
    rows: dict[str, int]


def export_dump(folders: Mapping[str, Path], progress: TableProgress = lambda name, rows: rows) -> Exported:
    """Write the dump to one folder for each format, all of one revision. Raise ExportError.

    The folders must be empty or not exist yet.
    """
    for folder in folders.values():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ExportError(f"{folder} exists and is not an empty folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(MOST_ATTEMPTS_TO_EXPORT):
        with ExitStack() as parts:
            unfinished = {}
            # Write to temporary folders on the file system of the final ones, so that they can be renamed.
            for form, folder in folders.items():
                staging = tempfile.TemporaryDirectory(
                    prefix=f".{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True
                )
                unfinished[form] = Path(parts.enter_context(staging))
            exported = _write_all(unfinished, progress)
            if exported is not None:
                for form, folder in folders.items():
                    if folder.exists():
                        folder.rmdir()
                    unfinished[form].chmod(0o755)
                    unfinished[form].rename(folder)
                return exported
    raise ExportError(f"the database changed during all {MOST_ATTEMPTS_TO_EXPORT} attempts to read it")


def _write_all(folders: Mapping[str, Path], progress: TableProgress) -> Exported | None:
    """Write all files from one state of the database. Return None if the database changed meanwhile."""
    with consistent_reads() as is_consistent:
        revision = Revision.current()[0]
        keys = DumpedKeys.read()
        counts: list[tuple[DumpTable, int]] = []
        for dumped in dumped_tables():
            rows = progress(dumped.table.name, dumped.rows(keys))
            counts.append((dumped.table, write_table(folders, dumped.table, rows)))
        sources = credited_sources()
        if not is_consistent and Revision.current()[0] != revision:
            return None
    created = timezone.now()
    for form, folder in folders.items():
        document = package_document(
            counts, folder, form, revision=revision, created=created, sources=sources, site=settings.SITE_URL
        )
        _write_json(folder / PACKAGE_FILE, document)
        _write_json(folder / CROISSANT_FILE, croissant_document(document))
        if form == "sqlite":
            _write_json(folder / DATASETTE_FILE, _datasette_metadata(document, [table for table, _ in counts]))
    return Exported(revision, {table.name: many for table, many in counts})


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _datasette_metadata(document: dict[str, Any], tables: list[DumpTable]) -> dict[str, Any]:
    """Return the descriptions that Datasette shows with the tables: `datasette mpet.sqlite --metadata
    metadata.json`."""
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
