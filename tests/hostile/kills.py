"""Kills servers and workers at random moments while uploads come in, and looks at what is left.

    python -m tests.hostile.kills --kills 200 --mode immediate
    python -m tests.hostile.kills --kills 200 --mode database [--database postgresql]

starts real processes (gunicorn with 2 workers; in database mode two `manage.py db_worker` too) on a state folder and a
database of their own. Two clients send tarballs without a pause, while every few seconds one process, or all of
them, gets SIGKILL and what is missing is started again. After each round of kills the processes are left alone: within
a minute every upload that was answered with 201 or 202 is accepted, nothing is being processed or enqueued, and the
tables hold exactly the profiles, runs and readings of the accepted uploads, the revision as often raised. At the end no
file is left that no upload names. Prints the figures; status 1 where something is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg

from benchmarks.archive import write_archive
from profiles.measurements import Measurements
from tests.hostile.servers import DATABASES, postgresql
from tests.paths import ROOT
from tests.samples import sample_measurements, sample_runs

QUIET_S = 60.0  # within which all must be in order
CLIENTS = 2
SIZES = ((1, 3), (1, 3), (4, 6), (40, 6))  # repeats of the thread counts and workloads of a tarball
MOST_WAITING = 8  # uploads, before the clients wait
RUN_TABLES = ("profiles_run", "profiles_counterreading", "profiles_scalingcurves", "profiles_featurevector")


@dataclass(frozen=True)
class Tarball:
    content: bytes
    stored: tuple[int, int, int]  # profiles, runs and readings

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class Figures:
    """What a campaign did and found."""

    mode: str
    kills: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    accepted: int = 0
    accepted_at_a_later_attempt: int = 0
    most_attempts: int = 0
    processing_when_killed: int = 0
    orphaned_files: int = 0
    longest_until_in_order_s: float = 0.0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Tarballs:
    """Tarballs of which no two have the same bytes."""

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
    """The processes of one site, each in a group of its own."""

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
            **{f"MPET_THROTTLE_{whose}": "" for whose in ("ANON", "USER", "PAGES")},
            "MPET_UPLOAD_MAX_ATTEMPTS": "20",  # none of the kills is a file's doing
            "OPENBLAS_NUM_THREADS": "1",
            **environment,
        }
        if "DATABASE_URL" not in environment:
            self.environment.pop("DATABASE_URL", None)
        self.commands = {
            "server": [
                *(sys.executable, "-m", "gunicorn", "mpet_site.wsgi", "--bind", f"127.0.0.1:{self.port}"),
                *(
                    "--workers",
                    "2",
                    "--timeout",
                    "120",
                    "--no-control-socket",
                    "--config",
                    "tests/hostile/preloading.py",
                ),
            ]
        }
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
        """Start what does not run, and wait until the server answers."""
        for name, command in self.commands.items():
            if name not in self.processes:
                self.processes[name] = subprocess.Popen(
                    command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log, start_new_session=True
                )
        deadline = time.monotonic() + 120
        while not self.answers():
            if time.monotonic() > deadline:
                raise RuntimeError("the server does not answer")
            time.sleep(0.1)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=10) as response:
                return response.status == 200
        except OSError:
            return False

    def kill(self, victim: str) -> None:
        """SIGKILL to everything, to the group of one command, or to one of gunicorn's workers, which it replaces."""
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
        if self.mode == "database":
            return ["everything", "one of gunicorn's workers", "one of gunicorn's workers", "worker 1", "worker 2"]
        return ["everything", *["one of gunicorn's workers"] * 4]

    def upload(self, tarball: Tarball, token: str) -> bool:
        """Whether it was acknowledged."""
        boundary = uuid.uuid4().hex
        request = urllib.request.Request(
            f"{self.url}/api/v1/uploads/",
            data=_multipart(boundary, tarball.content),
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": f"multipart/form-data; boundary={boundary}",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status in {201, 202}


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _multipart(boundary: str, content: bytes) -> bytes:
    def part(head: str, body: bytes) -> bytes:
        return f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + body + b"\r\n"

    return (
        part('name="visibility"', b"public")
        + part('name="file"; filename="run.tar.gz"', content)
        + f"--{boundary}--\r\n".encode()
    )


class Campaign:
    def __init__(
        self,
        folder: Path,
        mode: str,
        *,
        seed: int = 0,
        environment: dict[str, str] | None = None,
        longest_pause_s: float = 3.0,
    ) -> None:
        """`longest_pause_s`: before a kill, while uploads come in."""
        self.folder = folder
        self.database_url = (environment or {}).get("DATABASE_URL", "")
        self.rng = random.Random(seed)
        self.site = Site(folder, mode, environment or {})
        self.tarballs = Tarballs(random.Random(seed + 1))
        self.figures = Figures(mode)
        self.acknowledged: set[str] = set()
        self.sending = threading.Event()
        self.longest_pause_s = longest_pause_s
        self.token = ""

    def run(self, kills: int, rounds: int, *, age_files: bool = False) -> Figures:
        """Kill so often, in so many rounds. `age_files`: orphans are made old instead of waiting until they are. A
        database that is in the folder already was migrated."""
        started = time.monotonic()
        if not (self.folder / "mpet.sqlite3").exists():
            self.site.manage("migrate", "--verbosity", "0")
        self.token = self.site.manage("api_token", "ada", "--scope", "upload").splitlines()[-1]
        for _ in range(CLIENTS):
            threading.Thread(target=self._send_for_ever, daemon=True).start()
        try:
            for number in range(rounds):
                self._round(kills // rounds + (number < kills % rounds))
            self._sweep(age_files)
        finally:
            self.site.kill("everything")
        self.figures.acknowledged = len(self.acknowledged)
        self.figures.seconds = round(time.monotonic() - started, 1)
        return self.figures

    def _send_for_ever(self) -> None:
        """A client that gives up on what it got no answer for."""
        while self.sending.wait():
            if self._count("benchmarks_upload WHERE status IN ('received', 'processing')") > MOST_WAITING:
                time.sleep(0.1)
                continue
            tarball = self.tarballs.make()
            self.figures.sent += 1
            try:
                if self.site.upload(tarball, self.token):
                    self.acknowledged.add(tarball.sha256)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    self.figures.wrong.append(f"answered with {error.code}")
            except OSError:
                self.figures.unanswered += 1
                time.sleep(0.2)

    def _round(self, kills: int) -> None:
        for _ in range(kills):
            self.site.start()
            self.sending.set()
            time.sleep(self.rng.uniform(0.1, self.longest_pause_s))
            victim = self._next_victim()
            self.figures.processing_when_killed += self._count("benchmarks_upload WHERE status = 'processing'")
            self.site.kill(victim)
            self.figures.kills[victim] += 1
        self.sending.clear()
        self.site.start()
        self._wait_for_order()

    def _next_victim(self) -> str:
        """Any; one that was not killed yet as long as there is one, in turn."""
        spared = sorted({*self.site.victims()} - {*self.figures.kills})
        return self.rng.choice(spared or self.site.victims())

    def _wait_for_order(self) -> None:
        """Note how long it took until all was in order, or what was not after a minute."""
        started = time.monotonic()
        while (wrong := self.disorder()) and time.monotonic() - started < QUIET_S:
            time.sleep(0.5)
        took = round(time.monotonic() - started, 1)
        self.figures.longest_until_in_order_s = max(self.figures.longest_until_in_order_s, took)
        self.figures.wrong += wrong

    def disorder(self) -> list[str]:
        """What is not as it should be, in the database alone."""
        uploads = self._rows("SELECT sha256, status, attempts, source_id, report FROM benchmarks_upload")
        status = {sha256: state for sha256, state, *_ in uploads}
        wrong = [f"upload is {state}: {report}" for _, state, _, _, report in uploads if state != "accepted"]
        wrong += [f"acknowledged upload is {status.get(one)}" for one in self.acknowledged - {*status}]
        counted = self._rows(
            "SELECT source_id, COUNT(*), SUM((SELECT COUNT(*) FROM profiles_run r WHERE r.profile_id = p.id)),"
            " SUM((SELECT COUNT(*) FROM profiles_counterreading c WHERE c.profile_id = p.id))"
            " FROM profiles_profile p GROUP BY source_id"
        )
        stored = {source: tuple(counts) for source, *counts in counted}
        for sha256, state, _, source, _ in uploads:
            expected = self.tarballs.sent[sha256].stored
            if state == "accepted" and stored.pop(source, None) != expected:
                wrong.append(f"upload {sha256} is not whole")
        wrong += [f"profiles of source {source} belong to no upload" for source in stored]
        wrong += self._leftovers()
        if not self.database_url:
            wrong += [line for (line,) in self._rows("PRAGMA integrity_check") if line != "ok"]
        self.figures.accepted = sum(state == "accepted" for state in status.values())
        self.figures.accepted_at_a_later_attempt = sum(row[2] > 1 for row in uploads)
        self.figures.most_attempts = max((row[2] for row in uploads), default=0)
        return wrong

    def _leftovers(self) -> list[str]:
        orphans = " WHERE profile_id NOT IN (SELECT id FROM profiles_profile)"
        counts = {
            **{f"rows of {table} without a profile": self._count(table + orphans) for table in RUN_TABLES},
            "staged deliveries": self._count("profiles_stageddelivery"),
            "unfinished tasks": self._count("django_tasks_database_dbtaskresult WHERE status IN ('READY', 'RUNNING')"),
            "failed tasks": self._count("django_tasks_database_dbtaskresult WHERE status = 'FAILED'"),
        }
        wrong = [f"{count} {what}" for what, count in counts.items() if count]
        raised = self._rows("SELECT COALESCE(SUM(number), 0) FROM profiles_revision")[0][0]
        if raised != self._count("profiles_source"):
            wrong.append(f"revision is {raised}")
        return wrong

    def _sweep(self, age_files: bool) -> None:
        """Wait until no file is left that no upload names."""
        orphans = self._orphans()
        self.figures.orphaned_files = len(orphans)
        if age_files:
            for path in orphans:
                os.utime(path, (0, 0))
        deadline = time.monotonic() + 60 + (0 if age_files else 420)
        while (orphans := self._orphans()) and time.monotonic() < deadline:
            time.sleep(0.5)
        self.figures.wrong += [f"orphaned file {path}" for path in orphans]

    def _orphans(self) -> list[Path]:
        named = {Path(name).name for (name,) in self._rows("SELECT file FROM benchmarks_upload")}
        kept = [path for path in (self.folder / "media" / "uploads").glob("*") if path.name not in named]
        return [*kept, *(self.folder / "incoming").glob("*")]

    def _count(self, of: str) -> int:
        return int(self._rows(f"SELECT COUNT(*) FROM {of}")[0][0])

    def _rows(self, query: str) -> list[tuple]:
        if self.database_url:
            with psycopg.connect(self.database_url) as server:
                return server.execute(query).fetchall()
        with closing(sqlite3.connect(self.folder / "mpet.sqlite3", timeout=60)) as connection:
            return connection.execute(query).fetchall()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--mode", choices=("immediate", "database"), default="immediate")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mpet-kills-"))
        environment = {}
        if options.database == "postgresql":
            environment["DATABASE_URL"] = stack.enter_context(postgresql(options.database))
        campaign = Campaign(Path(folder), options.mode, seed=options.seed, environment=environment)
        figures = campaign.run(options.kills, options.rounds)
    sys.stdout.write(json.dumps(vars(figures), indent=2) + "\n")
    return bool(figures.wrong)


if __name__ == "__main__":
    sys.exit(main())
