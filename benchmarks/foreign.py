"""Files of other tools on their way in: which machine they are of, and how they are stored."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import PurePath
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from benchmarks.archive.problems import ArchiveProblems
from benchmarks.formats import read_foreign
from benchmarks.formats.collecting import ForeignFile
from benchmarks.formats.recognising import TARBALL, TOO_MIXED, UnrecognisedError, recognise
from profiles.ingest import IngestResult, ingest
from profiles.measurements import Measurements, PlatformRecord
from profiles.models import Platform, Source

RECOGNISED = "auto"  # the form that is asked for where the files are to say it
MOST_FILES = 64  # of one upload; Django takes 100 parts


@dataclass(frozen=True)
class ForeignReading:
    """How a file of another tool is to be read: its format, the machine where the file does not say it, the columns of
    a plain CSV. `packed`: it is a tar archive of several files."""

    form: str
    platform: PlatformRecord | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    packed: bool = False

    def document(self) -> dict[str, Any]:
        """As an upload keeps it."""
        platform = None if self.platform is None else asdict(self.platform)
        return {"platform": platform, "columns": dict(self.columns), **({"packed": True} if self.packed else {})}

    @classmethod
    def of_document(cls, form: str, document: Mapping[str, Any]) -> ForeignReading:
        facts = document["platform"]
        if facts is not None:
            placement = facts["placement"]
            facts = PlatformRecord(**facts | {"placement": None if placement is None else tuple(placement)})
        return cls(form, facts, document["columns"], document.get("packed", False))

    def sha256_of(self, sha256: str) -> str:
        """Of a file of that sha256, read so: read otherwise it is another delivery."""
        return hashlib.sha256(
            f"{sha256} {self.form} {json.dumps(self.document(), sort_keys=True)}".encode()
        ).hexdigest()

    def read(self, file: IO[bytes], name: str) -> Measurements:
        """Raises ArchiveError."""
        content = file.read(settings.UPLOAD_MAX_PACKED_BYTES + 1)
        files = _unpack(name, content) if self.packed else [ForeignFile(name, content)]
        return read_files(self.form, files, self.platform, self.columns)


def as_one_file(
    sent: Sequence[tuple[str, IO[bytes]]], reading: ForeignReading | None
) -> tuple[str, IO[bytes], ForeignReading | None]:
    """What one upload is made of, as one file: its name, its content, and how it is to be read; None for a results
    tarball, whose form need not be said. Raises UnrecognisedError."""
    if reading is not None and reading.form == RECOGNISED:
        form = recognise([ForeignFile(name, _look_at(content)) for name, content in sent])
        if form == TARBALL and (reading.platform is not None or reading.columns):
            raise UnrecognisedError("A results tarball says itself of which machine it is: give neither.")
        reading = None if form == TARBALL else replace(reading, form=form)
    if len(sent) == 1:
        return *sent[0], reading
    if reading is None:
        raise UnrecognisedError(TOO_MIXED)
    name = f"{sent[0][0]} and {len(sent) - 1} more"
    return name, _pack(sent), replace(reading, packed=True)


def _look_at(content: IO[bytes]) -> bytes:
    found = content.read(settings.UPLOAD_MAX_PACKED_BYTES + 1)
    content.seek(0)
    return found


def _pack(sent: Sequence[tuple[str, IO[bytes]]]) -> IO[bytes]:
    """The same files in the same order give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sent:
            held = content.read()
            member = tarfile.TarInfo(PurePath(name.replace("\\", "/")).name or "file")
            member.size = len(held)
            archive.addfile(member, io.BytesIO(held))
    packed.seek(0)
    return packed


def _unpack(name: str, content: bytes) -> list[ForeignFile]:
    """Raises ArchiveError."""
    problems, files = ArchiveProblems(), list[ForeignFile]()
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.type == tarfile.REGTYPE and not member.sparse else None
                if file is None or len(files) == MOST_FILES:
                    problems.add(name, None, f"has a member that is no plain file, or more than {MOST_FILES}")
                    break
                files.append(ForeignFile(member.name, file.read()))
    except (tarfile.TarError, EOFError, ValueError) as error:
        problems.add(name, None, f"cannot be read: {error}")
    problems.raise_if_any()
    return files


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
