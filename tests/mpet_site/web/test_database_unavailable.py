"""Which errors of a database mean that it is busy: told by real errors of the drivers."""

import socket
import sqlite3

import psycopg
import pytest
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, connection, transaction

from mpet_site.web.database_unavailable import is_busy, is_unmigrated


def wrapped(driver_error: Exception, kind: type[Exception] = OperationalError) -> Exception:
    """As Django raises it."""
    error = kind(*driver_error.args)
    error.__cause__ = driver_error
    return error


def error_of(call, kind: type[Exception]) -> Exception:
    with pytest.raises(kind) as caught:
        call()
    return caught.value


@pytest.fixture
def locked(tmp_path) -> Exception:
    """What the second writer is told, at once."""
    path = tmp_path / "locked.sqlite3"
    first, second = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in range(2))
    first.execute("CREATE TABLE t (x)")
    first.execute("BEGIN IMMEDIATE")
    error = error_of(lambda: second.execute("BEGIN IMMEDIATE"), sqlite3.OperationalError)
    first.close()
    second.close()
    return wrapped(error)


def test_a_locked_sqlite_database_is_busy(locked):
    assert "locked" in str(locked)
    assert is_busy(locked)


def test_a_read_that_cannot_become_a_write_is_busy(tmp_path):
    """SQLITE_BUSY_SNAPSHOT, an extended code."""
    path = tmp_path / "wal.sqlite3"
    first, second = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in range(2))
    first.execute("PRAGMA journal_mode=WAL")
    first.execute("CREATE TABLE t (x)")
    second.execute("BEGIN")
    second.execute("SELECT * FROM t").fetchall()
    first.execute("INSERT INTO t VALUES (1)")
    error = error_of(lambda: second.execute("INSERT INTO t VALUES (2)"), sqlite3.OperationalError)
    assert error.sqlite_errorcode != sqlite3.SQLITE_BUSY
    assert is_busy(wrapped(error))
    first.close()
    second.close()


def test_other_errors_of_sqlite_are_mistakes():
    memory = sqlite3.connect(":memory:")
    memory.execute("CREATE TABLE t (x UNIQUE)")
    missing = error_of(lambda: memory.execute("SELECT * FROM nothing"), sqlite3.OperationalError)
    assert not is_busy(wrapped(missing))
    memory.execute("INSERT INTO t VALUES (1)")
    twice = error_of(lambda: memory.execute("INSERT INTO t VALUES (1)"), sqlite3.IntegrityError)
    assert not is_busy(wrapped(twice, IntegrityError))
    memory.close()


@pytest.mark.parametrize(
    ("kind", "busy"),
    [
        (psycopg.errors.DeadlockDetected, True),
        (psycopg.errors.SerializationFailure, True),
        (psycopg.errors.LockNotAvailable, True),
        (psycopg.errors.TooManyConnections, True),
        (psycopg.errors.CannotConnectNow, True),
        (psycopg.errors.AdminShutdown, True),
        (psycopg.errors.ConnectionFailure, True),
        (psycopg.errors.DiskFull, False),
        (psycopg.errors.OutOfMemory, False),
    ],
)
def test_states_of_postgresql(kind, busy):
    assert is_busy(wrapped(kind("said by the server"))) == busy


def test_a_postgresql_that_is_not_there_or_hung_up_is_busy():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    refused = error_of(lambda: psycopg.connect(f"host=127.0.0.1 port={port}"), psycopg.OperationalError)
    assert is_busy(wrapped(refused))
    assert is_busy(wrapped(psycopg.InterfaceError("the connection is closed"), InterfaceError))


def test_errors_that_are_none_of_the_database_are_not():
    assert not is_busy(None)
    assert not is_busy(ValueError("database is locked"))
    assert not is_busy(OperationalError("database is locked"))


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "busy"), [("40001", True), ("40P01", True), ("55P03", True), ("53100", False)])
def test_a_real_postgresql_says_so_through_django(state, busy):
    if connection.vendor != "postgresql":
        pytest.skip("this is about PostgreSQL")
    with pytest.raises(OperationalError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END $$")
    assert is_busy(caught.value) == busy


@pytest.mark.django_db
def test_a_missing_table_is_a_mistake_where_all_migrations_are_applied(monkeypatch):
    def ask_for_nothing():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_thing")

    error = error_of(ask_for_nothing, DatabaseError)
    assert not is_unmigrated(error)
    monkeypatch.setattr("mpet_site.web.database_unavailable.pending_migrations", lambda database: 1)
    assert is_unmigrated(error)
    assert not is_unmigrated(OperationalError("database is locked"))
    assert not is_unmigrated(None)
