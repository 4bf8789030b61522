"""`manage.py migrate` waits: for the database, for another process that migrates, and with --check for migrations."""

import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from lab.hostile.servers import Installation, bare_installation
from tests.conftest import skip_or_fail
from tests.mpet_site.test_postgresql import postgresql_programs, temporary_server
from tests.paths import ROOT

DATABASES = ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.lab])]


def started(made: Installation, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", *arguments],
        cwd=ROOT, env=made.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.lab
@pytest.mark.parametrize("database", DATABASES)
def test_two_at_once_migrate_once(database):
    """Trust, third audit, 12: the second ended in a traceback."""
    if database == "postgresql" and postgresql_programs() is None:
        skip_or_fail("PostgreSQL is not installed (Debian: apt install postgresql)")
    with bare_installation(database) as made:
        both = [started(made, "--verbosity", "1") for _ in range(2)]
        said = [process.communicate() for process in both]
        assert [process.returncode for process in both] == [0, 0], said
        assert sorted("No migrations to apply" in out for out, _ in said) == [False, True]
        made.manage("migrate", "--check")


def test_a_database_that_does_not_answer_is_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with bare_installation("sqlite") as made:
        made.environment["DATABASE_URL"] = f"postgres://nobody@127.0.0.1:{port}/nothing"
        process = started(made, "--wait", "1.5")
        begun = time.monotonic()
        _, error = process.communicate()
    assert process.returncode == 1
    assert error.startswith("CommandError: the database does not answer; check DATABASE_URL: ")
    assert "refused" in error
    assert "(waited for 1.5 s)" in error
    assert "Traceback" not in error
    assert time.monotonic() - begun >= 1.5


@pytest.mark.postgresql
@pytest.mark.lab
def test_a_database_that_starts_later_is_waited_for():
    programs = postgresql_programs()
    if programs is None:
        skip_or_fail("PostgreSQL is not installed (Debian: apt install postgresql)")
    server = temporary_server(programs)
    with server as url, bare_installation(url) as made:
        control = [str(programs / "pg_ctl"), "-D", str(server.folder / "data"), "-w"]
        server.run(*control, "-m", "fast", "stop")
        process = started(made, "--verbosity", "0", "--wait", "120")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        server.run(*control, "-l", str(server.folder / "log"), "restart")
        assert process.communicate() == ("", "")
        assert process.returncode == 0


@pytest.mark.lab
def test_with_check_it_waits_for_the_migrations_of_another_process(empty_database):
    """As the web server and the worker of deploy/compose.yaml do."""
    with bare_installation("sqlite") as made:
        waiting = started(made, "--check", "--wait", "120")
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=5)
        path = f"{made.environment['MPET_STATE_DIR']}/mpet.sqlite3"
        with closing(sqlite3.connect(empty_database)) as migrated, closing(sqlite3.connect(path)) as to:
            migrated.backup(to)
        assert waiting.communicate() == ("", "")
        assert waiting.returncode == 0


def test_with_check_it_says_after_its_time_what_is_not_applied():
    with bare_installation("sqlite") as made:
        waiting = started(made, "--check", "--wait", "0.1")
        _, error = waiting.communicate()
    assert waiting.returncode == 1
    assert "migrations are not applied; run manage.py migrate (waited for 0.1 s)" in error
    assert "Traceback" not in error
