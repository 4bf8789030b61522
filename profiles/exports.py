"""One profile in the forms of other tools: Extra-P's text and JSON Lines, and the raw runs as CSV. No Django."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping

from mpet_site.web.plain_json import nan_to_null
from profiles.measurements import PART_COLUMNS, RunTable

EXTRA_P_PARAMETER = "n"
EXTRA_P_METRIC = "time"
RAW_RUN_COLUMNS = (
    *("workload", "n", "repeat", "pass", "time_s", "time_ns", *PART_COLUMNS),
    *("size", "clock_mhz", "tasks", "waits", "disturbed"),
)


def repeats_by_n(runs: RunTable) -> dict[int, list[float]]:
    """The times in seconds of each n that t(n) is the median of: the clean runs, or the profile runs where an n has no
    clean one. Variations are not among them."""
    own = runs.own
    clean: dict[int, list[float]] = defaultdict(list)
    profiled: dict[int, list[float]] = defaultdict(list)
    rows = zip(own.n.tolist(), own.is_profile_pass.tolist(), own.time_s.tolist(), strict=True)
    for n, is_profile_pass, time_s in rows:
        (profiled if is_profile_pass else clean)[n].append(time_s)
    return {n: clean.get(n) or profiled[n] for n in sorted({*clean, *profiled})}


def extra_p_text(region: str, runs: RunTable) -> str:
    """Extra-P's text format: a line of repeats for each n.

    >>> import numpy as np
    >>> runs = RunTable(np.array([1, 1, 2]), np.array([1, 2, 1]), np.zeros(3, bool), np.array([2.0, 2.25, 1.0]))
    >>> print(extra_p_text("sort main", runs), end="")
    PARAMETER n
    POINTS 1 2
    REGION sort_main
    METRIC time
    DATA 2.0 2.25
    DATA 1.0
    """
    repeats = repeats_by_n(runs)
    lines = [
        f"PARAMETER {EXTRA_P_PARAMETER}",
        f"POINTS {' '.join(map(str, repeats))}",
        f"REGION {'_'.join(region.split())}",
        f"METRIC {EXTRA_P_METRIC}",
        *(f"DATA {' '.join(map(repr, times))}" for times in repeats.values()),
    ]
    return "\n".join(lines) + "\n"


def extra_p_lines(region: str, runs: RunTable) -> str:
    """Extra-P's JSON Lines: one object a run."""
    objects = (
        {"params": {EXTRA_P_PARAMETER: n}, "callpath": region, "metric": EXTRA_P_METRIC, "value": time_s}
        for n, times in repeats_by_n(runs).items()
        for time_s in times
    )
    return "".join(json.dumps(line) + "\n" for line in objects)


def raw_run_rows(workload: str, runs: RunTable) -> Iterator[Mapping[str, object]]:
    """All runs as they were measured, variations too; null where nobody measured."""
    for row in range(len(runs)):
        is_profile_pass = bool(runs.is_profile_pass[row])
        parts = runs.parts_ns[row].tolist() if is_profile_pass and runs.parts_ns is not None else [None] * 7
        exact = None if runs.time_ns is None else int(runs.time_ns[row])
        further = {
            name: None if column is None else nan_to_null(column[row])
            for name in RAW_RUN_COLUMNS[-5:]
            for column in (getattr(runs, name),)
        }
        yield {
            "workload": workload,
            "n": int(runs.n[row]),
            "repeat": int(runs.repeat[row]),
            "pass": "profile" if is_profile_pass else "clean",
            "time_s": float(runs.time_s[row]),
            "time_ns": exact,
            **dict(zip(PART_COLUMNS, parts, strict=True)),
            **further,
        }
