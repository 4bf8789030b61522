"""`make cluster`: everything starts, works together, and ends."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.conftest import skip_or_fail
from tests.mpet_site.test_postgresql import postgresql_programs
from tests.paths import ROOT
from tests.processes import output_of

STARTED_WITHIN_S, DONE_WITHIN_S = 180, 120
TARBALL = ROOT / "benchmarks" / "reference" / "amd-epyc-kvm-2vcpu.tar.gz"


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]


def cluster_command(folder: Path, ports: list[int]) -> list[str]:
    names = ("PORT", "POSTGRESQL_PORT", "DASK_PORT")
    return ["make", "cluster", f"CLUSTER={folder}", "DEMO=0", *map("{}={}".format, names, ports)]


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.5)


def answers(address: str) -> bool:
    try:
        return urllib.request.urlopen(address, timeout=60).status == 200
    except OSError:  # such as urllib's errors
        return False


def own_environment() -> dict[str, str]:
    """What a shell would have: pytest's settings are not the cluster's."""
    return {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}


def environment_of(folder: Path) -> dict[str, str]:
    lines = (folder / "environment").read_text().splitlines()
    return own_environment() | dict(line.split("=", 1) for line in lines)


def uploaded(address: str, token: str) -> str:
    """The address of an upload that was left to a task worker."""
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{TARBALL.name}"\r\n\r\n'
    request = urllib.request.Request(
        f"{address}/api/v1/uploads/",
        data=head.encode() + TARBALL.read_bytes() + b"\r\n--x--\r\n",
        headers={"Authorization": f"Bearer {token}", "Content-Type": "multipart/form-data; boundary=x"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 202
        return json.load(response)["url"]


@pytest.fixture
def folder():
    """Where the user postgres can go, too."""
    path = Path(tempfile.mkdtemp(prefix="mpet-cluster-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def running(folder):
    """The address of the pages, and the process that Ctrl-C reaches."""
    if postgresql_programs() is None:
        skip_or_fail("PostgreSQL is not installed (Debian: apt install postgresql)")
    ports = free_ports(3)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            cluster_command(folder, ports),
            cwd=ROOT,
            env=own_environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{ports[0]}"
    try:
        wait_for(
            lambda: process.poll() is not None or answers(f"{address}/healthz"), STARTED_WITHIN_S, "it does not start"
        )
        assert process.poll() is None, (folder / "log").read_text()[-3000:]
        yield address, process
    finally:
        interrupt(process)


def is_alive(process: psutil.Process) -> bool:
    """A zombie has ended, and waits for whoever reaps it."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def interrupt(process) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)


@pytest.mark.postgresql
@pytest.mark.lab
def test_it_starts_works_and_ends(folder, running):
    address, process = running
    family = psutil.Process(process.pid).children(recursive=True)
    commands = [" ".join(member.cmdline()) for member in family]
    assert sum("gunicorn mpet_site.wsgi" in command for command in commands) >= 2
    assert sum("manage.py db_worker" in command for command in commands) == 2
    wait_for(lambda: answers(f"{address}/"), DONE_WITHIN_S, "no page")

    environment = environment_of(folder)
    token = output_of("manage.py", "api_token", "alice", environment=environment).split()[-1]
    upload = uploaded(address, token)
    request = urllib.request.Request(upload, headers={"Authorization": f"Bearer {token}"})
    wait_for(
        lambda: json.load(urllib.request.urlopen(request, timeout=10))["status"] == "accepted",
        DONE_WITHIN_S,
        "no worker took the upload",
    )

    refit = ("refit", "--scheduler", environment["DASK_SCHEDULER"])
    assert "profiles in" in output_of("manage.py", *refit, environment=environment)

    family = psutil.Process(process.pid).children(recursive=True)
    interrupt(process)
    wait_for(lambda: not any(map(is_alive, family)), 30, "some of its processes do not end")
    # PostgreSQL is none of its children: it ends once what is written is stored.
    wait_for(lambda: not (folder / "postgresql" / "postmaster.pid").exists(), 30, "PostgreSQL does not end")


def test_without_postgresql_it_says_so(tmp_path):
    """The script alone, with a PATH and a file system in which there is no initdb."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "ls", "sort", "tail", "dirname", "mkdir"):
        (programs / name).symlink_to(shutil.which(name))
    script = (ROOT / "deploy" / "cluster" / "postgresql.sh").read_text().replace("/usr/lib/postgresql", "/nowhere")
    environment = {"PATH": str(programs), "CLUSTER": str(tmp_path / "cluster"), "POSTGRESQL_PORT": "1"}
    run = subprocess.run(
        ["sh", "-c", script, "postgresql.sh", "prepare"], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "PostgreSQL's programs are missing" in run.stderr
    assert not (tmp_path / "cluster").exists()


def test_a_port_that_is_taken_is_named(tmp_path):
    if postgresql_programs() is None:
        skip_or_fail("PostgreSQL is not installed (Debian: apt install postgresql)")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1], *free_ports(2)]
        run = subprocess.run(
            cluster_command(tmp_path / "cluster", ports), cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert run.returncode != 0
    assert f"port {ports[0]} is taken" in run.stderr
    assert not (tmp_path / "cluster").exists()
