"""Errors of a locked, unreachable or unmigrated database and of a full disk are answered with 503 and Retry-After."""

from __future__ import annotations

import errno
import sqlite3
from dataclasses import dataclass

from django.db import Error, InterfaceError, OperationalError, ProgrammingError, connection

from mpet_site.web.health import pending_migrations

RETRY_AFTER_S = 5
SQLITE_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# Serialisation failure, deadlock, lock not available, too many connections, two kinds of shutdown, starting up. The
# states of class 08 are lost connections.
POSTGRESQL_STATES = {"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03"}
CONNECTION_CLASS = "08"
UNKNOWN_NAME_STATES = {"42P01", "42703"}  # unknown table, unknown column
# SQLite has no error codes for unknown tables and columns, only messages.
UNKNOWN_NAME_WORDS = ("no such table", "no such column", "has no column named")
# The low byte of an extended error code, such as SQLITE_BUSY_SNAPSHOT, is the primary code.
EXTENDED_CODE_BITS = 0xFF

# Errors of a full or read-only disk. If SQLite cannot create the log of the database, the error is CANTOPEN or one of
# these extended codes of IOERR. The other codes of IOERR mean a broken disk.
STORAGE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}
SQLITE_STORAGE_CODES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
SQLITE_WRITE_FAILED = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_SHMSIZE}
POSTGRESQL_STORAGE_STATES = {"53100", "25006"}  # disk full, read-only transaction


@dataclass(frozen=True)
class Unavailable:
    """The content of a 503 response: its title, its text and the value of Retry-After."""

    detail: str
    retry_after_s: int = RETRY_AFTER_S
    title: str = "The server is busy"


BUSY = Unavailable("The database is busy. Nothing was stored; try again soon.")
UPGRADING = Unavailable("The database is being upgraded. Nothing was stored; try again soon.")
NO_STORAGE = Unavailable(
    "The server cannot store anything at the moment: its disk is full or read-only. Nothing was stored; stored data "
    "can still be read.",
    retry_after_s=60,
    title="Nothing can be stored",
)


def unavailability_of(error: BaseException | None) -> Unavailable | None:
    """Return the content of the 503 response for this error, or None if it makes no sense to try again."""
    if is_busy(error):
        return BUSY
    if is_storage_failure(error):
        return NO_STORAGE
    return UPGRADING if is_unmigrated(error) else None


def is_busy(error: BaseException | None) -> bool:
    """Return whether the database could not answer now, but may do so soon.

    Other errors, such as a missing table, do not go away by waiting.
    """
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    driver_error = error.__cause__ or error
    if isinstance(driver_error, sqlite3.Error):
        return sqlite_code(driver_error) & EXTENDED_CODE_BITS in SQLITE_CODES
    if not type(driver_error).__module__.startswith("psycopg"):
        return False
    state = getattr(driver_error, "sqlstate", None)  # None if there was no connection
    return state is None or state in POSTGRESQL_STATES or state.startswith(CONNECTION_CLASS)


def is_storage_failure(error: BaseException | None) -> bool:
    """Return whether a file or the database could not be written because the disk is full or read-only."""
    if isinstance(error, OSError):
        return error.errno in STORAGE_ERRNOS
    driver_error = error.__cause__ or error if error is not None else None
    if isinstance(driver_error, sqlite3.Error):
        code = sqlite_code(driver_error)
        return code & EXTENDED_CODE_BITS in SQLITE_STORAGE_CODES or code in SQLITE_WRITE_FAILED
    return getattr(driver_error, "sqlstate", None) in POSTGRESQL_STORAGE_STATES


def sqlite_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0)


def is_unmigrated(error: BaseException | None) -> bool:
    """Return whether a table or column is missing because migrations of this code are not applied yet.

    This happens when a new version already serves requests while `migrate` is still running.
    """
    if not isinstance(error, OperationalError | ProgrammingError):
        return False
    is_unknown_name = getattr(error.__cause__, "sqlstate", None) in UNKNOWN_NAME_STATES or any(
        words in str(error) for words in UNKNOWN_NAME_WORDS
    )
    try:
        return is_unknown_name and pending_migrations(connection) > 0
    except Error:
        return False
