"""The source `sparecores` as `fetch_data --slim` reads it: Geekbench and the stressors that tell most, 60 workloads.
They are stored as 61: the fleet ran cpu-div16 with two versions of stress-ng."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.public_data.interface import MeasuredFolder, RefusedFolder
from benchmarks.public_data.sparecores import RESULTS, SpareCores

GEEKBENCH = "geekbench"
SLIM_TASKS = (GEEKBENCH, "stressng_benchmarks", "stressngfull")
MACHINE_FILES = ("lscpu/stdout", "lshw/stdout", "geekbench/stdout")
FILES = (*MACHINE_FILES, *(f"{task}/{member}" for task in SLIM_TASKS for member in (RESULTS[task], "meta.json")))
# Those that research/bridge.py chose first, of 20 and of 100 pairs, and cpu-div16, which has a curve of many n.
STRESSORS = frozenset(
    [
        "hash",
        "malloc",
        "vdso",
        "mergesort",
        "vfork",
        "fp",
        "branch",
        "cacheline",
        "cpu-sched",
        "clone",
        "fractal",
        "fault",
        "atomic",
        "funccall",
        "bsearch",
        "qsort",
        "fork",
        "vecmath",
        "zlib",
        "tree",
        "munmap",
        "mprotect",
        "pipe",
        "memcpy",
        "vm",
        "nop",
        "insertionsort",
        "prime",
        "fma",
        "cachehammer",
        "veccmp",
        "hsearch",
        "mpfr",
        "heapsort",
        "jpeg",
        "fibsearch",
        "skiplist",
        "yield",
        "mcontend",
        "matrix",
        "switch",
        "funcret",
        "crypt",
        "cpu-div16",
    ]
)


class SlimSpareCores(SpareCores):
    """Of each server what these workloads need. Folders are of the same source as whole ones, so that a later call
    without --slim, with --update, brings the rest in."""

    clone_url = "https://github.com/SpareCores/sc-inspector-data"
    patterns = tuple(f"/data/*/*/{path}" for path in FILES)

    def wanted(self, path: str) -> tuple[str, str] | None:
        found = super().wanted(path)
        return found if found and found[1] in FILES else None

    def read(self, folder: str, files: Mapping[str, bytes]) -> MeasuredFolder:
        measured = super().read(folder, files)
        measured.times = {
            workload: times
            for workload, times in measured.times.items()
            if workload.application == GEEKBENCH or workload.section in STRESSORS
        }
        if not measured.times:
            raise RefusedFolder("no benchmark of the slim import has a usable result")
        return measured
