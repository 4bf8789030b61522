"""Sweeps: any program with threads, timed at several numbers of threads, as a results tarball (mpet-results/1).

The tarball has t(n) and the processor time of each run, as useful work. The rest of the thread time n t(n) is counted
as imbalance, because a serial part leaves the other processors idle.

Each run may use the first n processors in the order in which the kit's threads fill the machine, so that runtimes which
start a thread per available processor use n threads (OpenMP, Go, Rayon, the JVM, TBB). For other programs, `{n}` in the
arguments and in environment variables is replaced by n.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import resource
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

from mpet import __version__
from mpet.errors import KitFailed, MpetError, UsageError
from mpet.kit import KIT_WORKLOAD, LINES_SHOWN, Said, build_lock, is_built, run_command

SCHEMA = "mpet-results/1"
COLUMNS = (
    *("workload", "n", "repeat", "pass", "time_ns", "use_ns", "lock_ns", "imbalance_ns", "creation_ns"),
    *("distribution_ns", "switching_ns", "join_ns", "output_checksum", "disturbed"),
)
# These variables are n unless the user sets them. Programs that read them ignore how many processors they may use.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS")
SHORTEST_JUDGED_S = 0.3  # the kernel counts processor time in steps of 10 ms
MOST_OTHERS = 0.1  # of a processor; a run is disturbed if other programs use more, as in mpet-profile
ATTEMPTS = 3  # times the repeats, at most, because disturbed runs are repeated


@dataclass(frozen=True)
class Machine:
    """This machine as the kit describes it: platform.json, and the processors in the order in which threads fill
    them."""

    platform: Mapping[str, Any]
    placement: Sequence[int]
    counts: Sequence[int]
    origin: str


@dataclass(frozen=True)
class Run:
    seconds: float
    disturbed: Optional[bool]  # None: the run is too short to judge
    processor_s: float  # of all threads and processes together


def read_machine(kit: Path, name: Optional[str], said: Said) -> Machine:
    """Build the kit's mpet-topology unless it is built, and return the machine that it describes."""
    if not is_built(kit):
        with build_lock(kit, said):
            run_command(["make", "-s", "-C", str(kit), "build/mpet-topology"], said)
    tool = str(kit / "build" / "mpet-topology")

    def asked(*options: str) -> str:
        return "\n".join(run_command([tool, *options]))

    return Machine(
        platform=json.loads(asked(*(("--name", name) if name else ()))),
        placement=[int(number) for number in asked("--placement").split(",")],
        counts=[int(number) for number in asked("--threads", "--quick").split(",")],
        origin=asked("--origin").strip(),
    )


@dataclass(frozen=True)
class Sweep:
    """The program to run. `{n}` in `command` and in the values of `environment` is replaced by the number of
    threads."""

    command: Sequence[str]
    environment: Mapping[str, str]
    repeats: int = 3
    accepted: Sequence[int] = (0,)
    longest_s: float = 600.0

    def measure(self, machine: Machine, counts: Sequence[int], said: Said) -> list[list[Any]]:
        """Run the program at each number of threads and return rows of (n, repeat, seconds, disturbed, processor_s).
        Raise KitFailed if the program fails or runs too long."""
        most = len(machine.placement)
        for n in counts:
            if not 1 <= n <= most:
                raise UsageError(f"--n: {n} is not a thread count from 1 to {most}, the number of usable processors")
        if 1 not in counts:
            raise UsageError("--n: n = 1 is missing; without t(1) there is no speedup")
        rows: list[list[Any]] = []
        attempts = ATTEMPTS
        for n in sorted(set(counts)):
            runs = self._runs_at(n, machine, attempts * self.repeats)
            # If other programs disturb every run, more runs do not help.
            attempts = 1 if all(run.disturbed for run in runs) else ATTEMPTS
            rows += ([n, repeat, *astuple(run)] for repeat, run in enumerate(runs, start=1))
            times = ", ".join(f"{row[2]:.3g}" for row in rows if row[0] == n)
            said(f"n = {n}: {times} s")
        return rows

    def _runs_at(self, n: int, machine: Machine, most: int) -> list[Run]:
        """Run the program until there are enough undisturbed runs, but at most `most` times. Return one run per repeat.
        If undisturbed runs are too few, add the fastest disturbed ones."""
        runs: list[Run] = []
        while sum(not run.disturbed for run in runs) < self.repeats and len(runs) < most:
            runs.append(self._run(n, machine))
        runs.sort(key=lambda run: (bool(run.disturbed), run.seconds if run.disturbed else 0.0))
        return runs[: self.repeats]

    def _run(self, n: int, machine: Machine) -> Run:
        command = [part.replace("{n}", str(n)) for part in self.command]
        variables = dict.fromkeys(THREAD_VARIABLES, str(n))
        variables |= {name: value.replace("{n}", str(n)) for name, value in self.environment.items()}
        environment = {name: value for name, value in os.environ.items() if name != "MPET_TOKEN"} | variables
        own_processors = os.sched_getaffinity(0)
        with tempfile.TemporaryFile() as output:
            busy, own, ended = busy_seconds(), time.process_time(), ended_seconds()
            os.sched_setaffinity(0, machine.placement[:n])  # the program inherits it
            start = time.perf_counter()
            try:
                process = subprocess.Popen(  # noqa: S603
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                )
            except FileNotFoundError as error:
                raise UsageError(f"{command[0]}: program not found") from error
            except PermissionError as error:
                raise UsageError(f"{command[0]} cannot be executed: {error.strerror}") from error
            finally:
                os.sched_setaffinity(0, own_processors)
            status, is_too_long = wait_at_most(process, self.longest_s)
            seconds = time.perf_counter() - start
            processor_s = ended_seconds() - ended
            others = busy_seconds() - busy - processor_s - (time.process_time() - own)
            if is_too_long:
                raise KitFailed(f"{command[0]} ran longer than {self.longest_s:g} s at n = {n}; see --longest SECONDS")
            if status not in self.accepted:
                output.seek(0)
                shown = output.read()[-4000:].decode(errors="replace").splitlines()[-LINES_SHOWN:]
                text = "".join(f"\n  {line}" for line in shown)
                raise KitFailed(
                    f"{command[0]} ended with status {status} at n = {n}; if that is not a failure, use "
                    f"--accept-exit {status}{text}"
                )
        disturbed = others > MOST_OTHERS * seconds if seconds > SHORTEST_JUDGED_S else None
        return Run(seconds, disturbed, processor_s)


def wait_at_most(process: subprocess.Popen[bytes], longest_s: float) -> tuple[int, bool]:
    """Wait until the process ends, or end it after `longest_s`. Return its status, and whether it was ended.

    `Popen.wait` with a timeout polls every 50 ms, and measured times would be too long by up to 50 ms.
    """
    was_ended = threading.Event()

    def end() -> None:
        was_ended.set()
        process.kill()

    timer = threading.Timer(min(longest_s, threading.TIMEOUT_MAX), end)
    timer.start()
    try:
        return process.wait(), was_ended.is_set()
    except BaseException:  # such as Ctrl-C
        process.kill()
        process.wait()
        raise
    finally:
        timer.cancel()
        timer.join()


def busy_seconds() -> float:
    """Return the processor time of all programs since the start of the machine, from /proc/stat. It includes the time
    that a host took away."""
    with contextlib.suppress(OSError), Path("/proc/stat").open(encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return 0.0


def ended_seconds() -> float:
    """Return the processor time of the processes that this process started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sweep_tarball(machine: Machine, sweep: Sweep, rows: Iterable[Sequence[Any]], application: str, path: Path) -> Path:
    """Write the measured rows to a tarball as one workload, the whole program."""
    name = f"{application}/program"
    workload = {
        "name": name,
        "application": application,
        "section": "program",
        "strategy": "unknown",
        "runtime": "threads",
        "input": " ".join(sweep.command[1:])[:200],
        "version": "1",
        "bound": None,
        "description": "the whole program, from its start to its end",
    }
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for n, repeat, seconds, disturbed, processor_s in rows:
        mark, time_ns = "" if disturbed is None else int(disturbed), round(seconds * 1e9)
        use_ns = min(round(processor_s * 1e9), n * time_ns)
        writer.writerow([name, n, repeat, "clean", time_ns, *[""] * 8, mark])
        writer.writerow([name, n, repeat, "profile", time_ns, use_ns, 0, n * time_ns - use_ns, 0, 0, 0, 0, "", mark])
    members = {
        "platform.json": json.dumps(machine.platform, indent=2),
        "workloads.json": json.dumps([workload], indent=2),
        "runs.csv": table.getvalue(),
    }
    return pack({member: text.encode() for member, text in members.items()}, path, machine.origin)


def pack(members: Mapping[str, bytes], path: Path, origin: str) -> Path:
    """Write a results tarball of these members, with its manifest."""
    manifest = {
        "schema": SCHEMA,
        "created": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "generator": {"name": "mpet", "version": __version__},
        "origin": origin,
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in members.items()
        },
    }
    try:
        with tarfile.open(path, "w:gz") as archive:
            for name, content in {"manifest.json": json.dumps(manifest, indent=2).encode(), **members}.items():
                member = tarfile.TarInfo(name)
                member.size, member.mtime = len(content), int(time.time())
                archive.addfile(member, io.BytesIO(content))
    except OSError as error:
        if path.is_file():
            path.unlink()
        raise MpetError(f"{path} cannot be written: {error}") from error
    return path


def merge(kit_results: Path, program_results: Path, path: Path) -> Path:
    """Merge results of the kit and of a program, measured on the same machine, into one tarball. With both in one
    upload, it is clear that the machine is the same. The program comes first, as in the kit's `pack/join.sh`: the
    first profile of the upload leads to its page."""
    members: dict[str, bytes] = {}
    tables: dict[str, list[dict[str, str]]] = {"runs.csv": [], "counters.csv": []}
    workloads: list[Any] = []
    program = read_tarball(program_results)
    for found in (program, read_tarball(kit_results)):
        workloads += json.loads(found["workloads.json"])
        for name, rows in tables.items():
            if name in found:
                rows.extend(csv.DictReader(io.StringIO(found[name].decode())))
    members["platform.json"] = program["platform.json"]
    members["workloads.json"] = json.dumps(workloads, indent=2).encode()
    for name, rows in tables.items():
        if rows:
            table = io.StringIO()
            columns = list(dict.fromkeys(column for row in rows for column in row))
            writer = csv.DictWriter(table, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            members[name] = table.getvalue().encode()
    return pack(members, path, json.loads(program["manifest.json"])["origin"])


def read_tarball(path: Path) -> dict[str, bytes]:
    """Return the plain files, by name, of a results tarball that was written on this machine."""
    with tarfile.open(path, "r:gz") as archive:
        files = [(member, archive.extractfile(member)) for member in archive if member.isfile()]
        return {Path(member.name).name: file.read() for member, file in files if file is not None}


def newest_kit_results(kit: Path, platform: Mapping[str, Any]) -> Optional[Path]:
    """Return the newest results of the kit's own workloads on this machine from the kit's folder, or None. Runs of a
    few chosen workloads do not count, as for `Client.knows_machine`. The machine is identified by the fingerprint of
    its hardware, or by its name if it has no fingerprint."""
    identity = "fingerprint" if platform.get("fingerprint") else "name"
    found = sorted((kit / "results").glob("mpet-*.tar.gz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found:
        members = read_tarball(path)
        scale = json.loads(members.get("environment.json", b"{}")).get("scale")
        measured = json.loads(members["platform.json"])
        is_complete = KIT_WORKLOAD in {workload["name"] for workload in json.loads(members["workloads.json"])}
        if scale in ("quick", "full") and is_complete and measured.get(identity) == platform[identity]:
            return path
    return None


def is_there(program: str) -> str:
    """Return the path with which the program is started. Raise UsageError if there is no such program."""
    path = shutil.which(program) or (str(Path(program).resolve()) if Path(program).is_file() else None)
    if path is None:
        raise UsageError(f"{program}: program not found")
    return path
