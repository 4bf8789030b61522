"""Description of a machine in one sentence, and its cores as boxes to draw, without queries or colours.

Counts are as reported, and None means unknown. Threads fill one NUMA node, then the others, then SMT threads.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from profiles.measurements import PlatformRecord
from profiles.models import Platform
from profiles.scaling.wording import counted

MachineCounts: TypeAlias = Platform | PlatformRecord

# Sizes in px: a hardware thread, the gap between cores, the gap between nodes, and a line of text.
SLOT, CORE_GAP, NODE_GAP, LABEL = 9, 4, 10, 14
MOST_CORES, MOST_NODES, MOST_THREADS = 1024, 1024, 8192  # limits of a drawing
MEMORY_LEVELS = {"L1 data": "l1d_bytes", "L2": "l2_bytes", "L3": "l3_bytes", "Memory": "memory_bytes"}
# Year of the first processors of each microarchitecture. SERVER_YEARS has the servers that were released later.
YEARS = {
    "k10": 2007,
    "nehalem": 2008,
    "westmere": 2010,
    "sandybridge": 2011,
    "bulldozer": 2011,
    "ivybridge": 2012,
    "piledriver": 2012,
    "haswell": 2013,
    "broadwell": 2014,
    "skylake": 2015,
    "kabylake": 2016,
    "coffeelake": 2017,
    "zen": 2017,
    "zen+": 2018,
    "cascadelake": 2019,
    "icelake": 2019,
    "zen2": 2019,
    "zen3": 2020,
    "alderlake": 2021,
    "zen4": 2022,
    "sapphirerapids": 2023,
    "emeraldrapids": 2023,
    "graniterapids": 2024,
    "sierraforest": 2024,
    "zen5": 2024,
}
SERVER_YEARS = {
    "nehalem": 2009,
    "sandybridge": 2012,
    "ivybridge": 2013,
    "haswell": 2014,
    "broadwell": 2016,
    "skylake": 2017,
    "icelake": 2021,
    "zen3": 2021,
}


@dataclass(frozen=True)
class Box:
    """A box of a drawing.

    `kind` is node or core, or for a hardware thread when it is used: first, numa (n > n_nu), smt (n > n_ht).
    """

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
    """Return whole shares that are as even as possible, larger ones first.

    >>> even_shares(7, 3)
    [3, 2, 2]
    """
    return [total // parts + (part < total % parts) for part in range(parts)]


def describe_counts(machine: MachineCounts) -> str:
    """Return the counts of the machine in words, as a description of the drawing.

    >>> describe_counts(PlatformRecord("m", "cpu", sockets=2, physical_cores=8, threads=16))
    '2 sockets, an unknown number of NUMA nodes, 8 cores, 16 hardware threads.'
    >>> describe_counts(PlatformRecord("m", "cpu", numa_nodes=1, physical_cores=1, threads=1))
    '1 socket, 1 NUMA node, 1 core, 1 hardware thread.'
    """
    counts = {
        "socket": machine.sockets or 1,
        "NUMA node": machine.numa_nodes,
        "core": machine.physical_cores,
        "hardware thread": machine.threads,
    }
    spelled = [counted(count, noun) if count else f"an unknown number of {noun}s" for noun, count in counts.items()]
    return f"{', '.join(spelled)}."


def describe_machine(machine: MachineCounts) -> str:
    """Return a sentence about the machine: its known counts, its microarchitecture, and the year of the latter.

    >>> describe_machine(PlatformRecord("m", "cpu", sockets=2, physical_cores=40, microarchitecture="Skylake"))
    '2 sockets, 40 cores, Skylake, 2015'
    >>> describe_machine(PlatformRecord("m", "cpu", sockets=1, physical_cores=1, threads=2))
    '1 socket, 1 core, 2 threads'
    """
    counts = {"socket": machine.sockets, "core": machine.physical_cores, "thread": machine.threads}
    known = [counted(count, noun) for noun, count in counts.items() if count]
    details = (machine.microarchitecture, year_of(machine.microarchitecture, machine.device_class))
    return ", ".join([*known, *(str(part) for part in details if part)])


def year_of(microarchitecture: str | None, device_class: str | None) -> int | None:
    """Return the year in which processors of a microarchitecture were released, or None if it is unknown.

    >>> year_of("Ice Lake-SP", "server"), year_of("Zen 4", None), year_of("Cortex-A53", "embedded")
    (2021, 2022, None)
    """
    key = re.sub(r"[ _-]|\b(sp|ep|x|c)$", "", (microarchitecture or "").lower().replace("-", " "))
    server = SERVER_YEARS.get(key) if device_class == "server" else None
    return server or YEARS.get(key)


def draw_sockets(machine: MachineCounts) -> list[SocketDrawing]:
    """Return one drawing per socket, or none if the number of cores is unknown or there are too many boxes.

    Unreported numbers of sockets, NUMA nodes and threads per core are drawn as one.

    >>> machine = PlatformRecord("m", "cpu", sockets=2, numa_nodes=2, physical_cores=4, threads=8)
    >>> [len(socket.boxes) for socket in draw_sockets(machine)]
    [7, 7]
    >>> draw_sockets(PlatformRecord("m", "cpu", sockets=2, physical_cores=4, threads=3_000_000))
    []
    """
    cores = machine.physical_cores
    counts = ((cores, MOST_CORES), (machine.numa_nodes, MOST_NODES), (machine.threads, MOST_THREADS))
    if not cores or any((count or 0) > most for count, most in counts):
        return []
    sockets = min(max(machine.sockets or 1, 1), cores)
    core_shares = even_shares(cores, sockets)
    node_shares = even_shares(max(machine.numa_nodes or 1, sockets), sockets)
    return [
        draw_socket(machine, number, sum(core_shares[:number]), sum(node_shares[:number]), per_node)
        for number, per_node in enumerate(map(even_shares, core_shares, node_shares))
    ]


def draw_socket(
    machine: MachineCounts, number: int, first_core: int, first_node: int, nodes: list[int]
) -> SocketDrawing:
    """Return the NUMA nodes of a socket, two in a row, each with its cores as a grid."""
    slots = hardware_threads(machine)
    columns = max(1, math.ceil(math.sqrt(max(nodes) * slots)))
    width = max(columns * (SLOT + 4 + CORE_GAP) + CORE_GAP, 52)
    height = math.ceil(max(nodes) / columns) * (core_height(slots) + CORE_GAP) + CORE_GAP + LABEL
    boxes: list[Box] = []
    for place, cores in enumerate(nodes):
        x, y = (place % 2) * (width + NODE_GAP), (place // 2) * (height + NODE_GAP)
        text = f"NUMA {first_node + place}" if machine.numa_nodes else ""
        boxes.append(Box(x, y, width, height, "node", text))
        first = first_core + sum(nodes[:place])
        for core in range(cores):
            left = x + CORE_GAP + (core % columns) * (SLOT + 4 + CORE_GAP)
            top = y + LABEL + CORE_GAP / 2 + (core // columns) * (core_height(slots) + CORE_GAP)
            boxes += core_boxes(machine, first + core, left, top)
    right, bottom = (
        max(edge) for edge in zip(*((box.x + box.width, box.y + box.height) for box in boxes), strict=True)
    )
    return SocketDrawing(number, right, bottom, boxes)


def core_boxes(machine: MachineCounts, core: int, x: float, y: float) -> list[Box]:
    slots = hardware_threads(machine)
    frame = Box(x, y, SLOT + 4, core_height(slots), "core")
    threads = [
        Box(x + 2, y + 2 + slot * (SLOT + 2), SLOT, SLOT, first_use(core, slot, machine)) for slot in range(slots)
    ]
    return [frame, *threads]


def hardware_threads(machine: MachineCounts) -> int:
    """Return the number of hardware threads per core."""
    cores = machine.physical_cores or 1
    return max(1, (machine.threads or cores) // cores)


def core_height(slots: int) -> int:
    return slots * (SLOT + 2) + 2


def first_use(core: int, slot: int, machine: MachineCounts) -> str:
    """Return when the hardware thread is used as the number of threads grows: "first", "numa" or "smt"."""
    if slot:
        return "smt"
    return "numa" if machine.n_nu is not None and core >= machine.n_nu else "first"


@dataclass(frozen=True)
class MemoryLevel:
    name: str
    size_bytes: int
    width: float  # percent of the largest level, on a logarithmic scale


def memory_levels(machine: MachineCounts) -> list[MemoryLevel]:
    """Return the known caches and memory, with bar widths that grow by the same amount for each doubling.

    >>> levels = memory_levels(PlatformRecord("m", "cpu", l1d_bytes=4096, memory_bytes=4096**2))
    >>> [(level.name, level.width) for level in levels]
    [('L1 data', 50.0), ('Memory', 100.0)]
    >>> memory_levels(PlatformRecord("m", "cpu"))
    []
    """
    sizes = {name: getattr(machine, column) for name, column in MEMORY_LEVELS.items()}
    reported = {name: size for name, size in sizes.items() if size and size > 0}
    whole = math.log2(max([2, *reported.values()]))
    return [MemoryLevel(name, size, round(100 * math.log2(size) / whole, 1)) for name, size in reported.items()]
