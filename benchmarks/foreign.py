"""Files of other tools: recognition of their format, the platform that they were measured on, and storage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from typing import IO, Any

from django.contrib.auth.models import AnonymousUser

from benchmarks.formats.collecting import ForeignFile
from benchmarks.formats.deliveries import ForeignReading, pack_files
from benchmarks.formats.recognising import TARBALL, TOO_MIXED, UnrecognisedError
from benchmarks.reading import recognise_upload
from profiles.ingest.service import IngestResult, ingest
from profiles.measurements import Measurements, PlatformRecord, UnreadableError
from profiles.models import Platform, Source

RECOGNISED = "auto"  # form of a reading whose format is to be recognised


def as_one_file(
    sent: Sequence[tuple[str, IO[bytes]]], reading: ForeignReading | None
) -> tuple[str, IO[bytes], ForeignReading | None]:
    """Return the name, the content and the reading of an upload, for which several files are packed into one archive.
    If the reading's form is RECOGNISED, it is replaced by the recognised one. The reading is None for a results
    tarball. Raises UnreadableError."""
    name, content = sent[0]
    if len(sent) > 1:
        if reading is None:
            raise UnrecognisedError(TOO_MIXED)
        name, content = f"{name} and {len(sent) - 1} more", pack_files(sent)
        reading = replace(reading, packed=True)
    if reading is not None and reading.form == RECOGNISED:
        form = recognise_upload(content, name, packed=reading.packed)
        if form == TARBALL and (reading.platform is not None or reading.columns):
            raise UnrecognisedError("A results tarball describes its machine itself: omit machine and columns.")
        reading = None if form == TARBALL else replace(reading, form=form)
    return name, content, reading


def known_platform(slug: str, user: Any) -> PlatformRecord:
    """Return the record of a platform that the user sees. A delivery with this record belongs to that platform. Raises
    Platform.DoesNotExist, and UnreadableError for a simulated machine, which has no measurements."""
    viewer = user or AnonymousUser()
    row = Platform.objects.visible_to(viewer).get(slug=slug)
    if Platform.objects.only_simulated(viewer).filter(pk=row.pk).exists():
        raise UnreadableError(f"{row.name!r} is a simulated machine, which cannot be measured.")
    record = {column.name: getattr(row, column.name) for column in fields(PlatformRecord)}
    return PlatformRecord(**record | {"placement": None if row.placement is None else tuple(row.placement)})


def ingest_foreign(
    form: str,
    files: Sequence[ForeignFile],
    measurements: Measurements,
    *,
    owner: Any,
    private: bool,
    progress: Callable[[int], Any] | None = None,
) -> IngestResult:
    """Store the measurements that were read from the files. Raises IngestError."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    # The digest includes the platform, because the same files on another machine are another delivery.
    digest = hashlib.sha256(json.dumps([form, asdict(measurements.platforms[0])]).encode())
    for file in files:
        digest.update(hashlib.sha256(file.content).digest())
    return ingest(
        measurements,
        kind=Source.Kind.FILES,
        label=f"{files[0].name}{more}",
        sha256=digest.hexdigest(),
        owner=owner,
        private=private,
        progress=progress,
    )
