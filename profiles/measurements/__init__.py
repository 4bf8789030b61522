"""Measurements before they are stored: the common data classes of tarballs, dataset folders and the simulator.

The records are frozen dataclasses with numpy arrays and do not depend on Django. Readers (`benchmarks.archive`,
`profiles.measurements.datasets`) validate and build them, `profiles.ingest.service` stores them, and `profiles.scaling`
computes with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from profiles.arrays import FloatArray, IntArray

PARTS = ("use", "lock", "imbalance", "creation", "distribution", "switching", "join")
PART_COLUMNS = tuple(f"{part}_ns" for part in PARTS)
FURTHER_COLUMNS = ("size", "clock_mhz", "tasks", "waits", "disturbed")  # optional columns of a run
STRATEGIES = (
    "sequential",
    "domain_decomposition",
    "dynamic_loop",
    "nested",
    "recursive",
    "task_graph",
    "wavefront",
    "pipeline",
    "locks",
    "unknown",
)
BOUNDS = ("memory", "communication", "computation")
DEVICE_CLASSES = ("server", "desktop", "embedded")
ORIGINS = ("measured", "simulated", "emulated")
COUNTER_STATUSES = ("ok", "multiplexed", "unsupported", "no-permission", "not-scheduled")


TimeKind = Literal["absolute", "relative"]


@dataclass(frozen=True)
class PlatformRecord:
    """One machine. None means unknown, except that `n_nu` and `n_ht` are None if the machine has no such effect."""

    name: str
    cpu_model: str
    vendor: str | None = None
    architecture: str | None = None
    microarchitecture: str | None = None
    word_bits: int | None = None
    device_class: str | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    physical_cores: int | None = None
    threads: int | None = None
    n_nu: int | None = None
    n_ht: int | None = None
    n_max: int | None = None
    placement: tuple[int, ...] | None = None
    base_mhz: float | None = None
    max_mhz: float | None = None
    l1d_bytes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    memory_bytes: int | None = None
    virtualised: bool | None = None
    kernel: str | None = None
    compiler: str | None = None
    compiler_flags: str | None = None


@dataclass(frozen=True)
class WorkloadRecord:
    """One parallel section of one program with one input, in one runtime. `size` is the size of the input in
    `size_unit`."""

    name: str
    application: str | None = None
    section: str | None = None
    strategy: str = "unknown"
    runtime: str | None = None
    input: str | None = None
    version: str | None = None
    bound: str | None = None
    description: str | None = None
    size: float | None = None
    size_unit: str | None = None


@dataclass(frozen=True)
class RunTable:
    """The executions of one workload on one platform, one row each. All arrays have the same length M.

    The mathematics uses `time_s`. Tarballs also have exact integers: `time_ns` (M) and `parts_ns` (M x 7 in the order
    of PARTS), with -1 in all parts of a clean run. Both are None for datasets.

    `size` (M), in the workload's unit, is NaN for the workload's own input. `clock_mhz` (M) is NaN for the platform's
    own clocks. None means NaN everywhere. Rows with either value are *variations*: scaling models learn from them, and
    the curves of the profile are computed without them. `tasks` and `waits` (M) count the spawned tasks and the waits
    for them, with NaN or None where they were not counted. `disturbed` (M) is 1 if other programs took processor time
    during the run, 0 if not, and NaN or None where this was not checked.
    """

    n: IntArray
    repeat: IntArray
    is_profile_pass: NDArray[np.bool_]
    time_s: FloatArray
    time_ns: IntArray | None = None
    parts_ns: IntArray | None = None
    output_checksum: tuple[str, ...] | None = None
    size: FloatArray | None = None
    clock_mhz: FloatArray | None = None
    tasks: FloatArray | None = None
    waits: FloatArray | None = None
    disturbed: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.n)

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> RunTable:
        """Stored runs, None where a column says nothing; `pass_kind` is clean or profile."""
        exact = None not in columns["time_ns"]
        parts = [[-1 if value is None else value for value in columns[name]] for name in PART_COLUMNS] if exact else []
        checksums = columns.get("output_checksum")
        optional: dict[str, Any] = {
            name: column_or_none(np.array(columns[name], dtype=np.float64)) for name in FURTHER_COLUMNS
        }
        return cls(
            n=np.array(columns["n"], dtype=np.int64),
            repeat=np.array(columns["repeat"], dtype=np.int64),
            is_profile_pass=np.array([kind == "profile" for kind in columns["pass_kind"]]),
            time_s=np.array(columns["time_s"], dtype=np.float64),
            time_ns=np.array(columns["time_ns"], dtype=np.int64) if exact else None,
            parts_ns=np.array(parts, dtype=np.int64).T if exact else None,
            output_checksum=None if checksums is None else tuple(checksums),
            **optional,
        )

    @property
    def is_variation(self) -> NDArray[np.bool_]:
        """Return a mask (M,) of the rows with another size or a fixed clock."""
        varied = np.zeros(len(self), dtype=np.bool_)
        for column in (self.size, self.clock_mhz):
            if column is not None:
                varied |= ~np.isnan(column)
        return varied

    @property
    def own(self) -> RunTable:
        """Return the rows for the curves: all except the variations."""
        if self.size is None and self.clock_mhz is None:
            return self
        return replace(self.take(np.flatnonzero(~self.is_variation)), size=None, clock_mhz=None)

    def take(self, rows: IntArray) -> RunTable:
        """Return these rows in this order.

        >>> RunTable(np.array([1, 2]), np.array([1, 1]), np.zeros(2, bool), np.array([3.0, 2.0])).take(np.array([1])).n
        array([2])
        """
        taken: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        texts = taken.pop("output_checksum")
        taken = {name: None if column is None else column[rows] for name, column in taken.items()}
        return RunTable(**taken, output_checksum=texts and tuple(texts[row] for row in rows.tolist()))


def column_or_none(column: FloatArray) -> FloatArray | None:
    """Return the column, or None if all of it is NaN."""
    return None if np.isnan(column).all() else column


@dataclass(frozen=True)
class CounterTable:
    """Counter readings of one workload on one platform, one per row. `value` is NaN unless ok or multiplexed."""

    n: IntArray
    repeat: IntArray
    counter: tuple[str, ...]
    value: FloatArray
    status: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.n)

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]]) -> CounterTable:
        """Stored readings: n, repeat, counter, value (None where there is none) and status."""
        n, repeat, counter, value, status = zip(*rows, strict=True)
        values = np.array([np.nan if number is None else number for number in value], dtype=np.float64)
        return cls(np.array(n, np.int64), np.array(repeat, np.int64), counter, values, status)


@dataclass(frozen=True)
class ProfileRecord:
    """The measurements of one workload on one platform (both are indices in the lists of Measurements)."""

    platform: int
    workload: int
    runs: RunTable
    counters: CounterTable | None = None


@dataclass(frozen=True)
class Measurements:
    """One validated delivery: a tarball, a dataset folder or a simulated machine."""

    origin: Literal["measured", "simulated", "emulated"]
    time_kinds: dict[int, TimeKind]  # by workload index; a missing entry means absolute
    platforms: list[PlatformRecord]
    workloads: list[WorkloadRecord]
    profiles: list[ProfileRecord]
    platform_ids: list[str] = field(default_factory=list)  # a dataset's own ids, parallel to platforms
    generator: str = ""
    environment: dict[str, Any] | None = None
    log: str = ""
    fingerprint: str = ""  # fingerprint of the measured hardware, in tarballs only; independent of the name
    licence: str = ""
    source: str = ""
    note: str = ""
    warnings: list[str] = field(default_factory=list)


class UnreadableError(Exception):
    """Raised when a file does not have the format of its reader. The message describes the fault and its position."""
