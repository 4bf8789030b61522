"""Staging of the large tables of a delivery before the delivery itself is stored.

The rows are written in short transactions, so that other writers do not wait for long. They belong to reserved profile
ids that do not exist yet, so that no page shows them.

docs/decisions/staged-rows.md gives the reasons. Rows are inserted one by one with a prepared statement, or with COPY on
PostgreSQL, because `bulk_create` writes one statement for all rows, which takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Exists, Max, Min, OuterRef, QuerySet

from mpet_site.web.plain_json import nan_to_null
from profiles.measurements import FURTHER_COLUMNS, PART_COLUMNS, CounterTable, ProfileRecord, RunTable
from profiles.models import (
    CounterReading,
    FeatureVector,
    Platform,
    Profile,
    Revision,
    Run,
    ScalingCurves,
    StagedDelivery,
    VisitorReport,
    held,
)
from profiles.models.base import is_lapsed, lease_end
from profiles.scaling.features import DerivedProfiles, MeasuredRuns, derive_profiles
from profiles.scaling.names import METHOD_VERSION

INSERTED_AT_ONCE = 5_000  # number of rows in one transaction
PLAIN_FIELDS = (models.FloatField, models.IntegerField, models.BooleanField, models.CharField, models.ForeignKey)
STAGED_PROFILES_AT_ONCE = 200  # number of profiles that are derived and stored together
STAGED_MODELS: tuple[type[models.Model], ...] = (Run, CounterReading, ScalingCurves, FeatureVector)
STAGED_RUN_COLUMNS = (
    *("profile", "n", "repeat", "pass_kind", "time_s", "time_ns", "output_checksum"),
    *FURTHER_COLUMNS,
    *PART_COLUMNS,
)
STAGED_READING_COLUMNS = ("profile", "n", "repeat", "counter", "value", "status")
NO_PARTS = (None,) * len(PART_COLUMNS)


@contextmanager
def staged_delivery(profiles: int) -> Iterator[StagedDelivery]:
    """Reserve ids for this number of profiles while the block runs, and delete unpublished staged rows at its end."""
    with transaction.atomic():
        Revision.hold()
        last = _advance_sequence(profiles)  # the database will not assign these ids to other profiles
        staged = StagedDelivery.objects.create(
            first_profile=last - profiles + 1, last_profile=last, lease_until=lease_end(), attempts=1
        )
    try:
        with held(staged):
            yield staged
    finally:
        sweep(staged)


def stage(
    staged: StagedDelivery,
    platforms: Sequence[Platform],
    records: Sequence[ProfileRecord],
    progress: Callable[[int], Any] | None = None,
) -> list[Profile]:
    """Store all rows that belong to the profiles of these records, and return the profiles, which are not stored.

    Each profile has its id, its derived columns, and one of the `platforms`, stored or not. `progress` is called with
    the number of profiles just staged.
    """
    profiles: list[Profile] = []
    for start in range(0, len(records), STAGED_PROFILES_AT_ONCE):
        chunk = records[start : start + STAGED_PROFILES_AT_ONCE]
        first = staged.first_profile + start
        instances = [Profile(pk=first + i, platform=platforms[record.platform]) for i, record in enumerate(chunk)]
        pairs = list(zip(instances, chunk, strict=True))
        derived = derive_profiles([runs_of_profile(profile, record.runs, record.counters) for profile, record in pairs])
        set_derived_columns(instances, derived)
        runs = (row for profile, record in pairs for row in _run_rows(profile.pk, record.runs))
        insert_rows(Run, STAGED_RUN_COLUMNS, runs)
        counted = ((profile.pk, record.counters) for profile, record in pairs if record.counters)
        readings = (
            (key, *row)
            for key, of in counted
            for row in zip(of.n.tolist(), of.repeat.tolist(), of.counter, nan_to_null(of.value), of.status, strict=True)
        )
        insert_rows(CounterReading, STAGED_READING_COLUMNS, readings)
        for rows in derived_rows(instances, derived):
            insert_instances(rows)
        profiles += instances
        if progress is not None:
            progress(len(chunk))
    return profiles


def leave_to_sweep(profiles: QuerySet[Profile]) -> list[StagedDelivery]:
    """Delete only these profiles, in the caller's transaction, and return an entry for each source.

    `sweep` deletes the other rows of an entry. If this process ends before, the periodic task does.
    """
    ranges = profiles.order_by().values("source").annotate(first=Min("pk"), last=Max("pk"))
    staged = [
        StagedDelivery(first_profile=row["first"], last_profile=row["last"], lease_until=lease_end(), attempts=1)
        for row in ranges
    ]
    VisitorReport.objects.filter(profile__in=profiles.order_by()).delete()
    profiles._raw_delete(profiles.db)  # `delete` would delete all rows of the profiles in this transaction
    return StagedDelivery.objects.bulk_create(staged)


def sweep(staged: StagedDelivery) -> None:
    """Delete staged rows that were not published. Does nothing if they were published."""
    if not staged.while_held().exists():
        return
    for model in STAGED_MODELS:
        rows: Any = model._default_manager.filter(profile__gte=staged.first_profile, profile__lte=staged.last_profile)
        # Keep the rows of existing profiles, because a restored database may assign an id twice.
        rows = rows.exclude(Exists(Profile.objects.filter(pk=OuterRef("profile_id"))))
        while model._default_manager.filter(pk__in=rows.order_by().values("pk")[:INSERTED_AT_ONCE]).delete()[0]:
            sleep_for_other_writers(0.0)
    staged.while_held().delete()


def sweep_abandoned() -> int:
    """Delete the rows that ended processes staged, and return the number of deliveries."""
    swept = 0
    for staged in StagedDelivery.objects.filter(is_lapsed()):
        if staged.claim():
            with held(staged):
                sweep(staged)
            swept += 1
    return swept


def _advance_sequence(count: int) -> int:
    """Advance the sequence of profile ids by `count`, and return the last of the reserved ids."""
    table, column = Profile._meta.db_table, str(Profile._meta.pk.column)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [connection.ops.quote_name(table), column])
            (sequence,) = cursor.fetchone()
            cursor.execute("SELECT setval(%s, nextval(%s) + %s)", [sequence, sequence, count - 1])
        else:
            cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [count, table])
            if not cursor.rowcount:  # no profile was ever stored
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, count])
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        return int(cursor.fetchone()[0])


def _run_rows(profile: int, table: RunTable) -> Iterator[tuple[Any, ...]]:
    size = len(table)
    nothing = [None] * size
    rows = zip(
        table.n.tolist(),
        table.repeat.tolist(),
        table.is_profile_pass.tolist(),
        table.time_s.tolist(),
        nothing if table.time_ns is None else table.time_ns.tolist(),
        table.output_checksum or [""] * size,
        [NO_PARTS] * size if table.parts_ns is None else table.parts_ns.tolist(),
        *(_further_column(table, name) for name in FURTHER_COLUMNS),
        strict=True,
    )
    for n, repeat, is_profile_pass, time_s, time_ns, output_checksum, parts_ns, *optional in rows:
        kind = Run.Pass.PROFILE.value if is_profile_pass else Run.Pass.CLEAN.value
        parts = parts_ns if is_profile_pass else NO_PARTS
        yield (profile, n, repeat, kind, time_s, time_ns, output_checksum, *optional, *parts)


def _further_column(table: RunTable, name: str) -> list[Any]:
    column = getattr(table, name)
    if column is None:
        return [None] * len(table)
    field: Any = Run._meta.get_field(name)
    return [field.to_python(value) for value in nan_to_null(column)]


def runs_of_profile(profile: Profile, runs: RunTable, counters: CounterTable | None) -> MeasuredRuns:
    return MeasuredRuns(runs, counters, n_nu=profile.platform.n_nu, n_ht=profile.platform.n_ht)


def set_derived_columns(profiles: Sequence[Profile], derived: DerivedProfiles) -> None:
    """Set the derived columns of unsaved profiles."""
    for profile, curve, repeated, fit_error in zip(
        profiles, derived.curves, derived.repeats, derived.fits.fit_error, strict=True
    ):
        profile.decomposed = curve.decomposed
        profile.t1_s = nan_to_null(curve.t1_s)
        profile.t1_is_stand_in = curve.t1_is_stand_in
        profile.n_measured = len(curve.n)
        profile.n_min, profile.n_largest = int(curve.n[0]), int(curve.n[-1])
        profile.fit_error = nan_to_null(fit_error)
        profile.warnings = list(curve.warnings)
        profile.run_count, profile.disturbed_count = repeated.run_count, repeated.disturbed_count
        profile.standard_error = nan_to_null(repeated.standard_error)


def derived_rows(
    profiles: Sequence[Profile], derived: DerivedProfiles
) -> tuple[list[ScalingCurves], list[FeatureVector]]:
    """Return the unsaved curves and features of profiles that have primary keys."""
    curves = [
        ScalingCurves(profile_id=profile.pk, n=curve.n, values=curve.values.ravel(), code_version=METHOD_VERSION)
        for profile, curve in zip(profiles, derived.curves, strict=True)
    ]
    fits = derived.fits
    features = [
        FeatureVector(profile_id=profile.pk, values=fits.values[row], rms=fits.rms[row], code_version=METHOD_VERSION)
        for row, profile in enumerate(profiles)
    ]
    return curves, features


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of database values in the given order, in transactions of INSERTED_AT_ONCE rows."""
    quote = connection.ops.quote_name
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    into = f"{quote(model._meta.db_table)} ({', '.join(quote(field.column) for field in fields)})"
    remaining = iter(rows)
    while batch := list(islice(remaining, INSERTED_AT_ONCE)):
        started = time.monotonic()
        with transaction.atomic(), connection.cursor() as cursor:
            _insert_batch(cursor, into, batch)
        sleep_for_other_writers(time.monotonic() - started)


def insert_instances(instances: Sequence[models.Model]) -> None:
    """Insert instances of one model that have primary keys, with the values from `pre_save`.

    A creation date that is already set is kept.
    """
    for start in range(0, len(instances), INSERTED_AT_ONCE):
        chunk = instances[start : start + INSERTED_AT_ONCE]
        fields = chunk[0]._meta.concrete_fields
        stored = [_stored_column(field, chunk) for field in fields]
        insert_rows(type(chunk[0]), [field.name for field in fields], zip(*stored, strict=True))
    for instance in instances:
        instance._state.adding, instance._state.db = False, connection.alias


def sleep_for_other_writers(seconds: float) -> None:
    """Sleep so that other processes can take SQLite's write lock, which they request every 0.1 s at most."""
    if not connection.in_atomic_block and connection.vendor == "sqlite":
        time.sleep(min(seconds, 0.1))


def _stored_column(field: Any, instances: Sequence[models.Model]) -> list[Any]:
    """Return a field of the instances as the database stores it. Plain numbers and texts need no conversion."""
    if type(field).pre_save is models.Field.pre_save and isinstance(field, PLAIN_FIELDS):
        return list(map(attrgetter(field.attname), instances))
    prepare: Callable[..., Any] = field.get_db_prep_save
    is_date = getattr(field, "auto_now_add", False)
    values = ((is_date and getattr(one, field.attname)) or field.pre_save(one, add=True) for one in instances)
    return [prepare(value, connection) for value in values]


def _insert_batch(cursor: Any, into: str, batch: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows into a table and columns. PostgreSQL uses COPY, which is several times faster than INSERT."""
    if connection.vendor == "postgresql":
        with connection.wrap_database_errors, cursor.copy(f"COPY {into} FROM STDIN") as copy:
            for row in batch:
                copy.write_row(row)
    else:
        values = ", ".join(["%s"] * len(batch[0]))
        cursor.executemany(f"INSERT INTO {into} VALUES ({values})", batch)  # noqa: S608  names of ours
