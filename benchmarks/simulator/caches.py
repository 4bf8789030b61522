"""Cost of one instruction, given the threads that share the caches at the moment."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.simulator.hardware import Hardware
from benchmarks.simulator.programs import Access, Kernel

SIMULATED_LINE_BYTES = 64
IN_ORDER = 0.4  # share of a program's parallelism that a core without reordering uses
USABLE_WIDTH = 0.8  # share of the issue width


@dataclass(frozen=True)
class Sharers:
    """Numbers of active hardware threads, including this one, that share its issue slots, L2 cache and L3 cache."""

    issue: int = 1
    l2: int = 1
    l3: int = 1


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs per instruction of the program: issue cycles, cache cycles, misses that wait for memory, and traffic.

    `counts` are the machine's events in the order of ALL_COUNTERS.
    """

    issue_cycles: float
    cache_cycles: float
    waited_misses: float
    traffic_bytes: float
    counts: tuple[float, ...]


def hit_share(cache_bytes: float, footprint_bytes: float) -> float:
    """Return the share of accesses that hit: 1 for a footprint much smaller than the cache, 1/2 for an equal one.

        1 / (1 + (footprint / cache)^3)

    >>> hit_share(32768, 32768), hit_share(0, 1)
    (0.5, 0.0)
    """
    if cache_bytes <= 0:
        return 0.0
    ratio = footprint_bytes / cache_bytes
    return 1.0 / (1.0 + ratio * ratio * ratio)


def instruction_costs(hardware: Hardware, kernel: Kernel, sharers: Sharers, n: int) -> Costs:
    """Return the costs of an instruction of `kernel` in a program with `n` threads, where `sharers` are active nearby.

    For each access, l1, l2 and l3 are the lines that miss each level (`hit_share`). P is the number of misses that the
    program leaves in flight (1 + 0.4 (P - 1) on a core without reordering), and F is the number that the core can keep
    in flight:

        cache cycles = ((l1 - l2) c2 + (l2 - l3) c3) / max(1, P)        waited misses = l3 / max(1, min(P, F))
        issue cycles = executed / min(0.8 width, independent) + mispredictions x penalty

    Returns: Costs, with cycles, misses, and bytes of memory traffic, in which written lines count twice.

    >>> from benchmarks.simulator.catalogue import find_hardware
    >>> kernel = Kernel(loads=0.0, stores=0.0, mispredicted=0.0)
    >>> costs = instruction_costs(find_hardware("i7-4771"), kernel, Sharers(), 1)
    >>> round(costs.issue_cycles, 3), costs.cache_cycles, costs.traffic_bytes
    (0.333, 0.0, 0.0)
    """
    core = hardware.core
    accesses = kernel.loads + kernel.stores
    fills = core.line_fills / (sharers.issue if hardware.smt > 1 else 1)
    past_l1 = past_l2 = past_l3 = cache_cycles = waited = 0.0
    for access in kernel.accesses:
        lines = accesses * access.share * min(1.0, access.stride_bytes / SIMULATED_LINE_BYTES)
        l1, l2, l3 = (lines * (1.0 - hit) for hit in _hit_shares(hardware, access, sharers, n))
        l2, l3 = min(l1, l2), min(l1, l2, l3)
        overlap = access.parallel if core.reorders else 1.0 + (access.parallel - 1.0) * IN_ORDER
        cache_cycles += ((l1 - l2) * core.l2_cycles + (l2 - l3) * core.l3_cycles) / max(1.0, overlap)
        waited += l3 / max(1.0, min(overlap, fills))
        past_l1, past_l2, past_l3 = past_l1 + l1, past_l2 + l2, past_l3 + l3
    written = kernel.stores / accesses if accesses else 0.0
    executed = core.instruction_factor * (1.0 - kernel.vector + kernel.vector * 128 / core.vector_bits)
    width = core.issue_width * USABLE_WIDTH
    independent = kernel.parallel if core.reorders else 1.0 + (kernel.parallel - 1.0) * IN_ORDER
    mispredictions = kernel.branches * kernel.mispredicted * core.predictor
    llc = (past_l2, past_l3) if hardware.l3_bytes else (past_l1, past_l2)
    return Costs(
        issue_cycles=executed / min(width, independent) + mispredictions * core.mispredict_cycles,
        cache_cycles=cache_cycles,
        waited_misses=waited,
        traffic_bytes=past_l3 * SIMULATED_LINE_BYTES * (1.0 + written),
        counts=(
            *(executed, kernel.branches, mispredictions, kernel.loads, kernel.stores),
            *(count for missed in (past_l1, *llc) for count in (missed * (1.0 - written), missed * written)),
        ),
    )


def _hit_shares(hardware: Hardware, access: Access, sharers: Sharers, n: int) -> tuple[float, float, float]:
    """Return the hit shares of the three levels.

    Threads that share the data use the whole cache together. Other threads get their part of it each.
    """
    footprint = access.footprint_bytes / (n if access.scope == "divided" else 1)
    on_core = sharers.issue if hardware.smt > 1 else 1
    parts = (1, 1, 1) if access.scope == "shared" else (on_core, sharers.l2, sharers.l3)
    sizes = (hardware.core.l1d_bytes, hardware.l2_bytes, hardware.l3_bytes)
    l1, l2, l3 = (hit_share(size / part, footprint) for size, part in zip(sizes, parts, strict=True))
    return l1, l2, l3
