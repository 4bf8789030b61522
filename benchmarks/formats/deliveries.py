"""Uploads of files of other tools: how to read them, and several files packed as one. The module does not need
Django."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import IO, Any

from benchmarks.archive import ArchiveProblems
from benchmarks.formats.collecting import ForeignFile
from profiles.measurements import PlatformRecord

MOST_FILES = 64  # per upload; Django accepts 100 parts


@dataclass(frozen=True)
class ForeignReading:
    """Instructions for reading a file of another tool: its format, the machine if the file does not name it, and the
    columns of a plain CSV. `packed` is true for a tar archive of several files."""

    form: str
    platform: PlatformRecord | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    packed: bool = False

    def document(self) -> dict[str, Any]:
        """Return the JSON document that is stored with the upload."""
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
        """Return the digest of a delivery. It covers the digest of the file and how the file is read, because the same
        file read differently is another delivery."""
        return hashlib.sha256(
            f"{sha256} {self.form} {json.dumps(self.document(), sort_keys=True)}".encode()
        ).hexdigest()


def pack_files(sent: Sequence[tuple[str, IO[bytes]]]) -> IO[bytes]:
    """Pack named files into a tar archive. The same files in the same order give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sent:
            data = content.read()
            member = tarfile.TarInfo(PurePath(name.replace("\\", "/")).name or "file")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    packed.seek(0)
    return packed


def unpack_files(name: str, content: bytes) -> list[ForeignFile]:
    """Return the files of an archive that `pack_files` made. Raise ArchiveError if it is invalid."""
    problems, files = ArchiveProblems(), list[ForeignFile]()
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.type == tarfile.REGTYPE and not member.sparse else None
                if file is None or len(files) == MOST_FILES:
                    problems.add(name, None, f"has a member that is not a plain file, or more than {MOST_FILES}")
                    break
                files.append(ForeignFile(member.name, file.read()))
    except (tarfile.TarError, EOFError, ValueError) as error:
        problems.add(name, None, f"cannot be read: {error}")
    problems.raise_if_any()
    return files
