"""A public dump as a database that the methods predict from: what the server knows of public profiles, offline.

dump = read_dump(Path("dump"))
dump.predict("fft", "i9-9900k").time_s
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from predictor.core.arrays import slug_index
from predictor.core.assembly import (
    MEASURED,
    PLATFORM_FIELDS,
    PREDICTION_ORIGINS,
    SIMULATED,
    WORKLOAD_FIELDS,
    Columns,
    ProfileColumns,
    assemble_database,
    columns_by_slug,
    drop_faulty,
    faults_of_platforms,
    place_profiles,
    thinned_curves,
)
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import DEFAULT_METHOD, Answer, Query, get_method
from predictor.core.threads import single_thread
from profiles.arrays import FloatArray, IntArray
from profiles.dump.files import DumpRow, read_table
from profiles.dump.package import DumpPackage, open_dump
from profiles.dump.tables import (
    CURVES_TABLE,
    FEATURES_TABLE,
    PLATFORMS_TABLE,
    PROFILES_TABLE,
    WORKLOADS_TABLE,
    DumpTable,
)
from profiles.scaling.names import FEATURE_NAMES
from profiles.scaling.validity import profile_faults, slug_faults

READ_TABLES = (PLATFORMS_TABLE, WORKLOADS_TABLE, PROFILES_TABLE, CURVES_TABLE, FEATURES_TABLE)


class UnknownInDump(PredictionError):
    """No platform or workload of the dump has this name, or several have it."""

    def __init__(self, kind: str, name: str, slugs: tuple[str, ...]) -> None:
        self.kind, self.name, self.slugs = kind, name, slugs
        reason = f"is the name of {', '.join(slugs)}" if slugs else "is not in the dump"
        super().__init__(f"{kind} {name!r} {reason}")


@dataclass
class PublicDump:
    """A dump in memory. `database` of measured profiles; where a workload was only simulated, that of simulated ones,
    as on the server."""

    revision: int
    platforms: Columns
    workloads: Columns
    profiles: ProfileColumns
    names: dict[str, dict[str, tuple[str, ...]]]
    _databases: dict[tuple[str, ...], Database] = field(default_factory=dict, repr=False)

    def database(self, origins: tuple[str, ...] = MEASURED) -> Database:
        """What is predicted from, of these origins."""
        if origins not in self._databases:
            rows = np.flatnonzero(np.isin(self.profiles.values["origin"], origins))
            self._databases[origins] = assemble_database(
                *(self.platforms, self.workloads, self.profiles.take(rows)),
                origin="+".join(origins),
                revision=self.revision,
            )[0]
        return self._databases[origins]

    def database_for(self, workload: str, *, include_simulated: bool = False) -> Database:
        """That of measured profiles, unless the workload has simulated ones alone. Raises UnknownInDump."""
        if include_simulated:
            return self.database(PREDICTION_ORIGINS)
        measured = self.database(MEASURED)
        if len(measured.rows_of_workload(self.position("workload", measured, workload))):
            return measured
        simulated = self.database(SIMULATED)
        has_any = len(simulated.rows_of_workload(self.position("workload", simulated, workload)))
        return simulated if has_any else measured

    def position(self, kind: str, database: Database, name: str) -> int:
        """Of the `platform` or `workload` with that slug, or of the only one with that name, in the database. Raises
        UnknownInDump."""
        slugs = database.platforms if kind == "platform" else database.workloads
        named = self.names[kind].get(name, ())
        index = slug_index(slugs, name)
        if index is None and len(named) == 1:
            index = slug_index(slugs, named[0])
        if index is None:
            raise UnknownInDump(kind, name, named)
        return index

    def predict(
        self,
        workload: str,
        target: str,
        *,
        references: Sequence[str] | None = None,
        method: str = DEFAULT_METHOD,
        n: Sequence[int] | None = None,
        settings: dict[str, Any] | None = None,
        include_simulated: bool = False,
    ) -> Answer:
        """What the server answers from public profiles at the revision of this dump. Times in seconds, (J,) at the n of
        the answer; NaN = invalid.

        Raises a PredictionError where too little is known, and SettingsError.
        """
        database = self.database_for(workload, include_simulated=include_simulated)
        chosen = get_method(method)
        query = Query(
            workload=self.position("workload", database, workload),
            target=self.position("platform", database, target),
            references=None
            if references is None
            else tuple(sorted({self.position("platform", database, name) for name in references})),
            n=None if n is None else tuple(sorted(set(n))),
        )
        with single_thread():
            return chosen.predict(database, query, chosen.settings_from(settings or {}))


def read_dump(folder: Path) -> PublicDump:
    """The dump in the folder. Raises DumpError for one that is broken."""
    package = open_dump(folder, READ_TABLES)
    platforms = _columns(package, PLATFORMS_TABLE, PLATFORM_FIELDS)
    platforms, _ = drop_faulty(platforms, faults_of_platforms(platforms))
    workloads = _columns(package, WORKLOADS_TABLE, WORKLOAD_FIELDS)
    workloads, _ = drop_faulty(workloads, slug_faults(workloads["slug"]))
    profiles = _profile_columns(package, platforms, workloads)
    placed = place_profiles(profiles, platforms["pk"], workloads["pk"])
    names = {"platform": _named(package, PLATFORMS_TABLE), "workload": _named(package, WORKLOADS_TABLE)}
    return PublicDump(package.revision, platforms, workloads, placed, names)


def _rows(package: DumpPackage, table: DumpTable) -> Iterator[DumpRow]:
    return read_table(package.folder, table, package.form)


def _columns(package: DumpPackage, table: DumpTable, fields: Sequence[str]) -> Columns:
    """Columns sorted by slug, with the position in the dump for a primary key."""
    wanted = [table.names.index(table.key[0] if name == "slug" else name) for name in fields]
    rows = ((*(row[place] for place in wanted), number) for number, row in enumerate(_rows(package, table)))
    return columns_by_slug(rows, (*fields, "pk"))


def _named(package: DumpPackage, table: DumpTable) -> dict[str, tuple[str, ...]]:
    """The slugs of each name."""
    slug, name = table.names.index(table.key[0]), table.names.index("name")
    named: dict[str, tuple[str, ...]] = {}
    for row in _rows(package, table):
        named[row[name]] = (*named.get(row[name], ()), row[slug])
    return named


def _profile_columns(package: DumpPackage, platforms: Columns, workloads: Columns) -> ProfileColumns:
    """The profiles that predictions may use: with curves and features, and no outliers."""
    curves, features = _curves(package), _features(package)
    records = [dict(zip(PROFILES_TABLE.names, row, strict=True)) for row in _rows(package, PROFILES_TABLE)]
    records = [
        record
        for record in records
        if record["outlier_reason"] == ""
        and record["origin"] in PREDICTION_ORIGINS
        and record["profile"] in curves
        and record["profile"] in features
    ]
    records = _without_faults(records, curves, features)
    keys = [record["profile"] for record in records]
    lengths, points = thinned_curves(
        np.array([len(curves[key][0]) for key in keys], dtype=np.int64),
        _joined([curves[key][0] for key in keys], "<i4"),
    )
    of_platform = dict(zip(platforms["slug"], platforms["pk"], strict=True))
    of_workload = dict(zip(workloads["slug"], workloads["pk"], strict=True))
    nothing: list[None] = [None] * len(records)
    values = {
        "pk": np.array(keys, dtype=np.int64),
        "platform_id": np.array([of_platform.get(record["platform"], -1) for record in records], dtype=np.int64),
        "workload_id": np.array([of_workload.get(record["workload"], -1) for record in records], dtype=np.int64),
        "private_to_id": np.array(nothing, dtype=np.object_),
        "origin": np.array([record["origin"] for record in records], dtype=np.object_),
        "decomposed": np.array([record["decomposed"] for record in records], dtype=np.bool_),
    } | {
        name: np.array([record[name] for record in records], dtype=kind)
        for name, kind in (
            *((name, np.float64) for name in ("t1_s", "run_count", "disturbed_count", "standard_error")),
            ("n_measured", np.int64),
        )
    }
    return ProfileColumns(
        values=values,
        features=np.array([features[key] for key in keys], dtype=np.float64).reshape(-1, len(FEATURE_NAMES)),
        lengths=lengths,
        curve_n=_joined([curves[key][0] for key in keys], "<i4")[points],
        curve_time_s=_joined([curves[key][1] for key in keys], "<f8")[points],
    )


def _without_faults(
    records: list[dict[str, Any]], curves: dict[int, tuple[IntArray, FloatArray]], features: dict[int, FloatArray]
) -> list[dict[str, Any]]:
    """Those that can be computed with, by the rules that the server has for its rows."""
    keys = [record["profile"] for record in records]
    faults = profile_faults(
        np.array([record["t1_s"] for record in records], dtype=np.float64),
        np.array([features[key] for key in keys], dtype=np.float64).reshape(-1, len(FEATURE_NAMES)),
        np.array([len(curves[key][0]) for key in keys], dtype=np.int64),
        _joined([curves[key][0] for key in keys], "<i4"),
        _joined([curves[key][1] for key in keys], "<f8"),
    )
    return [record for place, record in enumerate(records) if place not in faults]


def _joined(arrays: Sequence[Any], dtype: str) -> Any:
    return np.concatenate([np.zeros(0, dtype=dtype), *arrays]).astype(dtype)


def _curves(package: DumpPackage) -> dict[int, tuple[IntArray, FloatArray]]:
    """n and t(n) by profile."""
    time = CURVES_TABLE.names.index("time_s")
    curves = {}
    for profile, rows in groupby(_rows(package, CURVES_TABLE), key=itemgetter(0)):
        points = [(row[1], row[time]) for row in rows]
        n, times = zip(*points, strict=True)
        curves[profile] = (np.array(n, dtype="<i4"), np.array(times, dtype="<f8"))
    return curves


def _features(package: DumpPackage) -> dict[int, FloatArray]:
    elements = slice(1, 1 + len(FEATURE_NAMES))
    return {row[0]: np.array(row[elements], dtype=np.float64) for row in _rows(package, FEATURES_TABLE)}
