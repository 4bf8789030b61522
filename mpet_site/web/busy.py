"""A database that is busy, or not there for a moment, is 503 with Retry-After: nobody's mistake, to be tried again."""

from __future__ import annotations

import sqlite3

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


def is_busy(error: BaseException | None) -> bool:
    """Whether the database could not answer now, and may do so soon. Everything else that goes wrong there is false:
    a missing table or a full disk does not go away by waiting."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    driver_error = error.__cause__ or error
    if isinstance(driver_error, sqlite3.Error):
        return getattr(driver_error, "sqlite_errorcode", 0) & EXTENDED_CODE_BITS in SQLITE_CODES
    if not type(driver_error).__module__.startswith("psycopg"):
        return False
    state = getattr(driver_error, "sqlstate", None)  # None: there was no connection that could have told
    return state is None or state in POSTGRESQL_STATES or state.startswith(CONNECTION_CLASS)


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
