"""The parts of a run against what the kernel says of the same run, for both profilers and the middleware.

The parts always add up; these tests ask whether each nanosecond went to the right one. The kernels (kernels.c) take the
time themselves, so both accounts are of one run: what other programs, or other guests of the processor, take from it
is in both, and a busy machine gives the same answer as an idle one.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from profiles.measurements import PARTS
from tests.benchmarks.kit.profiled import (
    COMPILERS_OF_TESTS,
    KIT,
    LIBRARIES,
    PROGRAMS,
    build_profiler,
    compile_program,
    eventually,
    run_preloaded,
)

pytestmark = [
    pytest.mark.kit,
    pytest.mark.alone,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors"),
]

ROWS = "4000"
REPEATS = 7
OWN = ("use", "lock", "imbalance")  # parts that a kernel can take the time of; the runtime's are what is left
TOLERANCES = {  # part -> how far the two accounts may be from each other, as fractions of the thread time
    "triangle": {"use": 0.01, "imbalance": 0.01, "lock": 0.001},
    "pyramid": {"use": 0.01, "imbalance": 0.01, "lock": 0.001},
    "equal": {"use": 0.01, "imbalance": 0.01, "lock": 0.001},
    "locked": {"use": 0.01, "imbalance": 0.01, "lock": 0.01},
    "chunks": {"use": 0.06, "imbalance": 0.01, "lock": 0.001},  # a reading of the clock is much of a chunk
    "tasks": {"use": 0.03, "lock": 0.001},  # who has no task left may lose the processor before it says so
}
MADE_FOR = {"triangle": "imbalance", "pyramid": "imbalance", "locked": "lock"}  # a third or more, where nobody disturbs
PYRAMID = pytest.param("pyramid", marks=pytest.mark.lab)  # told by what tells the triangle


@dataclass(frozen=True)
class Run:
    """Part -> its fraction of the thread time."""

    parts: dict[str, float]  # of the account that is tested
    own: dict[str, float]  # of the kernel's
    times_ns: tuple[int, int]  # of the region, by the two accounts


def run_of(account: list[str], own: str, n: int) -> Run:
    """From the time and the parts of an account, and from a kernel's line; nanoseconds."""
    time_ns, *parts_ns = map(int, account)
    _, _, own_time_ns, *own_ns = own.split()
    assert sum(parts_ns) == n * time_ns
    return Run(
        {part: ns / (n * time_ns) for part, ns in zip(PARTS, parts_ns, strict=True)},
        {part: int(ns) / (n * time_ns) for part, ns in zip(OWN, own_ns, strict=True)},
        (time_ns, int(own_time_ns)),
    )


class Kernels:
    """A compiler's program under its profiler; a kernel is run once for all tests, and again after one that failed."""

    def __init__(self, program: Path, library: Path, folder: Path) -> None:
        self.program, self.library, self.folder = program, library, folder
        self.latest: dict[tuple[str, int], list[Run]] = {}

    def runs(self, kernel: str, n: int = 2) -> list[Run]:
        if (kernel, n) not in self.latest:
            self.latest[kernel, n] = [self.run(kernel, n) for _ in range(REPEATS)]
        return self.latest[kernel, n]

    def run(self, kernel: str, n: int) -> Run:
        own, recording = run_preloaded(self.program, self.library, self.folder, n, kernel, ROWS)
        (region,) = [line.split("\t") for line in recording.splitlines() if line.startswith("region")]
        _, _, _, threads, executions, *account, _constructs, _file = region
        assert (int(threads), int(executions)) == (n, 1)
        return run_of(account, own, n)

    def eventually(self, check: Callable[[], None]) -> None:
        """Runs again where the check does not hold: a thread can lose its processor between two readings of a clock."""

        def attempt() -> None:
            try:
                check()
            except AssertionError:
                self.latest.clear()
                raise

        eventually(attempt)


@pytest.fixture(scope="module", params=COMPILERS_OF_TESTS)
def kernels(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    library = build_profiler() / LIBRARIES[request.param]
    return Kernels(compile_program("kernels.c", request.param, folder), library, folder)


def check_accounts(kernel: str, runs: list[Run], n: int) -> None:
    time_ns, own_time_ns = min((run.times_ns for run in runs), key=lambda times: abs(times[0] - times[1]))
    assert time_ns == pytest.approx(own_time_ns, rel=0.01, abs=1e6)  # a run where no thread was held up in between
    for part, tolerance in TOLERANCES[kernel].items():
        differences = [abs(run.parts[part] - run.own[part]) for run in runs]
        assert np.median(differences) <= tolerance, f"{part} of {kernel}"
    if kernel in MADE_FOR and n > 1:
        assert max(run.own[MADE_FOR[kernel]] for run in runs) > 0.2, "nothing was there to book"


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("kernel", [PYRAMID if name == "pyramid" else name for name in TOLERANCES])
def test_parts_are_those_that_the_kernel_says_itself(kernel, n, kernels):
    kernels.eventually(lambda: check_accounts(kernel, kernels.runs(kernel, n), n))


def lost_to_the_runtime(run: Run) -> float:
    """The fraction that is neither work nor a wait for another thread, by the kernel's own account."""
    return 1 - sum(run.own.values())


def test_small_chunks_show_in_distribution(kernels):
    """Two threads that fetch chunks of 1 us lose time by that."""

    def check():
        runs = kernels.runs("chunks")
        lost = np.median([lost_to_the_runtime(run) for run in runs])
        distribution = np.median([run.parts["distribution"] for run in runs])
        assert lost > 0.03  # what a fetch takes differs between CPUs: 0.04 to 0.1 of the loop
        assert lost / 2 < distribution < lost + 0.01

    kernels.eventually(check)


def test_tasks_show_in_creation_and_switching(kernels):
    """In the run that others lengthened least: both are a matter of microseconds."""

    def check():
        runs = kernels.runs("tasks")
        creation, switching = (max(run.parts[part] for run in runs) for part in ("creation", "switching"))
        assert creation > 0.005
        assert switching > 0.002

    kernels.eventually(check)


def test_no_task_shows_where_none_is_created(kernels):
    def check():
        assert {(run.parts["creation"], run.parts["switching"]) for run in kernels.runs("equal")} == {(0, 0)}

    kernels.eventually(check)


# ---- the middleware's own account of the same kernels


@pytest.fixture(scope="module")
def middleware(tmp_path_factory):
    program = tmp_path_factory.mktemp("middleware") / "middleware"
    include = f"-I{KIT / 'include'}"
    source = PROGRAMS / "middleware.cpp"
    subprocess.run(["g++", "-std=c++17", "-O2", include, source, "-o", program, "-lpthread"], check=True)
    return program


@pytest.mark.parametrize("kernel", ["triangle", PYRAMID, "equal", "locked"])
def test_the_middleware_says_the_same(kernel, middleware):
    """Where no runtime's own cost comes in: waiting for the slower thread, waiting for a lock, no loss at all."""
    command = [middleware, kernel, "2", ROWS, *map(str, sorted(os.sched_getaffinity(0))[:2])]

    def run() -> Run:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        own, account = done.stdout.splitlines()
        threads, *account = account.split()
        assert threads == "2"
        return run_of(account, own, 2)

    eventually(lambda: check_accounts(kernel, [run() for _ in range(REPEATS)], 2))
