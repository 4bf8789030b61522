"""Files of other tools on their way in: which machine they are of, and how they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from benchmarks.formats import read_foreign
from benchmarks.formats.collecting import ForeignFile
from profiles.ingest import IngestResult, ingest
from profiles.measurements import Measurements, PlatformRecord
from profiles.models import Platform, Source


def known_platform(slug: str, user: Any) -> PlatformRecord:
    """What is known of a platform that the user sees; a delivery that says it is of that platform. Raises
    Platform.DoesNotExist."""
    row = Platform.objects.visible_to(user or AnonymousUser()).get(slug=slug)
    record = {field.name: getattr(row, field.name) for field in fields(PlatformRecord)}
    return PlatformRecord(**record | {"placement": None if row.placement is None else tuple(row.placement)})


def read_files(
    form: str, files: Sequence[ForeignFile], platform: PlatformRecord | None, columns: Mapping[str, str]
) -> Measurements:
    """As `read_foreign`, within the limits of the settings."""
    return read_foreign(
        form,
        files,
        platform=platform,
        columns=columns,
        most_rows=settings.UPLOAD_MAX_ROWS,
        most_workloads=settings.UPLOAD_MAX_WORKLOADS,
    )


def foreign_sha256(form: str, files: Sequence[ForeignFile], platform: PlatformRecord) -> str:
    """The same files of another machine are another delivery."""
    digest = hashlib.sha256(json.dumps([form, asdict(platform)]).encode())
    for file in files:
        digest.update(hashlib.sha256(file.content).digest())
    return digest.hexdigest()


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
    return ingest(
        measurements,
        kind=Source.Kind.FILES,
        label=f"{files[0].name}{more}",
        sha256=foreign_sha256(form, files, measurements.platforms[0]),
        owner=owner,
        private=private,
        progress=progress,
    )
