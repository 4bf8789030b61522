"""What others commit meanwhile is not seen, and they do not wait."""

import pytest
from django.db.utils import ConnectionHandler

from mpet_site.web import consistency
from mpet_site.web.consistency import consistent_reads


@pytest.fixture
def two(tmp_path, monkeypatch, django_db_blocker):
    """Two connections to one SQLite file as the settings open it; the first is the code's."""
    options = {"transaction_mode": "IMMEDIATE", "timeout": 1, "init_command": "PRAGMA journal_mode=WAL"}
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "file.sqlite3", "OPTIONS": options}
    handler = ConnectionHandler({"default": database, "other": database})
    monkeypatch.setattr(consistency, "connection", handler["default"])
    with django_db_blocker.unblock():
        run(handler["default"], "CREATE TABLE t (x)")
        yield handler["default"], handler["other"]
        handler.close_all()


def run(connection, sql):
    with connection.cursor() as cursor:
        return cursor.execute(sql).fetchall()


def test_the_block_sees_one_moment(two):
    reader, writer = two
    with consistent_reads() as is_consistent:
        assert is_consistent
        before = run(reader, "SELECT count(*) FROM t")
        run(writer, "INSERT INTO t VALUES (1)")
        with consistent_reads() as inner:
            assert inner
            assert run(reader, "SELECT count(*) FROM t") == before
    assert run(reader, "SELECT count(*) FROM t") == [(1,)]


def test_what_fails_leaves_no_transaction(two):
    reader, writer = two
    with pytest.raises(ZeroDivisionError), consistent_reads():
        run(reader, "SELECT count(*) FROM t")
        raise ZeroDivisionError
    run(writer, "INSERT INTO t VALUES (1)")
    assert run(reader, "SELECT count(*) FROM t") == [(1,)]


@pytest.mark.django_db
def test_inside_a_transaction_it_promises_nothing():
    with consistent_reads() as is_consistent:
        assert not is_consistent
