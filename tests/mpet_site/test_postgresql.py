"""The tests of what is different on another database, once more on PostgreSQL: locks and constraints
in `make test`, everything that asks the database in its own words, with the migrations of rows, in `make lab`.

On the server that MPET_TEST_POSTGRESQL_URL names, else on one that this test starts for itself in a temporary folder
where PostgreSQL's programs are installed.
"""

import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.paths import ROOT

DIFFERENT = (
    "--no-migrations",  # the tables are made from the models, in a quarter of the time; `all` runs the migrations
    # locks, and what several processes or threads do at once
    "tests/benchmarks/test_processing.py",
    "tests/mpet_site/web/test_database_unavailable.py",
    "tests/operations/test_quarantine.py::test_of_two_who_claim_it_at_once_one_gets_it",
    "tests/operations/test_quarantine.py::test_a_claim_whose_process_was_killed_is_finished",
    "tests/predictor/computations/test_running.py",
    "tests/predictor/predictions/test_service.py::test_requests_at_the_same_time_share_one_row",
    "tests/mpet_site/web/test_consistency.py",
    # constraints, rows that are written by the thousand, columns of bytes
    "tests/predictor/snapshot/test_cache.py",
    "tests/profiles/identity/test_matching.py",
    "tests/profiles/ingest",
    "tests/profiles/jobs/test_queue.py",
    "tests/profiles/models",
)
DATABASE_TESTS = (  # what speaks to the database in its own words; pages and answers are made of what these read
    "tests/accounts",
    "tests/benchmarks/api",
    "tests/benchmarks/test_processing.py",
    "tests/benchmarks/test_services.py",
    "tests/mpet_site/test_every_page.py",
    "tests/mpet_site/web/test_database_unavailable.py",
    "tests/operations/test_doctor.py",
    "tests/operations/test_metrics.py",
    "tests/operations/test_moderation.py",
    "tests/operations/test_quarantine.py",
    "tests/operations/test_retention.py",
    "tests/predictor/accuracy",
    "tests/predictor/api/test_evaluations.py",
    "tests/predictor/computations",
    "tests/predictor/predictions/test_service.py::test_requests_at_the_same_time_share_one_row",
    "tests/predictor/snapshot",
    "tests/predictor/test_privacy.py",
    "tests/profiles",
    "--ignore=tests/profiles/figures",
    "--ignore=tests/profiles/scaling",
    "--ignore=tests/profiles/jobs/test_clusters.py",
    "--ignore=tests/profiles/test_datasets.py",
    "--ignore=tests/profiles/pages/test_views.py",
    # Without these the rest asks the database the same, but for a statement or two.
    "--ignore=tests/predictor/computations/test_asking.py",
    "--ignore=tests/profiles/pages/test_page_cache.py",
    "--deselect=tests/operations/test_quarantine.py::test_they_would_have_moved_them",
)


def postgresql_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


@pytest.fixture
def postgresql_url() -> Iterator[str]:
    url = os.environ.get("MPET_TEST_POSTGRESQL_URL")
    if url:
        yield url
        return
    programs = postgresql_programs()
    if programs is None:
        skip_or_fail(
            "PostgreSQL is not installed (Debian: apt install postgresql), and MPET_TEST_POSTGRESQL_URL is not set"
        )
    with temporary_server(programs) as url:
        yield url


class temporary_server:  # noqa: N801 a context manager, used like a function
    """A PostgreSQL server on a free local port, data in a temporary folder; user `postgres` runs it for root. A
    `safe` one waits for the disk, as PostgreSQL does by default."""

    def __init__(self, programs: Path, safe: bool = False) -> None:
        self.programs = programs
        self.speed = "" if safe else "-c fsync=off -c synchronous_commit=off"
        self.folder = Path(tempfile.mkdtemp(prefix="mpet-pg-"))
        self.user = "postgres" if os.geteuid() == 0 else None

    def run(self, *command: str) -> None:
        subprocess.run(
            command, check=True, user=self.user, cwd=self.folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> str:
        if self.user:
            owner = pwd.getpwnam(self.user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        data = str(self.folder / "data")
        self.run(str(self.programs / "initdb"), "-D", data, "-U", "mpet", "-A", "trust", "-E", "UTF8", "--no-sync")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        options = f"-h 127.0.0.1 -p {port} -k {self.folder} {self.speed}"
        log = str(self.folder / "log")
        self.run(str(self.programs / "pg_ctl"), "-D", data, "-o", options, "-l", log, "-w", "start")
        return f"postgres://mpet@127.0.0.1:{port}/postgres"

    def __exit__(self, *exception: object) -> None:
        self.run(str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.mark.postgresql
@pytest.mark.parametrize(
    "chosen", [DIFFERENT, pytest.param(DATABASE_TESTS, marks=pytest.mark.lab)], ids=["some", "all"]
)
def test_the_database_tests_pass_on_postgresql(postgresql_url, chosen):
    environment = {
        **os.environ,
        "DATABASE_URL": postgresql_url,
        "MPET_STATE_DIR": tempfile.mkdtemp(prefix="mpet-test-"),
        "MPET_TESTS_DATABASE_ONLY": "1",
    }
    environment.pop("PYTEST_XDIST_WORKER", None)
    environment.pop("PYTEST_CURRENT_TEST", None)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *chosen]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 100
