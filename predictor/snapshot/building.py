"""From stored rows to the one read-only `Database` that all predictions of one revision share.

A snapshot holds what one viewer may predict from: everything public that is not emulated and, for an owner of private
profiles, those too. It is built with a fixed number of queries, once per process and revision, and never changes. A
row that cannot be computed with is left out, counted and logged, whatever wrote it (profiles.usability).
docs/decisions/representative-profile.md says which profile stands for a pair that was measured more than once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from mpet_site.web.patience import NotReadyYet
from predictor.core.arrays import stretch_positions
from predictor.core.database import (
    PLATFORM_NUMBER_COLUMNS,
    PLATFORM_TEXT_COLUMNS,
    WORKLOAD_TEXT_COLUMNS,
    Database,
    Group,
)
from profiles.consistency import consistent_reads
from profiles.measurements import ProfileRecord
from profiles.models import Platform, Profile, Revision, Workload
from profiles.scaling.repeats import deviation_of_one
from profiles.scaling.validity import (
    LARGEST_VALUE,
    MOST_CURVE_POINTS,
    platform_faults,
    slug_faults,
    thinned_positions,
    valid_counts,
)
from profiles.usability import batches, byte_columns, usable_arrays

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
    "run_count": np.float64,
    "disturbed_count": np.float64,
    "standard_error": np.float64,
}
MOST_READINGS = 20
THREAD_COLUMNS = frozenset({"physical_cores", "threads"})  # of PLATFORM_NUMBER_COLUMNS

logger = logging.getLogger(__name__)
_logged: set[int] = set()  # profiles that this process has told of

TableRow = tuple[Any, ...]
Columns = dict[str, TableRow]
RecordProgress = Callable[[Sequence[ProfileRecord]], Iterable[ProfileRecord]]


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


@dataclass
class ProfileColumns:
    """Profiles by column; the measured times of each are `lengths` elements of the two flat curve arrays. `unusable`:
    by primary key, why a profile that was read is not among them."""

    values: dict[str, np.ndarray]
    features: np.ndarray
    lengths: np.ndarray
    curve_n: np.ndarray
    curve_time_s: np.ndarray
    unusable: dict[int, str] = field(default_factory=dict)

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
            unusable=self.unusable,
        )


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


def faults_of_platforms(platforms: Columns) -> dict[int, str]:
    """By row of the columns why no curve can be computed on the platform."""
    counts = (np.array(platforms[name], dtype=np.float64) for name in ("n_nu", "n_ht", "n_max"))
    return platform_faults(*counts) | slug_faults(platforms["slug"])


def drop_faulty(columns: Columns, faults: Mapping[int, str]) -> tuple[Columns, dict[int, str]]:
    """The columns without those rows, and the faults by primary key instead."""
    if not faults:
        return columns, {}
    by_key = {columns["pk"][row]: why for row, why in faults.items()}
    kept = {
        name: tuple(value for row, value in enumerate(column) if row not in faults) for name, column in columns.items()
    }
    return kept, by_key


def faults_of_pairs(
    values: Mapping[str, np.ndarray], of_platform: Mapping[int, str], of_workload: Mapping[int, str]
) -> dict[int, str]:
    """By primary key of a profile why its platform or its workload cannot be used."""
    faults: dict[int, str] = {}
    for name, of_key in (("workload_id", of_workload), ("platform_id", of_platform)):
        for row in np.flatnonzero(np.isin(values[name], list(of_key))) if of_key else ():
            faults[int(values["pk"][row])] = of_key[int(values[name][row])]
    return faults


def log_unusable(unusable: Mapping[int, str]) -> None:
    """Tell of each profile once a process."""
    for key in unusable.keys() - _logged:
        logger.warning("profile %d is left out of predictions: %s", key, unusable[key])
    _logged.update(unusable)


def place_profiles(profiles: ProfileColumns, platforms: Sequence[int], workloads: Sequence[int]) -> ProfileColumns:
    """The profiles whose platform and workload are among these primary keys, with the positions of both."""
    platform_index = positions_of_ids(platforms, profiles.values["platform_id"])
    workload_index = positions_of_ids(workloads, profiles.values["workload_id"])
    profiles.values |= {"platform": platform_index, "workload": workload_index}
    visible = (platform_index >= 0) & (workload_index >= 0)
    return profiles if visible.all() else profiles.take(np.flatnonzero(visible))


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


def thinned_curves(lengths: np.ndarray, curve_n: np.ndarray) -> tuple[np.ndarray, np.ndarray | slice]:
    """How long the curves are when none has more than MOST_CURVE_POINTS, and which points of the flat arrays remain."""
    if (lengths <= MOST_CURVE_POINTS).all():
        return lengths, slice(None)
    stops = np.cumsum(lengths)
    kept = [
        start + thinned_positions(curve_n[start:stop])
        for start, stop in zip((stops - lengths).tolist(), stops.tolist(), strict=True)
    ]
    return np.array([len(positions) for positions in kept], dtype=np.int64), np.concatenate(kept)


def concatenate_columns(parts: list[ProfileColumns]) -> ProfileColumns:
    return ProfileColumns(
        values={name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
        features=np.concatenate([part.features for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
        curve_n=np.concatenate([part.curve_n for part in parts]),
        curve_time_s=np.concatenate([part.curve_time_s for part in parts]),
        unusable={key: why for part in parts for key, why in part.unusable.items()},
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
        standard_error=possible_errors(profiles.values["standard_error"]),
        run_deviation=run_deviations(profiles.values),
        disturbed_share=disturbed_shares(profiles.values["disturbed_count"], profiles.values["run_count"]),
        curve_offsets=np.concatenate([[0], np.cumsum(profiles.lengths)]),
        curve_n=profiles.curve_n,
        curve_time_s=profiles.curve_time_s,
        n_nu=np.array(platforms["n_nu"], dtype=np.float64),
        n_ht=np.array(platforms["n_ht"], dtype=np.float64),
        n_max=platforms["n_max"],
        platform_table={name: known_numbers(name, platforms[name]) for name in PLATFORM_NUMBER_COLUMNS}
        | {name: texts_or_empty(platforms[name]) for name in PLATFORM_TEXT_COLUMNS},
        workload_table={name: texts_or_empty(workloads[name]) for name in WORKLOAD_TEXT_COLUMNS},
    )
    return database, profiles


def known_numbers(name: str, column: Sequence[float | None]) -> np.ndarray:
    """A number of each platform, NaN where it is unknown or none that a machine has."""
    numbers = np.array(column, dtype=np.float64)
    possible = valid_counts(numbers) if name in THREAD_COLUMNS else (numbers > 0) & (numbers <= LARGEST_VALUE)
    return np.where(possible, numbers, np.nan)


def possible_errors(column: np.ndarray) -> np.ndarray:
    """The standard errors, NaN where one is unknown or none that can be computed with."""
    return np.where((column >= 0) & (column <= LARGEST_VALUE), column, np.nan)


def run_deviations(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The standard deviation of ln t of single runs, NaN where nothing was repeated. A decomposed profile has two
    passes, each of as many runs."""
    passes = 1 + values["decomposed"]
    runs = values["run_count"] / (np.maximum(values["n_measured"], 1) * passes)
    return possible_errors(deviation_of_one(possible_errors(values["standard_error"]), runs))


def disturbed_shares(disturbed_count: np.ndarray, run_count: np.ndarray) -> np.ndarray:
    """The share of disturbed runs, NaN where nobody looked."""
    return np.clip(disturbed_count / np.where(run_count > 0, run_count, np.nan), 0.0, 1.0)


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
