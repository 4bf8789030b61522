"""Dumping the database to one file, as of one moment, while others write to it, and loading such a dump."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from django.apps import apps
from django.db import connection, models, transaction
from django.db.backends.postgresql.client import DatabaseClient

from operations.backups.archive import INSTEAD, BackupError

LOCK_TIMEOUT = "60s"
APPLIED = "SELECT app, name FROM django_migrations"


@dataclass(frozen=True)
class Dump:
    """The content of the database at the moment of the dump. `files` are the uploaded files to which its rows refer."""

    files: list[str]
    migrations: list[str]


def dump_database(to: Path) -> Dump:
    """Write a compressed dump of the current state of the database."""
    return _dump_sqlite(to) if connection.vendor == "sqlite" else _dump_postgresql(to)


def unpack_database(packed: Path) -> Path:
    """Decompress a dump in its folder and return its path. Check the integrity of SQLite. Raise BackupError if
    damaged."""
    plain = packed.with_suffix("")
    try:
        with gzip.open(packed) as read, plain.open("wb") as written:
            shutil.copyfileobj(read, written)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BackupError(f"its database is damaged: {error}; {INSTEAD}") from error
    if connection.vendor == "sqlite":
        try:
            with closing(sqlite3.connect(plain)) as copy:
                verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        except sqlite3.Error as error:
            verdict = str(error)
        if verdict != "ok":
            raise BackupError(f"its database is damaged: {verdict}; {INSTEAD}")
    return plain


def load_database(plain: Path) -> None:
    """Replace the database by a dump atomically, so that readers see either the old or the new database."""
    if connection.vendor == "sqlite":
        _load_sqlite(plain)
    else:
        _load_postgresql(plain)


def _held_by_rows(execute: Callable[[str], Iterable[Any]]) -> Dump:
    tables = {
        (model._meta.db_table, field.column)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.FileField)
    }
    files = {
        row[0]
        for table, column in sorted(tables)
        for row in execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" <> \'\'')  # noqa: S608  names of models
    }
    return Dump(sorted(files), sorted(f"{app}.{name}" for app, name in execute(APPLIED)))


def _dump_sqlite(to: Path) -> Dump:
    """Copy the database with SQLite's backup API: in one step, under one read lock."""
    plain = to.with_suffix(".sqlite3")
    connection.ensure_connection()
    with closing(sqlite3.connect(plain)) as copy:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a write-ahead log
        dump = _held_by_rows(copy.execute)
    with plain.open("rb") as read, gzip.open(to, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(read, packed)
    plain.unlink()
    return dump


def _load_sqlite(plain: Path) -> None:
    try:
        with closing(sqlite3.connect(plain)) as copy:
            connection.ensure_connection()
            copy.backup(connection.connection)
    except sqlite3.Error as error:
        raise BackupError(f"its database cannot be loaded: {error}") from error
    connection.close()


def _dump_postgresql(to: Path) -> Dump:
    """Run `pg_dump` on the snapshot of this transaction, so that the names of the files belong to the same state."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()

        def rows_of(statement: str) -> list[Any]:
            cursor.execute(statement)
            return cursor.fetchall()

        dump = _held_by_rows(rows_of)
        command, environment = _command("pg_dump", f"--snapshot={snapshot}", "--no-owner", "--no-privileges")
        with gzip.open(to, "wb", compresslevel=6) as packed:
            _pour(command, environment, packed)
    return dump


def _pour(command: list[str], environment: dict[str, str], packed: gzip.GzipFile) -> None:
    """Run the command and write its output to the compressed file."""
    with TemporaryFile() as errors:
        with subprocess.Popen(  # noqa: S603  a program of PostgreSQL, with the arguments of the settings
            command, env=environment, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            shutil.copyfileobj(cast(IO[bytes], process.stdout), packed)
        if process.returncode:
            errors.seek(0)
            raise BackupError(f"{command[0]} failed: {errors.read().decode(errors='replace').strip()}")


def _load_postgresql(plain: Path) -> None:
    """Drop all tables and load the dump in one transaction."""
    drops = plain.with_name("drop.sql")
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
    lines = [f"SET lock_timeout = '{LOCK_TIMEOUT}';"]
    lines += [f"DROP TABLE IF EXISTS {connection.ops.quote_name(name)} CASCADE;" for name in names]
    drops.write_text("\n".join(lines))
    connection.close()
    command, environment = _command(
        "psql", "--single-transaction", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
        "--output=/dev/null", f"--file={drops}", f"--file={plain}",
    )  # fmt: skip
    result = subprocess.run(  # noqa: S603
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if result.returncode:
        raise BackupError(f"psql failed, and nothing was changed: {result.stderr.strip()}")


def _command(program: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line of a program with the connection of the settings, and its environment with the
    password."""
    found = shutil.which(program)
    if found is None:
        raise BackupError(f"{program} is not installed (Debian: apt install postgresql-client)")
    (_, *connecting), own = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    return [found, *arguments, *connecting], os.environ | (own or {})
