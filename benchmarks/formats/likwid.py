"""The reader of the CSV that likwid-perfctr and likwid-mpirun write (`-O`, or `-o FILE.csv`).

The file may come from the wrapper mode or from the Marker API. The n of an execution is the number of hardware threads
in its tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from benchmarks.formats.collecting import LONGEST_FIELD, Collected, ForeignFile, as_number
from profiles.measurements import PlatformRecord, WorkloadRecord

RUNTIMES = ("RDTSC Runtime [s]", "Runtime (RDTSC) [s]")  # the first one is the runtime of a region
# Column titles are `HWThread 3` (in older versions `Core 3`), and `HOST:RANK:3` in files of likwid-mpirun.
HARDWARE_THREAD = re.compile(r"(hwthread|thread|core) \d+|[\w.-]+:\d+:\d+", re.IGNORECASE)


def read_likwid(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    """Read the time of each region, which is the largest of all hardware threads. Each group of counters is a repeat,
    and so is each of several executions at the same n in one file."""
    region, group, threads = "", "", 0
    found: dict[tuple[str, str, int], tuple[int, float, int]] = {}
    rank: dict[tuple[str, str, int], int] = {}
    executions: Counter[tuple[str, str]] = Counter()
    for line, row in collected.csv_rows(file):
        cells = [cell for cell in row[1:] if cell]
        if row[0] == "TABLE":
            table = next((cell for cell in row if cell.startswith("Group ")), "")
            region = next((cell.removeprefix("Region ") for cell in row[1:] if cell.startswith("Region ")), "")
            group = " ".join(table.split()[:2])
            executions[region, group] += table.endswith("Raw")  # the first table of each execution
            threads = 0 if table.endswith("STAT") else -1
        elif row[0] == "CPU name:" and cells:
            collected.describe(PlatformRecord(cells[0], cells[0]))
        elif row[0] in ("Event", "Metric", "Region Info") and threads:
            threads = sum(HARDWARE_THREAD.fullmatch(cell[:LONGEST_FIELD]) is not None for cell in cells)
        elif row[0] in RUNTIMES and threads > 0:
            key = (region, group, executions[region, group])
            times = [time for cell in cells if (time := as_number(cell)) is not None][-threads:]
            if len(times) < threads:
                collected.refuse(file, line, f"has {len(times)} times for {threads} hardware threads")
            if RUNTIMES.index(row[0]) < rank.get(key, len(RUNTIMES)):
                rank[key], found[key] = RUNTIMES.index(row[0]), (threads, max(times), line)
    if not found:
        collected.refuse(file, None, "is not likwid-perfctr CSV: no table has a runtime (RDTSC)")
    for (name, *_), (n, time_s, line) in found.items():
        program = file.name.rpartition(".")[0] or file.name
        collected.add(WorkloadRecord(name or program), n, time_s, file=file, line=line)
