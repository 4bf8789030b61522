"""Assembly of a `Database` from columns of platforms, workloads and profiles of any source.

docs/decisions/representative-profile.md describes which profile represents a pair that was measured more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from predictor.core.arrays import stretch_positions
from predictor.core.database import (
    PLATFORM_NUMBER_COLUMNS,
    PLATFORM_TEXT_COLUMNS,
    WORKLOAD_TEXT_COLUMNS,
    Database,
    Group,
)
from profiles.measurements import ProfileRecord
from profiles.scaling.quality import deviation_of_one
from profiles.scaling.validity import (
    LARGEST_VALUE,
    MOST_CURVE_POINTS,
    platform_faults,
    slug_faults,
    thinned_positions,
    valid_counts,
)

MEASURED = ("measured",)
SIMULATED = ("simulated",)
PREDICTION_ORIGINS = (*MEASURED, *SIMULATED)  # predictions never use emulated profiles
PLATFORM_FIELDS = ("slug", "n_nu", "n_ht", "n_max", *PLATFORM_NUMBER_COLUMNS, *PLATFORM_TEXT_COLUMNS)
WORKLOAD_FIELDS = ("slug", "runtime", *WORKLOAD_TEXT_COLUMNS)
THREAD_COLUMNS = frozenset({"physical_cores", "threads"})  # of PLATFORM_NUMBER_COLUMNS
TableRow = tuple[Any, ...]
Columns = dict[str, TableRow]
RecordProgress = Callable[[Sequence[ProfileRecord]], Iterable[ProfileRecord]]


@dataclass
class ProfileColumns:
    """Profiles as columns. The measured times of each profile are `lengths` elements of the two flat curve arrays.
    `unusable` maps the primary key of each excluded profile to the reason."""

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


def faults_of_platforms(platforms: Columns) -> dict[int, str]:
    """Map row -> reason why the platform has no usable curves."""
    counts = (np.array(platforms[name], dtype=np.float64) for name in ("n_nu", "n_ht", "n_max"))
    return platform_faults(*counts) | slug_faults(platforms["slug"])


def drop_faulty(columns: Columns, faults: Mapping[int, str]) -> tuple[Columns, dict[int, str]]:
    """Return the columns without the faulty rows, and the faults by primary key."""
    if not faults:
        return columns, {}
    by_key = {columns["pk"][row]: why for row, why in faults.items()}
    remaining = {
        name: tuple(value for row, value in enumerate(column) if row not in faults) for name, column in columns.items()
    }
    return remaining, by_key


def faults_of_pairs(
    values: Mapping[str, np.ndarray], of_platform: Mapping[int, str], of_workload: Mapping[int, str]
) -> dict[int, str]:
    """Map the primary key of each unusable profile to the fault of its platform or workload."""
    faults: dict[int, str] = {}
    for name, of_key in (("workload_id", of_workload), ("platform_id", of_platform)):
        for row in np.flatnonzero(np.isin(values[name], list(of_key))) if of_key else ():
            faults[int(values["pk"][row])] = of_key[int(values[name][row])]
    return faults


def place_profiles(profiles: ProfileColumns, platforms: Sequence[int], workloads: Sequence[int]) -> ProfileColumns:
    """Return the profiles with a platform and workload among these primary keys, and set the positions of both."""
    platform_index = positions_of_ids(platforms, profiles.values["platform_id"])
    workload_index = positions_of_ids(workloads, profiles.values["workload_id"])
    profiles.values |= {"platform": platform_index, "workload": workload_index}
    visible = (platform_index >= 0) & (workload_index >= 0)
    return profiles if visible.all() else profiles.take(np.flatnonzero(visible))


def columns_by_slug(rows: Iterable[TableRow], names: Sequence[str]) -> Columns:
    """Return the columns of rows that begin with a slug, sorted by slug. They are sorted in Python, because the order
    in the database depends on its collation."""
    ordered = sorted(rows, key=lambda row: row[0])
    return dict(zip(names, zip(*ordered, strict=True) if ordered else ((),) * len(names), strict=True))


def positions_of_ids(ids: Sequence[int] | np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the position of each wanted id in `ids`; -1 if it is missing."""
    table = np.asarray(ids, dtype=np.int64)
    order = np.argsort(table)
    rank = np.searchsorted(table, wanted, sorter=order)
    is_there = np.isin(wanted, table)
    return np.where(is_there, order[np.where(is_there, rank, 0)], -1) if len(table) else np.full(len(wanted), -1)


def thinned_curves(lengths: np.ndarray, curve_n: np.ndarray) -> tuple[np.ndarray, np.ndarray | slice]:
    """Return the lengths of the curves after thinning to at most MOST_CURVE_POINTS, and which points of the flat arrays
    remain."""
    if (lengths <= MOST_CURVE_POINTS).all():
        return lengths, slice(None)
    stops = np.cumsum(lengths)
    thinned = [
        start + thinned_positions(curve_n[start:stop])
        for start, stop in zip((stops - lengths).tolist(), stops.tolist(), strict=True)
    ]
    return np.array([len(positions) for positions in thinned], dtype=np.int64), np.concatenate(thinned)


def concatenate_columns(parts: list[ProfileColumns]) -> ProfileColumns:
    """Return the concatenated parts. Their features are removed from them, because two copies may exceed the memory."""
    lengths = [len(part.features) for part in parts]
    features = np.empty((sum(lengths), parts[0].features.shape[1]))
    for part, stop, length in zip(parts, np.cumsum(lengths).tolist(), lengths, strict=True):
        features[stop - length : stop] = part.features
        part.features = part.features[:0].copy()
    return ProfileColumns(
        values={name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values},
        features=features,
        lengths=np.concatenate([part.lengths for part in parts]),
        curve_n=np.concatenate([part.curve_n for part in parts]),
        curve_time_s=np.concatenate([part.curve_time_s for part in parts]),
        unusable={key: why for part in parts for key, why in part.unusable.items()},
    )


def assemble_database(
    platforms: Columns, workloads: Columns, profiles: ProfileColumns, *, origin: str, revision: int
) -> tuple[Database, ProfileColumns]:
    """Return the `Database`, and the columns of its profiles in its order. There is one profile for each platform,
    workload and group."""
    groups, group = group_profiles(profiles, workloads["runtime"], origin)
    rows = representative_rows(profiles.values, group)
    profiles, group = profiles.take(rows), group[rows]
    run_count = profiles.values["run_count"]
    looked_at = np.where(run_count > 0, run_count, np.nan)
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
        disturbed_share=np.clip(profiles.values["disturbed_count"] / looked_at, 0.0, 1.0),
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
    """Return the numbers of all platforms, NaN where they are unknown or impossible."""
    numbers = np.array(column, dtype=np.float64)
    possible = valid_counts(numbers) if name in THREAD_COLUMNS else (numbers > 0) & (numbers <= LARGEST_VALUE)
    return np.where(possible, numbers, np.nan)


def possible_errors(column: np.ndarray) -> np.ndarray:
    """Return the standard errors, NaN where they are unknown or not usable."""
    return np.where((column >= 0) & (column <= LARGEST_VALUE), column, np.nan)


def run_deviations(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the standard deviation of ln t of single runs, NaN where nothing was repeated. A decomposed profile has
    two passes with the same number of runs each."""
    passes = 1 + values["decomposed"]
    runs = values["run_count"] / (np.maximum(values["n_measured"], 1) * passes)
    return possible_errors(deviation_of_one(possible_errors(values["standard_error"]), runs))


def texts_or_empty(column: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(word or "" for word in column)


def group_profiles(
    profiles: ProfileColumns, runtimes: Sequence[str | None], origin: str
) -> tuple[tuple[Group, ...], np.ndarray]:
    """Return the groups of comparable profiles, and the group of each profile."""
    names, runtime = np.unique(np.array(texts_or_empty(runtimes), dtype=np.str_), return_inverse=True)
    code = profiles.values["decomposed"] * max(len(names), 1) + runtime[profiles.values["workload"]]
    codes, group = np.unique(code, return_inverse=True)
    decomposed, name = np.divmod(codes, max(len(names), 1))
    groups = [Group(bool(parts), str(names[index]), origin) for parts, index in zip(decomposed, name, strict=True)]
    return tuple(groups), group


def representative_rows(values: dict[str, np.ndarray], group: np.ndarray) -> np.ndarray:
    """Return the rows to keep, sorted by platform, workload and group. For each of these the order of preference is:
    the viewer's own private profile, a measured profile, the one with the most thread counts, the newest one."""
    is_own = values["private_to_id"] != None  # noqa: E711  elementwise
    is_measured = values["origin"] == "measured"
    pair = (group, values["workload"], values["platform"])
    order = np.lexsort((-values["pk"], -values["n_measured"], ~is_measured, ~is_own, *pair))
    key = np.stack([column[order] for column in pair])
    first = np.ones(len(order), dtype=bool)
    first[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    return order[first]
