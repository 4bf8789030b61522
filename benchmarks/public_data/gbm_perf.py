"""The source szilard/GBM-perf: gradient boosting by four libraries on an increasing number of cores.

The files are in `analysis/multicore*/results*/`. docs/public-data-reference.md describes how they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.public_data.hardware import read_lscpu_text, read_platform
from benchmarks.public_data.interface import MeasuredFolder, PublicSource, RefusedFolder
from profiles.measurements import WorkloadRecord

SWEEP_FILE = re.compile(r"(?:^|/)analysis/(multicore[\w-]*/results[\w-]*)/(res\.csv|hw\.txt)$")
PLACED_OTHERWISE = "gbm-perf: threads not on consecutive cores"
ANOTHER_FORM = "gbm-perf: a line in another format"


@dataclass(frozen=True)
class Sweep:
    """The machine on which a folder was measured, and the month in which its libraries were the newest versions."""

    machine: str
    software: str


# README.md and the history of the repository are the source of these facts. The folder results-update2020sept is left
# out, because it has copies and the results of a release in between.
SWEEPS = {
    "multicore/results": Sweep("r4.16xlarge", "2019-05"),
    "multicore/results-update2020sept-2": Sweep("r4.16xlarge", "2020-09"),
    "multicore-c5metal/results": Sweep("c5.metal", "2020-09"),
    "multicore-c5metal/results-AMD": Sweep("c5a.24xlarge", "2020-09"),
    "multicore-c7metal/results": Sweep("c7i.metal-48xl", "2024-06"),
    "multicore-c7metal/results-AMD": Sweep("c7a.metal-48xl", "2024-06"),
    "multicore-cpu-100m/results": Sweep("m7i.24xlarge", "2024-06"),
}
# Machines without a hw.txt, described from README.md and cores*.conf in the format of lscpu.
DESCRIBED = {
    "r4.16xlarge": """
        Model name: Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz
        Vendor ID: GenuineIntel
        CPU family: 6
        Model: 79
        CPU(s): 64
        Thread(s) per core: 2
        Socket(s): 2
        NUMA node(s): 2
        Hypervisor vendor: Xen
    """,
    "c5.metal": """
        Model name: Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz
        Vendor ID: GenuineIntel
        CPU family: 6
        Model: 85
        Stepping: 7
        CPU(s): 96
        Thread(s) per core: 2
        Socket(s): 2
        NUMA node(s): 2
    """,
    "c5a.24xlarge": """
        Model name: AMD EPYC 7R32
        Vendor ID: AuthenticAMD
        CPU family: 23
        Model: 49
        CPU(s): 96
        Thread(s) per core: 2
        Socket(s): 1
        Hypervisor vendor: KVM
    """,
}


class GbmPerf(PublicSource):
    """The source `gbm-perf`."""

    name = "gbm-perf"
    title = "GBM-perf"
    licence = "MIT"
    citation = "Szilard Pafka: GBM-perf, https://github.com/szilard/GBM-perf"
    note = (
        "Training times of h2o, xgboost, lightgbm and catboost for 100 trees, pinned to the first n cores of Amazon "
        "servers. The workload's version is the month in which the library was the newest."
    )
    archive_url = "https://codeload.github.com/szilard/GBM-perf/tar.gz/refs/heads/master"
    version = 1
    scattered = True

    def wanted(self, path: str) -> tuple[str, str] | None:
        found = SWEEP_FILE.search(path)
        sweep = SWEEPS.get(found[1]) if found else None
        return (f"aws/{sweep.machine}", f"{sweep.software}/{found[2]}") if found and sweep else None

    def read(self, folder: str, files: Mapping[str, bytes]) -> MeasuredFolder:
        described = next((files[member].decode(errors="replace") for member in files if member.endswith("hw.txt")), "")
        lscpu = read_lscpu_text(described or DESCRIBED.get(folder.removeprefix("aws/"), ""))
        measured = MeasuredFolder(read_platform(folder, {"Architecture": "x86_64"} | lscpu, {}))
        for member in sorted(files):
            software, _, kind = member.partition("/")
            if kind == "res.csv":
                for line in files[member].decode(errors="replace").split():
                    _add_line(measured, line, software)
        if not measured.times:
            raise RefusedFolder("no line has a usable time")
        return measured


def _add_line(measured: MeasuredFolder, line: str, software: str) -> None:
    """Add the run of one line, `size:library:threads:list of processors:remark:seconds:AUC`."""
    try:
        size, library, threads, processors, _, seconds, _ = line.split(":")
        n, time_s = int(threads), float(seconds)
    except ValueError:
        measured.left_out[ANOTHER_FORM] += 1
        return
    if processors != ("0" if n == 1 else f"0-{n - 1}"):
        measured.left_out[PLACED_OTHERWISE] += 1
        return
    workload = WorkloadRecord(
        *(f"gbm-perf/{library}/{size}M"[:150], "gbm-perf", library[:100]),
        input=f"{size} million rows",
        version=software,
    )
    repeat = 1 + sum(known == n for known, _ in measured.times.get(workload, ()))
    measured.add(workload, n, time_s, repeat=repeat)
