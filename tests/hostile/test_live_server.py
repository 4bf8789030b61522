"""What a real gunicorn does with headers that name an address, a writer that does not end, files that take long to
read, and a disk that takes nothing more. The third audit of docs/trust-audits.md."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.hostile.servers import NO_THROTTLES, gunicorn_command, wait_until_healthy
from tests.benchmarks.uploads import tarball
from tests.conftest import skip_or_fail
from tests.paths import ROOT
from tests.processes import environment_of, output_of

DISK_BYTES = 48 * 2**20
QUESTION = json.dumps({"workload": "app0-section0", "target": "machine-0"})
PAGES = (
    "/",
    "/platforms/",
    "/workloads/",
    "/platforms/machine-0/",
    "/ranking/?workload=app0-section0",
    "/api/v1/profiles/",
)
STORED = """
import django
django.setup()
from accounts.models import ApiToken
from tests.mpet_site.api_samples import make_user
from tests.pages import store_public
store_public()
print(ApiToken.issue(make_user("ada"), "upload")[1])
"""
SLOW = b"workload,n,time_s\nslow,1,2.0\n"
# Python runs it at its start. A reader of SLOW says by a file that it has begun, and computes until another is there.
SITECUSTOMIZE = """
import os, sys

def hold():
    files = [int(name) for name in os.listdir("/proc/self/fd")]
    if any(is_slow(file) for file in files):
        folder = os.path.dirname(__file__)
        open(os.path.join(folder, "begun"), "w").close()
        while not os.path.exists(os.path.join(folder, "end")):
            pass

def is_slow(file):
    try:
        return b"slow,1,2.0" in os.pread(file, 10_000, 0)
    except OSError:
        return False

if "benchmarks.child_reader" in sys.orig_argv:
    os.register_at_fork(after_in_child=hold)
"""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


class Stored(NamedTuple):
    """A state folder with twelve public profiles, which tests copy, collected static files, and a token."""

    folder: Path
    static: Path
    token: str


class Server:
    def __init__(self, port: int, token: str, folder: Path) -> None:
        self.port, self.folder = port, folder
        self.token = {"Authorization": f"Bearer {token}"}

    def ask(
        self, path: str, method: str = "GET", body: str | bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(connection):
            connection.request(method, path, body, {"Connection": "close"} | (headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read().decode())

    def predict(self) -> Answer:
        headers = self.token | {"Content-Type": "application/json"}
        return self.ask("/api/v1/predictions/", "POST", QUESTION, headers)

    def upload(self, content: bytes = b"x" * 100_000, **fields: str) -> Answer:
        lines = []
        for name, value in {"visibility": "public", **fields}.items():
            lines += ["--limit", f'Content-Disposition: form-data; name="{name}"', "", value]
        lines += ["--limit", 'Content-Disposition: form-data; name="file"; filename="a.tar.gz"', "", ""]
        body = "\r\n".join(lines).encode() + content + b"\r\n--limit--\r\n"
        headers = self.token | {"Content-Type": "multipart/form-data; boundary=limit"}
        return self.ask("/api/v1/uploads/", "POST", body, headers)


def environment(folder: Path, **variables: str) -> dict[str, str]:
    small = {"MPET_LEAST_FREE_BYTES": str(2**20), "OPENBLAS_NUM_THREADS": "1"}
    return environment_of(folder, **NO_THROTTLES | small | variables)


@contextmanager
def served(stored: Stored, folder: Path, **variables: str) -> Iterator[Server]:
    """The server that `make run WORKERS=2` starts, on a copy of the state folder."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    variables["MPET_STATIC_ROOT"] = str(stored.static)
    server = subprocess.Popen(gunicorn_command(port, WORKERS="2"), cwd=ROOT, env=environment(folder, **variables))
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/glossary/", server)
        yield Server(port, stored.token, folder)
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def stored(empty_database, tmp_path_factory) -> Stored:
    folder = tmp_path_factory.mktemp("stored") / "var"
    folder.mkdir()
    static = folder.with_name("static")
    shutil.copyfile(empty_database, folder / "mpet.sqlite3")
    collecting = environment(folder, MPET_STATIC_ROOT=str(static))
    command = ("collectstatic", "--noinput", "--verbosity", "0", "--ignore", "admin", "--ignore", "drf*")
    output_of("manage.py", *command, environment=collecting)
    return Stored(folder, static, output_of("-c", STORED, environment=environment(folder)).split()[-1])


@pytest.fixture(scope="module")
def server(stored, tmp_path_factory) -> Iterator[Server]:
    """For tests that leave it as it was, but for a prediction."""
    folder = tmp_path_factory.mktemp("served") / "var"
    shutil.copytree(stored.folder, folder)
    with served(stored, folder) as one:
        yield one


@contextmanager
def disk(stored: Stored, folder: Path) -> Iterator[Path]:
    """A copy of the state folder on a small disk of its own."""
    if os.geteuid() != 0:
        skip_or_fail("only root can mount a small disk")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", str(folder)], check=True)
    try:
        shutil.copytree(stored.folder, folder, dirs_exist_ok=True)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def titles(answer: Answer) -> str:
    return answer.body.partition("<title>")[2].partition("</title>")[0]


@pytest.mark.lab
def test_trust_third_4_no_header_chooses_which_page_is_answered_and_kept(server):
    headings = {path: titles(server.ask(path)) for path in ("/", "/workloads/")}
    assert len(set(headings.values())) == 2
    for headers in (
        {"SCRIPT_NAME": "/platforms"},
        {"PATH_INFO": "/"},
        {"X-Script-Name": "/platforms"},
        {"X-Forwarded-Prefix": "/platforms"},
        {"X-Original-URL": "/"},
        {"REMOTE_USER": "ada"},
        {"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "off"},
    ):
        for _ in range(2):  # both workers' pages
            answer = server.ask("/platforms/", headers=headers)
            assert (answer.status, "Machines" in titles(answer)) == (200, True), headers
            assert 'href="/platforms/platforms' not in answer.body
    assert "Machines" in titles(server.ask("/platforms/"))


def test_trust_third_12_no_answer_names_the_program_and_each_denies_a_page_what_none_uses(server):
    for path in ("/", "/api/v1/", "/nowhere/", "/healthz"):
        headers = server.ask(path).headers
        assert "gunicorn" not in headers["Server"]
        assert "camera=()" in headers["Permissions-Policy"]


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Somebody's transaction that does not end."""
    with closing(sqlite3.connect(folder / "mpet.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield
        writer.execute("ROLLBACK")


def test_trust_third_8_and_12_a_writer_that_does_not_end_blocks_no_reader(server):
    """A GET with a token took 20 s and was 503; two writes took both workers from all readers for 20 s."""
    for _ in range(4):
        assert server.ask("/api/v1/platforms/").status == 200  # both workers have a connection
    with writing(server.folder):
        start = time.monotonic()
        assert server.ask("/api/v1/platforms/", headers=server.token).status == 200
        assert time.monotonic() - start < 10
        answers: list[Answer] = []
        writers = [threading.Thread(target=lambda: answers.append(server.predict())) for _ in range(2)]
        for one in writers:
            one.start()
        time.sleep(0.5)
        start = time.monotonic()
        assert server.ask("/platforms/").status == 200
        assert time.monotonic() - start < 10
        for one in writers:
            one.join()
        assert [(answer.status, answer.headers["Retry-After"]) for answer in answers] == [(503, "5")] * 2
    assert server.predict().status == 201


@pytest.mark.lab
def test_trust_third_1_two_files_that_take_long_to_read_leave_a_worker_to_all_others(stored, tmp_path):
    """Two previews took both workers from everybody, for as long as a file may be read."""
    shutil.copytree(stored.folder, tmp_path / "var")
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(SITECUSTOMIZE)
    variables = {"PYTHONPATH": str(slow), "MPET_READ_SECONDS": "60"}
    with served(stored, tmp_path / "var", **variables) as server, ThreadPoolExecutor(2) as pool:
        try:
            previews = [pool.submit(server.upload, SLOW, form="csv", preview="true") for _ in range(2)]
            first, second = wait(previews, timeout=30, return_when=FIRST_COMPLETED)
            (refused,) = (preview.result() for preview in first)
            assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
            assert "Another file is being read." in json.loads(refused.body)["detail"]
            while not (slow / "begun").exists():
                time.sleep(0.05)
            for _ in range(8):
                start = time.monotonic()
                assert server.ask("/healthz").status == 200
                assert time.monotonic() - start < 5
            upload = server.upload(tarball())
            assert (upload.status, json.loads(upload.body)["status"]) == (202, "processing")
            url = json.loads(upload.body)["url"].partition("/api")
            end = time.monotonic() + 60
            while json.loads(server.ask("/api" + url[2], headers=server.token).body)["status"] == "processing":
                assert time.monotonic() < end, "it was taken up by no chore"
                time.sleep(0.2)
            assert json.loads(server.ask("/api" + url[2], headers=server.token).body)["status"] == "accepted"
            assert not any(preview.done() for preview in second), "the other was being read all the while"
        finally:
            (slow / "end").touch()
        assert [preview.result().status for preview in second] == [200]
        assert server.upload(tarball()).status == 201  # the same again


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"\0" * 4096)
    return filler


@pytest.mark.lab
def test_trust_third_11_on_a_full_disk_reads_go_on_and_writes_are_503(stored, tmp_path):
    with disk(stored, tmp_path / "disk") as small, served(stored, small) as server:
        for path in PAGES * 2:
            assert server.ask(path).status == 200, path
        assert server.ask("/healthz").status == 200
        filler = fill(small)
        for path in PAGES:
            assert server.ask(path).status == 200, path
            assert server.ask(path, headers=server.token).status == 200, path
        for answer in (server.predict(), server.upload()):
            assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
            assert "disk is full" in json.loads(answer.body)["detail"]
        health = server.ask("/healthz")
        assert (health.status, "MiB left" in health.body) == (503, True)
        filler.unlink()
        assert server.ask("/healthz").status == 200
        assert server.predict().status == 201


@pytest.mark.lab
def test_trust_third_11_a_read_only_folder_is_served(stored, tmp_path):
    """Everything was 500."""
    with disk(stored, tmp_path / "disk") as small:
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        with served(stored, small, MPET_METRICS_TOKEN="metrics") as server:
            for path in PAGES * 2:
                assert server.ask(path).status == 200, path
                assert server.ask(path, headers=server.token).status == 200, path
            assert server.ask("/metrics", headers={"Authorization": "Bearer metrics"}).status == 200
            for answer in (server.predict(), server.upload()):
                assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
            health = server.ask("/healthz")
            assert (health.status, "cannot be written" in health.body) == (503, True)
