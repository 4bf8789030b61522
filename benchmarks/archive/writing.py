"""Writing of results tarballs. The same measurements and time always give the same bytes."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import IO, Any

import numpy as np

from benchmarks.archive.documents import load_schema
from benchmarks.archive.reading import RESULTS_SCHEMA
from profiles.measurements import CounterTable, Measurements, PlatformRecord, RunTable

OPTIONAL_COLUMNS = tuple(field["name"] for field in load_schema("runs")["fields"] if field.get("optional"))


def write_archive(fileobj: IO[bytes], measurements: Measurements, *, created: datetime) -> None:
    """Write the measurements of one platform below the folder `mpet-results`.

    Raises ValueError if `mpet-results/1` cannot represent the measurements: not exactly one platform, runs without
    exact nanoseconds, or `created` without a time zone.
    """
    if len(measurements.platforms) != 1:
        raise ValueError(f"a results tarball holds one platform, not {len(measurements.platforms)}")
    if created.tzinfo is None:
        raise ValueError("created has no time zone")
    files = _member_contents(measurements)
    files["manifest.json"] = _json(_manifest_document(measurements, created, files))
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=fileobj, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(files):
            info = tarfile.TarInfo(f"mpet-results/{path}")
            info.size = len(files[path])
            tar.addfile(info, io.BytesIO(files[path]))


def _member_contents(measurements: Measurements) -> dict[str, bytes]:
    workloads = [asdict(workload) | {"size": _shortest_number(workload.size)} for workload in measurements.workloads]
    for profile in measurements.profiles:
        if (first_n := int(profile.runs.own.n.min())) > 1:
            workloads[profile.workload]["first_n"] = first_n
    names = [workload.name for workload in measurements.workloads]
    counters = [(names[p.workload], p.counters) for p in measurements.profiles if p.counters is not None]
    optional = [
        name for name in OPTIONAL_COLUMNS if any(getattr(p.runs, name) is not None for p in measurements.profiles)
    ]
    columns = [field["name"] for field in load_schema("runs")["fields"] if not field.get("optional")] + optional
    rows = (row for p in measurements.profiles for row in _run_rows(names[p.workload], p.runs, optional))
    files = {
        "platform.json": _json(_platform_document(measurements.platforms[0])),
        "workloads.json": _json(workloads),
        "runs.csv": _csv(columns, rows),
    }
    if counters:
        readings = (row for name, table in counters for row in _counter_rows(name, table))
        files["counters.csv"] = _csv([field["name"] for field in load_schema("counters")["fields"]], readings)
    if measurements.environment is not None:
        files["environment.json"] = _json(measurements.environment)
    if measurements.log:
        files["log.txt"] = measurements.log.encode("utf-8")
    return files


def _manifest_document(measurements: Measurements, created: datetime, files: Mapping[str, bytes]) -> dict[str, Any]:
    generator, _, version = measurements.generator.rpartition(" ")
    return {
        "schema": RESULTS_SCHEMA,
        "created": f"{created.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat()}Z",
        "generator": {"name": generator or version, "version": version if generator else ""},
        "origin": measurements.origin,
        "files": {
            path: {"sha256": hashlib.sha256(files[path]).hexdigest(), "bytes": len(files[path])}
            for path in sorted(files)
        },
    }


def _platform_document(platform: PlatformRecord) -> dict[str, Any]:
    value = asdict(platform) | {"cpu_model": platform.cpu_model or None}
    return value | {name: value[name] and _shortest_number(float(value[name])) for name in ("base_mhz", "max_mhz")}


def _run_rows(workload: str, runs: RunTable, optional: list[str]) -> Iterable[list[Any]]:
    if runs.time_ns is None:
        raise ValueError(f"runs of {workload!r} have no exact nanoseconds")
    parts = np.full((len(runs), 7), -1) if runs.parts_ns is None else runs.parts_ns
    unknown = np.full(len(runs), np.nan)
    others = [unknown if getattr(runs, name) is None else getattr(runs, name) for name in optional]
    columns = (runs.n, runs.repeat, runs.is_profile_pass, runs.time_ns, parts)
    checksums = runs.output_checksum or ("",) * len(runs)
    for n, repeat, is_profile, time_ns, split, checksum, *values in zip(
        *(column.tolist() for column in columns), checksums, *(column.tolist() for column in others), strict=True
    ):
        cells = split if is_profile else [""] * len(split)
        further_cells = ("" if np.isnan(value) else _shortest_number(value) for value in values)
        yield [workload, n, repeat, "profile" if is_profile else "clean", time_ns, *cells, checksum, *further_cells]


def _counter_rows(workload: str, counters: CounterTable) -> Iterable[list[Any]]:
    columns = (counters.n.tolist(), counters.repeat.tolist(), counters.counter, counters.value.tolist())
    for n, repeat, counter, value, status in zip(*columns, counters.status, strict=True):
        cell = "" if np.isnan(value) else _shortest_number(value)
        yield [workload, n, repeat, counter, cell, status]


def _shortest_number(value: float | None) -> float | int | None:
    """Return a whole number as an integer, which is written without a decimal point."""
    return int(value) if value is not None and value.is_integer() and value < 2**63 else value


def _csv(columns: list[str], rows: Iterable[list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
