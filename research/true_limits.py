"""True limits of simulated programs: the simulator runs a program again with data accesses that take no time.

The answers that are derived from curves can be compared with these limits (docs/accuracy/limits.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.simulator.hardware import Hardware
from benchmarks.simulator.machine import IMBALANCE, USE
from benchmarks.simulator.programs import Program
from benchmarks.simulator.simulation import execute
from profiles.scaling.boundness import WAITING_SHARE

# Bandwidth in bytes per nanosecond.
UNLIMITED = 1e12


@dataclass(frozen=True)
class TrueLimit:
    """Shares of the thread time at one n. They add up to 1."""

    memory: float
    computation: float
    communication: float
    imbalance: float

    @property
    def kind(self) -> str:
        """Return the kind of limit, by the definition of `profiles.scaling.boundness.boundness`.

        >>> TrueLimit(0.3, 0.5, 0.05, 0.15).kind, TrueLimit(0.4, 0.2, 0.05, 0.35).kind
        ('computation', 'imbalance')
        """
        if max(self.communication, self.imbalance) >= WAITING_SHARE:
            return "communication" if self.communication >= self.imbalance else "imbalance"
        return "memory" if self.memory >= self.computation else "computation"


def true_limit(hardware: Hardware, program: Program, n: int, seed: Sequence[int] = (1,)) -> TrueLimit:
    """Return the shares of the thread time of n threads.

    Communication and imbalance are the parts that the simulator charges. Memory is the part of the useful work that
    disappears if the last-level cache and the memory behind it take no time:

        memory / use = 1 - use(data free) / use

    The rest is computation: issuing instructions, mispredicted branches, private caches, the clock, and the sharing of
    a core by SMT threads.
    """
    run, free = (
        execute(machine, program, n, np.random.default_rng([*seed, n]))
        for machine in (hardware, without_data_costs(hardware))
    )
    shares = np.array(run.parts_ns) / (n * run.time_ns)
    use, imbalance = float(shares[USE]), float(shares[IMBALANCE])
    memory = use * max(0.0, 1 - free.parts_ns[USE] / run.parts_ns[USE])
    return TrueLimit(memory, use - memory, 1 - use - imbalance, imbalance)


def without_data_costs(hardware: Hardware) -> Hardware:
    """Return the machine with a last-level cache and a memory that take no time."""
    core = hardware.core
    return replace(
        hardware,
        core=replace(core, l3_cycles=0.0) if hardware.l3_bytes else replace(core, l2_cycles=0.0),
        memory_ns=0.0,
        remote_ns=0.0,
        node_bandwidth=UNLIMITED,
        link_bandwidth=UNLIMITED,
    )
