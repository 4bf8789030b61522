"""Simulated hardware without noise and programs of one phase, for tests with known results."""

from dataclasses import replace

import numpy as np

from benchmarks.simulator import execute, find_hardware
from benchmarks.simulator.programs import Access, Kernel, Phase, Program, StaticLoop
from profiles.measurements import PARTS

COMPUTE = Kernel(loads=0.1, stores=0.05, branches=0.1, parallel=2.5)
STREAM = Kernel(loads=0.35, stores=0.15, branches=0.05, vector=0.5, accesses=(Access(1.0, 1 << 30, parallel=10),))
CHAIN = Kernel(loads=0.4, stores=0.0, parallel=2.0, accesses=(Access(0.05, 1 << 30, "shared", 64, 1.0),))


def quiet(name, **fields):
    return replace(find_hardware(name), **({"noise": 0.0, "kernel_share": 0.0} | fields))


def steady(name, **fields):
    """Return quiet hardware without turbo, where a core has the same speed whether the others are busy or not."""
    hardware = find_hardware(name)
    return quiet(name, max_mhz=hardware.base_mhz, all_cores_mhz=hardware.base_mhz, **fields)


BLOCKS = StaticLoop()


def program(kernel=COMPUTE, structure=BLOCKS, instructions=2e9, **fields):
    return Program("test", "phase", "unknown", None, "", (Phase(instructions, kernel, structure, **fields),))


def run(hardware, what, n, seed=0, probed=True):
    return execute(hardware, what, n, np.random.default_rng(seed), probed=probed)


def seconds(hardware, what, n):
    return run(hardware, what, n, probed=False).time_ns / 1e9


def shares(hardware, what, n):
    """Return each part of the thread time as a fraction."""
    done = run(hardware, what, n)
    return dict(zip(PARTS, np.array(done.parts_ns) / (n * done.time_ns), strict=True))


def span(graph):
    """Return the work on the longest path of a task graph, which limits the speedup.

    Tasks must come after the tasks that they wait for.
    """
    longest = list(graph.work)
    for task, successors in enumerate(graph.successors):
        for after in successors:
            longest[after] = max(longest[after], longest[task] + graph.work[after])
    return max(longest)


def redundancy(hardware, what, n):
    one, many = run(hardware, what, 1), run(hardware, what, n)
    return many.parts_ns[0] / one.time_ns
