"""Task graphs: tasks, their sizes, and their dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """A graph of T tasks, in which task i starts when `waits[i]` predecessors have ended.

    `work` (T) sums to 1. `successors[i]` are the tasks that wait for task i. `spawned[i]` is true if the predecessor
    creates the task (a fork), which has a cost; other tasks exist from the start (a join, a grid cell). `place[i]` is
    the position of the task's data, from 0 to 1.
    """

    work: tuple[float, ...]
    successors: tuple[tuple[int, ...], ...]
    waits: tuple[int, ...]
    spawned: tuple[bool, ...]
    place: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.work)

    @cached_property
    def spawns(self) -> list[int]:
        """Return the number of tasks that each task creates."""
        return [sum(self.spawned[after] for after in successors) for successors in self.successors]


class _GraphBuilder:
    def __init__(self) -> None:
        self.work: list[float] = []
        self.place: list[float] = []
        self.spawned: list[bool] = []
        self.successors: list[list[int]] = []

    def add(self, work: float, place: float, after: Sequence[int] = (), spawned: bool = False) -> int:
        task = len(self.work)
        self.work.append(work)
        self.place.append(min(max(place, 0.0), 0.999))
        self.spawned.append(spawned)
        self.successors.append([])
        for before in after:
            self.successors[before].append(task)
        return task

    def build(self) -> TaskGraph:
        waits = [0] * len(self.work)
        for after in (task for tasks in self.successors for task in tasks):
            waits[after] += 1
        total = sum(self.work)
        return TaskGraph(
            work=tuple(work / total for work in self.work),
            successors=tuple(map(tuple, self.successors)),
            waits=tuple(waits),
            spawned=tuple(self.spawned),
            place=tuple(self.place),
        )


def recursion_graph(depth: int, divide: float, combine: float, skew: float = 0.0, seed: int = 0) -> TaskGraph:
    """Return the graph of a recursion: halve a piece, spawn both halves, join them.

    `depth` halvings give 2**depth leaves. `divide` and `combine` are the work on a piece, as shares of its size. With
    `skew`, the two halves differ by up to that share of the piece's size.

    >>> graph = recursion_graph(1, 0.5, 0.5)  # divide 1/2, two halves of 1/2, combine 1/2
    >>> graph.work, graph.waits
    ((0.25, 0.25, 0.25, 0.25), (0, 1, 1, 2))
    """
    rng = np.random.default_rng(seed)
    builder = _GraphBuilder()

    def split(level: int, start: float, size: float, parent: int | None) -> int:
        before = [] if parent is None else [parent]
        if level == depth:
            return builder.add(size, start, before, spawned=parent is not None)
        task = builder.add(divide * size, start, before, spawned=parent is not None)
        left = size * (0.5 + skew * (rng.random() - 0.5))
        ends = [split(level + 1, start, left, task), split(level + 1, start + left, size - left, task)]
        return builder.add(combine * size, start, ends) if combine else ends[-1]

    split(0, 0.0, 1.0, None)
    return builder.build()


def search_tree_graph(tasks: int, spread: float, seed: int) -> TaskGraph:
    """Return the graph of an irregular search, in which every node spawns a random number of others.

    The sizes are lognormal, where `spread` is the standard deviation of their logarithms.

    >>> len(search_tree_graph(10, 0.9, seed=1)), search_tree_graph(10, 0.0, seed=1).work[0]
    (10, 0.1)
    """
    rng = np.random.default_rng(seed)
    builder = _GraphBuilder()
    sizes = rng.lognormal(0.0, spread, tasks)
    for task in range(tasks):
        parent = [] if task == 0 else [int(rng.integers(max(0, (task - 1) // 4), max(1, (task + 1) // 2)))]
        builder.add(float(sizes[task]), task / tasks, parent, spawned=task > 0)
    return builder.build()


def nested_graph(outer: Sequence[float], inner: int) -> TaskGraph:
    """Return a graph with a spawned task for each size in `outer`, which spawns `inner` tasks and joins them.

    >>> len(nested_graph([1.0, 0.5], inner=3))  # the root, and twice a task, three parts and a join
    11
    """
    builder = _GraphBuilder()
    root = builder.add(0.002, 0.0)
    for index, size in enumerate(outer):
        place = index / len(outer)
        task = builder.add(0.02 * size, place, [root], spawned=True)
        parts = [builder.add(size / inner, place, [task], spawned=True) for _ in range(inner)]
        builder.add(0.01 * size, place, parts)
    return builder.build()


def wavefront_graph(rows: int, columns: int) -> TaskGraph:
    """Return the graph of a grid in which every cell waits for the cell above and the cell to the left.

    >>> wavefront_graph(2, 2).waits
    (0, 1, 1, 2)
    """
    builder = _GraphBuilder()
    for row in range(rows):
        for column in range(columns):
            before = [] if row == 0 else [(row - 1) * columns + column]
            before += [] if column == 0 else [row * columns + column - 1]
            builder.add(1.0, row / rows, before)
    return builder.build()


def pipeline_graph(stages: Sequence[float], streams: int, items: int) -> TaskGraph:
    """Return the graph of streams in which items pass through stages with the given work.

    A stage handles one item at a time, in order.

    >>> pipeline_graph((1.0, 1.0), streams=1, items=2).waits
    (0, 1, 1, 2)
    """
    builder = _GraphBuilder()
    last: dict[tuple[int, int], int] = {}
    for _ in range(items):
        for stream in range(streams):
            for stage, work in enumerate(stages):
                before = [last[key] for key in ((stream, stage - 1), (stream, stage)) if key in last]
                last[stream, stage] = builder.add(work, stream / streams, before)
    return builder.build()


def sparse_lu_graph(blocks: int, density: float, seed: int) -> TaskGraph:
    """Return the graph of the LU factorisation of a matrix of blocks x blocks, in which only some blocks are filled.

    `density` is the share of filled blocks at the start. The factorisation adds further blocks (fill-in).

    >>> len(sparse_lu_graph(3, 1.0, seed=0))  # per step k of 3: a block, 2 (3 - k) at its sides, (3 - k)**2 inside
    14
    """
    filled = np.random.default_rng(seed).random((blocks, blocks)) < density
    np.fill_diagonal(filled, True)
    builder = _GraphBuilder()
    last: dict[tuple[int, int], int] = {}

    def update(row: int, column: int, work: float, *needs: tuple[int, int]) -> None:
        before = {last[block] for block in (*needs, (row, column)) if block in last}
        last[row, column] = builder.add(work, row / blocks, sorted(before))

    for step in range(blocks):
        rest = range(step + 1, blocks)
        update(step, step, 1.0)
        for other in rest:
            if filled[step, other]:
                update(step, other, 1.5, (step, step))
            if filled[other, step]:
                update(other, step, 1.5, (step, step))
        for row in (row for row in rest if filled[row, step]):
            for column in (column for column in rest if filled[step, column]):
                filled[row, column] = True
                update(row, column, 3.0, (row, step), (step, column))
    return builder.build()
