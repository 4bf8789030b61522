"""Builds of mpet-profile and of small OpenMP programs, and runs of mpet-profile on them."""

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from benchmarks.archive import read_archive
from tests.benchmarks.kit.kit_build import PROFILER
from tests.conftest import skip_or_fail
from tests.paths import KIT

PROGRAMS = Path(__file__).resolve().parent / "profiler_programs"
BUILD = KIT / "build" / "profiler-tests"
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
COMPILERS_OF_TESTS = ["gcc", pytest.param("clang", marks=pytest.mark.lab)]
RUNTIMES = {"gcc": "libgomp", "clang": "libomp"}
REST = "serial rest"
LIBRARIES = {"gcc": "libmpet_gomp.so", "clang": "libmpet_ompt.so"}


@cache
def build_profiler() -> Path:
    """Build mpet-profile and its libraries once per process, and return their folder. Only one process builds."""
    if shutil.which("make") is None or shutil.which("g++") is None:
        skip_or_fail("no make or g++")
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settings = [f"{name}={value}" for name, value in {"BUILD": BUILD, **PROFILER}.items()]
        command = ["make", f"-j{os.cpu_count()}", "-f", "profiler/profiler.mk", "profiler", *settings]
        made = subprocess.run(command, cwd=KIT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return BUILD


def compile_program(name: str, compiler: str, folder: Path, *flags: str, output: str | None = None) -> Path:
    """Compile a program of profiler_programs/ with debug information and OpenMP by gcc or clang. Returns its path."""
    source = PROGRAMS / name
    command = COMPILERS[compiler][source.suffix == ".cpp"]
    if shutil.which(command) is None:
        skip_or_fail(f"no {command}")
    program = folder / (output or f"{source.stem}_{compiler}")
    program.write_bytes(compiled(command, source, flags))
    program.chmod(0o755)
    return program


@cache
def compiled(command: str, source: Path, flags: tuple[str, ...]) -> bytes:
    """Return the compiled program. It is compiled once per process."""
    with TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        words = [command, "-O2", "-g", "-fopenmp", *flags, str(source), "-o", str(program), "-lm"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0 and re.search(r"cannot find -lomp|omp\.h|libomp", done.stderr):
            skip_or_fail("no libomp for clang")
        assert done.returncode == 0, done.stderr
        return program.read_bytes()


def before_others() -> None:
    """Set real-time priority in the child process, if allowed, so that other programs affect measurements less."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except PermissionError:
        return


@dataclass(frozen=True)
class Profiled:
    """The result of one call of mpet-profile."""

    status: int
    said: str
    measurements: Any  # Measurements, or None without a tarball
    log: str = ""

    def sections(self) -> dict[str, Any]:
        """Return the RunTable of each section."""
        assert self.measurements is not None, self.said
        workloads = self.measurements.workloads
        return {workloads[record.workload].section: record.runs for record in self.measurements.profiles}

    def regions(self) -> dict[str, Any]:
        """Return the RunTable of each section except the serial rest."""
        return {section: runs for section, runs in self.sections().items() if section != REST}

    def names(self) -> list[str]:
        """Return the workload names of the regions."""
        regions = self.regions()
        return [workload.name for workload in self.measurements.workloads if workload.section in regions]


def profile(
    command: list[str | Path], folder: Path, *options: str, environment: dict[str, str] | None = None
) -> Profiled:
    """Run mpet-profile and read its tarball. Raises ArchiveError if the server would not accept it."""
    tarball = folder / "profile.tar.gz"
    tarball.unlink(missing_ok=True)
    arguments = [build_profiler() / "mpet-profile", "--output", tarball, "--name", "test machine", *options, *command]
    done = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
        preexec_fn=before_others,
    )
    said = done.stdout + done.stderr
    if not tarball.exists():
        return Profiled(done.returncode, said, None)
    unpacked = subprocess.run(["tar", "xzOf", tarball, "log.txt"], capture_output=True, text=True, check=True)
    with tarball.open("rb") as file:
        return Profiled(done.returncode, said, read_archive(file), unpacked.stdout)


def run_preloaded(
    program: Path, library: Path, folder: Path, threads: int, *arguments: str, **environment: str
) -> tuple[str, str]:
    """Run a program with one of the libraries preloaded, and return its output and the library's recording."""
    recording = folder / "recording"
    recording.unlink(missing_ok=True)
    preload = " ".join(filter(None, [environment.pop("preload_first", ""), str(library)]))
    settings = {"OMP_NUM_THREADS": str(threads), "MPET_PROFILE_OUT": str(recording), "OMP_WAIT_POLICY": "passive"}
    command = ["sh", "-c", 'MPET_PROFILE_PID=$$ LD_PRELOAD="$0" exec "$@"', preload, str(program), *arguments]
    variables = os.environ | settings | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=variables)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout, recording.read_text()


def eventually(check: Callable[[], None], attempts: int = 15) -> None:
    """Repeat a check with growing pauses until it passes, because other programs may disturb a measurement."""
    for attempt in range(attempts):
        try:
            return check()
        except AssertionError:
            if attempt == attempts - 1:
                raise
            time.sleep(min(attempt, 5))
    return None
