"""What was understood of a file, before anything of it is stored."""

from __future__ import annotations

from dataclasses import asdict
from typing import IO, Any

import numpy as np

from benchmarks.archive import ArchiveError
from benchmarks.foreign import ForeignReading
from benchmarks.formats.recognising import TARBALL
from benchmarks.models import report_entry
from benchmarks.processing import read_upload
from profiles.measurements import Measurements, ProfileRecord
from profiles.quality import quality_warnings


def understood(file: IO[bytes], name: str, reading: ForeignReading | None) -> dict[str, Any]:
    """The form, the platform, each workload with the median time of each n, and what is wrong or odd."""
    form = TARBALL if reading is None else reading.form
    try:
        measurements = read_upload(file, name, reading)
    except ArchiveError as error:
        errors = [report_entry(problem.reason, problem.member, problem.line) for problem in error.problems]
        return {"form": form, "errors": errors, "warnings": [], "platform": None, "workloads": []}
    return {
        "form": form,
        "errors": [],
        "warnings": list(dict.fromkeys([*measurements.warnings, *quality_warnings(measurements)])),
        "platform": asdict(measurements.platforms[0]) | {"placement": None},
        "workloads": [_workload(measurements, record) for record in measurements.profiles],
    }


def _workload(measurements: Measurements, record: ProfileRecord) -> dict[str, Any]:
    workload, runs = measurements.workloads[record.workload], record.runs.own
    clean = ~runs.is_profile_pass
    n = np.unique(runs.n[clean])
    return {
        **{name: getattr(workload, name) for name in ("name", "version", "input", "runtime")},
        "time_kind": measurements.time_kinds.get(record.workload, "absolute"),
        "runs": int(clean.sum()),
        "n": n.tolist(),
        "time_s": [float(np.median(runs.time_s[clean & (runs.n == count)])) for count in n],
    }
