"""Snapshots built from stored rows: the read-only `Database` that all predictions of one revision share.

A snapshot contains what one viewer may predict from: all public profiles that are not emulated and, for an owner of
private profiles, those too. It is built with a fixed number of queries and never changes; later additions make a new
one (predictor.snapshot.growing). A row that cannot be computed with is left out, counted and logged, regardless of its
source (profiles.judgement.usability). docs/decisions/representative-profile.md defines which profile represents a pair
that was measured more than once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from django.db.models import Q, QuerySet

from mpet_site.web.background import NotReadyYet
from mpet_site.web.consistency import consistent_reads
from predictor.core.assembly import (
    PLATFORM_FIELDS,
    WORKLOAD_FIELDS,
    Columns,
    ProfileColumns,
    TableRow,
    assemble_database,
    columns_by_slug,
    concatenate_columns,
    drop_faulty,
    faults_of_pairs,
    faults_of_platforms,
    place_profiles,
    texts_or_empty,
    thinned_curves,
)
from predictor.core.database import Database
from predictor.core.growth import Ranks
from profiles.arrays import FloatArray
from profiles.jobs.executors import code_digest
from profiles.judgement.usability import batches, byte_columns, usable_arrays
from profiles.models import Platform, Profile, Revision, ScalingCurves, Source, VerdictChange, Workload
from profiles.scaling.names import CURVE_NAMES, RELATIVE_MEASURES
from profiles.scaling.runs import STORED_CURVES, CurveTable, stored_curves
from profiles.scaling.validity import slug_faults, valid_values

PROFILE_FIELDS = {
    "pk": np.int64,
    "platform_id": np.int64,
    "workload_id": np.int64,
    "source_id": np.int64,
    "private_to_id": np.object_,
    "origin": np.object_,
    "decomposed": np.bool_,
    "t1_s": np.float64,
    "t1_is_stand_in": np.bool_,
    "fit_error": np.float64,
    "n_measured": np.int64,
    "run_count": np.float64,
    "disturbed_count": np.float64,
    "standard_error": np.float64,
}
MOST_READINGS = 20
BUILDING_PACKAGES = ("predictor/core", "predictor/snapshot", "profiles")
EVERYTHING = (Q(),)

Read = TypeVar("Read")

logger = logging.getLogger(__name__)
_logged: set[int] = set()  # primary keys of the profiles that this process has warned about
RELATIVE_MEASURE_ROWS = slice(1 + CURVE_NAMES.index(next(iter(RELATIVE_MEASURES))), None)


class Lineage(NamedTuple):
    """The state that a snapshot was built from: the code, the generation of the public rows, and the newest public
    delivery and change of verdicts. Their primary keys rise in the order in which they are stored."""

    code: str
    generation: str
    newest_source: int
    newest_source_uid: str
    newest_verdicts: int
    newest_verdicts_uid: str

    @classmethod
    def current(cls) -> Lineage:
        source, verdicts = _newest(Source.objects.public()), _newest(VerdictChange.objects.all())
        return cls(_building_code(), Revision.public_generation(), *source, *verdicts)

    def is_extended(self) -> bool:
        """Return whether the current state of the database is this one with further deliveries and verdicts only."""
        if not self.generation or self != self._replace(code=_building_code(), generation=Revision.public_generation()):
            return False
        newest = (
            (Source.objects.public(), self.newest_source, self.newest_source_uid),
            (VerdictChange.objects.all(), self.newest_verdicts, self.newest_verdicts_uid),
        )
        return all(not key or rows.filter(pk=key, uid=uid).exists() for rows, key, uid in newest)


def _newest(rows: QuerySet) -> tuple[int, str]:
    """Return the primary key and the uid of the newest row; the key is 0 if there is none."""
    key, uid = rows.order_by("-pk").values_list("pk", "uid").first() or (0, "")
    return key, str(uid)


@cache
def _building_code() -> str:
    return code_digest(BUILDING_PACKAGES)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A `Database` with further columns of its N profiles, which answers need and methods do not.

    `unusable` are the primary keys of the U profiles that were left out because nothing can be computed with them, and
    `unusable_reasons` are the reasons.
    """

    database: Database
    origins: tuple[str, ...]  # of the profiles, in alphabetical order
    profile_ids: np.ndarray
    source_ids: np.ndarray
    fit_error: np.ndarray
    t1_is_stand_in: np.ndarray
    is_simulated: np.ndarray
    run_count: np.ndarray  # NaN: not counted
    disturbed_count: np.ndarray  # of these runs; NaN: not recorded
    unusable: np.ndarray
    unusable_reasons: tuple[str, ...]
    holds_private: bool
    private_revision: int
    is_private: np.ndarray
    n_measured: np.ndarray  # of the profile; its curve here may have fewer thread counts
    platform_ids: np.ndarray  # (P,)
    workload_ids: np.ndarray  # (W,)
    workload_runtimes: tuple[str, ...]
    lineage: Lineage

    @property
    def ranks(self) -> Ranks:
        return Ranks(**{column.name: getattr(self, column.name) for column in fields(Ranks)})


def build_snapshot(viewer: Any, origins: tuple[str, ...], outliers: bool = False) -> Snapshot:
    """Return the viewer's snapshot, built from all rows. Raises NotReadyYet if the tables keep changing."""
    built = read_at_one_moment(viewer, lambda revision: read_tables(viewer, origins, revision, outliers))
    built.database.prepare()
    return built


def read_at_one_moment(viewer: Any, read: Callable[[tuple[int, int]], Read]) -> Read:
    """Return the result of `read` for the current revision, with all tables at that revision. They are read as of one
    moment or, inside a transaction, repeatedly until none of them changes during the read.

    Raises NotReadyYet if they keep changing.
    """
    with consistent_reads() as is_consistent:
        for _ in range(MOST_READINGS):
            before = Revision.current(viewer)
            result = read(before)
            if is_consistent or Revision.current(viewer) == before:
                return result
    raise NotReadyYet


def read_tables(
    viewer: Any,
    origins: tuple[str, ...],
    revision: tuple[int, int],
    outliers: bool,
    selections: Sequence[Q] = EVERYTHING,
) -> Snapshot:
    """Return a snapshot of all platforms and workloads that the viewer sees, with the profiles in any of the
    selections."""
    lineage = Lineage.current()
    platforms = columns_with_owner(Platform.objects.visible_to(viewer), PLATFORM_FIELDS)
    platforms, of_platform = drop_faulty(platforms, faults_of_platforms(platforms))
    workloads = columns_with_owner(Workload.objects.visible_to(viewer), WORKLOAD_FIELDS)
    workloads, of_workload = drop_faulty(workloads, slug_faults(workloads["slug"]))
    faults = of_platform, of_workload
    # The columns have no other reference, so that their memory is freed once they are sorted.
    database, profiles = assemble_database(
        platforms,
        workloads,
        place_usable(read_profiles(viewer, origins, outliers, selections), platforms, workloads, faults),
        origin="+".join(origins),
        revision=revision[0],
    )
    for key in profiles.unusable.keys() - _logged:
        logger.warning("profile %d is left out of predictions: %s", key, profiles.unusable[key])
    _logged.update(profiles.unusable)
    is_private = np.array([owner is not None for owner in profiles.values["private_to_id"]], dtype=np.bool_)
    owners = chain(platforms["private_to_id"], workloads["private_to_id"])
    return Snapshot(
        database=database,
        origins=origins,
        profile_ids=profiles.values["pk"],
        source_ids=profiles.values["source_id"],
        fit_error=profiles.values["fit_error"],
        t1_is_stand_in=profiles.values["t1_is_stand_in"],
        is_simulated=profiles.values["origin"] == "simulated",
        run_count=profiles.values["run_count"],
        disturbed_count=profiles.values["disturbed_count"],
        unusable=np.array(list(profiles.unusable), dtype=np.int64),
        unusable_reasons=tuple(profiles.unusable.values()),
        holds_private=bool(is_private.any()) or any(owner is not None for owner in owners),
        private_revision=revision[1],
        is_private=is_private,
        n_measured=profiles.values["n_measured"],
        platform_ids=np.array(platforms["pk"], dtype=np.int64),
        workload_ids=np.array(workloads["pk"], dtype=np.int64),
        workload_runtimes=texts_or_empty(workloads["runtime"]),
        lineage=lineage,
    )


def place_usable(
    profiles: ProfileColumns,
    platforms: Columns,
    workloads: Columns,
    faults: tuple[Mapping[int, str], Mapping[int, str]],
) -> ProfileColumns:
    """Return the usable profiles, with the positions of their platforms and workloads.

    Profiles of a platform or workload in the `faults` are left out. `unusable` contains all profiles that were left
    out, by primary key.
    """
    unusable = profiles.unusable | faults_of_pairs(profiles.values, *faults)
    profiles.unusable = dict(sorted(unusable.items()))
    return place_profiles(profiles, platforms["pk"], workloads["pk"])


def columns_with_owner(queryset: Any, names: Sequence[str]) -> Columns:
    return columns_by_slug(queryset.values_list(*names, "pk", "private_to_id"), (*names, "pk", "private_to_id"))


def read_profiles(viewer: Any, origins: tuple[str, ...], outliers: bool, selections: Sequence[Q]) -> ProfileColumns:
    """Return all profiles that the viewer may predict from, or those in any of the selections, with one query per
    selection.

    Arrays are read as stored bytes, because making an array per row would cost more than the query. Of a profile's 15
    curves only the first one, the times, is read.
    """
    rows = (
        Profile.objects.candidates_for(viewer, outliers=outliers)
        .filter(origin__in=origins, curves__isnull=False, feature_vector__isnull=False)
        .order_by()
        .values_list(*PROFILE_FIELDS, *byte_columns())
    )
    selected = (rows.filter(selection).iterator(chunk_size=2000) for selection in selections)
    return concatenate_columns([columns_of_batch(batch) for part in selected for batch in batches(part)])


def columns_of_batch(rows: list[TableRow]) -> ProfileColumns:
    """Return the columns of the usable rows."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(PROFILE_FIELDS) + len(byte_columns()))
    values: dict[str, np.ndarray] = {
        name: np.array(column, dtype=dtype)
        for (name, dtype), column in zip(PROFILE_FIELDS.items(), columns[: len(PROFILE_FIELDS)], strict=True)
    }
    stored = list(zip(*columns[len(PROFILE_FIELDS) :], strict=True))
    arrays = usable_arrays(values["t1_s"], values["n_measured"], stored)
    lengths, points = thinned_curves(arrays.lengths, arrays.curve_n)
    return ProfileColumns(
        values={name: column[arrays.rows] for name, column in values.items()} if arrays.faults else values,
        features=arrays.features,
        lengths=lengths,
        curve_n=arrays.curve_n[points],
        curve_time_s=arrays.curve_time_s[points],
        unusable={int(values["pk"][row]): why for row, why in arrays.faults.items()},
    )


def read_measures_at_one(snapshot: Snapshot) -> FloatArray | None:
    """Return the relative measures at n = 1 of the rows without features (N, 7), NaN elsewhere. They are read once per
    snapshot."""
    measures: FloatArray | None = snapshot.database.derive(("measures at one",), lambda: _read(snapshot))
    return measures


def _read(snapshot: Snapshot) -> FloatArray | None:
    rows = np.flatnonzero(np.isnan(snapshot.database.features).all(axis=1))
    if not len(rows):
        return None
    position = dict(zip(snapshot.profile_ids[rows].tolist(), rows.tolist(), strict=True))
    measures = np.full((len(snapshot.database), len(RELATIVE_MEASURES)), np.nan)
    # Plain values, because model instances of 260,000 profiles take 6 s. The profiles of a snapshot are valid.
    stored = ScalingCurves.objects.filter(pk__in=list(position)).values_list("pk", "n", "values")
    for key, n, values in stored.iterator():
        if len(n) and n[0] == 1 and len(values) == STORED_CURVES * len(n):
            measures[position[key]] = values[:: len(n)][RELATIVE_MEASURE_ROWS]
    return valid_values(measures)


def read_stored_curves(snapshot: Snapshot, row: int) -> CurveTable | None:
    """Return all curves of the profile in that row of the snapshot by one query; None if they are no longer stored."""
    profile = Profile.objects.select_related("curves").filter(pk=int(snapshot.profile_ids[row])).first()
    return None if profile is None else stored_curves(profile)
