"""Calibration of a machine's current speed: five kernels, run in turn for 20 seconds, which need only Python.

The speeds of hosts with the same CPU model differ by 23 %, because of their clock, their memory and their neighbours.
The kernels are the same for every commit, so their times describe the host on which a job runs. Four of them do their
work in compiled code of the standard library, so that they depend on the machine more than on the interpreter.
Their names contain the version of Python, because times of two versions are not comparable.
"""

from __future__ import annotations

import math
import random
import sys
import time
import zlib
from array import array
from collections.abc import Callable
from statistics import median
from typing import Any

VERSION = 1
SECONDS = 20.0
CHAIN = 1 << 21  # 8 MiB of indices, more than the second-level cache
BLOCK = 32 << 20


def make_kernels() -> dict[str, Callable[[], Any]]:
    """Return the kernels by name. Each of them takes some 10 to 50 ms."""
    source = random.Random(1)  # noqa: S311
    text = bytes(source.choices(b"abcdefgh ", k=1 << 18))
    numbers = [source.random() for _ in range(1 << 18)]
    block, copy = bytearray(BLOCK), bytearray(BLOCK)
    # A linear congruential generator of full period makes each element lead to another one in an unpredictable order.
    chain = array("I", ((place * 1664525 + 1013904223) % CHAIN for place in range(CHAIN)))

    def interpreter() -> int:
        total = 0
        for number in range(200_000):
            total = (total * 31 + number) & 0xFFFF
        return total

    def copy_memory() -> None:
        copy[:] = block

    def follow_chain() -> int:
        place = 0
        for _ in range(100_000):
            place = chain[place]
        return place

    return {
        "interpreter": interpreter,
        "integer": lambda: zlib.compress(text, 6),
        "float": lambda: math.fsum(numbers),
        "bandwidth": copy_memory,
        "latency": follow_chain,
    }


def calibrate(seconds: float = SECONDS) -> dict[str, float]:
    """Return the median seconds of each kernel, by its name, its version and the version of Python."""
    kernels = make_kernels()
    times: dict[str, list[float]] = {name: [] for name in kernels}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times["latency"]:
        for name, kernel in kernels.items():
            start = time.perf_counter()
            kernel()
            times[name].append(time.perf_counter() - start)
    python = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    return {f"{name}/{VERSION}/{python}": median(taken) for name, taken in times.items()}
