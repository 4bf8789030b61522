"""State of a machine while a program runs: the active threads, and the queues of all shared resources."""

from __future__ import annotations

from collections import defaultdict
from itertools import cycle

import numpy as np

from benchmarks.simulator.caches import Costs, Sharers, instruction_costs
from benchmarks.simulator.hardware import ALL_COUNTERS, Hardware
from benchmarks.simulator.programs import Phase
from profiles.measurements import PARTS

USE, LOCK, IMBALANCE, CREATION, DISTRIBUTION, SWITCHING, JOIN = range(len(PARTS))
# The share of computing that a core cannot do while it waits for memory, with and without reordering.
EXPOSED_SHARE = {True: 0.25, False: 0.7}
PROBE_NS = 35  # time to record an event in a profile run
LOCAL_NS = 8.0  # time of an uncontended atomic operation
HOLD_UP_CHANCE = 0.004  # probability per step that other activity delays a thread
CostsBySharers = dict[tuple[int, int, int], Costs]


class Server:
    """A resource that serves one request after the other, first come, first served."""

    __slots__ = ("free_at", "last_user")

    def __init__(self) -> None:
        self.free_at = 0.0
        self.last_user: Thread | None = None

    def serve(self, now: float, service_ns: float) -> float:
        """Serve a request that arrives now. Return when it is done, in nanoseconds: max(now, free_at) + service.

        >>> memory = Server()
        >>> memory.serve(100, 20.0), memory.serve(110, 20.0)
        (120.0, 140.0)
        """
        done = self.free_at = (now if now > self.free_at else self.free_at) + service_ns
        return done


class Thread:
    """A software thread on its hardware thread. `parts` are the nanoseconds that it spent in each state."""

    __slots__ = (
        "arrived_at",
        "core",
        "group",
        "index",
        "l2",
        "node",
        "pace",
        "parts",
        "socket",
        "woken_at",
    )

    def __init__(self, index: int, hardware: Hardware, pace: float) -> None:
        self.index = index
        self.core = index % hardware.physical_cores
        self.group = self.core // hardware.module_cores
        self.l2 = self.core // hardware.l2_cores
        self.node = self.core // hardware.node_cores
        self.socket = self.node * hardware.sockets // hardware.nodes
        self.pace = pace
        self.parts = [0] * len(PARTS)
        self.woken_at = self.arrived_at = 0


class Machine:
    """A machine that executes one run with `n` threads. Every cost depends on the state at the moment."""

    def __init__(self, hardware: Hardware, n: int, rng: np.random.Generator, probed: bool) -> None:
        self.hardware = hardware
        self.n = n
        self.now = 0
        self.rng = rng
        self.counts = np.zeros(len(ALL_COUNTERS))
        self.cycles = 0.0
        self._probe_ns = PROBE_NS if probed else 0
        pace = rng.lognormal(0.0, hardware.noise / 2, n) * rng.lognormal(0.0, hardware.noise)
        self.threads = [Thread(index, hardware, slow) for index, slow in enumerate(pace.tolist())]
        self._noise = cycle(_noise_factors(rng, hardware.noise))
        self._memory = [Server() for _ in range(hardware.nodes)]
        self._links = [Server() for _ in range(hardware.nodes)]
        self._memory_ns = (hardware.memory_ns, hardware.memory_ns + hardware.remote_ns)
        self._exposed = EXPOSED_SHARE[hardware.core.reorders]
        self._clocks = _clocks_ghz(hardware)
        self._kernel_thread_on = int(rng.integers(hardware.threads))
        self._active = 0
        self._on_group = [0] * (hardware.physical_cores // hardware.module_cores)
        self._on_l2 = [0] * (hardware.physical_cores // hardware.l2_cores)
        self._on_node = [0] * hardware.nodes
        self._on_socket = [0] * hardware.sockets
        self._interleaved = cycle([*range(1, hardware.nodes), 0])

    def begin(self, phase: Phase, costs: CostsBySharers) -> None:
        """Begin to execute `phase`. `costs` caches its instruction costs, which depend on n but not on the run."""
        self._kernel = phase.kernel
        self._costs = costs
        self._executed: dict[Costs, float] = defaultdict(float)
        # The nodes that hold the data, in the order of the data. The list is empty if pages are interleaved.
        self._homes = {
            "first_touch": [thread.node for thread in self.threads],
            "first_node": [0] * self.n,
            "interleaved": [],
        }[phase.pages]

    def end(self) -> None:
        """Count the events of the phase."""
        for cost, instructions in self._executed.items():
            self.counts += instructions * np.array(cost.counts)

    def enter(self, thread: Thread) -> None:
        self._move(thread, 1)

    def leave(self, thread: Thread) -> None:
        self._move(thread, -1)

    def _move(self, thread: Thread, by: int) -> None:
        self._active += by
        self._on_group[thread.group] += by
        self._on_l2[thread.l2] += by
        self._on_node[thread.node] += by
        self._on_socket[thread.socket] += by

    def execute(self, thread: Thread, instructions: float, place: float, events: int = 1) -> int:
        """Return the nanoseconds that the thread takes now for the instructions, on data at `place` (0 to 1)."""
        hardware, now = self.hardware, self.now
        on_group = self._on_group[thread.group]
        sharers = (on_group, self._on_l2[thread.l2], self._on_node[thread.node])
        cost = self._costs.get(sharers) or self._cost(sharers)
        self._executed[cost] += instructions
        clock_ghz = self._clocks[self._on_socket[thread.socket]]
        issue_ns = instructions * cost.issue_cycles / clock_ghz
        if on_group > 1:
            issue_ns *= on_group / hardware.core.shared_issue
        home = self._homes[int(place * self.n)] if self._homes else next(self._interleaved)
        is_remote = home != thread.node
        stall_ns = instructions * (cost.cache_cycles / clock_ghz + cost.waited_misses * self._memory_ns[is_remote])
        taken = (issue_ns + stall_ns) * thread.pace * next(self._noise) + self._probe_ns * events
        self.cycles += taken * clock_ghz
        traffic = instructions * cost.traffic_bytes
        if traffic:
            done = self._memory[home].serve(now, traffic / hardware.node_bandwidth)
            if is_remote:
                done = max(done, self._links[home].serve(now, traffic / hardware.link_bandwidth))
            taken = max(taken, done - now + self._exposed * issue_ns)
        if thread.index == self._kernel_thread_on and self._active == hardware.threads:
            taken /= 1.0 - hardware.kernel_share
        return int(taken) + 1

    def _cost(self, sharers: tuple[int, int, int]) -> Costs:
        cost = self._costs[sharers] = instruction_costs(self.hardware, self._kernel, Sharers(*sharers), self.n)
        return cost

    def handover_ns(self, to: Thread, last_user: Thread | None) -> float:
        """Return the nanoseconds until `to` has the cache line that another thread wrote last."""
        if last_user is None or last_user.core == to.core:
            return LOCAL_NS
        if last_user.node == to.node:
            return self.hardware.core.handover_ns
        return self.hardware.remote_handover_ns

    def fetch(self, thread: Thread, distributor: Server, batch: int) -> int:
        """Return the nanoseconds until the distributor has given the thread its next `batch` pieces of work."""
        service_ns = batch * (LOCAL_NS + self.handover_ns(thread, distributor.last_user))
        distributor.last_user = thread
        return int(distributor.serve(self.now, service_ns)) - self.now

    def acquire(self, thread: Thread, lock: Server, batch: int) -> int:
        """Return the nanoseconds until the thread holds the lock.

        The caller must call `lock.serve` for the time for which the thread holds it.
        """
        contended = lock.free_at > self.now
        transfer_ns = self.handover_ns(thread, lock.last_user) * (2 if contended else 1)
        lock.last_user = thread
        return int(lock.serve(self.now, batch * transfer_ns)) - self.now

    def wake_delay_ns(self, thread: Thread) -> int:
        """Return the nanoseconds from the start of a region to the thread's first instruction.

        Threads are woken in turn.
        """
        return int(thread.index * self.hardware.wake_ns * next(self._noise))

    def barrier_ns(self) -> int:
        """Return the nanoseconds from the last arrival to the exit of a barrier.

        The barrier is a tree of cache-line transfers, with the latency between nodes if more than one node is used.
        """
        far = self.threads[-1].node != self.threads[0].node
        hop_ns = self.hardware.remote_handover_ns if far else self.hardware.core.handover_ns
        return int((LOCAL_NS + 2 * (self.n - 1).bit_length() * hop_ns) * next(self._noise))


def _clocks_ghz(hardware: Hardware) -> list[float]:
    """Return the clock in GHz by the number of active hardware threads on a socket.

    The clock falls from the turbo clock of one core to the clock that all cores can keep.
    """
    cores = hardware.physical_cores // hardware.sockets
    active = np.minimum(np.arange(cores * hardware.smt + 1), cores)
    crowd = np.maximum(active - 1, 0) / max(cores - 1, 1)
    clocks: list[float] = ((hardware.max_mhz - (hardware.max_mhz - hardware.all_cores_mhz) * crowd) / 1000).tolist()
    return clocks


def _noise_factors(rng: np.random.Generator, spread: float) -> list[float]:
    factors = rng.lognormal(0.0, 2 * spread, 509)
    factors[rng.random(len(factors)) < HOLD_UP_CHANCE] *= 1.0 + rng.exponential(20 * spread)
    values: list[float] = factors.tolist()
    return values
