"""What one upload of files of other tools is made of: how they are read, and several files as one. No Django."""

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
        """The digest of a delivery: of the file and of how it is read, as another reading is another delivery."""
        return hashlib.sha256(
            f"{sha256} {self.form} {json.dumps(self.document(), sort_keys=True)}".encode()
        ).hexdigest()


def pack_files(sent: Sequence[tuple[str, IO[bytes]]]) -> IO[bytes]:
    """A tar archive of files by name. The same files in the same order give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sent:
            held = content.read()
            member = tarfile.TarInfo(PurePath(name.replace("\\", "/")).name or "file")
            member.size = len(held)
            archive.addfile(member, io.BytesIO(held))
    packed.seek(0)
    return packed


def unpack_files(name: str, content: bytes) -> list[ForeignFile]:
    """The files of such an archive. Raises ArchiveError."""
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
