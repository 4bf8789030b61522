"""The source RRZE-HPC/PMBS23-AD: SPEChpc 2021 under LIKWID on one node of each of two clusters.

The files are `Output_tiny_<cluster>/<group>/<file>`. docs/public-data-reference.md describes how they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from benchmarks.public_data.hardware import BYTES_OF_LEVEL, bytes_in, leading_integer, read_platform
from benchmarks.public_data.interface import MeasuredFolder, PublicSource, RefusedFolder
from profiles.measurements import PlatformRecord, WorkloadRecord

STATE = re.compile(r"(?:^|/)(Cluster\w)-state\.csv$")
# Files named *-MEM.txt are results of the suite `small`, even in the folders of the suite `tiny`.
RANK_FILE = re.compile(r"(?:^|/)Output_tiny_(Cluster\w)/([\w-]+/[a-z]\w*-FritzRank\d{1,5}(?!-MEM\.)(?:-\w+)*\.txt)$")
MEMBER = re.compile(r"[\w-]+/(\w+)-FritzRank(\d+)")
RANK_TIMES = re.compile(rb"^\|\s*Runtime \(RDTSC\) \[s\]\s*\|.*$", re.MULTILINE)  # without the line of its statistics
NUMBERS = {  # names in the files -> full names of the benchmarks
    **{"lbm": "505.lbm_t", "soma": "513.soma_t", "tealeaf": "518.tealeaf_t", "clvleaf": "519.clvleaf_t"},
    **{"sweep": "521.miniswp_t", "pot3d": "528.pot3d_t", "sph_exa": "532.sph_exa_t", "hpgmgfv": "534.hpgmgfv_t"},
    "weather": "535.weather_t",
}
MICROARCHITECTURES = {"Intel Icelake SP processor": "Ice Lake-SP", "Intel SapphireRapids processor": "Sapphire Rapids"}


class RrzeSpecHpc(PublicSource):
    """The source `rrze-spechpc`."""

    name = "rrze-spechpc"
    title = "RRZE PMBS23-AD, SPEChpc 2021"
    licence = "GPL-3.0"
    citation = (
        "A. Afzal, G. Hager, G. Wellein: SPEChpc 2021 Benchmarks on Ice Lake and Sapphire Rapids Infiniband Clusters, "
        "artifact, https://doi.org/10.5281/zenodo.8338037, https://github.com/RRZE-HPC/PMBS23-AD"
    )
    note = (
        "The tiny suite of SPEChpc 2021, MPI ranks on consecutive cores of one node at a fixed clock. The time is the "
        "longest of all ranks as measured by LIKWID; each file is a repeat, whatever counters it has."
    )
    archive_url = "https://codeload.github.com/RRZE-HPC/PMBS23-AD/tar.gz/refs/heads/main"
    version = 1
    scattered = True

    def wanted(self, path: str) -> tuple[str, str] | None:
        if found := STATE.search(path):
            return f"rrze/{found[1]}", "state"
        found = RANK_FILE.search(path)
        return (f"rrze/{found[1]}", found[2]) if found else None

    def excerpt(self, member: str, content: bytes) -> bytes:
        """Return the whole state file, or the times of the ranks of a run. Programs print up to a megabyte of their own
        output before the times."""
        return content if member == "state" else b"\n".join(RANK_TIMES.findall(content))

    def read(self, folder: str, files: Mapping[str, bytes]) -> MeasuredFolder:
        if "state" not in files:
            raise RefusedFolder("no state file of the machine")
        measured = MeasuredFolder(_read_state(folder, files["state"].decode(errors="replace")))
        for member in sorted(files.keys() - {"state"}):
            _add_run(measured, member, files[member].decode(errors="replace"))
        if not measured.times:
            raise RefusedFolder("no run has a usable time")
        return measured


def _add_run(measured: MeasuredFolder, member: str, lines: str) -> None:
    found = MEMBER.match(member)
    section = NUMBERS.get(found[1]) if found else None
    if found is None or section is None:
        measured.left_out["spechpc: a program that is not in the suite"] += 1
        return
    n = int(found[2])
    times = [float(cell) for cell in re.findall(r"\|\s+(\d+(?:\.\d+)?)\s+(?=\|)", lines)]
    if len(times) != n:
        measured.left_out["spechpc: a run without a time for each rank"] += 1
        return
    workload = WorkloadRecord(
        *(f"spechpc-2021/{section}", "spechpc-2021", section), runtime="mpi", input="tiny", version="2021"
    )
    repeat = 1 + sum(known == n for known, _ in measured.times.get(workload, ()))
    measured.add(workload, n, max(times), repeat=repeat)


def _read_state(folder: str, state: str) -> PlatformRecord:
    """Read the machine from the output of likwid-topology and /proc/meminfo in the file."""
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in state.splitlines())}
    sockets, cores, per_core = (
        leading_integer(fields.get(name)) for name in ("Sockets", "Cores per socket", "Threads per core")
    )
    if not (sockets and cores and per_core):
        raise RefusedFolder("its state file has no topology of likwid-topology")
    lscpu = {
        "Model name": fields.get("CPU name", ""),
        "Architecture": "x86_64",
        "Vendor ID": "GenuineIntel",
        "CPU op-mode(s)": "64-bit",
        "CPU(s)": str(sockets * cores * per_core),
        "Socket(s)": str(sockets),
        "Thread(s) per core": str(per_core),
        "NUMA node(s)": fields.get("NUMA domains", ""),
    }
    memory = leading_integer(fields.get("MemTotal"))
    return replace(
        read_platform(folder, lscpu | _caches(state), {}),
        microarchitecture=MICROARCHITECTURES.get(fields.get("CPU type", "")),
        memory_bytes=memory * 1024 if memory else None,
    )


def _caches(state: str) -> dict[str, str]:
    """Return the total size of the caches of each level. A level has as many caches as cache groups."""
    caches = {}
    for level, label in enumerate(BYTES_OF_LEVEL.values(), start=1):
        found = re.search(rf"Level:\s+{level}\nSize:\s+(.*)\nCache groups:\s+(.*)", state)
        if found and (size_bytes := bytes_in(found[1])):
            caches[label] = str(size_bytes * found[2].count("("))
    return caches
