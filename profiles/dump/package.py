"""`datapackage.json` of a dump (Frictionless Data Package), and the check of all files before a dump is read.

This module does not import Django.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from profiles.dump.files import DUMP_FORMS, DumpError, DumpRow, member_name, read_arrays, read_table
from profiles.dump.tables import DumpTable

DUMP_SCHEMA = "mpet-dump/1"
PACKAGE_FILE = "datapackage.json"
MEDIA_TYPES = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "sqlite": "application/vnd.sqlite3",
}
LICENCE_ADDRESSES = {
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC BY-SA 4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "GPL-3.0": "https://www.gnu.org/licenses/gpl-3.0.html",
    "MIT": "https://opensource.org/license/mit",
    "CC0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "ODbL": "https://opendatacommons.org/licenses/odbl/1-0/",
}


@dataclass(frozen=True)
class CreditedSource:
    """A source of the numbers in the dump, with its licence, citation and number of profiles."""

    label: str
    licence: str
    citation: str
    profiles: int


@dataclass(frozen=True)
class DumpPackage:
    """A dump in a folder, as described by its `datapackage.json`."""

    folder: Path
    form: str
    revision: int

    def rows(self, table: DumpTable) -> Iterator[DumpRow]:
        return read_table(self.folder, table, self.form)

    def arrays(self, table: DumpTable, names: Sequence[str]) -> dict[str, Any]:
        return read_arrays(self.folder, table, self.form, names)

    def error(self, table: DumpTable, reason: str) -> DumpError:
        """An error in the file of a table."""
        return DumpError(member_name(table, self.form), None, reason)


def package_document(
    tables: Sequence[tuple[DumpTable, int]],
    folder: Path,
    form: str,
    *,
    revision: int,
    created: datetime,
    sources: Iterable[CreditedSource],
    site: str,
) -> dict[str, Any]:
    """Return the descriptor of the files in the folder. `tables` are the tables with their numbers of rows."""
    credited = list(sources)
    licences = sorted({source.licence for source in credited if source.licence})
    return {
        "name": "mpet",
        "title": f"MPET, revision {revision}",
        "description": "Measurements of parallel programs on machines, and predictions from them. "
        "Each source has its own licence: column licence of table sources.",
        **({"homepage": site} if site else {}),
        "version": f"1.{revision}",
        "created": created.isoformat().replace("+00:00", "Z"),
        "licenses": [
            {"name": licence[:100], "title": licence}
            | ({"path": LICENCE_ADDRESSES[licence]} if licence in LICENCE_ADDRESSES else {})
            for licence in licences
        ],
        "sources": [
            {"title": source.label or "uploads", "licence": source.licence, "citation": source.citation}
            | {"profiles": source.profiles}
            for source in credited
        ],
        "mpet": {"schema": DUMP_SCHEMA, "format": form, "revision": revision},
        "resources": [_resource(table, rows, folder, form) for table, rows in tables],
    }


def _resource(table: DumpTable, rows: int, folder: Path, form: str) -> dict[str, Any]:
    path = folder / member_name(table, form)
    resource = {
        "name": table.name,
        "title": table.title,
        "path": path.name,
        "format": form,
        "mediatype": MEDIA_TYPES[form],
        "bytes": path.stat().st_size,
        "hash": f"sha256:{file_sha256(path)}",
        "schema": _table_schema(table),
    }
    # One file contains all tables, so Frictionless cannot count the rows of a table.
    if form == "sqlite":
        return resource | {"dialect": {"table": table.name}}
    return resource | {"rows": rows} | ({"encoding": "utf-8"} if form == "csv" else {})


def _table_schema(table: DumpTable) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "fields": [
            {"name": column.name, "type": column.type}
            | ({"description": column.meaning} if column.meaning else {})
            | ({"constraints": {"required": True}} if column.required and column.type != "string" else {})
            for column in table.columns
        ],
        "missingValues": [""],
    }
    if table.key:
        schema["primaryKey"] = list(table.key)
    if table.refers:
        schema["foreignKeys"] = [
            {"fields": [column], "reference": {"resource": other, "fields": [named]}}
            for column, other, named in table.refers
        ]
    return schema


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_dump(folder: Path, tables: Iterable[DumpTable]) -> DumpPackage:
    """Return the dump in the folder after all files match the checksums of its descriptor. Raise DumpError
    otherwise."""
    document = _read_descriptor(folder / PACKAGE_FILE)
    header = document.get("mpet")
    if not isinstance(header, dict) or header.get("schema") != DUMP_SCHEMA:
        found = header.get("schema") if isinstance(header, dict) else None
        raise DumpError(PACKAGE_FILE, None, f"mpet.schema is {found!r}, expected {DUMP_SCHEMA!r}")
    form, revision = header.get("format"), header.get("revision")
    if form not in DUMP_FORMS:
        raise DumpError(PACKAGE_FILE, None, f"mpet.format is {form!r}, not one of {', '.join(DUMP_FORMS)}")
    if isinstance(revision, bool) or not isinstance(revision, int) or not 0 <= revision < 2**53:
        raise DumpError(PACKAGE_FILE, None, f"mpet.revision is {revision!r}, not an integer from 0 to 2^53 - 1")
    resources = document.get("resources")
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise DumpError(PACKAGE_FILE, None, "resources is not a list of objects")
    # The files have the names that their tables give them, whatever the descriptor says.
    hashes = {str(resource.get("name")): str(resource.get("hash")) for resource in resources}
    known = {table.name: member_name(table, form) for table in tables}
    for name, member in known.items():
        is_there = (folder / member).is_file()
        if name not in hashes and (form == "sqlite" or is_there):
            raise DumpError(PACKAGE_FILE, None, f"does not list {member}, the file of table {name}")
        if not is_there:
            raise DumpError(member, None, "is missing")
    for member, expected in {member: hashes[name] for name, member in known.items()}.items():
        if f"sha256:{file_sha256(folder / member)}" != expected:
            raise DumpError(member, None, f"its sha256 differs from the one in {PACKAGE_FILE}")
    return DumpPackage(folder, form, revision)


def _read_descriptor(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DumpError(PACKAGE_FILE, None, f"is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise DumpError(PACKAGE_FILE, None, "is not a JSON object")
    return document
