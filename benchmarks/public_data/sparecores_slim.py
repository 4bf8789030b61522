"""The slim variant of the source `sparecores` for `fetch_data --slim`: Geekbench and the most informative stressors.

These are 60 workloads, stored as 61, because the fleet ran cpu-div16 with two versions of stress-ng.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.public_data.interface import MeasuredFolder, RefusedFolder
from benchmarks.public_data.sparecores import RESULTS, SpareCores

GEEKBENCH = "geekbench"
SLIM_TASKS = (GEEKBENCH, "stressng_benchmarks", "stressngfull")
MACHINE_FILES = ("lscpu/stdout", "lshw/stdout", "geekbench/stdout")
FILES = (*MACHINE_FILES, *(f"{task}/{member}" for task in SLIM_TASKS for member in (RESULTS[task], "meta.json")))
# The stressors that research/bridge.py chose first with 20 and with 100 pairs, and cpu-div16, which was run at many n.
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
    """The files of each server that the slim workloads need. Its folders belong to the same source as whole ones, so
    that a later call with --update and without --slim adds the rest."""

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
