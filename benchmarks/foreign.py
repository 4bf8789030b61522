"""Files of other tools on their way in: which machine they are of, and how they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from benchmarks.formats import read_foreign
from benchmarks.formats.collecting import ForeignFile
from profiles.ingest import IngestResult, ingest
from profiles.measurements import Measurements, PlatformRecord
from profiles.models import Platform, Source


@dataclass(frozen=True)
class ForeignReading:
    """How a file of another tool is to be read: its format, the machine where the file does not say it, the columns of
    a plain CSV."""

    form: str
    platform: PlatformRecord | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As an upload keeps it."""
        return {"platform": None if self.platform is None else asdict(self.platform), "columns": dict(self.columns)}

    @classmethod
    def of_document(cls, form: str, document: Mapping[str, Any]) -> ForeignReading:
        facts = document["platform"]
        if facts is not None:
            placement = facts["placement"]
            facts = PlatformRecord(**facts | {"placement": None if placement is None else tuple(placement)})
        return cls(form, facts, document["columns"])

    def sha256_of(self, sha256: str) -> str:
        """Of a file of that sha256, read so: read otherwise it is another delivery."""
        return hashlib.sha256(
            f"{sha256} {self.form} {json.dumps(self.document(), sort_keys=True)}".encode()
        ).hexdigest()

    def read(self, file: IO[bytes], name: str) -> Measurements:
        """Raises ArchiveError."""
        content = file.read(settings.UPLOAD_MAX_PACKED_BYTES + 1)
        return read_files(self.form, [ForeignFile(name, content)], self.platform, self.columns)


def known_platform(slug: str, user: Any) -> PlatformRecord:
    """What is known of a platform that the user sees; a delivery that says it is of that platform. Raises
    Platform.DoesNotExist."""
    row = Platform.objects.visible_to(user or AnonymousUser()).get(slug=slug)
    record = {column.name: getattr(row, column.name) for column in fields(PlatformRecord)}
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
