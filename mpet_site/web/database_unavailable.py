"""Errors of a locked, unreachable or unmigrated database and of a full disk are answered with 503 and Retry-After."""

from __future__ import annotations

import errno
import sqlite3
from dataclasses import dataclass

from django.db import Error, InterfaceError, OperationalError, ProgrammingError, connection

from mpet_site.web.health import pending_migrations

RETRY_AFTER_S = 5
SQLITE_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# Serialisation, deadlock, lock not available, too many connections, shut down, starting up; class 08: connection lost.
POSTGRESQL_STATES = {"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03"}
CONNECTION_CLASS = "08"
UNKNOWN_NAME_STATES = {"42P01", "42703"}  # of a table, of a column
UNKNOWN_NAME_WORDS = ("no such table", "no such column", "has no column named")  # SQLite has no code for these
EXTENDED_CODE_BITS = 0xFF  # SQLITE_BUSY_SNAPSHOT and the like have the plain code in these

# Full, or closed to writers. A log that cannot be made beside the database is CANTOPEN, or one of some extended codes
# of IOERR, whose others are a broken disk.
STORAGE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}
SQLITE_STORAGE_CODES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
SQLITE_WRITE_FAILED = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_SHMSIZE}
POSTGRESQL_STORAGE_STATES = {"53100", "25006"}  # disk full, read-only transaction


@dataclass(frozen=True)
class Unavailable:
    """Why nothing could be stored, for a program and for a person, and when it may be tried again."""

    detail: str
    retry_after_s: int = RETRY_AFTER_S
    title: str = "The server is busy"


BUSY = Unavailable("The database is busy. Nothing was stored; try again soon.")
UPGRADING = Unavailable("The database is being upgraded. Nothing was stored; try again soon.")
NO_STORAGE = Unavailable(
    "The server cannot store anything at the moment: its disk is full or cannot be written. Nothing was stored; what "
    "is there can be read.",
    retry_after_s=60,
    title="Nothing can be stored",
)


def unavailability_of(error: BaseException | None) -> Unavailable | None:
    """The body of the 503 response for this error; None where trying again does not help."""
    if is_busy(error):
        return BUSY
    if is_storage_failure(error):
        return NO_STORAGE
    return UPGRADING if is_unmigrated(error) else None


def is_busy(error: BaseException | None) -> bool:
    """Whether the database could not answer now, and may do so soon. Everything else that goes wrong there is false:
    a missing table does not go away by waiting."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    driver_error = error.__cause__ or error
    if isinstance(driver_error, sqlite3.Error):
        return sqlite_code(driver_error) & EXTENDED_CODE_BITS in SQLITE_CODES
    if not type(driver_error).__module__.startswith("psycopg"):
        return False
    state = getattr(driver_error, "sqlstate", None)  # None: there was no connection
    return state is None or state in POSTGRESQL_STATES or state.startswith(CONNECTION_CLASS)


def is_storage_failure(error: BaseException | None) -> bool:
    """Whether a file or the database could not be written because the disk is full or read-only."""
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
    """Whether a table or column is missing because this code's migrations are not all applied: it serves already, and
    `migrate` is still running."""
    if not isinstance(error, OperationalError | ProgrammingError):
        return False
    is_unknown_name = getattr(error.__cause__, "sqlstate", None) in UNKNOWN_NAME_STATES or any(
        words in str(error) for words in UNKNOWN_NAME_WORDS
    )
    try:
        return is_unknown_name and pending_migrations(connection) > 0
    except Error:
        return False
