"""A sample program as `mpet-profile` reports it: two regions and the serial rest, with simple times."""

from dataclasses import replace

import numpy as np

from profiles.measurements import Measurements, PlatformRecord, ProfileRecord, RunTable, WorkloadRecord
from tests.samples import sample_platform

MERGE_S, SPLIT_S, REST_S = 4.0, 1.0, 0.5  # times on one thread
COUNTS = (1, 2)


def program_workload(section: str, application: str = "sort", **fields) -> WorkloadRecord:
    values = {
        "name": f"{application}/{section}",
        "application": application,
        "section": section,
        "strategy": "dynamic_loop",
        "runtime": "libgomp",
        "input": "100000 keys",
        "version": "1",
        "bound": None,
        "description": f"parallel region at {section}",
    }
    return WorkloadRecord(**(values | fields))


def clean_runs(seconds: dict[int, float], speed: float = 1.0) -> RunTable:
    """Return three clean runs at each n, all with the same time."""
    n = np.repeat(list(seconds), 3).astype(np.int64)
    time_ns = np.array([round(seconds[count] * 1e9 / speed) for count in n.tolist()], dtype=np.int64)
    return RunTable(
        n=n,
        repeat=np.tile([1, 2, 3], len(seconds)).astype(np.int64),
        is_profile_pass=np.zeros(len(n), dtype=bool),
        time_s=time_ns / 1e9,
        time_ns=time_ns,
        parts_ns=np.full((len(n), 7), -1, dtype=np.int64),
        output_checksum=("",) * len(n),
    )


def program_measurements(
    platform: PlatformRecord | None = None,
    *,
    application: str = "sort",
    serial_rest: bool = True,
    counts=COUNTS,
    speed: float = 1.0,
    **fields,
) -> Measurements:
    """Return a program with ideally scaling regions and a serial rest. `speed` divides all times."""
    workloads = [program_workload("merge:12", application), program_workload("split:40", application)]
    times = [{n: MERGE_S / n for n in counts}, {n: SPLIT_S / n for n in counts}]
    if serial_rest:
        workloads.append(
            program_workload("serial rest", application, strategy="sequential", description="outside all regions")
        )
        times.append(dict.fromkeys(counts, REST_S))
    values = {
        "origin": "measured",
        "time_kinds": {},
        "platforms": [platform or sample_platform(0)],
        "workloads": workloads,
        "profiles": [
            ProfileRecord(platform=0, workload=index, runs=clean_runs(seconds, speed), counters=None)
            for index, seconds in enumerate(times)
        ],
        "generator": "mpet-kit 1.1",
    }
    return Measurements(**(values | fields))


def late_program_measurements(platform: PlatformRecord | None = None, counts=(1, 2, 4), **fields) -> Measurements:
    """Return the same program, but with `merge` as a region only for n > 1. At n = 1 the serial rest has its work."""
    whole = program_measurements(platform, counts=counts, **fields)
    speed = fields.get("speed", 1.0)
    merge = clean_runs({n: MERGE_S / n for n in counts if n > 1}, speed)
    rest = clean_runs({n: REST_S + MERGE_S * (n == 1) for n in counts}, speed)
    merged, split, rested = whole.profiles
    return replace(whole, profiles=[replace(merged, runs=merge), split, replace(rested, runs=rest)])
