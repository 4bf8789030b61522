"""Preview of a file on the upload page, before the file is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.formats.plain_csv import KNOWN_COLUMNS, TIME_COLUMNS
from benchmarks.forms import FORM_TITLES
from mpet_site.web.tables import NUMBER, PageTable, TableColumn
from profiles.scaling.wording import counted
from profiles.templatetags.quantities import seconds, significant, size

WORKLOADS_SHOWN = 50
COUNTS_SHOWN = 12  # thread counts of one workload
FACTS_SHOWN: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("name", "Name", str),
    ("cpu_model", "Processor", str),
    ("architecture", "Architecture", str),
    ("sockets", "Sockets", str),
    ("physical_cores", "Cores", str),
    ("threads", "Threads", str),
    ("base_mhz", "Base clock, MHz", str),
    ("l1d_bytes", "L1 data caches", size),
    ("l2_bytes", "L2 caches", size),
    ("l3_bytes", "L3 caches", size),
    ("memory_bytes", "Memory", size),
)


def preview_of(found: Mapping[str, Any], head: Mapping[str, Any] | None, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the template context of a preview. `found` is the result of `reading.preview_upload`, `head` that of
    `reading.preview_table` for a table, and `columns` the mapping from roles to column titles that the user chose."""
    workloads, platform = found["workloads"], found["platform"] or {}
    more = len(workloads) - WORKLOADS_SHOWN
    caption = counted(len(workloads), "workload")
    return {
        "form": FORM_TITLES.get(found["form"], "Results of the benchmark kit"),
        "report": found,
        "columns": None if head is None else _columns(head, columns),
        "facts": [(title, written(platform[name])) for name, title, written in FACTS_SHOWN if platform.get(name)],
        "workloads": PageTable(
            "Workloads",
            UNDERSTOOD_COLUMNS,
            workloads[:WORKLOADS_SHOWN],
            caption + (f", of which {WORKLOADS_SHOWN} are shown" if more > 0 else ""),
        ),
    }


def _columns(head: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return each column with its role: the chosen role, else the one with the column's own name."""
    chosen = {title: role for role, title in columns.items()}
    has_time = any(role in TIME_COLUMNS for role in columns)

    def role_of(title: str) -> str:
        by_name = title in KNOWN_COLUMNS and title not in columns and not (has_time and title in TIME_COLUMNS)
        return chosen.get(title, title if by_name else "")

    shown = [{"title": title, "role": role_of(title)} for title in head["columns"]]
    return {"name": head["name"], "columns": shown, "rows": head["rows"], "roles": KNOWN_COLUMNS}


def _times(workload: Mapping[str, Any]) -> str:
    """Return the median time at each n as text, for at most COUNTS_SHOWN thread counts."""
    written = significant if workload["time_kind"] == "relative" else seconds
    pairs = list(zip(workload["n"], workload["time_s"], strict=True))
    shown = "; ".join(f"{n}: {written(time_s)}" for n, time_s in pairs[:COUNTS_SHOWN])
    return shown + (f"; and {len(pairs) - COUNTS_SHOWN} more" if len(pairs) > COUNTS_SHOWN else "")


UNDERSTOOD_COLUMNS = (
    TableColumn("Workload", lambda workload: workload["name"]),
    TableColumn(
        "Input, version, runtime",
        lambda workload: ", ".join(filter(None, (workload[name] for name in ("input", "version", "runtime")))) or "–",
    ),
    TableColumn("Runs", lambda workload: workload["runs"], kind=NUMBER),
    TableColumn("Median time at each number of threads", _times),
)
