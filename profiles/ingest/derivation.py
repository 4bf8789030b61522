"""Recomputation of the derived rows from stored runs: curves, features, t(1) and fit error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from profiles.ingest.staging import derived_rows, runs_of_profile, set_derived_columns
from profiles.jobs.executors import Executor
from profiles.measurements import FURTHER_COLUMNS, PART_COLUMNS, CounterTable, RunTable
from profiles.models import CounterReading, FeatureVector, Profile, Revision, Run, ScalingCurves
from profiles.models.querysets import PROFILES_PER_QUERY
from profiles.scaling.features import derive_profiles
from profiles.scaling.names import METHOD_VERSION
from profiles.scaling.quality import RepeatSpread, repeat_spread

MOST_RUNS_OF_SPREAD = 20_000  # maximum number of runs for which a page shows the spread of the repeats
STORED_RUN_COLUMNS = ("n", "repeat", "pass_kind", "time_s", "time_ns", *FURTHER_COLUMNS, *PART_COLUMNS)
DERIVED_COLUMNS = (
    *("decomposed", "t1_s", "t1_is_stand_in", "n_measured", "n_min", "n_largest", "fit_error", "warnings"),
    *("run_count", "disturbed_count", "standard_error"),
)


def _rebuild(keys: list[int], executor: Executor | None) -> list[Profile]:
    """Rebuild at most PROFILES_PER_QUERY profiles, those that have runs of their own.

    Only the mathematics runs on the executor, because its processes have no database connection.
    """
    profiles = list(Profile.objects.filter(pk__in=keys).select_related("platform", "private_to").order_by("pk"))
    tables, readings = run_tables(keys), _counter_tables(keys)
    profiles = [profile for profile in profiles if profile.pk in tables and len(tables[profile.pk].own)]
    measured = [runs_of_profile(profile, tables[profile.pk], readings.get(profile.pk)) for profile in profiles]
    derived = derive_profiles(measured, executor)
    derived_columns = attrgetter(*DERIVED_COLUMNS)
    before = [derived_columns(profile) for profile in profiles]
    set_derived_columns(profiles, derived)
    changed = [profile for profile, old in zip(profiles, before, strict=True) if derived_columns(profile) != old]
    Profile.objects.bulk_update(changed, DERIVED_COLUMNS)
    curves, features = derived_rows(profiles, derived)
    replace: dict[str, Any] = {"update_conflicts": True, "unique_fields": ["profile"]}
    ScalingCurves.objects.bulk_create(curves, update_fields=["n", "values", "code_version"], **replace)
    FeatureVector.objects.bulk_create(features, update_fields=["values", "rms", "code_version"], **replace)
    return profiles


def profiles_to_refit(*, only_stale: bool) -> QuerySet[Profile]:
    """Return all profiles, or those with derived rows that are missing or from another version of the method."""
    if not only_stale:
        return Profile.objects.all()
    return Profile.objects.exclude(
        Q(curves__code_version=METHOD_VERSION) & Q(feature_vector__code_version=METHOD_VERSION)
    )


def refit(
    *,
    only_stale: bool = False,
    progress: Callable[[int], Any] | None = None,
    executor: Executor | None = None,
    begun: Callable[[int], Any] = lambda total: None,
) -> int:
    """Rebuild the derived rows of all profiles, or of the stale ones, and return the number of profiles.

    Each chunk of profiles is one transaction. `begun` is called with the number of profiles before the first chunk.
    """
    keys = list(profiles_to_refit(only_stale=only_stale).order_by("pk").values_list("pk", flat=True))
    begun(len(keys))
    for start in range(0, len(keys), PROFILES_PER_QUERY):
        chunk = keys[start : start + PROFILES_PER_QUERY]
        with transaction.atomic():
            Revision.hold()
            for owner in {profile.private_to for profile in _rebuild(chunk, executor)}:
                Revision.raise_for(owner, takes_away=False)
        if progress is not None:
            progress(len(chunk))
    return len(keys)


def _rows_by_profile(
    model: Any, keys: list[int], columns: tuple[str, ...], most: int | None = None, **conditions: Any
) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    """Yield the matching rows of each profile in the order in which they were stored.

    If there are more than `most` rows, only those of the first repeats are read.
    """
    rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    ordered = model.objects.filter(profile__in=keys, **conditions).order_by(
        *(("pk",) if most is None else ("repeat", "pk"))
    )
    stored = ordered.values_list("profile_id", *columns)[:most]
    for key, *row in stored.iterator(chunk_size=10_000):
        rows[key].append(tuple(row))
    yield from rows.items()


def run_tables(keys: list[int], most: int | None = None) -> dict[int, RunTable]:
    """Return the runs of each profile, including variations, in the order in which they were stored.

    If all profiles together have more than `most` runs, only those of the first repeats are read.
    """
    return {key: _run_table(rows) for key, rows in _rows_by_profile(Run, keys, STORED_RUN_COLUMNS, most)}


def stored_spreads(profiles: Sequence[Profile]) -> dict[int, RepeatSpread]:
    """Return the spread of the repeats of each profile by primary key, without profiles that have none.

    Each query reads at most MOST_RUNS_OF_SPREAD runs.
    """
    spreads: dict[int, RepeatSpread] = {}
    for keys in _keys_within(profiles, MOST_RUNS_OF_SPREAD):
        rows = _rows_by_profile(Run, keys, STORED_RUN_COLUMNS, MOST_RUNS_OF_SPREAD, size=None, clock_mhz=None)
        spreads |= {key: repeat_spread(_run_table(of_profile)) for key, of_profile in rows}
    return spreads


def _keys_within(profiles: Sequence[Profile], most: int) -> Iterator[list[int]]:
    """Yield primary keys in lists with at most `most` runs in total. Profiles with more runs are skipped."""
    keys: list[int] = []
    runs = 0
    for profile in profiles:
        of_profile = profile.run_count or most  # a profile with an unknown number of runs gets its own list
        if of_profile > most:
            continue
        if keys and runs + of_profile > most:
            yield keys
            keys, runs = [], 0
        keys.append(profile.pk)
        runs += of_profile
    if keys:
        yield keys


def _run_table(rows: list[tuple[Any, ...]]) -> RunTable:
    return RunTable.of_columns(dict(zip(STORED_RUN_COLUMNS, zip(*rows, strict=True), strict=True)))


def _counter_tables(keys: list[int]) -> dict[int, CounterTable]:
    columns = ("n", "repeat", "counter", "value", "status")
    return {key: CounterTable.of_rows(rows) for key, rows in _rows_by_profile(CounterReading, keys, columns)}
