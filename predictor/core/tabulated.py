"""Databases made from one upload, without reading or writing stored rows."""

from __future__ import annotations

import numpy as np

from predictor.core.assembly import (
    PLATFORM_FIELDS,
    WORKLOAD_FIELDS,
    Columns,
    ProfileColumns,
    RecordProgress,
    assemble_database,
    columns_by_slug,
    positions_of_ids,
)
from predictor.core.database import Database
from profiles.measurements import Measurements
from profiles.scaling.features import feature_fits
from profiles.scaling.quality import repeat_summary
from profiles.scaling.runs import scaling_curves


def database_from_measurements(measurements: Measurements, progress: RecordProgress | None = None) -> Database:
    """Return one upload as a `Database`, with names as slugs and revision 0. Reads and writes no stored rows."""
    profiles = measured_columns(measurements, progress)
    platforms = platform_columns(measurements, profiles)
    workloads = columns_by_slug(
        (
            (
                record.name,
                record.runtime,
                record.application,
                record.strategy,
                measurements.time_kinds.get(index, "absolute"),
                index,
            )
            for index, record in enumerate(measurements.workloads)
        ),
        (*WORKLOAD_FIELDS, "pk"),
    )
    profiles.values["platform"] = positions_of_ids(platforms["pk"], profiles.values["platform"])
    profiles.values["workload"] = positions_of_ids(workloads["pk"], profiles.values["workload"])
    return assemble_database(platforms, workloads, profiles, origin=measurements.origin, revision=0)[0]


def platform_columns(measurements: Measurements, profiles: ProfileColumns) -> Columns:
    """Return the platforms under the dataset's own ids. If n_max is unknown, it is the number of threads or the largest
    measured n."""
    records = measurements.platforms
    largest = np.ones(len(records), dtype=np.int64)
    np.maximum.at(largest, np.repeat(profiles.values["platform"], profiles.lengths), profiles.curve_n)
    slugs = measurements.platform_ids or [record.name for record in records]
    optional = PLATFORM_FIELDS[PLATFORM_FIELDS.index("n_max") + 1 :]
    rows = (
        (
            slug,
            record.n_nu,
            record.n_ht,
            record.n_max or max(record.threads or 1, int(largest[index])),
            *(getattr(record, name) for name in optional),
            index,
        )
        for index, (slug, record) in enumerate(zip(slugs, records, strict=True))
    )
    return columns_by_slug(rows, (*PLATFORM_FIELDS, "pk"))


def measured_columns(measurements: Measurements, progress: RecordProgress | None = None) -> ProfileColumns:
    records = measurements.profiles
    curves = [scaling_curves(record.runs, record.counters) for record in (progress or iter)(records)]
    repeats = [repeat_summary(record.runs) for record in records]
    platforms = [measurements.platforms[record.platform] for record in records]
    fits = feature_fits(curves, [record.n_nu for record in platforms], [record.n_ht for record in platforms])
    lengths = np.array([len(curve.n) for curve in curves], dtype=np.int64)
    values = {
        "pk": np.arange(len(records)),
        "platform": np.array([record.platform for record in records], dtype=np.int64),
        "workload": np.array([record.workload for record in records], dtype=np.int64),
        "private_to_id": np.full(len(records), None, dtype=np.object_),
        "origin": np.full(len(records), measurements.origin, dtype=np.object_),
        "decomposed": np.array([curve.decomposed for curve in curves], dtype=np.bool_),
        "t1_s": np.array([curve.t1_s for curve in curves], dtype=np.float64),
        "n_measured": lengths,
        "run_count": np.array([summary.run_count for summary in repeats], dtype=np.float64),
        "disturbed_count": np.array([summary.disturbed_count for summary in repeats], dtype=np.float64),
        "standard_error": np.array([summary.standard_error for summary in repeats], dtype=np.float64),
    }
    return ProfileColumns(
        values=values,
        features=fits.values,
        lengths=lengths,
        curve_n=np.concatenate([curve.n for curve in curves]).astype(np.int32),
        curve_time_s=np.concatenate([curve.time_s for curve in curves]),
    )
