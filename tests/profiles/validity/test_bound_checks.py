"""The last line of defence: whatever a reader lets through, ingest refuses what is outside the table of bounds."""

from dataclasses import replace

import numpy as np
import pytest

from profiles.validity.bound_checks import number_outside
from tests.samples import sample_measurements, varied_measurements


def changed(part: str, column: str, value: object):
    """Sample measurements with one number, or one text, changed."""
    measurements = varied_measurements()
    if part in {"platforms", "workloads"}:
        first, *others = getattr(measurements, part)
        return replace(measurements, **{part: [replace(first, **{column: value}), *others]})
    profile = measurements.profiles[0]
    table = getattr(profile, part)
    if column == "counter":
        cells = (value, *table.counter[1:])
    else:
        values = getattr(table, column)
        cells = np.ones(len(table)) if values is None else values.copy()
        cells[-1] = value
    changed_profile = replace(profile, **{part: replace(table, **{column: cells})})
    return replace(measurements, profiles=[changed_profile, *measurements.profiles[1:]])


@pytest.mark.parametrize(
    ("part", "column", "value", "reason"),
    [
        ("counters", "value", 1.797e308, "value 1.797e+308 is more than 1e+21"),
        ("counters", "value", 5e-324, "value 5e-324 is less than 1e-09 and not 0"),
        ("counters", "value", np.inf, "value inf is more than 1e+21"),
        ("counters", "value", -1.0, "value -1.0 is less than 1e-09 and not 0"),
        ("counters", "n", 65_537, "n 65537 is more than 65536"),
        ("counters", "counter", "x" * 41, "counter is longer than 40 characters"),
        ("runs", "n", 0, "n 0 is less than 1"),
        ("runs", "time_s", np.nan, "a time is not a number"),
        ("runs", "time_s", np.inf, "time_s inf is more than 1e+07"),
        ("runs", "time_ns", 2**59, f"time_ns {2**59} is more than {10**16}"),
        ("runs", "time_ns", 10**16, None),
        ("runs", "size", 5e-324, "size 5e-324 is less than 1e-09"),
        ("runs", "size", 1.7e308, "size 1.7e+308 is more than 1e+18"),
        ("runs", "clock_mhz", 0.5, "clock_mhz 0.5 is less than 1"),
        ("runs", "tasks", 2.0**63, f"tasks {2.0**63} is more than {2**53}"),
        ("platforms", "threads", 2**31 - 1, "platform 'machine-0': threads 2147483647 is more than 65536"),
        ("platforms", "max_mhz", 1e9, "platform 'machine-0': max_mhz 1000000000.0 is more than 100000"),
        ("platforms", "memory_bytes", 2**61, f"platform 'machine-0': memory_bytes {2**61} is more than {2**60}"),
        ("platforms", "placement", (0,) * 17, "platform 'machine-0': placement has 17 entries, more than threads = 16"),
        ("platforms", "vendor", "x" * 101, "platform 'machine-0': vendor is longer than 100 characters"),
        ("workloads", "size", 1e300, "workload 'app0/section0': size 1e+300 is more than 1e+18"),
        ("workloads", "description", "x" * 10_001, "description is longer than 10000 characters"),
    ],
)
def test_one_number_outside(part, column, value, reason):
    found = number_outside(changed(part, column, value))
    assert found is None if reason is None else found.endswith(reason)


def test_n_times_time_ns_and_negative_parts():
    measurements = sample_measurements(1, 1)
    profile = measurements.profiles[0]
    huge = replace(profile.runs, n=np.full(len(profile.runs), 1024), time_ns=np.full(len(profile.runs), 10**16))
    negative = replace(profile.runs, parts_ns=profile.runs.parts_ns.copy())
    negative.parts_ns[profile.runs.is_profile_pass, 1] = -1
    for runs, reason in ((huge, "n * time_ns exceeds 63 bits"), (negative, "lock_ns is negative")):
        assert number_outside(replace(measurements, profiles=[replace(profile, runs=runs)])) == reason


def test_relative_times_have_bounds_of_their_own():
    measurements = sample_measurements(1, 1)
    profile = measurements.profiles[0]
    slow = replace(profile, runs=replace(profile.runs, time_s=profile.runs.time_s * 1e12))
    assert "time_s" in number_outside(replace(measurements, profiles=[slow]))
    assert number_outside(replace(measurements, profiles=[slow], time_kinds={0: "relative"})) is None


def test_what_is_measured_is_inside():
    assert number_outside(varied_measurements()) is None
