"""What was understood of a file, before anything of it is stored. No Django: a process that reads says it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from profiles.measurements import Measurements, ProfileRecord
from profiles.validity.quality import quality_warnings


def describe_measurements(measurements: Measurements) -> dict[str, Any]:
    """The platform, each workload with the median time of each n, and what is odd."""
    return {
        "warnings": list(dict.fromkeys([*measurements.warnings, *quality_warnings(measurements)])),
        "platform": asdict(measurements.platforms[0]) | {"placement": None},
        "workloads": [_workload(measurements, record) for record in measurements.profiles],
    }


def _workload(measurements: Measurements, record: ProfileRecord) -> dict[str, Any]:
    workload, runs = measurements.workloads[record.workload], record.runs.own
    clean = np.flatnonzero(~runs.is_profile_pass)
    clean = clean[np.argsort(runs.n[clean], kind="stable")]
    n, starts = np.unique(runs.n[clean], return_index=True)
    return {
        **{name: getattr(workload, name) for name in ("name", "version", "input", "runtime")},
        "time_kind": measurements.time_kinds.get(record.workload, "absolute"),
        "runs": len(clean),
        "n": n.tolist(),
        "time_s": [float(np.median(times)) for times in np.split(runs.time_s[clean], starts[1:]) if len(times)],
    }
