"""A real Redis as the cache that all processes share (MPET_CACHE_URL): two processes of gunicorn count together."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.paths import ROOT

MOST = 10
COUNTING = """
import django
django.setup()
from mpet_site.web.rate_counts import count_event
print(*(count_event("x", 600)[0] for _ in range(250)))
"""


@pytest.fixture
def environment(tmp_path) -> Iterator[dict[str, str]]:
    """Of an installation whose cache is a Redis that this test starts."""
    program = shutil.which("redis-server")
    if program is None or find_spec("redis") is None:
        skip_or_fail("redis-server is not installed (Debian: apt install redis-server), or Python's redis is not")
    port = free_port()
    server = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port)
        yield {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "mpet_site.settings",
            "MPET_STATE_DIR": str(tmp_path / "var"),
            "MPET_CACHE_URL": f"redis://127.0.0.1:{port}/0",
            "MPET_THROTTLE_ANON": f"{MOST}/hour",
        }
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_for_port(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"nothing answers at port {port}")


def test_processes_count_together_in_redis_and_lose_nothing(environment):
    running = [
        subprocess.Popen([sys.executable, "-c", COUNTING], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    counts = [int(count) for process in running for count in process.communicate()[0].split()]
    assert sorted(counts) == list(range(1, 501))
    assert not (Path(environment["MPET_STATE_DIR"]) / "rates.sqlite3").exists()


@pytest.mark.lab
def test_two_processes_of_gunicorn_let_through_what_one_would(environment):
    """Each process is stopped for half of the requests, so that the other answers; without a database, as none asks."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "mpet_site.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "2"]
    options = ["--preload", "--timeout", "600"]
    server = subprocess.Popen([*command, *options], cwd=ROOT, env=environment)
    try:
        wait_for_port(port)
        while len(workers_of(server.pid)) < 2:
            time.sleep(0.05)
        first, second = workers_of(server.pid)
        statuses = []
        for stopped in (first, second):
            os.kill(stopped, signal.SIGSTOP)
            statuses.append(Counter(status_of(f"http://127.0.0.1:{port}/api/v1/methods/") for _ in range(MOST)))
            os.kill(stopped, signal.SIGCONT)
    finally:
        server.terminate()
        server.wait()
    assert statuses == [{200: MOST}, {429: MOST}]


def workers_of(server: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{server}/task/{server}/children").read_text().split()]


def status_of(address: str) -> int:
    try:
        with urllib.request.urlopen(address) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
