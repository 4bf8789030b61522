"""All of a user's data as one tar archive, made while it is sent: no more than one member is ever in memory, of large
files not even that."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from mpet_site.web.plain_json import nan_to_null

ARCHIVE_PIECE_BYTES = 1 << 18


@dataclass(frozen=True)
class ArchiveMember:
    """A file of the archive. `content` has exactly `size` bytes and is read once, to its end."""

    name: str
    size: int
    content: Any  # a binary file

    @classmethod
    def of_json(cls, name: str, document: Any) -> ArchiveMember:
        text = json.dumps(nan_to_null(document), cls=DjangoJSONEncoder, indent=1, ensure_ascii=False, allow_nan=False)
        packed = text.encode(errors="replace")
        return cls(name, len(packed), io.BytesIO(packed))


def tar_pieces(members: Iterable[ArchiveMember]) -> Iterator[bytes]:
    """The archive in pieces, from first to last."""
    for member in members:
        header = tarfile.TarInfo(member.name)
        header.size, header.mtime = member.size, int(time.time())
        yield header.tobuf(tarfile.PAX_FORMAT)
        left = member.size
        with closing(member.content):
            while left and (piece := member.content.read(min(ARCHIVE_PIECE_BYTES, left))):
                left -= len(piece)
                yield piece
        yield bytes(left + -member.size % tarfile.BLOCKSIZE)  # a file that became shorter is filled up
    yield bytes(2 * tarfile.BLOCKSIZE)
