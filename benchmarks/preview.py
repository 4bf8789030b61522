"""What the upload page shows of a file before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.forms import FORM_TITLES
from mpet_site.web.tables import NUMBER, PageTable, TableColumn
from profiles.templatetags.quantities import seconds, significant, size

WORKLOADS_SHOWN = 50
COUNTS_SHOWN = 12  # numbers of threads of one workload
FACTS_SHOWN = {
    "name": "Name",
    "cpu_model": "Processor",
    "architecture": "Architecture",
    "sockets": "Sockets",
    "physical_cores": "Cores",
    "threads": "Threads",
    "base_mhz": "Base clock, MHz",
}
SIZES_SHOWN = {
    "l1d_bytes": "L1 data caches",
    "l2_bytes": "L2 caches",
    "l3_bytes": "L3 caches",
    "memory_bytes": "Memory",
}


def preview_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """`found`: what `reading.preview_upload` says."""
    workloads = found["workloads"]
    more = len(workloads) - WORKLOADS_SHOWN
    caption = f"{len(workloads)} workload{'' if len(workloads) == 1 else 's'}"
    return {
        "form": FORM_TITLES.get(found["form"], "Results of the benchmark kit"),
        "report": found,
        "facts": _facts(found["platform"] or {}),
        "workloads": PageTable(
            "Workloads",
            UNDERSTOOD_COLUMNS,
            workloads[:WORKLOADS_SHOWN],
            caption + (f", of which {WORKLOADS_SHOWN} are shown" if more > 0 else ""),
        ),
    }


def _facts(platform: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Those that are known."""
    texts = [(title, platform.get(name)) for name, title in FACTS_SHOWN.items()]
    sizes = [(title, platform.get(name)) for name, title in SIZES_SHOWN.items()]
    return [(title, str(value)) for title, value in texts if value] + [(title, size(of)) for title, of in sizes if of]


def _told(workload: Mapping[str, Any]) -> str:
    return ", ".join(workload[name] for name in ("input", "version", "runtime") if workload[name]) or "–"


def _times(workload: Mapping[str, Any]) -> str:
    """The median of each n, the first of them where there are many."""
    written = significant if workload["time_kind"] == "relative" else seconds
    pairs = list(zip(workload["n"], workload["time_s"], strict=True))
    shown = "; ".join(f"{n}: {written(time_s)}" for n, time_s in pairs[:COUNTS_SHOWN])
    return shown + (f"; and {len(pairs) - COUNTS_SHOWN} more" if len(pairs) > COUNTS_SHOWN else "")


UNDERSTOOD_COLUMNS = (
    TableColumn("Workload", lambda workload: workload["name"]),
    TableColumn("Input, version, runtime", _told),
    TableColumn("Runs", lambda workload: workload["runs"], kind=NUMBER),
    TableColumn("Median time at each number of threads", _times),
)
