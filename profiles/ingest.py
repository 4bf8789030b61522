"""The one way in: validated measurements become rows, all or nothing. Every derived number is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np
from django.db import DataError, IntegrityError, transaction

from mpet_site.web.plain_json import nan_to_null
from profiles.derivation import (
    FURTHER_COLUMNS,
    PROFILES_PER_QUERY,
    derive,
    refit,
    set_derived_columns,
    store_derived,
)
from profiles.identity import normalise_spacing
from profiles.matching import PLATFORM_RULES, WORKLOAD_RULES, IngestError, MatchingNotes, match_rows
from profiles.measurements import LARGEST_COUNT, PART_COLUMNS, CounterTable, Measurements, ProfileRecord, RunTable
from profiles.models import CounterReading, Platform, Profile, Revision, Run, Source, Workload
from profiles.scaling.runs import scaling_curves
from profiles.signals import delivered

__all__ = ["IngestError", "IngestResult", "derive", "ingest", "refit"]

STORED_ROWS_AT_ONCE = 10_000  # in memory; a tarball may have millions of runs


@dataclass(frozen=True)
class IngestResult:
    """What became of a delivery. `existing`: the same bytes from the same owner were here before, and answer now."""

    source: Source
    profiles: list[Profile]
    warnings: list[str]
    existing: bool = False


def ingest(
    measurements: Measurements,
    *,
    kind: str,
    label: str,
    sha256: str,
    owner: Any,
    private: bool,
    progress: Callable[[int], Any] | None = None,
) -> IngestResult:
    """Store one delivery in one transaction. `progress` is called with the number of profiles just stored.

    Emulated measurements become private whatever was asked for. Raises IngestError with the reason, nothing stored.
    """
    private = private or measurements.origin == "emulated"
    if private and owner is None:
        what = "emulated measurements are private and need" if measurements.origin == "emulated" else "private needs"
        raise IngestError(f"{what} an owner: give --owner USERNAME")
    _check_ranges(measurements)
    source = Source(
        kind=kind,
        origin=measurements.origin,
        label=label[:200],
        sha256=sha256,
        owner=owner,
        private_to=owner if private else None,
        licence=measurements.licence,
        citation=measurements.source,
        note=measurements.note,
        generator=measurements.generator[:200],
        environment=nan_to_null(measurements.environment),
        log=measurements.log,
    )
    try:
        with transaction.atomic():
            return _ingest(measurements, source, progress)
    except (IntegrityError, DataError) as error:
        raise IngestError(f"the database refuses these measurements: {error}") from error


def _ingest(measurements: Measurements, source: Source, progress: Callable[[int], Any] | None) -> IngestResult:
    Revision.hold()
    before = Source.objects.filter(sha256=source.sha256, owner=source.owner).first()
    if before is not None:
        return _answer_with_earlier(before, source)
    notes = MatchingNotes()
    source.save()
    platforms = match_rows(PLATFORM_RULES, _platform_drafts(measurements, source.private_to), notes)
    workloads = match_rows(WORKLOAD_RULES, _workload_drafts(measurements, source.private_to), notes)
    _refuse_other_sizes(measurements, workloads)
    profiles: list[Profile] = []
    for start in range(0, len(measurements.profiles), PROFILES_PER_QUERY):
        chunk = measurements.profiles[start : start + PROFILES_PER_QUERY]
        profiles += _store_profiles(source, platforms, workloads, chunk)
        if progress is not None:
            progress(len(chunk))
    Revision.raise_for(source.private_to)
    transaction.on_commit(lambda: delivered.send_robust(Source, source=source))
    return IngestResult(source, profiles, [*measurements.warnings, *notes.warnings()])


def _answer_with_earlier(before: Source, repeated: Source) -> IngestResult:
    visibility = "public" if before.private_to_id is None else "private"
    warning = f"these measurements were delivered before, on {before.created_at:%Y-%m-%d}; they are {visibility}"
    if before.private_to_id != repeated.private_to_id:
        warning += " and stay so"
    profiles = before.profiles.select_related("platform", "workload").order_by("pk")
    return IngestResult(before, list(profiles), [warning], existing=True)


def _platform_drafts(measurements: Measurements, private_to: Any) -> list[Platform]:
    drafts = []
    for index, record in enumerate(measurements.platforms):
        columns = {field.name: getattr(record, field.name) or None for field in fields(record)}
        columns |= {
            "name": normalise_spacing(record.name),
            "cpu_model": normalise_spacing(record.cpu_model),
            "virtualised": record.virtualised,
            "placement": None if record.placement is None else list(record.placement),
            "n_max": record.n_max or record.threads or _largest_n(measurements, index),
        }
        drafts.append(Platform(**columns, private_to=private_to))
    return drafts


def _largest_n(measurements: Measurements, platform: int) -> int:
    return max((int(record.runs.n.max()) for record in measurements.profiles if record.platform == platform), default=1)


def _workload_drafts(measurements: Measurements, private_to: Any) -> list[Workload]:
    return [
        Workload(
            **{field.name: getattr(record, field.name) or None for field in fields(record)}
            | {"name": normalise_spacing(record.name)},
            time_kind=measurements.time_kinds.get(index, "absolute"),
            private_to=private_to,
        )
        for index, record in enumerate(measurements.workloads)
    ]


def _refuse_other_sizes(measurements: Measurements, workloads: list[Workload]) -> None:
    """Runs that name no size are of the workload's own: it can have only one."""
    for record, row in zip(measurements.workloads, workloads, strict=True):
        if record.size is not None and row.size not in (None, record.size):
            raise IngestError(
                f"workload {record.name!r} is known with size {row.size:g}, these runs are of size {record.size:g}: "
                "give the workload another input or version"
            )


def _store_profiles(
    source: Source, platforms: list[Platform], workloads: list[Workload], records: Sequence[ProfileRecord]
) -> list[Profile]:
    curves = [scaling_curves(record.runs, record.counters) for record in records]
    profiles = [
        Profile(
            platform=platforms[record.platform],
            workload=workloads[record.workload],
            source=source,
            origin=source.origin,
            private_to=source.private_to,
        )
        for record in records
    ]
    fits = set_derived_columns(profiles, curves)
    Profile.objects.bulk_create(profiles)
    pairs = list(zip(profiles, records, strict=True))
    _create_in_batches(Run, (run for profile, record in pairs for run in _run_rows(profile, record.runs)))
    _create_in_batches(
        CounterReading,
        (
            reading
            for profile, record in pairs
            if record.counters
            for reading in _reading_rows(profile, record.counters)
        ),
    )
    store_derived(profiles, curves, fits, replace=False)
    return profiles


def _create_in_batches(model: Any, rows: Iterator[Any]) -> None:
    while batch := list(islice(rows, STORED_ROWS_AT_ONCE)):
        model.objects.bulk_create(batch)


def _run_rows(profile: Profile, table: RunTable) -> Iterator[Run]:
    size = len(table)
    no_parts: list[list[int]] = [[]] * size
    rows = zip(
        table.n.tolist(),
        table.repeat.tolist(),
        table.is_profile_pass.tolist(),
        table.time_s.tolist(),
        [None] * size if table.time_ns is None else table.time_ns.tolist(),
        table.output_checksum or [""] * size,
        no_parts if table.parts_ns is None else table.parts_ns.tolist(),
        *(
            [None] * size if getattr(table, name) is None else nan_to_null(getattr(table, name))
            for name in FURTHER_COLUMNS
        ),
        strict=True,
    )
    for n, repeat, is_profile_pass, time_s, time_ns, output_checksum, parts_ns, *further in rows:
        yield Run(
            profile=profile,
            n=n,
            repeat=repeat,
            pass_kind=Run.Pass.PROFILE if is_profile_pass else Run.Pass.CLEAN,
            time_s=time_s,
            time_ns=time_ns,
            output_checksum=output_checksum,
            **dict(zip(FURTHER_COLUMNS, further, strict=True)),
            **dict(zip(PART_COLUMNS, parts_ns, strict=True)) if is_profile_pass else {},
        )


def _reading_rows(profile: Profile, table: CounterTable) -> Iterator[CounterReading]:
    rows = zip(table.n.tolist(), table.repeat.tolist(), table.counter, table.value.tolist(), table.status, strict=True)
    for n, repeat, counter, value, status in rows:
        yield CounterReading(
            profile=profile, n=n, repeat=repeat, counter=counter, value=nan_to_null(value), status=status
        )


def _check_ranges(measurements: Measurements) -> None:
    """What every reader has to have checked and the database could not hold or a computation could not stand."""
    pairs = [(record.platform, record.workload) for record in measurements.profiles]
    if len(set(pairs)) < len(pairs):
        raise IngestError("a workload is there twice on one platform")
    if not pairs:
        raise IngestError("there are no runs")
    if min(len(record.runs.own) for record in measurements.profiles) == 0:
        raise IngestError("a workload has no runs of its own size at the platform's own clocks")
    n = np.concatenate([record.runs.n for record in measurements.profiles])
    repeat = np.concatenate([record.runs.repeat for record in measurements.profiles])
    time_s = np.concatenate([record.runs.time_s for record in measurements.profiles])
    if n.min() < 1 or n.max() > LARGEST_COUNT or repeat.min() < 0 or repeat.max() > LARGEST_COUNT:
        raise IngestError("a thread count or a repeat is out of range")
    if not (np.isfinite(time_s).all() and (time_s > 0).all()):
        raise IngestError("a time is not a positive number")
