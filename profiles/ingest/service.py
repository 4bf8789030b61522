"""Ingest of validated measurements, all or nothing. All derived numbers are computed here.

A stored delivery is announced by the signal `delivered`. If the process that stored it is killed before the
announcement, another process announces it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import DataError, IntegrityError, transaction
from django.dispatch import Signal

from mpet_site.web.plain_json import nan_to_null
from profiles.identity.descriptions import describe_rows
from profiles.identity.matching import (
    PLATFORM_RULES,
    WORKLOAD_RULES,
    IngestError,
    MatchingNotes,
    match_measured_machine,
    match_rows,
)
from profiles.identity.spelling import canonical_vendor, normalise_spacing
from profiles.ingest.staging import insert_instances, stage, staged_delivery
from profiles.judgement.owners import contested_pairs, is_established, judge_pairs
from profiles.measurements import Measurements
from profiles.measurements.bounds import number_outside
from profiles.models import Platform, Profile, Revision, Source, StagedDelivery, Workload, held
from profiles.models.base import MOST_ATTEMPTS, is_lapsed, lease_end
from profiles.models.sources import deliverer_of

logger = logging.getLogger(__name__)
# Sent with `source` when a delivery is stored and committed, and sent again if the sending process was killed.
delivered = Signal()


@dataclass(frozen=True)
class IngestResult:
    """The result of storing a delivery.

    `existing` is true if the same owner had delivered the same bytes before, in which case `source` is the earlier
    delivery. `notes` has all warnings of matching by kind, and `warnings` includes the first ones of each kind.
    """

    source: Source
    profiles: list[Profile]
    warnings: list[str]
    existing: bool = False
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def ingest(
    measurements: Measurements,
    *,
    kind: str,
    label: str,
    sha256: str,
    owner: Any,
    private: bool,
    progress: Callable[[int], Any] | None = None,
    on_stored: Callable[[IngestResult], Any] = lambda result: None,
    announced: bool = True,
    known: Sequence[Mapping[str, Any]] = (),
) -> IngestResult:
    """Store one delivery and return the result.

    Large tables are staged in short transactions, where they are invisible, and the last transaction makes everything
    visible. `progress` is called with the number of profiles just staged. `on_stored` is called with the result inside
    the last transaction, and an exception that it raises undoes everything. The signal `delivered` is sent if
    `announced` is true. `known` has columns of each profile that are not computed, such as the UUIDs of a dump.

    Emulated measurements are always private. Raises IngestError with the reason, in which case nothing is stored.
    """
    private = private or measurements.origin == "emulated"
    if private and owner is None:
        what = "emulated measurements are private and need" if measurements.origin == "emulated" else "--private needs"
        raise IngestError(f"{what} an owner: give --owner USERNAME")
    _check_ranges(measurements)
    source = Source(
        kind=kind,
        origin=measurements.origin,
        label=label[:200],
        sha256=sha256,
        fingerprint=measurements.fingerprint,
        owner=owner,
        private_to=owner if private else None,
        deliverer=deliverer_of(owner, private=private),
        is_established=is_established(owner),
        licence=measurements.licence,
        citation=measurements.source,
        note=measurements.note,
        generator=measurements.generator[:200],
        environment=nan_to_null(measurements.environment),
        log=measurements.log,
    )
    try:
        earlier = _find_earlier(source)
        if earlier is not None:
            on_stored(earlier)
            return earlier
        drafts = _platform_drafts(measurements, source), _workload_drafts(measurements, source)
        with staged_delivery(len(measurements.profiles)) as staged:
            profiles = stage(staged, drafts[0], measurements.profiles, progress)
            for profile, columns in zip(profiles, known, strict=bool(known)):
                for name, value in columns.items():
                    setattr(profile, name, value)
            with transaction.atomic():
                result = _publish(measurements, source, drafts, staged, profiles)
                if announced and not result.existing:
                    claim_announcement(source)
                    transaction.on_commit(lambda: announce(source))
                on_stored(result)
                return result
    except (IntegrityError, DataError) as error:
        raise IngestError(f"the database rejected these measurements: {error}") from error


def _publish(
    measurements: Measurements,
    source: Source,
    drafts: tuple[list[Platform], list[Workload]],
    staged: StagedDelivery,
    profiles: list[Profile],
) -> IngestResult:
    """Store everything that others can see, in the caller's transaction."""
    Revision.hold()
    earlier = _find_earlier(source)
    if earlier is not None:
        return earlier
    notes = MatchingNotes()
    source.save()
    platform_drafts, workload_drafts = drafts
    platforms = match_measured_machine(source, platform_drafts, notes)
    workloads = match_rows(WORKLOAD_RULES, workload_drafts, notes)
    _refuse_simulated_machines(source, platforms)
    _refuse_other_sizes(measurements, workloads)
    describe_rows(PLATFORM_RULES, source, platform_drafts, platforms, notes)
    describe_rows(WORKLOAD_RULES, source, workload_drafts, workloads, notes)
    for profile, record in zip(profiles, measurements.profiles, strict=True):
        profile.platform, profile.workload = platforms[record.platform], workloads[record.workload]
        profile.source, profile.origin, profile.private_to = source, source.origin, source.private_to
    # Claim the staged rows for the profiles, unless another process has swept them meanwhile.
    if not staged.while_held().delete()[0]:
        raise IngestError("storing it exceeded the time limit")
    insert_instances(profiles)
    warnings = [*measurements.warnings, *notes.warnings(), *_judge_shared_pairs(source)]
    return IngestResult(source, profiles, warnings, notes=notes.kinds)


def _refuse_simulated_machines(source: Source, platforms: Sequence[Platform]) -> None:
    """Raise IngestError if a measured delivery is of a simulated machine. The names of these end with "(simulated)"."""
    named_so = {platform.pk for platform in platforms if platform.name.lower().endswith("(simulated)")}
    if source.origin != "measured" or not named_so:
        return
    simulated = Platform.objects.only_simulated(source.owner).filter(pk__in=named_so)
    for name in simulated.values_list("name", flat=True)[:1]:
        raise IngestError(
            f"{name!r} is a simulated machine and cannot have measurements: give the name of the real machine"
        )


def _judge_shared_pairs(source: Source) -> list[str]:
    """Determine which measurements count for pairs that others measured too, and raise the revision.

    Returns a warning if some measurements of the delivery do not count.
    """
    changed = judge_pairs(contested_pairs(source.profiles.all()))
    displaced = Profile.objects.filter(pk__in=changed).exclude(source=source)
    Revision.raise_for(source.private_to, only_adds=True, judged=sorted(displaced.values_list("pk", flat=True)))
    second = source.profiles.exclude(outlier_reason="").count() if changed else 0
    if not second:
        return []
    return [f"predictions do not use {second} of the pairs: another owner's measurements of them are used instead"]


def _find_earlier(source: Source) -> IngestResult | None:
    """Return the result for an earlier delivery of the same bytes by the same owner, if there is one."""
    before = Source.objects.filter(sha256=source.sha256, owner=source.owner).first()
    if before is None:
        return None
    visibility = "public" if before.private_to_id is None else "private"
    warning = f"these measurements were uploaded before, on {before.created_at:%Y-%m-%d}; they are {visibility}"
    if before.private_to_id != source.private_to_id:
        warning += " and were not changed"
    profiles = before.profiles.select_related("platform", "workload").order_by("pk")
    return IngestResult(before, list(profiles), [warning], existing=True)


def _platform_drafts(measurements: Measurements, source: Source) -> list[Platform]:
    # The n_max of a platform without n_max and threads is the largest n that was measured on it.
    largest_n = [1] * len(measurements.platforms)
    for profile in measurements.profiles:
        largest_n[profile.platform] = max(largest_n[profile.platform], int(profile.runs.n.max()))
    drafts = []
    for index, record in enumerate(measurements.platforms):
        columns = {field.name: getattr(record, field.name) or None for field in fields(record)}
        columns |= {
            "name": normalise_spacing(record.name),
            "cpu_model": normalise_spacing(record.cpu_model),
            "vendor": canonical_vendor(record.vendor),
            "virtualised": record.virtualised,
            "placement": None if record.placement is None else list(record.placement),
            "n_max": record.n_max or record.threads or largest_n[index],
        }
        drafts.append(Platform(**columns, private_to=source.private_to, facts_by=source.deliverer))
    return drafts


def _workload_drafts(measurements: Measurements, source: Source) -> list[Workload]:
    return [
        Workload(
            **{field.name: getattr(record, field.name) or None for field in fields(record)}
            | {"name": normalise_spacing(record.name)},
            time_kind=measurements.time_kinds.get(index, "absolute"),
            private_to=source.private_to,
            facts_by=source.deliverer,
        )
        for index, record in enumerate(measurements.workloads)
    ]


def _refuse_other_sizes(measurements: Measurements, workloads: list[Workload]) -> None:
    """Raise IngestError if a workload is known with another size.

    A workload can have only one size, which applies to all runs without a size of their own.
    """
    for record, row in zip(measurements.workloads, workloads, strict=True):
        if record.size is not None and row.size not in (None, record.size):
            raise IngestError(
                f"workload {record.name!r} has size {row.size:g}, these runs have size {record.size:g}: "
                "give the workload another input or version",
                "workload",
            )


def _check_ranges(measurements: Measurements) -> None:
    """Raise IngestError for measurements that the database cannot store or computations cannot use.

    Every reader has to check this too.
    """
    pairs = [(record.platform, record.workload) for record in measurements.profiles]
    if len(set(pairs)) < len(pairs):
        raise IngestError("a workload appears twice on one machine")
    if not pairs:
        raise IngestError("there are no runs")
    if min(len(record.runs.own) for record in measurements.profiles) == 0:
        raise IngestError("a workload has no runs of its own size at the machine's own clocks")
    if (reason := number_outside(measurements)) is not None:
        raise IngestError(reason)


def claim_announcement(source: Source) -> None:
    """Take the lease in the transaction that stores the delivery, so that the delivery always has a holder."""
    source.attempts, source.lease_until = 1, lease_end()
    source.save(update_fields=["attempts", "lease_until"])


def announce(source: Source) -> None:
    """Send the signal `delivered`, unless another process has taken over the lease."""
    if source.renew():
        with held(source):
            delivered.send_robust(Source, source=source)
        source.release()


def announce_forgotten() -> int:
    """Announce the deliveries of processes that ended, and return the number of deliveries.

    A delivery is given up after MOST_ATTEMPTS. It is stored, and `manage.py find_outliers` judges it.
    """
    forgotten = list(Source.objects.filter(is_lapsed()))
    for source in forgotten:
        if source.attempts > MOST_ATTEMPTS:
            logger.error("delivery %s was not announced: %d processes ended meanwhile", source.uid, source.attempts)
            source.release()
        elif source.claim():
            announce(source)
    return len(forgotten)
