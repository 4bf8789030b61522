"""Synthetic results of the kit's sweep over input sizes: times that follow known laws, with noise."""

import numpy as np

from profiles.measurements import PARTS, Measurements, ProfileRecord, RunTable, WorkloadRecord
from tests.samples import sample_platform

COUNTS = (1, 2, 4)
PRODUCT_SIZES = tuple(range(100, 1300, 100))
SORT_SIZES = tuple(2**e for e in range(14, 23))
CLOCKS = (1000.0, 1500.0, 2000.0)


def product_s(size, n):
    return (2e-9 * size**3 + 1e-6 * size**2) * (0.97 / n + 0.03)


def sort_parts_s(size, n):
    """Return thread seconds in the order of PARTS.

    The number of tasks is proportional to the size, and each creation and each wait takes 50 ns.
    """
    work = 2e-9 * size * np.log2(size) * (1 + 0.1 * (n - 1) / n)
    tasks = size / 512
    return np.array(
        [work, 0, 1e-10 * size * (n - 1) ** 2, 5e-8 * tasks, 1e-8 * tasks * (n - 1), 2e-8 * tasks, 5e-8 * tasks]
    )


def runs_of(cells, own_size, repeats=3, noise=0.01, seed=0):
    """Return the runs of cells (n, size, clock_mhz, parts in thread seconds), one clean and one profile per repeat."""
    rng = np.random.default_rng(seed)
    rows, parts = [], []
    for n, size, clock, split in cells:
        for repeat in range(1, repeats + 1):
            for is_profile in (False, True):
                split_ns = np.round(np.asarray(split) * 1e9 * rng.lognormal(0, noise)).astype(np.int64)
                split_ns[0] += -split_ns.sum() % n
                rows.append((n, repeat, is_profile, split_ns.sum() // n, np.nan if size == own_size else size, clock))
                parts.append(split_ns if is_profile else np.full(len(PARTS), -1))
    n, repeat, is_profile, time_ns, size, clock = map(np.array, zip(*rows, strict=True))
    return RunTable(
        n=n.astype(np.int64),
        repeat=repeat.astype(np.int64),
        is_profile_pass=is_profile.astype(bool),
        time_s=time_ns / 1e9,
        time_ns=time_ns.astype(np.int64),
        parts_ns=np.array(parts, dtype=np.int64),
        size=size if np.isfinite(size).any() else None,
        clock_mhz=clock if np.isfinite(clock).any() else None,
    )


def product_runs(noise=0.01, own_size=800):
    cells = [(n, size, np.nan, [n * product_s(size, n), *[0] * 6]) for size in PRODUCT_SIZES for n in COUNTS]
    return runs_of(cells, own_size, noise=noise)


def sort_runs(noise=0.01, own_size=2**20):
    cells = [(n, size, np.nan, sort_parts_s(size, n)) for size in SORT_SIZES for n in COUNTS]
    return runs_of(cells, own_size, noise=noise, seed=1)


def clock_runs(noise=0.001):
    cells = [
        (n, 10.0, clock, [n * (2000 / (clock if np.isfinite(clock) else 2000)) * (0.9 / n + 0.1), *[0] * 6])
        for clock in (np.nan, *CLOCKS)
        for n in (1, 2, 3, 4)
    ]
    return runs_of(cells, 10.0, noise=noise, seed=2)


def sweep(**fields) -> Measurements:
    """Return a matrix product, a merge sort and a workload at three clocks, on one platform with four threads."""
    workloads = [
        WorkloadRecord("matmul_naive", strategy="domain_decomposition", size=800.0, size_unit="matrix rows"),
        WorkloadRecord("mergesort", strategy="recursive", size=float(2**20), size_unit="elements"),
        WorkloadRecord("stencil", strategy="domain_decomposition", size=10.0),
    ]
    runs = [product_runs(), sort_runs(), clock_runs()]
    platform = sample_platform(
        sockets=1, numa_nodes=1, physical_cores=4, threads=4, n_nu=None, n_ht=None, n_max=4, placement=(0, 1, 2, 3)
    )
    values = {
        "origin": "measured",
        "time_kinds": {},
        "platforms": [platform],
        "workloads": workloads,
        "profiles": [ProfileRecord(0, at, table) for at, table in enumerate(runs)],
        "generator": "mpet-kit 1.0",
    }
    return Measurements(**(values | fields))
