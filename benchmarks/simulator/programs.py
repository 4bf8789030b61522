"""How a program is described to the simulator: what its instructions are, what they touch, and how work is divided."""

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
    """A share of the loads and stores that goes over `footprint_bytes` in steps of `stride_bytes`.

    `divided`: the threads split the footprint; `private`: each thread has one of its own; `shared`: all use the same.
    `parallel` is how many of its misses the program allows to be in flight at once (1 = a chain of pointers).
    """

    share: float
    footprint_bytes: float
    scope: Scope = "divided"
    stride_bytes: int = 8
    parallel: float = 8.0


@dataclass(frozen=True)
class Kernel:
    """What the instructions of a phase are, as shares of all instructions of a plain 128-bit machine.

    `vector` is the share that wider or narrower vector units speed up or slow down; `parallel` how many instructions
    depend on nothing unfinished, on average; `mispredicted` is a share of the branches.
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
    """A part of the work that needs one of `locks` locks; each simulated acquisition stands for `batch` real ones."""

    share: float
    locks: int = 1
    batch: int = 1


@dataclass(frozen=True)
class StaticLoop:
    """Each thread gets one block of iterations, done in `pieces` steps."""

    iterations: int = 4096
    sizes: Sizes = "equal"
    pieces: int = 6
    critical: Critical | None = None


@dataclass(frozen=True)
class DynamicLoop:
    """Threads fetch chunks from one counter until none is left; a simulated chunk stands for `batch` real ones."""

    chunks: int = 320
    sizes: Sizes = "equal"
    batch: int = 1


@dataclass(frozen=True)
class Tasks:
    """A task graph, from one queue (`central`) or from a deque per thread with stealing.

    `batch`: real tasks that a simulated one stands for. `created_first`: the first thread creates all of them.
    """

    graph: TaskGraph
    queue: Literal["central", "stealing"]
    batch: int = 1
    created_first: bool = False


@dataclass(frozen=True)
class Serial:
    """The first thread works, the others wait at the barrier."""


@dataclass(frozen=True)
class Phase:
    """One parallel region, `rounds` times in a row; a round stands for `batch` real regions with their barriers."""

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
        """The workload as a results tarball describes it: named so that nobody takes it for the kit's."""
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
