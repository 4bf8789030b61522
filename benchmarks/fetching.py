"""Import of public measurements. Each folder of a source is stored once, in a delivery of up to FOLDERS_AT_ONCE
folders."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from benchmarks.models import FetchedFolder
from benchmarks.public_data.files import FoundFolder, find_folders
from benchmarks.public_data.interface import MeasuredFolder, PublicSource, RefusedFolder, as_delivery
from profiles.ingest.service import IngestResult, ingest
from profiles.ingest.withdrawal import sweep_withdrawn, withdraw, withdraw_in_transaction
from profiles.models import OwnPrice, Platform, Price, Source, StagedDelivery
from profiles.prices.tables import price_table, restore_own_prices, restore_prices

FOLDERS_AT_ONCE = 50  # in one delivery; a killed process has to read at most so many again


@dataclass
class FetchReport:
    """Counts of one call of `fetch`.

    `stored` counts the folders that were stored now, `known` those that were stored before, and `outdated` those that
    had changed since they were stored. `profiles` counts the profiles that were stored now. `refused` and `left_out`
    count the folders and the single results that were not stored, by reason. `prices_dropped` counts the prices of
    machines that are no longer stored. `notes` holds the messages about matching machines and workloads with known
    ones, by kind.
    """

    stored: int = 0
    known: int = 0
    outdated: int = 0
    profiles: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    prices_dropped: int = 0
    notes: dict[str, list[str]] = field(default_factory=dict)


Looked = Callable[[FetchReport], Any]
FolderBatch = list[tuple[FoundFolder, MeasuredFolder]]


def fetch(
    source: PublicSource, origin: Path, *, limit: int | None, update: bool, looked: Looked = lambda report: None
) -> FetchReport:
    """Store the folders of the source that are not stored yet, at most `limit`. `looked` is called after every folder.

    If `update`, also replace each delivery in which a folder changed, as a whole. A replacement that has begun is
    completed beyond `limit`.

    Raises UnreadableOrigin and IngestError. Deliveries that were stored before the error stay.
    """
    report, taken = FetchReport(), 0
    known = {row.folder: row for row in FetchedFolder.objects.filter(public_source=source.name)}
    to_look_at = _changed_deliveries(source, origin, known) if update else {}
    batches: dict[int | None, FolderBatch] = {}  # key: the delivery to replace, None for new folders
    for folder in find_folders(source, origin):
        former = known[folder.name].source_id if folder.name in known else None
        if limit is not None and taken >= limit and (former is None or former not in batches):
            if not batches.keys() - {None}:
                break
            # The remaining folders of a replacement that has begun may follow.
            continue
        if former is not None and former not in to_look_at:
            report.known += 1
        else:
            batch = batches.setdefault(former, [])
            if (measured := _read(source, folder, report)) is not None:
                batch.append((folder, measured))
                taken += 1
            if former is None:
                is_whole = len(batch) == FOLDERS_AT_ONCE
            else:
                report.outdated += known[folder.name].sha256 != folder.sha256
                to_look_at[former].discard(folder.name)
                is_whole = not to_look_at[former]
            if is_whole:
                _store(source, batches.pop(former), former, report)
        looked(report)
    if batches.get(None):
        _store(source, batches[None], None, report)
    return report


def _changed_deliveries(source: PublicSource, origin: Path, known: Mapping[str, FetchedFolder]) -> dict[int, set[str]]:
    """Return the available folders of each delivery in which a folder changed. Deliveries that moderators hid are left
    out."""
    shown = set(Source.objects.filter(fetched_folders__public_source=source.name, hidden=False).values_list("pk"))
    there: dict[int, set[str]] = {}
    changed = set()
    for folder in find_folders(source, origin):
        row = known.get(folder.name)
        if row is not None and (row.source_id,) in shown:
            there.setdefault(row.source_id, set()).add(folder.name)
            if row.sha256 != folder.sha256:
                changed.add(row.source_id)
    return {key: there[key] for key in changed}


def _read(source: PublicSource, folder: FoundFolder, report: FetchReport) -> MeasuredFolder | None:
    try:
        if folder.too_large is not None:
            raise RefusedFolder(f"{folder.too_large} is too large")
        measured = source.read(folder.name, folder.files)
    except RefusedFolder as refused:
        report.refused[str(refused)] += 1
        return None
    report.left_out.update(measured.left_out)
    return measured


def _store(source: PublicSource, batch: FolderBatch, former: int | None, report: FetchReport) -> None:
    """Store the batch as one delivery. The former delivery is withdrawn in the transaction that makes the new one
    visible, so that readers see exactly one of them."""
    outdated = Source.objects.filter(pk__in=[] if former is None else [former])
    if not batch:
        # None of the folders of the former delivery can be read any more.
        withdraw(outdated)
        return
    swept: list[StagedDelivery] = []

    def replace(result: IngestResult) -> None:
        if former is not None:
            swept.extend(_replace(outdated, result.source, report))
        FetchedFolder.objects.bulk_create(
            FetchedFolder(source=result.source, public_source=source.name, folder=folder.name, sha256=folder.sha256)
            for folder, _ in batch
        )

    result = ingest(
        as_delivery(source, [measured for _, measured in batch], f"fetch_data {source.name} {source.version}"),
        kind=Source.Kind.DATASET,
        label=source.title,
        sha256=hashlib.sha256("".join(folder.sha256 for folder, _ in batch).encode()).hexdigest(),
        owner=None,
        private=False,
        on_stored=replace,
    )
    sweep_withdrawn(swept)
    report.stored += len(batch)
    report.profiles += len(result.profiles)
    for kind, messages in result.notes.items():
        report.notes.setdefault(kind, []).extend(messages)


def _replace(outdated: QuerySet[Source], source: Source, report: FetchReport) -> list[StagedDelivery]:
    """Withdraw the outdated delivery and return what is left to be swept. If the new description of a machine makes it
    another platform, that platform inherits the slug and the prices of the deleted platform of the same name."""
    before = Platform.objects.filter(descriptions__source__in=outdated).in_bulk()
    prices = price_table(Price.objects.filter(platform__in=before).select_related("platform"))
    own_prices = list(OwnPrice.objects.filter(platform__in=before).select_related("platform"))
    staged = withdraw_in_transaction(outdated, replaced_by=source)
    remaining = Platform.objects.in_bulk(before)
    slugs = {platform.name: platform.slug for key, platform in before.items() if key not in remaining}
    if len(remaining) < len(before):
        for platform in Platform.objects.filter(descriptions__source=source, name__in=slugs).exclude(pk__in=remaining):
            if not platform.descriptions.exclude(source=source).exists():
                platform.slug = slugs.pop(platform.name, platform.slug)
                platform.save(update_fields=["slug"])
        report.prices_dropped += restore_prices(prices.splitlines())[1]
        restore_own_prices(price for price in own_prices if price.platform_id not in remaining)
    return staged
