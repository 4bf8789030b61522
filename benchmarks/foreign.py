"""Files of other tools on their way in: which machine they are of, and how they are stored."""

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

RECOGNISED = "auto"  # the form that is asked for where the files are to say it


def as_one_file(
    sent: Sequence[tuple[str, IO[bytes]]], reading: ForeignReading | None
) -> tuple[str, IO[bytes], ForeignReading | None]:
    """What one upload is made of, as one file: its name, its content, and how it is to be read; None for a results
    tarball, whose form need not be said. Raises UnreadableError."""
    name, content = sent[0]
    if len(sent) > 1:
        if reading is None:
            raise UnrecognisedError(TOO_MIXED)
        name, content = f"{name} and {len(sent) - 1} more", pack_files(sent)
        reading = replace(reading, packed=True)
    if reading is not None and reading.form == RECOGNISED:
        form = recognise_upload(content, name, packed=reading.packed)
        if form == TARBALL and (reading.platform is not None or reading.columns):
            raise UnrecognisedError("A results tarball says itself of which machine it is: give neither.")
        reading = None if form == TARBALL else replace(reading, form=form)
    return name, content, reading


def known_platform(slug: str, user: Any) -> PlatformRecord:
    """What is known of a platform that the user sees; a delivery that says it is of that platform. Raises
    Platform.DoesNotExist, and UnreadableError for a simulated machine, which has no measurements."""
    viewer = user or AnonymousUser()
    row = Platform.objects.visible_to(viewer).get(slug=slug)
    if Platform.objects.only_simulated(viewer).filter(pk=row.pk).exists():
        raise UnreadableError(f"{row.name!r} is a simulated machine, which nobody can have measured.")
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
    """Store what was read of the files. Raises IngestError."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    # The same files of another machine are another delivery.
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
