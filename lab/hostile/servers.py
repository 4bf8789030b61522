"""A temporary server for a campaign: a state folder, SQLite or PostgreSQL, the demo and gunicorn."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

DATABASES = ("sqlite", "postgresql")
STARTUP_S = 120
LIMITED = ("ANON", "USER", "LOGIN", "SIGNUP", "RESET", "MAIL", "PREDICTION", "PREVIEW")
NO_THROTTLES = {f"MPET_THROTTLE_{name}": "" for name in LIMITED}  # all requests of a campaign come from one address


@dataclass(frozen=True)
class Installation:
    """An installation of MPET, defined by its environment variables (state folder, database)."""

    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """Run a command of manage.py and return its output. Raises CalledProcessError if it fails."""
        command = [sys.executable, "manage.py", *arguments]
        result = subprocess.run(command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, text=True, check=True)
        return result.stdout.strip()


@contextmanager
def installation(database: str, demo: bool = True, reference: bool = False, **settings: str) -> Iterator[Installation]:
    """Yield a migrated MPET in a temporary folder, by default with the demo.

    With `reference`, it also has the measured platforms of benchmarks/reference, which `make run` imports. `database`
    is one of DATABASES or a URL.
    """
    with bare_installation(database, **settings) as made:
        made.manage("migrate", "--verbosity", "0")
        made.manage("collectstatic", "--noinput", "--verbosity", "0")
        if demo:
            made.manage("load_demo")
        if reference:
            made.manage("import_results", *map(str, sorted(ROOT.glob("benchmarks/reference/*.tar.gz"))))
        yield made


@contextmanager
def bare_installation(database: str, **settings: str) -> Iterator[Installation]:
    """Yield an MPET in a temporary folder, with an empty database without tables."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mpet-hostile-")))
        environment = os.environ | NO_THROTTLES | {
            "MPET_STATE_DIR": str(folder / "var"),
            "MPET_STATIC_ROOT": str(folder / "static"),
            "MPET_LOG_LEVEL": "WARNING",
            "OPENBLAS_NUM_THREADS": "1",
        } | settings  # fmt: skip
        environment.pop("DATABASE_URL", None)
        # This process uses the test settings, which have no page cache; the server must not inherit them.
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        if database != "sqlite":
            environment["DATABASE_URL"] = stack.enter_context(postgresql(database))
        yield Installation(environment)


@contextmanager
def postgresql(database: str) -> Iterator[str]:
    """Yield the URL of a temporary PostgreSQL server with the defaults of `initdb`, or `database` if it is a URL."""
    if database != "postgresql":
        yield database
        return
    from tests.mpet_site.test_postgresql import postgresql_programs, temporary_server  # noqa: PLC0415

    programs = postgresql_programs()
    if programs is None:
        sys.exit("PostgreSQL is not installed (Debian: apt install postgresql)")
    with temporary_server(programs, safe=True) as url:
        yield url


@contextmanager
def served(made: Installation, **variables: str) -> Iterator[str]:
    """Start the server of `make run` on a free port and yield its URL. `variables` are set in the Makefile."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = gunicorn_command(port, **variables)
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, cwd=ROOT, env=made.environment, stderr=log)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}/healthz", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-4000:])


def gunicorn_command(port: int, **variables: str) -> list[str]:
    """Return the last command of `make run`, read from the Makefile so that the documented server is measured."""
    assignments = [f"{name}={value}" for name, value in {"PORT": str(port), "DEMO": "0", **variables}.items()]
    lines = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "run", *assignments],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return shlex.split(next(line for line in reversed(lines) if "gunicorn" in line))


def wait_until_healthy(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTUP_S
    while server.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(address):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the server did not start within {STARTUP_S} s")
