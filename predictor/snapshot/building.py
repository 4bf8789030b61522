"""From stored rows to the one read-only `Database` that all predictions of one revision share.

A snapshot holds what one viewer may predict from: everything public that is not emulated and, for an owner of private
profiles, those too. It is built with a fixed number of queries, once per process and revision, and never changes.
docs/decisions/representative-profile.md says which profile stands for a pair that was measured more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from django.db.models import BinaryField, ExpressionWrapper, F
from django.db.models.functions import Substr

from predictor.core.arrays import stretch_positions
from predictor.core.database import (
    PLATFORM_NUMBER_COLUMNS,
    PLATFORM_TEXT_COLUMNS,
    WORKLOAD_TEXT_COLUMNS,
    Database,
    Group,
)
from profiles.measurements import ProfileRecord
from profiles.models import Platform, Profile, Revision, Workload
from profiles.scaling.features import FEATURE_NAMES

MEASURED = ("measured",)
SIMULATED = ("simulated",)
PREDICTION_ORIGINS = (*MEASURED, *SIMULATED)  # predictions never use emulated profiles

PLATFORM_FIELDS = ("slug", "n_nu", "n_ht", "n_max", *PLATFORM_NUMBER_COLUMNS, *PLATFORM_TEXT_COLUMNS)
WORKLOAD_FIELDS = ("slug", "runtime", *WORKLOAD_TEXT_COLUMNS)
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
}
ROWS_PER_BATCH = 20_000

TableRow = tuple[Any, ...]
Columns = dict[str, TableRow]
RecordProgress = Callable[[Sequence[ProfileRecord]], Iterable[ProfileRecord]]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A `Database`, and what an answer tells about its N profiles although no method needs it."""

    database: Database
    profile_ids: np.ndarray
    source_ids: np.ndarray
    fit_error: np.ndarray
    t1_is_stand_in: np.ndarray
    is_simulated: np.ndarray
    holds_private: bool
    private_revision: int


@dataclass
class ProfileColumns:
    """Profiles by column; the measured times of each are `lengths` elements of the two flat curve arrays."""

    values: dict[str, np.ndarray]
    features: np.ndarray
    lengths: np.ndarray
    curve_n: np.ndarray
    curve_time_s: np.ndarray

    def take(self, rows: np.ndarray) -> ProfileColumns:
        starts = np.cumsum(self.lengths) - self.lengths
        lengths = self.lengths[rows]
        flat = stretch_positions(starts[rows], lengths)
        return ProfileColumns(
            values={name: column[rows] for name, column in self.values.items()},
            features=self.features[rows],
            lengths=lengths,
            curve_n=self.curve_n[flat],
            curve_time_s=self.curve_time_s[flat],
        )


def build_snapshot(viewer: Any, origins: tuple[str, ...], outliers: bool = False) -> Snapshot:
    """The viewer's snapshot. The tables are read again until none changed meanwhile: all are of the revision that the
    snapshot names."""
    while True:
        before = Revision.current(viewer)
        built = read_tables(viewer, origins, before, outliers)
        if Revision.current(viewer) == before:
            built.database.prepare()
            return built


def read_tables(viewer: Any, origins: tuple[str, ...], revision: tuple[int, int], outliers: bool = False) -> Snapshot:
    platforms = columns_with_owner(Platform.objects.visible_to(viewer), PLATFORM_FIELDS)
    workloads = columns_with_owner(Workload.objects.visible_to(viewer), WORKLOAD_FIELDS)
    profiles = read_profiles(viewer, origins, outliers)
    platform_index = positions_of_ids(platforms["pk"], profiles.values["platform_id"])
    workload_index = positions_of_ids(workloads["pk"], profiles.values["workload_id"])
    profiles.values |= {"platform": platform_index, "workload": workload_index}
    visible = (platform_index >= 0) & (workload_index >= 0)
    if not visible.all():
        profiles = profiles.take(np.flatnonzero(visible))
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
        holds_private=any(owner is not None for owner in owners),
        private_revision=revision[1],
    )


def columns_with_owner(queryset: Any, names: Sequence[str]) -> Columns:
    return columns_by_slug(queryset.values_list(*names, "pk", "private_to_id"), (*names, "pk", "private_to_id"))


def columns_by_slug(rows: Iterable[TableRow], names: Sequence[str]) -> Columns:
    """Columns of rows that begin with a slug, sorted by slug. Python sorts them: no collation changes its order."""
    ordered = sorted(rows, key=lambda row: row[0])
    return dict(zip(names, zip(*ordered, strict=True) if ordered else ((),) * len(names), strict=True))


def positions_of_ids(ids: Sequence[int], wanted: np.ndarray) -> np.ndarray:
    """The position of each wanted id in `ids`; -1 where it is not in them."""
    table = np.asarray(ids, dtype=np.int64)
    order = np.argsort(table)
    rank = np.searchsorted(table, wanted, sorter=order)
    is_there = np.isin(wanted, table)
    return np.where(is_there, order[np.where(is_there, rank, 0)], -1) if len(table) else np.full(len(wanted), -1)


def read_profiles(viewer: Any, origins: tuple[str, ...], outliers: bool = False) -> ProfileColumns:
    """All profiles that the viewer may predict from, by one query.

    Arrays are read as the bytes that are stored: making an array per row would cost more than the query. Of a profile's
    15 curves only the first, the times, leaves the database.
    """
    raw = BinaryField()
    rows = (
        Profile.objects.candidates_for(viewer, outliers=outliers)
        .filter(origin__in=origins, curves__isnull=False, feature_vector__isnull=False)
        .order_by()
        .values_list(
            *PROFILE_FIELDS,
            ExpressionWrapper(F("feature_vector__values"), output_field=raw),
            ExpressionWrapper(F("curves__n"), output_field=raw),
            Substr("curves__values", 1, F("n_measured") * 8, output_field=raw),
        )
    )
    return concatenate_columns([columns_of_batch(batch) for batch in batches(rows.iterator(chunk_size=2000))])


def batches(rows: Iterator[TableRow]) -> Iterator[list[TableRow]]:
    """Lists of at most ROWS_PER_BATCH rows, and one empty list when there is no row at all."""
    yield list(islice(rows, ROWS_PER_BATCH))
    while batch := list(islice(rows, ROWS_PER_BATCH)):
        yield batch


def columns_of_batch(rows: list[TableRow]) -> ProfileColumns:
    *scalars, features, curve_n, times = zip(*rows, strict=True) if rows else [()] * (len(PROFILE_FIELDS) + 3)
    values: dict[str, np.ndarray] = {
        name: np.array(column, dtype=dtype)
        for (name, dtype), column in zip(PROFILE_FIELDS.items(), scalars, strict=True)
    }
    return ProfileColumns(
        values=values,
        features=np.frombuffer(b"".join(features), "<f8").reshape(-1, len(FEATURE_NAMES)),
        lengths=values["n_measured"],
        curve_n=np.frombuffer(b"".join(curve_n), "<i4"),
        curve_time_s=np.frombuffer(b"".join(times), "<f8"),
    )


def concatenate_columns(parts: list[ProfileColumns]) -> ProfileColumns:
    return ProfileColumns(
        values={name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
        features=np.concatenate([part.features for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
        curve_n=np.concatenate([part.curve_n for part in parts]),
        curve_time_s=np.concatenate([part.curve_time_s for part in parts]),
    )


def assemble_database(
    platforms: Columns, workloads: Columns, profiles: ProfileColumns, *, origin: str, revision: int
) -> tuple[Database, ProfileColumns]:
    """The `Database`, and the columns of its profiles in its order. It has one profile for each platform, workload and
    group."""
    groups, group = group_profiles(profiles, workloads["runtime"], origin)
    rows = representative_rows(profiles.values, group)
    profiles, group = profiles.take(rows), group[rows]
    database = Database.build(
        revision=revision,
        platforms=platforms["slug"],
        workloads=workloads["slug"],
        platform_index=profiles.values["platform"],
        workload_index=profiles.values["workload"],
        groups=groups,
        group=group,
        features=profiles.features,
        t1_s=profiles.values["t1_s"],
        curve_offsets=np.concatenate([[0], np.cumsum(profiles.lengths)]),
        curve_n=profiles.curve_n,
        curve_time_s=profiles.curve_time_s,
        n_nu=np.array(platforms["n_nu"], dtype=np.float64),
        n_ht=np.array(platforms["n_ht"], dtype=np.float64),
        n_max=platforms["n_max"],
        platform_table={name: np.array(platforms[name], dtype=np.float64) for name in PLATFORM_NUMBER_COLUMNS}
        | {name: texts_or_empty(platforms[name]) for name in PLATFORM_TEXT_COLUMNS},
        workload_table={name: texts_or_empty(workloads[name]) for name in WORKLOAD_TEXT_COLUMNS},
    )
    return database, profiles


def texts_or_empty(column: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(word or "" for word in column)


def group_profiles(
    profiles: ProfileColumns, runtimes: Sequence[str | None], origin: str
) -> tuple[tuple[Group, ...], np.ndarray]:
    """The groups inside which profiles can be compared, and the group of each profile."""
    names, runtime = np.unique(np.array(texts_or_empty(runtimes), dtype=np.str_), return_inverse=True)
    code = profiles.values["decomposed"] * max(len(names), 1) + runtime[profiles.values["workload"]]
    codes, group = np.unique(code, return_inverse=True)
    decomposed, name = np.divmod(codes, max(len(names), 1))
    groups = [Group(bool(parts), str(names[index]), origin) for parts, index in zip(decomposed, name, strict=True)]
    return tuple(groups), group


def representative_rows(values: dict[str, np.ndarray], group: np.ndarray) -> np.ndarray:
    """The rows to keep, sorted by platform, workload and group: for each the viewer's own private profile, else a
    measured one, else that with the most thread counts, else the newest."""
    is_own = values["private_to_id"] != None  # noqa: E711  elementwise
    is_measured = values["origin"] == "measured"
    pair = (group, values["workload"], values["platform"])
    order = np.lexsort((-values["pk"], -values["n_measured"], ~is_measured, ~is_own, *pair))
    key = np.stack([column[order] for column in pair])
    first = np.ones(len(order), dtype=bool)
    first[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    return order[first]
