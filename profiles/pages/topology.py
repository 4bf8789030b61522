"""How the cores of a machine are laid out, as boxes to draw. Pure: no Django, no colours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

SLOT, CORE_GAP, NODE_GAP, LABEL = 9, 4, 10, 14  # px: a hardware thread, between cores, between nodes, a line of text
MOST_CORES, MOST_NODES, MOST_THREADS = 1024, 1024, 8192  # that a picture shows


@dataclass(frozen=True)
class TopologyCounts:
    """Counts as reported; None = unknown. Threads take one NUMA node, then the others, then SMT threads."""

    sockets: int | None
    numa_nodes: int | None
    physical_cores: int | None
    threads: int | None
    n_nu: int | None = None
    n_ht: int | None = None


@dataclass(frozen=True)
class Box:
    """`kind`: node, core, or when a hardware thread is used: first, numa (n > n_nu), smt (n > n_ht)."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    text: str = ""


@dataclass(frozen=True)
class SocketDrawing:
    number: int
    width: float
    height: float
    boxes: list[Box]


def even_shares(total: int, parts: int) -> list[int]:
    """Whole shares, as even as can be, the larger ones first.

    >>> even_shares(7, 3)
    [3, 2, 2]
    """
    return [total // parts + (part < total % parts) for part in range(parts)]


def describe_counts(topology: TopologyCounts) -> str:
    """What the drawing shows, in words.

    >>> describe_counts(TopologyCounts(2, None, 8, 16))
    '2 sockets, an unknown number of NUMA nodes, 8 cores, 16 hardware threads.'
    """
    sockets, nodes, threads = topology.sockets or 1, topology.numa_nodes, topology.threads
    return ", ".join(
        [
            "1 socket" if sockets == 1 else f"{sockets} sockets",
            "1 NUMA node" if nodes == 1 else f"{nodes or 'an unknown number of'} NUMA nodes",
            f"{topology.physical_cores} cores",
            f"{threads or 'unknown'} hardware threads.",
        ]
    )


def describe_machine(topology: TopologyCounts, *further: str | int | None) -> str:
    """What a machine is, in one sentence: what is known of its counts, then what else is.

    >>> describe_machine(TopologyCounts(2, 2, 40, 80), "Skylake", 2017), describe_machine(TopologyCounts(1, 1, 1, 2))
    ('2 sockets, 40 cores, 80 threads, Skylake, 2017', '1 socket, 1 core, 2 threads')
    """
    counts = {"socket": topology.sockets, "core": topology.physical_cores, "thread": topology.threads}
    known = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items() if count]
    return ", ".join([*known, *(str(part) for part in further if part)])


def draw_sockets(topology: TopologyCounts) -> list[SocketDrawing]:
    """A drawing a socket; none where the number of cores is unknown (or beyond what a picture shows).

    Sockets, NUMA nodes and threads a core that nobody reported are drawn as one.

    >>> [len(socket.boxes) for socket in draw_sockets(TopologyCounts(2, 2, 4, 8))]
    [7, 7]
    """
    cores = topology.physical_cores
    if not cores or cores < 1 or not is_drawn(topology):
        return []
    sockets = min(max(topology.sockets or 1, 1), cores)
    core_shares = even_shares(cores, sockets)
    node_shares = even_shares(max(topology.numa_nodes or 1, sockets), sockets)
    return [
        draw_socket(topology, number, sum(core_shares[:number]), sum(node_shares[:number]), per_node)
        for number, per_node in enumerate(map(even_shares, core_shares, node_shares))
    ]


def is_drawn(topology: TopologyCounts) -> bool:
    """Whether a picture shows as many boxes.

    >>> is_drawn(TopologyCounts(2, 2, 4, 8)), is_drawn(TopologyCounts(2, 2, 4, 3_000_000))
    (True, False)
    """
    pairs = ((topology.physical_cores, MOST_CORES), (topology.numa_nodes, MOST_NODES), (topology.threads, MOST_THREADS))
    return all((count or 0) <= most for count, most in pairs)


def draw_socket(
    topology: TopologyCounts, number: int, first_core: int, first_node: int, nodes: list[int]
) -> SocketDrawing:
    """Its NUMA nodes, two abreast, with the cores of each as a grid."""
    slots = hardware_threads(topology)
    columns = max(1, math.ceil(math.sqrt(max(nodes) * slots)))
    width = max(columns * (SLOT + 4 + CORE_GAP) + CORE_GAP, 52)
    height = math.ceil(max(nodes) / columns) * (core_height(slots) + CORE_GAP) + CORE_GAP + LABEL
    boxes: list[Box] = []
    for place, cores in enumerate(nodes):
        x, y = (place % 2) * (width + NODE_GAP), (place // 2) * (height + NODE_GAP)
        text = f"NUMA {first_node + place}" if topology.numa_nodes else ""
        boxes.append(Box(x, y, width, height, "node", text))
        first = first_core + sum(nodes[:place])
        for core in range(cores):
            left = x + CORE_GAP + (core % columns) * (SLOT + 4 + CORE_GAP)
            top = y + LABEL + CORE_GAP / 2 + (core // columns) * (core_height(slots) + CORE_GAP)
            boxes += core_boxes(topology, first + core, left, top)
    right, bottom = (
        max(edge) for edge in zip(*((box.x + box.width, box.y + box.height) for box in boxes), strict=True)
    )
    return SocketDrawing(number, right, bottom, boxes)


def core_boxes(topology: TopologyCounts, core: int, x: float, y: float) -> list[Box]:
    slots = hardware_threads(topology)
    frame = Box(x, y, SLOT + 4, core_height(slots), "core")
    threads = [
        Box(x + 2, y + 2 + slot * (SLOT + 2), SLOT, SLOT, first_use(core, slot, topology)) for slot in range(slots)
    ]
    return [frame, *threads]


def hardware_threads(topology: TopologyCounts) -> int:
    """Of one core."""
    cores = topology.physical_cores or 1
    return max(1, (topology.threads or cores) // cores)


def core_height(slots: int) -> int:
    return slots * (SLOT + 2) + 2


def first_use(core: int, slot: int, topology: TopologyCounts) -> str:
    """When the hardware thread is used, as more threads are."""
    if slot:
        return "smt"
    return "numa" if topology.n_nu is not None and core >= topology.n_nu else "first"


@dataclass(frozen=True)
class MemoryLevel:
    name: str
    size_bytes: int
    width: float  # % of the largest, on a logarithmic scale


def memory_levels(sizes: Mapping[str, int | None]) -> list[MemoryLevel]:
    """Caches and memory that are known, with bars whose length grows by as much for each doubling.

    >>> [(level.name, level.width) for level in memory_levels({"L1": 4096, "L2": None, "memory": 4096**2})]
    [('L1', 50.0), ('memory', 100.0)]
    """
    reported = {name: size for name, size in sizes.items() if size and size > 0}
    if not reported:
        return []
    whole = math.log2(max(2, *reported.values()))
    return [MemoryLevel(name, size, round(100 * math.log2(size) / whole, 1)) for name, size in reported.items()]
