"""Restoration of a public dump. Each of its deliveries is ingested like any other (profiles.ingest) and keeps its UUID.

Deliveries whose UUID is already stored stay unchanged, so an interrupted restoration can be repeated. Each delivery is
stored completely or not at all. An empty database gets the state of the dump, with the same slugs and revision, and
therefore gives the same predictions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db import transaction

from profiles.dump.files import DumpError, DumpRow
from profiles.dump.package import DumpPackage, open_dump
from profiles.dump.rows import dumped_tables, further_tables
from profiles.dump.tables import (
    COUNTER_READINGS_TABLE,
    PLATFORMS_TABLE,
    PROFILES_TABLE,
    RUNS_TABLE,
    SOURCES_TABLE,
    WORKLOADS_TABLE,
    DumpTable,
)
from profiles.identity.matching import PLATFORM_RULES, WORKLOAD_RULES, MatchingNotes, MatchingRules, match_rows
from profiles.ingest.service import IngestError, IngestResult, ingest
from profiles.measurements import (
    ORIGINS,
    CounterTable,
    Measurements,
    PlatformRecord,
    ProfileRecord,
    RunTable,
    WorkloadRecord,
)
from profiles.models import Profile, Revision, Source
from profiles.models.sources import OPERATOR

KEPT_COLUMNS = ("uid", "outlier_reason", "outlier_judge", "outlier_checked_at", "created_at")
DumpRecord = dict[str, Any]


@dataclass(frozen=True)
class Restored:
    """The numbers of restored objects. `existing` deliveries were already stored."""

    revision: int
    sources: int
    existing: int
    profiles: int
    further: dict[str, int]


def restore_dump(folder: Path, progress: Callable[[int], Any] = lambda profiles: None) -> Restored:
    """Store the content of the dump. Raise DumpError.

    `progress` is called with the number of profiles that were just read.
    """
    package = open_dump(folder, tuple(dumped.table for dumped in dumped_tables()))
    was_empty = not Profile.objects.public().exists()
    named = _Named(_records(package, PLATFORMS_TABLE), _records(package, WORKLOADS_TABLE))
    sources = {record["source"]: record for record in _records(package, SOURCES_TABLE)}
    counts = {"sources": 0, "existing": 0, "profiles": 0}
    for uid, deliveries in groupby(_profiles_with_rows(package), key=lambda one: one.record["source"]):
        delivery = list(deliveries)
        if uid not in sources:
            raise package.error(
                PROFILES_TABLE, f"source {uid!r} is not in table sources, or its profiles are not consecutive"
            )
        is_new = _restore_source(package, named, sources.pop(uid), delivery)
        counts["sources" if is_new else "existing"] += 1
        counts["profiles"] += len(delivery) if is_new else 0
        progress(len(delivery))
    others = {one.table.name: one.restore(package.rows(one.table)) for one in further_tables()}
    _follow_revision(package.revision, was_empty=was_empty)
    return Restored(package.revision, **counts, further=others)


def _records(package: DumpPackage, table: DumpTable) -> list[DumpRecord]:
    return [dict(zip(table.names, row, strict=True)) for row in package.rows(table)]


class _Named:
    """The platforms and workloads of the dump: their records by slug.

    Their rows are created before any delivery and in one transaction, so that two with similar spellings stay separate.
    """

    def __init__(self, platforms: list[DumpRecord], workloads: list[DumpRecord]) -> None:
        for record in platforms:
            record["cpu_model"] = record["cpu_model"] or ""  # an empty text of a dump is read as null
        self.platforms = {record["platform"]: record for record in platforms}
        self.workloads = {record["workload"]: record for record in workloads}
        try:
            with transaction.atomic():
                Revision.hold()
                _make_rows(PLATFORM_RULES, platforms, "platform", PlatformRecord)
                _make_rows(WORKLOAD_RULES, workloads, "workload", WorkloadRecord)
        except IngestError as error:
            raise DumpError(f"{error.noun}s", None, str(error)) from error


def _make_rows(rules: MatchingRules, records: list[DumpRecord], key: str, kind: type) -> None:
    names = [field.name for field in fields(kind)]
    more = ["time_kind"] if kind is WorkloadRecord else []
    drafts: list[Any] = [
        rules.model(slug=record[key], facts_by=OPERATOR, **{name: record[name] for name in names + more})
        for record in records
    ]
    rows = match_rows(rules, drafts, MatchingNotes())
    made = [(row, record) for row, draft, record in zip(rows, drafts, records, strict=True) if row is draft]
    for row, record in made:
        row.created_at = record["created_at"]
    rules.model.objects.bulk_update([row for row, _ in made], ["created_at"], batch_size=200)


@dataclass(frozen=True)
class _DumpedProfile:
    record: DumpRecord
    runs: list[DumpRow]
    readings: list[DumpRow]


class _RowsByProfile:
    """The rows of a table, grouped by profile. They must be in the order of the profiles."""

    def __init__(self, package: DumpPackage, table: DumpTable) -> None:
        self.package, self.table = package, table
        self.groups = groupby(package.rows(table), key=itemgetter(0))
        self.ahead: tuple[int, list[DumpRow]] | None = None

    def of(self, profile: int) -> list[DumpRow]:
        if self.ahead is None:
            number, rows = next(self.groups, (0, iter(())))
            self.ahead = (number, list(rows))
        if self.ahead[0] != profile:
            return []
        _, of_profile = self.ahead
        self.ahead = None
        return of_profile

    def check_end(self) -> None:
        if (self.ahead and self.ahead[0]) or next(self.groups, None) is not None:
            raise self.package.error(
                self.table, "its rows are not in the order of table profiles, or refer to a profile that is not in it"
            )


def _profiles_with_rows(package: DumpPackage) -> Iterator[_DumpedProfile]:
    runs, readings = _RowsByProfile(package, RUNS_TABLE), _RowsByProfile(package, COUNTER_READINGS_TABLE)
    for row in package.rows(PROFILES_TABLE):
        number = row[0]
        yield _DumpedProfile(dict(zip(PROFILES_TABLE.names, row, strict=True)), runs.of(number), readings.of(number))
    runs.check_end()
    readings.check_end()


def _restore_source(
    package: DumpPackage, named: _Named, source: DumpRecord, delivery: Sequence[_DumpedProfile]
) -> bool:
    """Store one delivery. Return False if it is already stored."""
    if Source.objects.filter(uid=source["source"]).exists():
        return False

    def keep_name(result: IngestResult) -> None:
        """Give the delivery its UUID and date of the dump, in the transaction that stores it."""
        if not result.existing:
            Source.objects.filter(pk=result.source.pk).update(uid=source["source"], created_at=source["created_at"])

    try:
        result = ingest(
            _measurements(package, named, source, delivery),
            kind=source["kind"],
            label=source["label"],
            sha256=source["sha256"] or hashlib.sha256(f"mpet-dump {source['source']}".encode()).hexdigest(),
            owner=None,
            private=False,
            on_stored=keep_name,
            announced=False,
            known=[{name: one.record[name] for name in KEPT_COLUMNS} for one in delivery],
        )
    except IngestError as error:
        raise DumpError(f"source {source['source']}", None, str(error)) from error
    return not result.existing


def _measurements(
    package: DumpPackage, named: _Named, source: DumpRecord, delivery: Sequence[_DumpedProfile]
) -> Measurements:
    if source["origin"] not in ORIGINS or source["origin"] == "emulated" or source["kind"] not in Source.Kind.values:
        raise package.error(SOURCES_TABLE, f"{source['source']}: unknown kind or origin")
    platforms, workloads = _Positions(named.platforms, "platform"), _Positions(named.workloads, "workload")
    profiles = [
        ProfileRecord(
            platform=platforms.of(one.record),
            workload=workloads.of(one.record),
            runs=_run_table(package, one),
            counters=CounterTable.of_rows([row[1:] for row in one.readings]) if one.readings else None,
        )
        for one in delivery
    ]
    kinds: list[Any] = [record["time_kind"] for record in workloads.records]
    return Measurements(
        origin=source["origin"],
        time_kinds=dict(enumerate(kinds)),
        platforms=[_record_of(PlatformRecord, record) for record in platforms.records],
        workloads=[_record_of(WorkloadRecord, record) for record in workloads.records],
        profiles=profiles,
        generator=source["generator"],
        environment=source["environment"],
        log=source["log"],
        licence=source["licence"],
        source=source["citation"],
        note=source["note"],
    )


class _Positions:
    """The records to which profiles refer, and the position of each."""

    def __init__(self, known: dict[str, DumpRecord], column: str) -> None:
        self.known, self.column = known, column
        self.positions: dict[str, int] = {}

    def of(self, profile: DumpRecord) -> int:
        slug = profile[self.column]
        if slug not in self.known:
            raise DumpError("profiles", profile["profile"], f"{self.column} {slug!r} is not in the dump")
        return self.positions.setdefault(slug, len(self.positions))

    @property
    def records(self) -> list[DumpRecord]:
        return [self.known[slug] for slug in self.positions]


def _record_of(kind: Any, record: DumpRecord) -> Any:
    values = {field.name: record[field.name] for field in fields(kind)}
    if values.get("placement") is not None:
        values["placement"] = tuple(values["placement"])
    return kind(**values)


def _run_table(package: DumpPackage, one: _DumpedProfile) -> RunTable:
    if not one.runs:
        raise package.error(RUNS_TABLE, f"profile {one.record['profile']} has no run")
    columns = dict(zip(RUNS_TABLE.names, zip(*one.runs, strict=True), strict=True))
    return RunTable.of_columns(columns | {"pass_kind": columns["pass"]})


def _follow_revision(revision: int, *, was_empty: bool) -> None:
    """Set the public revision after the dump was restored.

    An empty database gets the dump's revision, so that citations of that revision stay valid. Any other database gets a
    revision that neither it nor the dump has had.
    """
    with transaction.atomic():
        Revision.hold()
        public = Revision.objects.select_for_update().get(key=Revision.PUBLIC)
        public.number = max(public.number, revision) + (0 if was_empty else 1)
        public.begin_generation()
        public.save(update_fields=["number", "generation"])
