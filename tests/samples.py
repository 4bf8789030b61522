"""Small measured databases for tests, made from a seed: arbitrary numbers that satisfy every rule of the formats."""

from dataclasses import replace

import numpy as np

from profiles.measurements import (
    CounterTable,
    Measurements,
    PlatformRecord,
    ProfileRecord,
    RunTable,
    WorkloadRecord,
)

COUNTERS = ("INSTR", "BR", "BR-M", "L1-LD", "L1-ST", "L1-LDM", "L1-STM", "LLC-LD", "LLC-ST", "LLC-LDM", "LLC-STM")


def sample_platform(index: int = 0, **fields) -> PlatformRecord:
    values = {
        "name": f"machine-{index}",
        "cpu_model": f"Example CPU {index // 2} @ 2.{index % 10}GHz",
        "vendor": "Example",
        "architecture": "x86_64",
        "microarchitecture": f"March{index // 2}",
        "word_bits": 64,
        "device_class": "server",
        "sockets": 2,
        "numa_nodes": 2,
        "physical_cores": 8,
        "threads": 16,
        "n_nu": 4,
        "n_ht": 8,
        "n_max": 16,
        "placement": tuple(range(16)),
        "base_mhz": 2000.0 + 100 * index,
        "max_mhz": 3000.0 + 100 * index,
        "l1d_bytes": 32768,
        "l2_bytes": 1 << 20,
        "l3_bytes": 16 << 20,
        "memory_bytes": 32 << 30,
        "virtualised": False,
        "kernel": "Linux 6.1",
        "compiler": "g++ 12.2",
        "compiler_flags": "-O2",
    }
    return PlatformRecord(**(values | fields))


def sample_workload(index: int = 0, **fields) -> WorkloadRecord:
    values = {
        "name": f"app{index // 2}/section{index % 2}",
        "application": f"app{index // 2}",
        "section": f"section{index % 2}",
        "strategy": ("domain_decomposition", "dynamic_loop", "recursive", "wavefront")[index % 4],
        "runtime": "mpal",
        "input": "small",
        "version": "1",
        "bound": ("memory", "computation")[index % 2],
        "description": f"Example workload {index}",
    }
    return WorkloadRecord(**(values | fields))


def sample_runs(
    rng: np.random.Generator, counts=(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16), repeats=3, decomposed=True, seconds=0.01
) -> RunTable:
    """Return runs whose parts sum to n*time_ns exactly, by default with three repeats per pass and thread count."""
    fractions = rng.dirichlet([40, 1, 6, 1, 1, 1, 1])
    rows = [
        (n, repeat, profile_pass)
        for n in counts
        for profile_pass in ((False, True) if decomposed else (False,))
        for repeat in range(1, repeats + 1)
    ]
    n, repeat, is_profile = (np.array(column) for column in zip(*rows, strict=True))
    noise, probes = 1 + 0.01 * rng.random(len(rows)), np.where(is_profile, 1.02, 1)
    time_ns = (seconds * 1e9 * (0.1 + 0.9 / n) * noise * probes).astype(np.int64)
    lost = np.outer(1 / n, [0, 1, 1, 1, 1, 1, 1])
    parts = np.floor(fractions * n[:, None] * time_ns[:, None] * (1 - 0.02 * lost)).astype(np.int64)
    parts[:, 0] += n * time_ns - parts.sum(axis=1)
    return RunTable(
        n=n.astype(np.int64),
        repeat=repeat.astype(np.int64),
        is_profile_pass=is_profile.astype(bool),
        time_s=time_ns / 1e9,
        time_ns=time_ns,
        parts_ns=np.where(is_profile[:, None], parts, -1),
        output_checksum=("abc123",) * len(rows),
    )


def runs_of(clean: dict[int, list[float]], profile: dict[int, list[float]] | None = None) -> RunTable:
    """Return runs with these times in seconds by thread count, in the clean and in the profile pass, without parts."""
    rows = [(n, False, t) for n, times in clean.items() for t in times]
    rows += [(n, True, t) for n, times in (profile or {}).items() for t in times]
    n, is_profile, time_s = (np.array(column) for column in zip(*rows, strict=True))
    return RunTable(n=n, repeat=np.arange(len(rows)), is_profile_pass=is_profile, time_s=time_s.astype(float))


def sample_counters(rng: np.random.Generator, counts=(1, 2, 4, 8, 16)) -> CounterTable:
    level = rng.uniform(1e5, 1e7, len(COUNTERS))
    rows = [(n, name, value * (1 + 0.01 * n)) for n in counts for name, value in zip(COUNTERS, level, strict=True)]
    return CounterTable(
        n=np.array([row[0] for row in rows], dtype=np.int64),
        repeat=np.ones(len(rows), dtype=np.int64),
        counter=tuple(row[1] for row in rows),
        value=np.array([row[2] for row in rows]),
        status=("ok",) * len(rows),
    )


def sample_measurements(
    platforms: int = 3, workloads: int = 4, *, seed: int = 0, decomposed: bool = True, counters: bool = True, **fields
) -> Measurements:
    """Return measurements of every workload on every platform. `fields` replace those of Measurements (origin=...)."""
    rng = np.random.default_rng(seed)
    profiles = [
        ProfileRecord(
            platform=p,
            workload=w,
            runs=sample_runs(rng, decomposed=decomposed, seconds=0.01 * (1 + p) * (1 + w)),
            counters=sample_counters(rng) if counters else None,
        )
        for p in range(platforms)
        for w in range(workloads)
    ]
    values = {
        "origin": "measured",
        "time_kinds": {},
        "platforms": [sample_platform(p) for p in range(platforms)],
        "workloads": [sample_workload(w) for w in range(workloads)],
        "profiles": profiles,
        "generator": "mpet-kit 1.0",
    }
    return Measurements(**(values | fields))


def varied(runs: RunTable, sizes=(), clocks=(), growth=lambda size: size) -> RunTable:
    """Return the runs and their copies with each size and each clock (MHz).

    The times of the copies are proportional to `growth(size)` and to 1/clock.
    """
    tables = [runs]
    for size in sizes:
        tables.append(scaled(runs, growth(size), size=size, checksum=f"of{size:g}"))
    tables += [scaled(runs, 2000.0 / clock, clock_mhz=clock) for clock in clocks]
    nominal = [np.full(len(table), np.nan) for table in tables]
    columns = {
        name: np.concatenate([getattr(table, name) for table in tables])
        for name in ("n", "repeat", "is_profile_pass", "time_s", "time_ns", "parts_ns")
    } | {
        name: np.concatenate(
            [
                nothing if getattr(table, name) is None else getattr(table, name)
                for table, nothing in zip(tables, nominal, strict=True)
            ]
        )
        for name in ("size", "clock_mhz")
    }
    checksums = tuple(text for table in tables for text in table.output_checksum)
    return RunTable(
        **columns | {name: None for name in ("size", "clock_mhz") if np.isnan(columns[name]).all()},
        output_checksum=checksums,
    )


def scaled(runs: RunTable, factor: float, size=None, clock_mhz=None, checksum="abc123") -> RunTable:
    """Scale every part by the factor, which may depend on the run, and add the rounding error to the useful work."""
    factor = np.broadcast_to(factor, len(runs))
    time_ns = np.maximum((runs.time_ns * factor).astype(np.int64), 1)
    parts_ns = np.where(runs.is_profile_pass[:, None], (runs.parts_ns * factor[:, None]).astype(np.int64), -1)
    parts_ns[:, 0] += np.where(runs.is_profile_pass, runs.n * time_ns - parts_ns.sum(axis=1), 0)
    return replace(
        runs,
        time_ns=time_ns,
        time_s=time_ns / 1e9,
        parts_ns=parts_ns,
        size=None if size is None else np.full(len(runs), float(size)),
        clock_mhz=None if clock_mhz is None else np.full(len(runs), float(clock_mhz)),
        output_checksum=(checksum,) * len(runs),
    )


def varied_measurements(sizes=(50.0, 200.0), clocks=(1500.0,), growth=lambda size: size, **fields) -> Measurements:
    """Return measurements on one platform. The first workload has size 100, and also runs of other sizes and clocks."""
    measurements = sample_measurements(1, 2, **fields)
    first, *others = measurements.profiles
    workloads = [replace(measurements.workloads[0], size=100.0, size_unit="rows"), *measurements.workloads[1:]]
    profiles = [replace(first, runs=varied(first.runs, sizes, clocks, growth)), *others]
    return replace(measurements, workloads=workloads, profiles=profiles)
