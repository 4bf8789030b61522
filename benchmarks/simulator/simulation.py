"""Simulation of programs on machines: single runs, profiles, and the results tarball of a machine."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from benchmarks.archive import write_archive
from benchmarks.simulator.hardware import ALL_COUNTERS, Hardware
from benchmarks.simulator.machine import IMBALANCE, JOIN, CostsBySharers, Machine
from benchmarks.simulator.programs import Program
from benchmarks.simulator.structures import Region
from benchmarks.simulator.workloads import PROGRAMS
from profiles.arrays import FloatArray
from profiles.measurements import CounterTable, Measurements, ProfileRecord, RunTable

GENERATOR = "mpet-simulator 1"
CREATED = datetime(2026, 1, 1, tzinfo=UTC)  # date of every tarball, so that the same seed gives the same bytes
CLEAN_REPEATS = 3
PROFILE_REPEATS = 2
COUNTER_NOISE = 0.004


@dataclass(frozen=True)
class Execution:
    """The result of one run.

    It has the wall time, the seven parts (which sum to n * time_ns), events in the order of ALL_COUNTERS, and cycles.
    """

    time_ns: int
    parts_ns: tuple[int, ...]
    counts: FloatArray
    cycles: float


def execute(
    hardware: Hardware,
    program: Program,
    n: int,
    rng: np.random.Generator,
    *,
    probed: bool = False,
    costs: dict[tuple[int, int], CostsBySharers] | None = None,
) -> Execution:
    """Run `program` with `n` threads. With `probed`, events cost a little more, as in a profile pass.

    `costs` caches the costs of instructions by phase and n, for several runs of the same program on the same hardware.
    """
    costs = {} if costs is None else costs
    machine = Machine(hardware, n, rng, probed)
    clock = 0
    for index, phase in enumerate(program.phases):
        machine.begin(phase, costs.setdefault((index, n), {}))
        for _ in range(phase.rounds):
            Region(machine, phase).run(clock)
            last = max(thread.arrived_at for thread in machine.threads)
            barrier = machine.barrier_ns() * phase.batch
            for thread in machine.threads:
                thread.parts[IMBALANCE] += last - thread.arrived_at
                thread.parts[JOIN] += barrier
            clock = last + barrier
        machine.end()
    parts = np.array([thread.parts for thread in machine.threads]).sum(axis=0)
    return Execution(clock, tuple(parts.tolist()), machine.counts, machine.cycles)


def simulate(hardware: Hardware, programs: Sequence[Program] = PROGRAMS, *, seed: int = 1) -> Measurements:
    """Return measurements of every program on one machine, at the thread counts that the kit measures.

    The seed determines all noise.
    """
    return Measurements(
        origin="simulated",
        time_kinds={},
        platforms=[hardware.record()],
        workloads=[program.record() for program in programs],
        profiles=[_simulate_profile(hardware, program, index, seed) for index, program in enumerate(programs)],
        generator=GENERATOR,
        environment={"simulator": {"seed": seed, "note": "computed by a model of the machine; nothing was measured"}},
    )


def simulate_tarball(seed: int, hardware: Hardware, programs: Sequence[Program] = PROGRAMS) -> bytes:
    """Return the measurements of `simulate` as the bytes of a results tarball, which are the same for the same seed."""
    packed = io.BytesIO()
    write_archive(packed, simulate(hardware, programs, seed=seed), created=CREATED)
    return packed.getvalue()


def _simulate_profile(hardware: Hardware, program: Program, index: int, seed: int) -> ProfileRecord:
    costs: dict[tuple[int, int], CostsBySharers] = {}
    rows, readings = [], []
    names = [zlib.crc32(name.encode()) for name in (hardware.name, program.name)]
    for n in [1] if program.is_sequential else hardware.thread_counts():
        for is_profile_pass, repeats in ((False, CLEAN_REPEATS), (True, PROFILE_REPEATS)):
            for repeat in range(1, repeats + 1):
                # The noise of a run does not depend on other simulated runs.
                rng = np.random.default_rng([seed, *names, n, int(is_profile_pass), repeat])
                done = execute(hardware, program, n, rng, probed=is_profile_pass, costs=costs)
                rows.append((n, repeat, is_profile_pass, done))
                if is_profile_pass and repeat == 1:
                    counts = np.append(done.counts, done.cycles)
                    readings.append((n, np.rint(counts * rng.lognormal(0.0, COUNTER_NOISE, len(counts)))))
    return ProfileRecord(0, index, _run_table(rows, program), _counter_table(hardware, readings))


def _run_table(rows: list[tuple[int, int, bool, Execution]], program: Program) -> RunTable:
    time_ns = np.array([done.time_ns for *_, done in rows], dtype=np.int64)
    is_profile_pass = np.array([row[2] for row in rows], dtype=np.bool_)
    parts_ns = np.array([done.parts_ns for *_, done in rows], dtype=np.int64)
    return RunTable(
        n=np.array([row[0] for row in rows], dtype=np.int64),
        repeat=np.array([row[1] for row in rows], dtype=np.int64),
        is_profile_pass=is_profile_pass,
        time_s=time_ns / 1e9,
        time_ns=time_ns,
        parts_ns=np.where(is_profile_pass[:, None], parts_ns, -1),
        output_checksum=(f"{zlib.crc32(program.name.encode()):08x}",) * len(rows),
    )


def _counter_table(hardware: Hardware, readings: list[tuple[int, FloatArray]]) -> CounterTable:
    """Return all counters at every n. Counters that the machine does not have are unsupported."""
    names = (*ALL_COUNTERS, "CYCLES")
    has = [name in (*hardware.core.counters, "CYCLES") for name in names]
    status = "multiplexed" if hardware.core.multiplexes else "ok"
    values = np.array([values for _, values in readings])
    return CounterTable(
        n=np.repeat(np.array([n for n, _ in readings], dtype=np.int64), len(names)),
        repeat=np.ones(len(readings) * len(names), dtype=np.int64),
        counter=names * len(readings),
        value=np.where(has, values, np.nan).ravel(),
        status=tuple(status if is_counted else "unsupported" for is_counted in has) * len(readings),
    )
