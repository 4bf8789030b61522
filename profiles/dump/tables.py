"""The tables of a public dump: names, types and meanings of their columns. This module does not import Django."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from profiles.measurements import PART_COLUMNS, PlatformRecord, WorkloadRecord
from profiles.scaling.names import CURVE_NAMES, FEATURE_NAMES

ColumnType = Literal["string", "integer", "number", "boolean", "datetime", "object", "array"]
JSON_TYPES = ("object", "array")


@dataclass(frozen=True)
class DumpColumn:
    """A column. A `required` column is never null, but may contain empty texts."""

    name: str
    type: ColumnType
    meaning: str
    required: bool = False


@dataclass(frozen=True)
class DumpTable:
    """A table. `refers` lists its foreign keys: column, referenced table and referenced column."""

    name: str
    title: str
    columns: tuple[DumpColumn, ...]
    key: tuple[str, ...]
    refers: tuple[tuple[str, str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


_TYPE_OF_ANNOTATION: dict[str, ColumnType] = {
    **{"str": "string", "int": "integer", "float": "number", "bool": "boolean"},
    "tuple[int, ...]": "array",
}


def _of_record(record: type, meanings: dict[str, str]) -> tuple[DumpColumn, ...]:
    """Return a column for each field of the record. Only the name is required."""
    types = {field.name: _TYPE_OF_ANNOTATION[str(field.type).removesuffix(" | None")] for field in fields(record)}
    return tuple(DumpColumn(name, type_, meanings.get(name, ""), name == "name") for name, type_ in types.items())


_PLATFORM_MEANINGS = {
    "n_nu": "threads beyond which a second NUMA node is used; null: no such effect",
    "n_ht": "threads beyond which SMT threads are used; null: no such effect",
    "n_max": "threads that a program may use",
    "placement": "CPU numbers in the order in which threads fill them",
}
_WORKLOAD_MEANINGS = {
    "strategy": "how it is parallelised",
    "bound": "memory, communication or computation, as stated by the uploader",
    "size": "size of the input, in size_unit",
}
_PROFILE_REFERENCE = (("profile", "profiles", "profile"),)


def required(name: str, type_: ColumnType, meaning: str) -> DumpColumn:
    return DumpColumn(name, type_, meaning, required=True)


SOURCES_TABLE = DumpTable(
    "sources",
    "Sources of the profiles, with licence and citation",
    (
        required("source", "string", "UUID"),
        required("kind", "string", "tarball, dataset or simulator"),
        required("origin", "string", "measured or simulated"),
        required("label", "string", "file or folder name"),
        DumpColumn("sha256", "string", "sha256 of a dataset or simulation; null for uploads"),
        required("licence", "string", "licence of the data"),
        required("citation", "string", "origin of the data, to be cited"),
        required("note", "string", ""),
        required("generator", "string", "the program that wrote it"),
        DumpColumn("environment", "object", "environment.json of the upload"),
        required("log", "string", "log.txt of the upload"),
        required("created_at", "datetime", "when it was stored"),
    ),
    ("source",),
)
PLATFORMS_TABLE = DumpTable(
    "platforms",
    "Machines",
    (
        required("platform", "string", "slug"),
        *_of_record(PlatformRecord, _PLATFORM_MEANINGS),
        required("created_at", "datetime", "when it was first seen"),
    ),
    ("platform",),
)
WORKLOADS_TABLE = DumpTable(
    "workloads",
    "Parallel sections of programs, each with one input and one runtime",
    (
        required("workload", "string", "slug"),
        *_of_record(WorkloadRecord, _WORKLOAD_MEANINGS),
        required("time_kind", "string", "absolute; relative: times in an unknown unit"),
        required("created_at", "datetime", "when it was first seen"),
    ),
    ("workload",),
)
PROFILES_TABLE = DumpTable(
    "profiles",
    "One workload on one platform, from one source",
    (
        required("profile", "integer", "number of this row, referenced by the other tables"),
        required("uid", "string", "UUID: /profiles/UUID/ on the site"),
        required("source", "string", ""),
        required("platform", "string", ""),
        required("workload", "string", ""),
        required("origin", "string", "measured or simulated"),
        required("decomposed", "boolean", "true: with time breakdown; false: wall time only"),
        DumpColumn("t1_s", "number", "t(1)"),
        required("t1_is_stand_in", "boolean", "t(n_min) * n_min, for a curve that starts later"),
        required("n_measured", "integer", "thread counts measured"),
        DumpColumn("fit_error", "number", "mean relative error of t(n) rebuilt from the fit"),
        DumpColumn("run_count", "integer", "runs of the workload's own size"),
        DumpColumn("disturbed_count", "integer", "number of these runs that other programs disturbed"),
        DumpColumn("standard_error", "number", "standard error of ln t(n), from the repeats"),
        required("warnings", "array", ""),
        required("outlier_reason", "string", "why predictions exclude it; empty: they do not"),
        required(
            "outlier_judge",
            "string",
            "computed, moderator; second, differs: another owner's measurement is used instead",
        ),
        DumpColumn("outlier_checked_at", "integer", "revision at which it was judged"),
        required("created_at", "datetime", ""),
    ),
    ("profile",),
    (
        ("source", "sources", "source"),
        ("platform", "platforms", "platform"),
        ("workload", "workloads", "workload"),
    ),
)
RUNS_TABLE = DumpTable(
    "runs",
    "Measured executions",
    (
        required("profile", "integer", ""),
        required("n", "integer", "threads"),
        required("repeat", "integer", ""),
        required("pass", "string", "clean or profile"),
        required("time_s", "number", "wall time in seconds"),
        DumpColumn("time_ns", "integer", "wall time in nanoseconds, exact"),
        *(DumpColumn(name, "integer", "thread time; the seven sum to n * time_ns") for name in PART_COLUMNS),
        required("output_checksum", "string", "empty: not recorded"),
        DumpColumn("size", "number", "size of the input, if not the workload's own"),
        DumpColumn("clock_mhz", "number", "clock to which all cores were fixed; null: not fixed"),
        DumpColumn("tasks", "integer", "number of spawned tasks"),
        DumpColumn("waits", "integer", "number of waits for a group of tasks"),
        DumpColumn("disturbed", "boolean", "true: other programs took processor time"),
    ),
    (),
    _PROFILE_REFERENCE,
)
COUNTER_READINGS_TABLE = DumpTable(
    "counters",
    "Hardware counters of runs, sums over threads",
    (
        required("profile", "integer", ""),
        required("n", "integer", "threads"),
        required("repeat", "integer", ""),
        required("counter", "string", ""),
        DumpColumn("value", "number", ""),
        required("status", "string", "ok, multiplexed, unsupported, no-permission or not-scheduled"),
    ),
    ("profile", "n", "repeat", "counter"),
    _PROFILE_REFERENCE,
)
CURVES_TABLE = DumpTable(
    "curves",
    "t(n) and the 14 scaling curves of each profile, derived from its runs",
    (
        required("profile", "integer", ""),
        required("n", "integer", "threads"),
        DumpColumn("time_s", "number", "median wall time"),
        *(DumpColumn(name, "number", "") for name in CURVE_NAMES),
    ),
    ("profile", "n"),
    _PROFILE_REFERENCE,
)
FEATURES_TABLE = DumpTable(
    "features",
    "The 84 fitted elements of each profile, and the residual of each curve; null: invalid",
    (
        required("profile", "integer", ""),
        *(DumpColumn(name, "number", "") for name in FEATURE_NAMES),
        *(DumpColumn(f"{name}.rms", "number", "residual") for name in CURVE_NAMES),
        required("code_version", "string", "version of the method that derived curves and features"),
    ),
    ("profile",),
    _PROFILE_REFERENCE,
)
