"""Offline predictions from a public dump, with the same public profiles as the server.

dump = read_dump(Path("dump"))
dump.predict("fft", "i9-9900k").time_s
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from predictor.core.arrays import slug_index, stretch_positions
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
    positions_of_ids,
    thinned_curves,
)
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import DEFAULT_METHOD, Answer, Query, get_method
from predictor.core.steps import single_thread
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

RECORD_COLUMNS = ("profile", "platform", "workload", "outlier_reason")
TAKEN_COLUMNS = ("origin", "decomposed", "t1_s", "n_measured", "run_count", "disturbed_count", "standard_error")
READ_TABLES = (PLATFORMS_TABLE, WORKLOADS_TABLE, PROFILES_TABLE, CURVES_TABLE, FEATURES_TABLE)


class UnknownInDump(PredictionError):
    """The dump has no platform or workload with this name, or several."""


@dataclass
class PublicDump:
    """A dump in memory. As on the server, a workload is predicted from measured profiles, or from simulated ones if it
    has no others."""

    revision: int
    platforms: Columns
    workloads: Columns
    profiles: ProfileColumns
    names: dict[str, dict[str, tuple[str, ...]]]
    _databases: dict[tuple[str, ...], Database] = field(default_factory=dict, repr=False)

    def database(self, origins: tuple[str, ...] = MEASURED) -> Database:
        """Return the database of profiles with these origins."""
        if origins not in self._databases:
            rows = np.flatnonzero(np.isin(self.profiles.values["origin"], origins))
            self._databases[origins] = assemble_database(
                *(self.platforms, self.workloads, self.profiles.take(rows)),
                origin="+".join(origins),
                revision=self.revision,
            )[0]
        return self._databases[origins]

    def database_for(self, workload: str, *, include_simulated: bool = False) -> Database:
        """Return the database of measured profiles, or that of simulated ones if the workload has no others. Raise
        UnknownInDump."""
        if include_simulated:
            return self.database(PREDICTION_ORIGINS)
        measured = self.database(MEASURED)
        if len(measured.rows_of_workload(self.position("workload", measured, workload))):
            return measured
        simulated = self.database(SIMULATED)
        has_any = len(simulated.rows_of_workload(self.position("workload", simulated, workload)))
        return simulated if has_any else measured

    def position(self, kind: str, database: Database, name: str) -> int:
        """Return the position in the database of the `platform` or `workload` with that slug, or of the only one with
        that name. Raise UnknownInDump."""
        slugs = database.platforms if kind == "platform" else database.workloads
        named = self.names[kind].get(name, ())
        index = slug_index(slugs, name)
        if index is None and len(named) == 1:
            index = slug_index(slugs, named[0])
        if index is None:
            reason = f"is ambiguous: it is the name of {', '.join(named)}" if named else "is not in the dump"
            raise UnknownInDump(f"{kind} {name!r} {reason}")
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
        """Return the server's answer from public profiles at the revision of this dump. Times in seconds, (J,) at the n
        of the answer; NaN = invalid.

        Raise a PredictionError if too little is known, and SettingsError.
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
    """Return the dump in the folder. Raise DumpError if it is broken."""
    package = open_dump(folder, READ_TABLES)
    platforms = _columns(package, PLATFORMS_TABLE, PLATFORM_FIELDS)
    platforms, _ = drop_faulty(platforms, faults_of_platforms(platforms))
    workloads = _columns(package, WORKLOADS_TABLE, WORKLOAD_FIELDS)
    workloads, _ = drop_faulty(workloads, slug_faults(workloads["slug"]))
    profiles = _profile_columns(package, platforms, workloads)
    placed = place_profiles(profiles, platforms["pk"], workloads["pk"])
    names = {"platform": _named(package, PLATFORMS_TABLE), "workload": _named(package, WORKLOADS_TABLE)}
    return PublicDump(package.revision, platforms, workloads, placed, names)


def _columns(package: DumpPackage, table: DumpTable, fields: Sequence[str]) -> Columns:
    """Return the columns sorted by slug, with the position in the dump as primary key."""
    wanted = [table.names.index(table.key[0] if name == "slug" else name) for name in fields]
    rows = ((*(row[place] for place in wanted), number) for number, row in enumerate(package.rows(table)))
    return columns_by_slug(rows, (*fields, "pk"))


def _named(package: DumpPackage, table: DumpTable) -> dict[str, tuple[str, ...]]:
    """Map name -> slugs with this name."""
    slug, name = table.names.index(table.key[0]), table.names.index("name")
    named: dict[str, tuple[str, ...]] = {}
    for row in package.rows(table):
        named[row[name]] = (*named.get(row[name], ()), row[slug])
    return named


def _profile_columns(package: DumpPackage, platforms: Columns, workloads: Columns) -> ProfileColumns:
    """Return the profiles that predictions may use: those with curves and features that are not outliers. Of the
    tables, only the columns needed for predictions are read."""
    records = package.arrays(PROFILES_TABLE, (*RECORD_COLUMNS, *TAKEN_COLUMNS))
    curves = package.arrays(CURVES_TABLE, ("profile", "n", "time_s"))
    elements = package.arrays(FEATURES_TABLE, ("profile", *FEATURE_NAMES))
    of_features = elements.pop("profile")
    features = np.stack(list(elements.values()), axis=1)
    del elements
    in_order = np.argsort(curves["profile"], kind="stable")
    owners, starts, lengths = np.unique(curves["profile"][in_order], return_index=True, return_counts=True)
    curve_of = positions_of_ids(owners, records["profile"])
    features_of = positions_of_ids(of_features, records["profile"])
    rows = np.flatnonzero(
        (records["outlier_reason"] == "")
        & np.isin(records["origin"], PREDICTION_ORIGINS)
        & (curve_of >= 0)
        & (features_of >= 0)
    )
    lengths, starts = lengths[curve_of[rows]], starts[curve_of[rows]]
    points = in_order[stretch_positions(starts, lengths)]
    slugs = {"platform": platforms, "workload": workloads}
    keys = {noun: dict(zip(columns["slug"], columns["pk"], strict=True)) for noun, columns in slugs.items()}
    profiles = ProfileColumns(
        values={name: records[name][rows] for name in TAKEN_COLUMNS}
        | {
            f"{noun}_id": np.array([keys[noun].get(slug, -1) for slug in records[noun][rows]], dtype=np.int64)
            for noun in keys
        }
        | {"pk": records["profile"][rows], "private_to_id": np.full(len(rows), None, dtype=np.object_)},
        features=features[features_of[rows]],
        lengths=lengths,
        curve_n=curves["n"][points].astype("<i4"),
        curve_time_s=curves["time_s"][points],
    )
    # Remove unusable profiles and thin long curves by the same rules as the server.
    faults = profile_faults(
        profiles.values["t1_s"], profiles.features, profiles.lengths, profiles.curve_n, profiles.curve_time_s
    )
    if faults:
        profiles = profiles.take(np.setdiff1d(np.arange(len(profiles.lengths)), list(faults)))
    lengths, kept_points = thinned_curves(profiles.lengths, profiles.curve_n)
    curve_n, curve_time_s = profiles.curve_n[kept_points], profiles.curve_time_s[kept_points]
    return replace(profiles, lengths=lengths, curve_n=curve_n, curve_time_s=curve_time_s)
