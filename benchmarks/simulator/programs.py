"""Programs for the simulator: the mix of their instructions, the data that they access, and the division of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.simulator.graphs import TaskGraph
from profiles.measurements import WorkloadRecord

Scope = Literal["divided", "private", "shared"]
Pages = Literal["first_touch", "first_node", "interleaved"]
Sizes = Literal["equal", "triangular", "uneven", "escape", "upper_escape"]


@dataclass(frozen=True)
class Access:
    """A share of the loads and stores that goes through `footprint_bytes` in steps of `stride_bytes`.

    With the scope `divided`, the threads split the footprint. With `private`, each thread has its own footprint. With
    `shared`, all threads use the same one. `parallel` is the number of misses that the program allows in flight (1 = a
    chain of pointers).
    """

    share: float
    footprint_bytes: float
    scope: Scope = "divided"
    stride_bytes: int = 8
    parallel: float = 8.0


@dataclass(frozen=True)
class Kernel:
    """The mix of instructions in a phase, as shares of all instructions on a plain 128-bit machine.

    `vector` is the share that becomes faster or slower with the width of the vector units. `parallel` is the average
    number of instructions that do not depend on an unfinished one. `mispredicted` is a share of the branches.
    """

    loads: float = 0.25
    stores: float = 0.10
    branches: float = 0.10
    mispredicted: float = 0.01
    vector: float = 0.0
    parallel: float = 3.0
    accesses: tuple[Access, ...] = ()


@dataclass(frozen=True)
class Critical:
    """A share of the work that needs one of `locks` locks. Each simulated acquisition stands for `batch` real ones."""

    share: float
    locks: int = 1
    batch: int = 1


@dataclass(frozen=True)
class StaticLoop:
    """A loop in which each thread gets one block of iterations, done in `pieces` steps."""

    iterations: int = 4096
    sizes: Sizes = "equal"
    pieces: int = 6
    critical: Critical | None = None


@dataclass(frozen=True)
class DynamicLoop:
    """A loop in which threads fetch chunks from one counter until none is left.

    A simulated chunk stands for `batch` real ones.
    """

    chunks: int = 320
    sizes: Sizes = "equal"
    batch: int = 1


@dataclass(frozen=True)
class Tasks:
    """A task graph, executed from one queue (`central`) or from a deque per thread with work stealing (`stealing`).

    A simulated task stands for `batch` real ones. With `created_first`, the first thread creates all tasks.
    """

    graph: TaskGraph
    queue: Literal["central", "stealing"]
    batch: int = 1
    created_first: bool = False


@dataclass(frozen=True)
class Serial:
    """A region in which the first thread works while the others wait at the barrier."""


@dataclass(frozen=True)
class Phase:
    """A parallel region, `rounds` times in a row. A round stands for `batch` real regions with their barriers."""

    instructions: float
    kernel: Kernel
    structure: StaticLoop | DynamicLoop | Tasks | Serial
    pages: Pages = "first_touch"
    rounds: int = 1
    batch: int = 1


@dataclass(frozen=True)
class Program:
    """A workload that the simulator can execute."""

    application: str
    section: str
    strategy: str
    bound: str | None
    description: str
    phases: tuple[Phase, ...]

    @property
    def name(self) -> str:
        return f"{self.application}/{self.section}"

    @property
    def is_sequential(self) -> bool:
        return self.strategy == "sequential"

    def record(self) -> WorkloadRecord:
        """Return the workload as a results tarball describes it, under another name than the kit's workloads."""
        return WorkloadRecord(
            name=f"{self.name} (simulated)",
            application=self.application,
            section=self.section,
            strategy=self.strategy,
            runtime="simulated",
            input="demo",
            version="1",
            bound=self.bound,
            description=f"{self.description} A model that the simulator executes, not a program.",
        )
