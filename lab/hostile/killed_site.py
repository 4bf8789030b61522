"""The site that lab.hostile.kills kills: its processes, and the tarballs that are sent to it."""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.archive import write_archive
from profiles.measurements import Measurements
from tests.paths import ROOT
from tests.samples import sample_measurements, sample_runs

SIZES = ((1, 3), (1, 3), (4, 6), (40, 6))  # repeats of each thread count, and workloads, of a tarball
PUBLISH = 'while :; do "$0" manage.py publish_dump; sleep 0.2; done'


@dataclass(frozen=True)
class Tarball:
    content: bytes
    stored: tuple[int, int, int]  # numbers of profiles, runs and readings

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


class Tarballs:
    """A source of tarballs that all have different bytes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.number = 0
        self.lock = threading.Lock()
        self.measured = [_repeated(repeats, workloads) for repeats, workloads in SIZES]
        self.sent: dict[str, Tarball] = {}

    def make(self) -> Tarball:
        with self.lock:
            self.number += 1
            measurements = self.rng.choice(self.measured)
            created = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.number)
        file = io.BytesIO()
        write_archive(file, measurements, created=created)
        runs = sum(len(record.runs) for record in measurements.profiles)
        readings = sum(len(record.counters) for record in measurements.profiles if record.counters)
        tarball = Tarball(file.getvalue(), (len(measurements.profiles), runs, readings))
        self.sent[tarball.sha256] = tarball
        return tarball


def _repeated(repeats: int, workloads: int) -> Measurements:
    measurements = sample_measurements(1, workloads)
    rng = np.random.default_rng(repeats)
    profiles = [replace(record, runs=sample_runs(rng, repeats=repeats)) for record in measurements.profiles]
    return replace(measurements, profiles=profiles)


class Site:
    """The processes of one site. Each process has its own process group."""

    def __init__(self, folder: Path, mode: str, environment: dict[str, str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.mode = mode
        self.log = (folder / "log").open("ab")
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "mpet_site.settings",
            "MPET_STATE_DIR": str(folder),
            "MPET_TASKS": mode,
            **{f"MPET_THROTTLE_{whose}": "" for whose in ("ANON", "USER", "QUARANTINE")},
            "MPET_UPLOAD_MAX_ATTEMPTS": "20",  # the default would blame the file for the kills
            "OPENBLAS_NUM_THREADS": "1",
            **environment,
        }
        if "DATABASE_URL" not in environment:
            self.environment.pop("DATABASE_URL", None)
        self.commands = {
            "server": [
                *(sys.executable, "-m", "gunicorn", "mpet_site.wsgi", "--bind", f"127.0.0.1:{self.port}"),
                *("--workers", "2", "--preload"),  # --preload lets gunicorn replace a killed worker at once
            ]
        }
        self.commands["publisher of dumps"] = ["sh", "-c", PUBLISH, sys.executable]
        if mode == "database":
            worker = [sys.executable, "manage.py", "db_worker", "--interval", "0.2"]
            self.commands |= {"worker 1": worker, "worker 2": worker}
        self.processes: dict[str, subprocess.Popen] = {}

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        result = subprocess.run(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=self.log, text=True, check=True
        )
        return result.stdout.strip()

    def start(self) -> None:
        """Start the processes that do not run, and wait until the server responds."""
        for name, command in self.commands.items():
            if name not in self.processes:
                self.processes[name] = subprocess.Popen(
                    command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log, start_new_session=True
                )
        deadline = time.monotonic() + 120
        while not self.answers():
            if time.monotonic() > deadline:
                raise RuntimeError("the server does not respond")
            time.sleep(0.1)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=10) as response:
                return response.status == 200
        except OSError:
            return False

    def kill(self, victim: str) -> None:
        """Send SIGKILL to everything, to the process group of one command, or to one worker of gunicorn."""
        if victim == "one of gunicorn's workers":
            children = _children(self.processes["server"].pid)
            if children:
                os.kill(random.choice(children), signal.SIGKILL)
            return
        for name in list(self.processes) if victim == "everything" else [victim]:
            process = self.processes.pop(name)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def victims(self) -> list[str]:
        others = ["publisher of dumps", "publisher of dumps", "everything"]
        if self.mode == "database":
            return [*others, *["one of gunicorn's workers"] * 2, "worker 1", "worker 2"]
        return [*others, *["one of gunicorn's workers"] * 4]

    def ask(self, method: str, path: str, token: str = "", tarball: Tarball | None = None) -> tuple[int, Any]:
        """Send a request to the API, and return the status and the JSON document, or the bytes of another type.

        The status is 0 if no response came.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None
        if tarball is not None:
            boundary = uuid.uuid4().hex
            data = _multipart(boundary, tarball.content, {"visibility": "public"} if token else {})
            headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                content, is_json = response.read(), "json" in response.headers.get("Content-Type", "")
                return response.status, json.loads(content) if is_json else content
        except urllib.error.HTTPError as error:
            return error.code, None
        except (OSError, http.client.HTTPException):
            return 0, None


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _multipart(boundary: str, content: bytes, fields: dict[str, str]) -> bytes:
    def part(head: str, body: bytes) -> bytes:
        return f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + body + b"\r\n"

    parts = [part(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts.append(part('name="file"; filename="run.tar.gz"', content))
    return b"".join(parts) + f"--{boundary}--\r\n".encode()
