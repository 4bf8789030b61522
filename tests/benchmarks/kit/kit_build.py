"""Builds of the kit in a separate folder, and runs of its programs."""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import skip_or_fail
from tests.paths import KIT

BUILDS = KIT / "build" / "tests"  # ignored by git, and kept so that the next run of the tests compiles only changes
SHORT_WORKLOADS = "nqueens shared_histogram"  # short even at full size
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"
CACHED_COMPILER = Path(__file__).with_name("cached_compiler.py")
# mpet-profile, but not its preloaded libraries, is built with AddressSanitizer, so each test also finds memory errors.
PROFILER = {
    "PROFILER_EXTRA_FLAGS": "-Werror",
    "PROFILER_PROGRAM_FLAGS": "-O0 -fsanitize=address,undefined -fno-sanitize-recover=all",
}
# A test that builds the kit as users do passes the same flags as the other tests, so that nothing is compiled twice.
AS_OTHER_TESTS = {"OPTIMISE": "-O1", "WARNINGS": WARNINGS, "PAPI": "0"} | PROFILER


def need(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        skip_or_fail(f"not installed: {', '.join(missing)}")


def make(*goals: str, build: str | Path, timeout: float = 900, **variables: str | None) -> str:
    """Run `make` in the kit and return its output, or fail the test with it. Only one process builds at a time.

    A variable that is None keeps the Makefile's value. PAPI is off by default, because it may not be installed.
    """
    need("make", (variables.get("CXX") or "g++").split()[0])
    settings = {"BUILD": str(BUILDS / build), "WARNINGS": WARNINGS, "PAPI": "0"} | variables
    command = [
        "make",
        "-C",
        str(KIT),
        f"-j{os.cpu_count()}",
        *goals,
        *(f"{name}={value}" for name, value in settings.items() if value is not None),
    ]
    BUILDS.mkdir(parents=True, exist_ok=True)
    with (BUILDS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done.stdout


def make_bench(kind: str, *names: str, build: str | Path, **variables: str | None) -> Path:
    """Build mpet-bench-`kind` with these workloads, by default all, and return its path.

    The workloads are compiled as one file, so that headers are read only once. Users compile each workload separately,
    as test_workloads.py does once in `make lab`.
    """
    folder = BUILDS / build
    make(
        str(folder / f"mpet-bench-{kind}"),
        f"--assume-old={folder}/{kind}/prelude.made",  # the prelude is only useful for many files
        build=folder,
        WORKLOAD_SOURCES=str(one_unit(*names).relative_to(KIT)),
        PRELUDE="",
        **variables,
    )
    return folder / f"mpet-bench-{kind}"


def one_unit(*names: str) -> Path:
    """Write a file with all of these workloads, each in its own namespace, if it has changed. Returns its path."""
    sources = [KIT / "workloads" / f"{name}.cpp" for name in names] or sorted((KIT / "workloads").glob("*.cpp"))
    texts = {source: source.read_text() for source in sources}
    included = re.findall(r"^#include .*$", "\n".join(texts.values()), re.MULTILINE)
    blocks = (f'namespace {path.stem} {{\n#line 1 "{path}"\n{text}}}\n' for path, text in texts.items())
    unit = "\n".join([*dict.fromkeys(included), *blocks])
    path = BUILDS / f"unit-{'-'.join(names) or 'all'}.cpp"
    BUILDS.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != unit:
        path.write_text(unit)
    return path


def output(*command: str | Path, environment: Mapping[str, str] | None = None, timeout: float = 300) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def records(listing: str, kind: str) -> list[list[str]]:
    """Return the lines of a bench program's output that begin with `kind`, as lists of fields."""
    return [line.split("\t")[1:] for line in listing.splitlines() if line.startswith(kind + "\t")]
