"""The reader of TALP's JSON (DLB 3.5 and newer): elapsed times of regions. One file has one execution at one n."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.formats.collecting import Collected, ForeignFile, as_number
from profiles.measurements import WorkloadRecord

# The section with the regions of all processes in DLB 3.5 and newer, and in DLB 3.4.
REGIONS = ("Application", "popMetrics")
EFFICIENCIES = (
    *("parallelEfficiency", "loadBalance", "communicationEfficiency", "mpiParallelEfficiency", "mpiLoadBalance"),
    *("ompParallelEfficiency", "ompLoadBalance", "ompSchedulingEfficiency", "ompSerializationEfficiency", "averageIPC"),
)


def read_talp(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    document = collected.document(file)
    content = document.value if isinstance(document.value, dict) else {}
    section = next((name for name in REGIONS if name in content), "")
    metrics = content.get(section)
    if not isinstance(metrics, dict | list) or not metrics:
        collected.refuse(file, 1, f"is not TALP JSON: it has no {' or '.join(REGIONS)}")
    resources = content.get("resources")
    cpus = resources.get("numCpus") if isinstance(resources, dict) else None
    for key, name, region in _regions(metrics):
        line = document.line([section, key])
        if not isinstance(region, dict):
            collected.refuse(file, line, "is not an object with the metrics of a region")
        elapsed_ns = as_number(region.get("elapsedTime"))
        time_s = None if elapsed_ns is None else elapsed_ns * 1e-9
        if (n := region.get("numCpus", cpus)) is None:
            collected.refuse(file, line, "has no number of CPUs (numCpus), which DLB 3.5 and newer write")
        collected.add(WorkloadRecord(name), n, time_s, file=file, line=line)
        efficiencies = {metric: region[metric] for metric in EFFICIENCIES if as_number(region.get(metric)) is not None}
        collected.environment.setdefault("pop_metrics", []).append({"region": name, "n": n, **efficiencies})


def _regions(metrics: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield the key, name and metrics of each region. Newer versions write an object, older ones a list."""
    if isinstance(metrics, dict):
        yield from ((name, name, region) for name, region in metrics.items())
    else:
        for place, region in enumerate(metrics):
            yield place, str(region.get("name", "")) if isinstance(region, dict) else "", region
