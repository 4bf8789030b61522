"""Loops, locks and task graphs as processes of a discrete-event simulation, which give threads their work.

A process is a generator. It yields the time for which its thread is busy from now on, after adding that time to the
thread's parts. `SUSPENDED` stops the process until another thread wakes it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

import numpy as np

from benchmarks.simulator.machine import (
    CREATION,
    DISTRIBUTION,
    IMBALANCE,
    LOCAL_NS,
    LOCK,
    SWITCHING,
    USE,
    Machine,
    Server,
    Thread,
)
from benchmarks.simulator.programs import DynamicLoop, Phase, Serial, Sizes, StaticLoop, Tasks
from profiles.arrays import FloatArray

Steps = Iterator[int]
SUSPENDED = -1
CREATION_STEPS = 12  # steps in which the first thread creates all tasks of a graph
TASK_END_SHARE = 0.25  # cost of leaving a task, relative to creating one
STEAL_TRANSFERS = 3  # cache lines that move from the victim to the thief


class Region:
    """A parallel region: the queue of runnable threads by time, and the shared resources."""

    def __init__(self, machine: Machine, phase: Phase) -> None:
        self.machine = machine
        self.phase = phase
        self.instructions = phase.instructions / phase.rounds
        self.queue: list[tuple[int, int]] = []
        self.processes = self._processes(phase.structure)

    def _processes(self, structure: StaticLoop | DynamicLoop | Tasks | Serial) -> list[Steps]:
        threads = self.machine.threads
        if isinstance(structure, StaticLoop):
            locks = [Server() for _ in range(structure.critical.locks if structure.critical else 0)]
            return [_run_static_loop(self, thread, structure, locks) for thread in threads]
        if isinstance(structure, DynamicLoop):
            distributor, chunks = Server(), iter(range(structure.chunks))
            return [_run_dynamic_loop(self, thread, structure, distributor, chunks) for thread in threads]
        if isinstance(structure, Tasks):
            pool = _TaskPool(self, structure)
            return [pool.worker(thread) for thread in threads]
        return [_run_serial(self, thread) for thread in threads]

    def run(self, begin: int) -> None:
        """Run from `begin` until every thread is done. `arrived_at` of each thread is then the time of its end."""
        machine, queue, processes = self.machine, self.queue, self.processes
        for thread in machine.threads:
            delay = machine.wake_delay_ns(thread) * self.phase.batch
            thread.parts[DISTRIBUTION] += delay
            queue.append((begin + delay, thread.index))
        heapq.heapify(queue)
        while queue:
            machine.now, index = queue[0]
            delay = next(processes[index], SUSPENDED)
            if delay == SUSPENDED:
                # A suspended thread is woken later and arrives again.
                machine.threads[index].arrived_at = machine.now
                heapq.heappop(queue)
            else:
                heapq.heapreplace(queue, (machine.now + delay, index))

    def wake(self, thread: Thread) -> None:
        delay = int(self.machine.hardware.wake_ns / 4)
        thread.woken_at = self.machine.now
        heapq.heappush(self.queue, (self.machine.now + delay, thread.index))


def _run_serial(region: Region, thread: Thread) -> Steps:
    if thread.index:
        return
    region.machine.enter(thread)
    taken = region.machine.execute(thread, region.instructions, 0.0)
    thread.parts[USE] += taken
    yield taken
    region.machine.leave(thread)


def _run_static_loop(region: Region, thread: Thread, loop: StaticLoop, locks: list[Server]) -> Steps:
    machine, parts, critical = region.machine, thread.parts, loop.critical
    sums = cumulated_sizes(loop.iterations, loop.sizes)
    first, last = (loop.iterations * index // machine.n for index in (thread.index, thread.index + 1))
    share = critical.share if critical else 0.0
    machine.enter(thread)
    low = first
    for piece in range(1, loop.pieces + 1):
        high = first + (last - first) * piece // loop.pieces
        work = (sums[high] - sums[low]) * region.instructions
        place = low / loop.iterations
        low = high
        if work and share < 1.0:
            taken = machine.execute(thread, work * (1.0 - share), place)
            parts[USE] += taken
            yield taken
        if work and critical:
            # Requests arrive in order of time, so that the lock's queue is known on arrival.
            lock = locks[int(machine.rng.integers(critical.locks)) if critical.locks > 1 else 0]
            waited = machine.acquire(thread, lock, critical.batch)
            locked = machine.execute(thread, work * share, place, critical.batch)
            lock.serve(machine.now, locked)
            parts[LOCK] += waited
            parts[USE] += locked
            yield waited + locked
    machine.leave(thread)


def _run_dynamic_loop(
    region: Region, thread: Thread, loop: DynamicLoop, distributor: Server, chunks: Iterator[int]
) -> Steps:
    machine, parts = region.machine, thread.parts
    sums = cumulated_sizes(loop.chunks, loop.sizes)
    machine.enter(thread)
    while True:
        fetched = machine.fetch(thread, distributor, loop.batch)
        parts[DISTRIBUTION] += fetched
        chunk = next(chunks, None)
        if chunk is None:
            yield fetched
            break
        work = (sums[chunk + 1] - sums[chunk]) * region.instructions
        taken = machine.execute(thread, work, chunk / loop.chunks, loop.batch)
        parts[USE] += taken
        yield fetched + taken
    machine.leave(thread)


@lru_cache(maxsize=64)
def cumulated_sizes(count: int, sizes: Sizes) -> list[float]:
    """Return the share of the work before each iteration, and 1.0 at the end: count + 1 numbers.

    >>> cumulated_sizes(4, "equal"), cumulated_sizes(2, "triangular")[1] == 1 / 3
    ([0.0, 0.25, 0.5, 0.75, 1.0], True)
    """
    if sizes in {"escape", "upper_escape"}:
        weights = escape_times(count, upper=sizes == "upper_escape")
    else:
        weights = {
            "equal": np.ones(count),
            "triangular": np.arange(1.0, count + 1),
            "uneven": np.random.default_rng(count).lognormal(0.0, 0.6, count),
        }[sizes]
    total = np.concatenate([[0.0], np.cumsum(weights)])
    shares: list[float] = (total / total[-1]).tolist()
    return shares


def escape_times(rows: int, upper: bool) -> FloatArray:
    """Return the steps for each of `rows` rows of a Mandelbrot image, (rows,).

    A pixel takes up to 200 steps z -> z**2 + c. With `upper`, the rows are those of the upper half alone, in which the
    steps grow towards the last row.

    >>> first, middle, last = escape_times(3, upper=False)
    >>> bool(first == last < middle)
    True
    """
    x = np.linspace(-2.0, 1.0, 120)
    y = np.linspace(-1.0, 0.0 if upper else 1.0, rows)
    c = x[None, :] + 1j * y[:, None]
    z, steps = np.zeros_like(c), np.zeros(c.shape)
    for _ in range(200):
        inside = np.abs(z) < 2.0
        z = np.where(inside, z * z + c, z)
        steps += inside
    totals: FloatArray = steps.sum(axis=1)
    return totals


class _TaskPool:
    """The tasks of a graph that can start, in one queue or in a deque per thread, and the threads without a task."""

    def __init__(self, region: Region, structure: Tasks) -> None:
        self.region = region
        self.structure = structure
        self.graph = structure.graph
        self.spawn_ns = region.machine.hardware.spawn_ns * structure.batch
        self.is_central = structure.queue == "central"
        self.distributor = Server()
        self.deques: list[deque[int]] = [deque() for _ in range(1 if self.is_central else region.machine.n)]
        self.waits = [count + structure.created_first for count in self.graph.waits]
        self.left = len(self.graph)
        self.ready = 0
        self.idle: deque[Thread] = deque()
        if not structure.created_first:
            self._push(region.machine.threads[0], [task for task, count in enumerate(self.waits) if not count])

    def worker(self, thread: Thread) -> Steps:
        machine, graph, parts, batch = self.region.machine, self.graph, thread.parts, self.structure.batch
        machine.enter(thread)
        if self.structure.created_first and thread.index == 0:
            yield from self._create_all(thread)
        owed = 0  # time to finish the last task, which is yielded together with the next task
        while self.left:
            if self.ready:
                task, delay = self._take(thread)
                used = machine.execute(thread, graph.work[task] * self.region.instructions, graph.place[task], batch)
                parts[DISTRIBUTION] += delay
                parts[USE] += used
                yield owed + delay + used
                owed = self._finish(thread, task)
            elif owed:
                yield owed
                owed = 0
            else:
                # Wait to be woken. The time is imbalance until a task is ready, and switching from then on.
                machine.leave(thread)
                self.idle.append(thread)
                since = machine.now
                yield SUSPENDED
                parts[IMBALANCE] += thread.woken_at - since
                parts[SWITCHING if self.left else IMBALANCE] += machine.now - thread.woken_at
                machine.enter(thread)
        if owed:
            yield owed
        machine.leave(thread)

    def _create_all(self, thread: Thread) -> Steps:
        """Create all tasks in the first thread. Tasks without predecessors can start before it has finished."""
        tasks = len(self.graph)
        for step in range(CREATION_STEPS):
            created = range(tasks * step // CREATION_STEPS, tasks * (step + 1) // CREATION_STEPS)
            spent = int(len(created) * self.structure.batch * self.region.machine.hardware.spawn_ns)
            thread.parts[CREATION] += spent
            yield spent
            self._release(thread, created)

    def _take(self, thread: Thread) -> tuple[int, int]:
        """Return a ready task and the nanoseconds that it took to get it."""
        machine, batch = self.region.machine, self.structure.batch
        self.ready -= 1
        if self.is_central:
            return self.deques[0].popleft(), machine.fetch(thread, self.distributor, batch)
        deque = self.deques[thread.index]
        if deque:
            return deque.pop(), int(LOCAL_NS * batch)
        others = chain(range(thread.index + 1, machine.n), range(thread.index))
        victim = next(filter(self.deques.__getitem__, others))
        transfer_ns = machine.handover_ns(thread, machine.threads[victim])
        return self.deques[victim].popleft(), int(LOCAL_NS + STEAL_TRANSFERS * transfer_ns)

    def _finish(self, thread: Thread, task: int) -> int:
        """Release the successors of the task. Return the nanoseconds for creating tasks and for leaving this one."""
        self.left -= 1
        self._release(thread, self.graph.successors[task])
        if not self.left:
            while self.idle:
                self.region.wake(self.idle.popleft())
        creation = int(self.spawn_ns * self.graph.spawns[task])
        switching = int(self.spawn_ns * TASK_END_SHARE)
        thread.parts[CREATION] += creation
        thread.parts[SWITCHING] += switching
        return creation + switching

    def _release(self, thread: Thread, tasks: Iterable[int]) -> None:
        """Reduce the number of predecessors that each task waits for by one. Push the tasks that wait for none."""
        waits, free = self.waits, []
        for task in tasks:
            waits[task] -= 1
            if not waits[task]:
                free.append(task)
        if free:
            self._push(thread, free)

    def _push(self, thread: Thread, tasks: list[int]) -> None:
        """Make tasks ready and wake a thread for each but one, which the pushing thread takes itself."""
        self.deques[0 if self.is_central else thread.index].extend(tasks)
        self.ready += len(tasks)
        for _ in range(min(len(tasks) - 1, len(self.idle))):
            self.region.wake(self.idle.popleft())
