"""Simulated machines: a core, and the numbers of cores that share caches, memory and links."""

from __future__ import annotations

from dataclasses import dataclass

from profiles.measurements import PlatformRecord

ALL_COUNTERS = ("INSTR", "BR", "BR-M", "L1-LD", "L1-ST", "L1-LDM", "L1-STM", "LLC-LD", "LLC-ST", "LLC-LDM", "LLC-STM")
# Every name has this suffix, so that a list, chart or answer never shows a simulated machine as a measured one.
SUFFIX = " (simulated)"


@dataclass(frozen=True)
class Core:
    """A microarchitecture.

    `predictor` scales a program's mispredictions, and `instruction_factor` scales its instructions. `shared_issue` is
    the joint throughput of two hardware threads of a core (or two cores of a module), where one alone has 1.
    `line_fills` is the number of cache misses that a core keeps in flight. `handover_ns` is the core-to-core latency of
    a cache line within a node.
    """

    microarchitecture: str
    vendor: str
    architecture: str
    issue_width: float
    reorders: bool
    vector_bits: int
    mispredict_cycles: float
    predictor: float
    line_fills: int
    l1d_bytes: int
    l2_cycles: float
    l3_cycles: float
    handover_ns: float
    shared_issue: float = 1.0
    instruction_factor: float = 1.0
    word_bits: int = 64
    counters: tuple[str, ...] = ALL_COUNTERS
    multiplexes: bool = False


@dataclass(frozen=True)
class Hardware:
    """A machine. Sizes are in bytes, clocks in MHz, bandwidths in bytes per nanosecond (= GB/s), times in ns.

    `l2_cores` cores share `l2_bytes`, and the cores of a NUMA node share `l3_bytes` (0 = none). `module_cores` cores
    share their instruction issue. If all hardware threads are active, the kernel takes `kernel_share` of one of them.
    """

    name: str
    cpu_model: str
    device_class: str
    core: Core
    sockets: int
    nodes: int
    node_cores: int
    base_mhz: int
    max_mhz: int
    all_cores_mhz: int
    l2_bytes: int
    l3_bytes: int
    memory_bytes: int
    node_bandwidth: float
    memory_ns: float
    smt: int = 1
    l2_cores: int = 1
    module_cores: int = 1
    remote_ns: float = 0.0
    link_bandwidth: float = 1.0
    remote_handover_ns: float = 0.0
    wake_ns: float = 1500.0
    spawn_ns: float = 120.0
    kernel_share: float = 0.02
    noise: float = 0.006

    @property
    def physical_cores(self) -> int:
        return self.nodes * self.node_cores

    @property
    def threads(self) -> int:
        return self.physical_cores * self.smt

    @property
    def n_nu(self) -> int | None:
        return self.node_cores if self.nodes > 1 else None

    @property
    def n_ht(self) -> int | None:
        return self.physical_cores if self.smt > 1 else None

    def record(self) -> PlatformRecord:
        """Return the machine as a results tarball describes it."""
        return PlatformRecord(
            name=self.name + SUFFIX,
            cpu_model=self.cpu_model,
            vendor=self.core.vendor,
            architecture=self.core.architecture,
            microarchitecture=self.core.microarchitecture,
            word_bits=self.core.word_bits,
            device_class=self.device_class,
            sockets=self.sockets,
            numa_nodes=self.nodes,
            physical_cores=self.physical_cores,
            threads=self.threads,
            n_nu=self.n_nu,
            n_ht=self.n_ht,
            n_max=self.threads,
            placement=tuple(range(self.threads)),
            base_mhz=float(self.base_mhz),
            max_mhz=float(self.max_mhz),
            l1d_bytes=self.core.l1d_bytes,
            l2_bytes=self.l2_bytes,
            l3_bytes=self.l3_bytes or None,
            memory_bytes=self.memory_bytes,
            virtualised=False,
        )

    def thread_counts(self) -> list[int]:
        """Return the thread counts that the benchmark kit measures.

        These are 1 to 8, then a geometric series, all thread counts around the breakpoints, and n_max.

        >>> from benchmarks.simulator.catalogue import find_hardware
        >>> find_hardware("Xeon E5620").thread_counts()
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16]
        """
        counts = {*range(1, 9), self.threads}
        power = 8
        while power < self.threads:
            counts |= {power, power * 3 // 2}
            power *= 2
        for breakpoint in (self.n_nu, self.n_ht):
            if breakpoint is not None:
                counts |= set(range(breakpoint - 1, breakpoint + 3))
        return sorted(n for n in counts if 1 <= n <= self.threads)
