"""Parts with known answers on two threads (kernels.c says why), through both profilers and the middleware.

The parts always add up; these tests ask whether each nanosecond went to the right one. A measurement that other
programs disturbed is repeated, never given more room.
"""

import os
import subprocess
from functools import partial

import numpy as np
import pytest

from profiles.scaling.runs import scaling_curves
from tests.benchmarks.kit.profiled import COMPILERS, KIT, PROGRAMS, before_others, compile_program, eventually, profile

pytestmark = [
    pytest.mark.kit,
    pytest.mark.alone,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors"),
]

ROWS = "4000"
MORE_ROWS = {"equal": "8000"}  # so that the start of a thread, up to 0.3 ms, is little of it
PARTS = ("use", "lock", "imbalance", "creation", "distribution", "switching", "join")
EXPECTED = {  # curve -> (value at n = 2, tolerance)
    "triangle": {"work_imbalance": (1 / 3, 0.02), "redundancy": (1.0, 0.05)},
    "pyramid": {"work_imbalance": (5 / 13, 0.02), "redundancy": (1.0, 0.05)},
    "equal": {"redundancy": (1.0, 0.05), "utilisation": (1.0, 0.03)},
    "locked": {"lock_delay": (0.5, 0.03), "redundancy": (1.0, 0.05)},
    "chunks": {"redundancy": (1.0, 0.12)},
    "tasks": {"redundancy": (1.0, 0.06)},
}


@pytest.fixture(scope="module", params=list(COMPILERS))
def kernels(request, tmp_path_factory):
    return compile_program("kernels.c", request.param, tmp_path_factory.mktemp("kernels"))


def curves_of(program, kernel, folder):
    done = profile(
        [program, kernel, MORE_ROWS.get(kernel, ROWS)], folder, "--n", "1,2", "--repeats", "5", "--min-share", "0"
    )
    assert done.status == 0, done.said
    (record,) = done.measurements.profiles
    return scaling_curves(record.runs, None)


def at_two(curves, name):
    values = curves.utilisation if name == "utilisation" else curves.curve(name)
    return values[list(curves.n).index(2)]


def check_answers(program, kernel, folder):
    curves = curves_of(program, kernel, folder)
    for name, (answer, tolerance) in EXPECTED[kernel].items():
        assert at_two(curves, name) == pytest.approx(answer, abs=tolerance), f"{name} of {kernel}"


@pytest.mark.parametrize("kernel", EXPECTED)
def test_known_answers(kernel, kernels, tmp_path):
    eventually(partial(check_answers, kernels, kernel, tmp_path))


def test_small_chunks_show_in_distribution(kernels, tmp_path):
    """Two threads that fetch chunks of 0.5 us lose time by that, which a loop of equal shares does not."""

    def check():
        assert at_two(curves_of(kernels, "chunks", tmp_path), "task_distribution") > 0.05
        assert at_two(curves_of(kernels, "equal", tmp_path), "task_distribution") < 0.04  # of which starting the thread

    eventually(check)


def test_tasks_show_in_creation_and_switching(kernels, tmp_path):
    def check():
        tasks, equal = (curves_of(kernels, kernel, tmp_path) for kernel in ("tasks", "equal"))
        assert at_two(tasks, "task_creation") > 0.005
        assert at_two(tasks, "task_switching") > 0.002
        assert at_two(equal, "task_creation") == at_two(equal, "task_switching") == 0
        assert at_two(tasks, "work_imbalance") < 0.03

    eventually(check)


# ---- the middleware's own account of the same kernels


@pytest.fixture(scope="module")
def middleware(tmp_path_factory):
    program = tmp_path_factory.mktemp("middleware") / "middleware"
    include = f"-I{KIT / 'include'}"
    source = PROGRAMS / "middleware.cpp"
    subprocess.run(["g++", "-std=c++17", "-O2", include, source, "-o", program, "-lpthread"], check=True)
    return program


def fractions(middleware, threads):
    """kernel -> part -> fraction of the thread time."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    done = subprocess.run(
        [middleware, str(threads), ROWS, *map(str, processors)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=before_others,
    )
    answers = {}
    for line in done.stdout.splitlines():
        name, n, time_ns, *parts_ns = line.split(",")
        total = int(n) * int(time_ns)
        assert sum(map(int, parts_ns)) == total
        answers[name] = dict(zip(PARTS, np.array(parts_ns, dtype=float) / total, strict=True))
    return answers


@pytest.mark.parametrize("kernel", ["triangle", "pyramid", "equal", "locked"])
def test_middleware_and_profilers_agree(kernel, middleware, kernels, tmp_path):
    """Where no runtime's own cost comes in: waiting for the slower thread, waiting for a lock, no loss at all."""

    def check():
        own = fractions(middleware, 2)[kernel]
        curves = curves_of(kernels, kernel, tmp_path)
        assert at_two(curves, "work_imbalance") == pytest.approx(own["imbalance"], abs=0.03)
        assert at_two(curves, "lock_delay") == pytest.approx(own["lock"], abs=0.03)
        assert at_two(curves, "utilisation") == pytest.approx(own["use"], abs=0.05)

    eventually(check)
