"""Public measurements become deliveries: some folders of a source at a time, each folder once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.models import FetchedFolder
from benchmarks.public_data.files import FoundFolder, find_folders
from benchmarks.public_data.interface import MeasuredFolder, PublicSource, RefusedFolder, as_delivery
from profiles.ingest import IngestResult, ingest
from profiles.models import Price, Source
from profiles.prices import price_table, restore_prices
from profiles.withdrawal import withdraw

FOLDERS_AT_ONCE = 50  # in one delivery: what a killed process has to read again


@dataclass
class FetchReport:
    """What became of the folders of a source: how many are stored now and were before, profiles, and why others are
    refused (folders) and single results left out. `notes`: by kind, what matching machines and workloads with the known
    ones gave reason to say."""

    stored: int = 0
    known: int = 0
    outdated: int = 0
    profiles: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    prices_dropped: int = 0
    notes: dict[str, list[str]] = field(default_factory=dict)


Looked = Callable[[FetchReport], Any]


def fetch(
    source: PublicSource, origin: Path, *, limit: int | None, update: bool, looked: Looked = lambda report: None
) -> FetchReport:
    """Store what of the source is not stored yet, at most `limit` folders. `update`: folders that changed are stored
    anew, and their platforms keep their prices. `looked` is called after every folder.

    Raises UnreadableOrigin and IngestError; the folders before are stored.
    """
    report = FetchReport()
    if update:
        report.outdated = _withdraw_outdated(source, origin)
    readable = _readable(source, origin, limit, report, looked)
    while some := list(islice(readable, FOLDERS_AT_ONCE)):
        _store(source, some, report)
        _give_prices_back(source, report)
    _give_prices_back(source, report)
    if limit is None:
        _held_prices(source).unlink(missing_ok=True)  # what is left is of machines that are not stored any more
    return report


def _withdraw_outdated(source: PublicSource, origin: Path) -> int:
    """Take back the deliveries in which a folder was another than it is now; of how many folders."""
    known = _known(source)
    outdated = [folder.name for folder in find_folders(source, origin) if known.get(folder.name) != folder.sha256]
    rows = FetchedFolder.objects.filter(public_source=source.name)
    changed = {row.source_id for row in rows if row.folder in set(outdated)}
    if changed:
        _hold_prices(source, changed)
        withdraw(Source.objects.filter(pk__in=changed))
    return len(set(outdated) & set(known))


def _held_prices(source: PublicSource) -> Path:
    """Where prices wait for platforms that are stored anew, also when the process ends before they are. It is a table
    as import_prices reads it."""
    return Path(settings.FETCHED_DIR, f"{source.name}.prices.csv")


def _hold_prices(source: PublicSource, deliveries: set[int]) -> None:
    """With the prices that a fetch before this one held and could not give back."""
    prices = Price.objects.filter(platform__profiles__source__in=deliveries).distinct().select_related("platform")
    table = price_table(prices)
    path = _held_prices(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else ""
    rows = dict.fromkeys([*table.splitlines(), *before.splitlines()])  # the header once, and first
    path.with_suffix(".new").write_text("\n".join(rows) + "\n")
    path.with_suffix(".new").rename(path)


def _give_prices_back(source: PublicSource, report: FetchReport) -> None:
    path = _held_prices(source)
    if path.exists():
        _, report.prices_dropped = restore_prices(path.read_text().splitlines())


def _known(source: PublicSource) -> dict[str, str]:
    return dict(FetchedFolder.objects.filter(public_source=source.name).values_list("folder", "sha256"))


def _readable(
    source: PublicSource, origin: Path, limit: int | None, report: FetchReport, looked: Looked
) -> Iterator[tuple[FoundFolder, MeasuredFolder]]:
    """The folders that are not stored yet and can be."""
    known, found = _known(source), 0
    for folder in find_folders(source, origin):
        if limit is not None and found >= limit:
            return
        if folder.name in known:
            report.known += 1
        elif (measured := _read(source, folder, report)) is not None:
            found += 1
            yield folder, measured
        looked(report)


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


def _store(source: PublicSource, some: list[tuple[FoundFolder, MeasuredFolder]], report: FetchReport) -> None:
    folders = [folder for folder, _ in some]

    def note(result: IngestResult) -> None:
        """In the transaction that makes the profiles visible."""
        FetchedFolder.objects.bulk_create(
            FetchedFolder(source=result.source, public_source=source.name, folder=folder.name, sha256=folder.sha256)
            for folder in folders
        )

    result = ingest(
        as_delivery(source, [measured for _, measured in some], f"fetch_data {source.name} {source.version}"),
        kind=Source.Kind.DATASET,
        label=source.title,
        sha256=hashlib.sha256("".join(folder.sha256 for folder in folders).encode()).hexdigest(),
        owner=None,
        private=False,
        on_stored=note,
    )
    report.stored += len(folders)
    report.profiles += len(result.profiles)
    for kind, messages in result.notes.items():
        report.notes.setdefault(kind, []).extend(messages)
