"""From stored rows to the one read-only `Database` that all predictions of one revision share.

A snapshot holds what one viewer may predict from: everything public that is not emulated and, for an owner of private
profiles, those too. It is built with a fixed number of queries, once per process and revision, and never changes. A
row that cannot be computed with is left out, counted and logged, whatever wrote it (profiles.usability).
docs/decisions/representative-profile.md says which profile stands for a pair that was measured more than once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mpet_site.web.patience import NotReadyYet
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
    thinned_curves,
)
from predictor.core.database import (
    Database,
)
from profiles.consistency import consistent_reads
from profiles.models import Platform, Profile, Revision, Workload
from profiles.scaling.validity import (
    slug_faults,
)
from profiles.usability import batches, byte_columns, usable_arrays

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

logger = logging.getLogger(__name__)
_logged: set[int] = set()  # profiles that this process has told of


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A `Database`, and what an answer tells about its N profiles although no method needs it. `unusable` are the
    primary keys of the U profiles that were left out because nothing can be computed with them, `unusable_reasons` why.
    """

    database: Database
    profile_ids: np.ndarray
    source_ids: np.ndarray
    fit_error: np.ndarray
    t1_is_stand_in: np.ndarray
    is_simulated: np.ndarray
    run_count: np.ndarray  # NaN: not counted
    disturbed_count: np.ndarray  # of these runs; NaN: nobody looked
    unusable: np.ndarray
    unusable_reasons: tuple[str, ...]
    holds_private: bool
    private_revision: int


def build_snapshot(viewer: Any, origins: tuple[str, ...], outliers: bool = False) -> Snapshot:
    """The viewer's snapshot. All tables are of the revision that it names: they are read as of one moment or, inside a
    transaction, again until none changed meanwhile.

    Raises NotReadyYet where they never stood still.
    """
    with consistent_reads() as is_consistent:
        for _ in range(MOST_READINGS):
            before = Revision.current(viewer)
            built = read_tables(viewer, origins, before, outliers)
            if is_consistent or Revision.current(viewer) == before:
                built.database.prepare()
                return built
    raise NotReadyYet


def read_tables(viewer: Any, origins: tuple[str, ...], revision: tuple[int, int], outliers: bool = False) -> Snapshot:
    platforms = columns_with_owner(Platform.objects.visible_to(viewer), PLATFORM_FIELDS)
    platforms, of_platform = drop_faulty(platforms, faults_of_platforms(platforms))
    workloads = columns_with_owner(Workload.objects.visible_to(viewer), WORKLOAD_FIELDS)
    workloads, of_workload = drop_faulty(workloads, slug_faults(workloads["slug"]))
    profiles = read_profiles(viewer, origins, outliers)
    unusable = profiles.unusable | faults_of_pairs(profiles.values, of_platform, of_workload)
    log_unusable(unusable)
    profiles = place_profiles(profiles, platforms["pk"], workloads["pk"])
    owners = chain(platforms["private_to_id"], workloads["private_to_id"], profiles.values["private_to_id"])
    database, profiles = assemble_database(
        platforms, workloads, profiles, origin="+".join(origins), revision=revision[0]
    )
    return Snapshot(
        database=database,
        profile_ids=profiles.values["pk"],
        source_ids=profiles.values["source_id"],
        fit_error=profiles.values["fit_error"],
        t1_is_stand_in=profiles.values["t1_is_stand_in"],
        is_simulated=profiles.values["origin"] == "simulated",
        run_count=profiles.values["run_count"],
        disturbed_count=profiles.values["disturbed_count"],
        unusable=np.array(list(unusable), dtype=np.int64),
        unusable_reasons=tuple(unusable.values()),
        holds_private=any(owner is not None for owner in owners),
        private_revision=revision[1],
    )


def log_unusable(unusable: Mapping[int, str]) -> None:
    """Tell of each profile once a process."""
    for key in unusable.keys() - _logged:
        logger.warning("profile %d is left out of predictions: %s", key, unusable[key])
    _logged.update(unusable)


def columns_with_owner(queryset: Any, names: Sequence[str]) -> Columns:
    return columns_by_slug(queryset.values_list(*names, "pk", "private_to_id"), (*names, "pk", "private_to_id"))


def read_profiles(viewer: Any, origins: tuple[str, ...], outliers: bool = False) -> ProfileColumns:
    """All profiles that the viewer may predict from, by one query.

    Arrays are read as the bytes that are stored: making an array per row would cost more than the query. Of a profile's
    15 curves only the first, the times, leaves the database.
    """
    rows = (
        Profile.objects.candidates_for(viewer, outliers=outliers)
        .filter(origin__in=origins, curves__isnull=False, feature_vector__isnull=False)
        .order_by()
        .values_list(*PROFILE_FIELDS, *byte_columns())
    )
    return concatenate_columns([columns_of_batch(batch) for batch in batches(rows.iterator(chunk_size=2000))])


def columns_of_batch(rows: list[TableRow]) -> ProfileColumns:
    """The columns of those rows that can be used."""
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
