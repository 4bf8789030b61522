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
NamedRecords = dict[str, dict[str, DumpRecord]]  # platforms and workloads: their records by noun and slug


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
    named = _store_named(package)
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


def _store_named(package: DumpPackage) -> NamedRecords:
    """Create the platforms and workloads of the dump, and return the records of each noun by slug.

    They are created before any delivery and in one transaction, so that two with similar spellings stay separate.
    """
    platforms, workloads = _records(package, PLATFORMS_TABLE), _records(package, WORKLOADS_TABLE)
    for record in platforms:
        record["cpu_model"] = record["cpu_model"] or ""  # an empty text of a dump is read as null
    try:
        with transaction.atomic():
            Revision.hold()
            _make_rows(PLATFORM_RULES, platforms)
            _make_rows(WORKLOAD_RULES, workloads)
    except IngestError as error:
        raise DumpError(f"{error.noun}s", None, str(error)) from error
    return {
        "platform": {record["platform"]: record for record in platforms},
        "workload": {record["workload"]: record for record in workloads},
    }


def _make_rows(rules: MatchingRules, records: list[DumpRecord]) -> None:
    drafts: list[Any] = []
    for record in records:
        columns = {name: value for name, value in record.items() if name not in {rules.noun, "created_at"}}
        drafts.append(rules.model(slug=record[rules.noun], facts_by=OPERATOR, **columns))
    made = []
    for row, draft, record in zip(match_rows(rules, drafts, MatchingNotes()), drafts, records, strict=True):
        if row is draft:
            row.created_at = record["created_at"]
            made.append(row)
    rules.model.objects.bulk_update(made, ["created_at"], batch_size=200)


@dataclass(frozen=True)
class _DumpedProfile:
    record: DumpRecord
    runs: list[DumpRow]
    readings: list[DumpRow]


class _RowsByProfile:
    """The rows of a table, grouped by profile. They must be in the order of the profiles."""

    def __init__(self, package: DumpPackage, table: DumpTable) -> None:
        self.rows = package.rows(table)
        self.ahead = next(self.rows, None)

    def of(self, profile: int) -> list[DumpRow]:
        found = []
        while self.ahead is not None and self.ahead[0] == profile:
            found.append(self.ahead)
            self.ahead = next(self.rows, None)
        return found


def _profiles_with_rows(package: DumpPackage) -> Iterator[_DumpedProfile]:
    runs, readings = _RowsByProfile(package, RUNS_TABLE), _RowsByProfile(package, COUNTER_READINGS_TABLE)
    for row in package.rows(PROFILES_TABLE):
        number = row[0]
        yield _DumpedProfile(dict(zip(PROFILES_TABLE.names, row, strict=True)), runs.of(number), readings.of(number))
    for rest, table in ((runs, RUNS_TABLE), (readings, COUNTER_READINGS_TABLE)):
        if rest.ahead is not None:
            raise package.error(
                table, "its rows are not in the order of table profiles, or refer to a profile that is not in it"
            )


def _restore_source(
    package: DumpPackage, named: NamedRecords, source: DumpRecord, delivery: Sequence[_DumpedProfile]
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
    package: DumpPackage, named: NamedRecords, source: DumpRecord, delivery: Sequence[_DumpedProfile]
) -> Measurements:
    if source["origin"] not in ORIGINS or source["origin"] == "emulated" or source["kind"] not in Source.Kind.values:
        raise package.error(SOURCES_TABLE, f"{source['source']}: unknown kind or origin")
    # The records to which the profiles refer, by slug in the order of their positions in the measurements.
    platforms, workloads = ({one.record[noun]: _named_by(one, noun, named) for one in delivery} for noun in named)
    platform_at, workload_at = ({slug: at for at, slug in enumerate(used)} for used in (platforms, workloads))
    profiles = [
        ProfileRecord(
            platform=platform_at[one.record["platform"]],
            workload=workload_at[one.record["workload"]],
            runs=_run_table(package, one),
            counters=CounterTable.of_rows([row[1:] for row in one.readings]) if one.readings else None,
        )
        for one in delivery
    ]
    return Measurements(
        origin=source["origin"],
        time_kinds={at: record["time_kind"] for at, record in enumerate(workloads.values())},
        platforms=[_record_of(PlatformRecord, record) for record in platforms.values()],
        workloads=[_record_of(WorkloadRecord, record) for record in workloads.values()],
        profiles=profiles,
        generator=source["generator"],
        environment=source["environment"],
        log=source["log"],
        licence=source["licence"],
        source=source["citation"],
        note=source["note"],
    )


def _named_by(profile: _DumpedProfile, noun: str, named: NamedRecords) -> DumpRecord:
    """Return the record of the platform or workload (`noun`) to which the profile refers."""
    slug = profile.record[noun]
    if slug not in named[noun]:
        raise DumpError("profiles", profile.record["profile"], f"{noun} {slug!r} is not in the dump")
    return named[noun][slug]


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
