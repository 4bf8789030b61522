"""The data of a user. Each application registers what it stores, so that a user can count, export and delete it.

The export is one tar archive that is written while it is sent. At most one member is in memory, and only a piece of a
large file.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import StreamingHttpResponse

from accounts.models import ApiToken
from mpet_site.web.plain_json import nan_to_null

ARCHIVE_PIECE_BYTES = 1 << 18


@dataclass(frozen=True)
class ArchiveMember:
    """A file of the archive. `content` is a binary file of exactly `size` bytes and is read once."""

    name: str
    size: int
    content: Any  # a binary file

    @classmethod
    def of_json(cls, name: str, document: Any) -> ArchiveMember:
        text = json.dumps(nan_to_null(document), cls=DjangoJSONEncoder, indent=1, ensure_ascii=False, allow_nan=False)
        packed = text.encode(errors="replace")
        return cls(name, len(packed), io.BytesIO(packed))


@dataclass(frozen=True)
class UserData:
    """A kind of data that an application stores for users.

    `count(user)` returns numbers by name. `members(user, request)` yields the files of the user's archive, with
    addresses built from `request`. `remove(user, keep_public)` deletes the data; with `keep_public`, public data stays
    without the user's name.
    """

    name: str
    count: Callable[[Any], dict[str, int]]
    members: Callable[[Any, Any], Iterator[ArchiveMember]]
    remove: Callable[[Any, bool], Any]


_registered: dict[str, UserData] = {}


def register_user_data(part: UserData) -> None:
    """Register a kind of data, in `AppConfig.ready`. A kind of the same name is replaced."""
    _registered[part.name] = part


def registered_user_data() -> tuple[UserData, ...]:
    return tuple(_registered[name] for name in sorted(_registered))


def user_data_counts(user: Any) -> dict[str, int]:
    """Return the number of stored objects of each kind that belong to the user."""
    counts: dict[str, int] = {}
    for part in registered_user_data():
        counts |= part.count(user)
    return counts


def close_account(user: Any, *, keep_public: bool) -> None:
    """Delete all data of the user, and then the user.

    Each application deletes all or nothing. After a failure the account still exists, and the deletion can be repeated.
    """
    for part in registered_user_data():
        part.remove(user, keep_public)
    user.delete()


def archive_response(request: Any) -> StreamingHttpResponse:
    """Return the archive of the user of a Django or API request."""
    members = archive_members(request.user, request)
    response = StreamingHttpResponse(tar_pieces(members), content_type="application/x-tar")
    response["Content-Disposition"] = 'attachment; filename="mpet-account.tar"'
    response["Cache-Control"] = "private, no-store"
    return response


def archive_members(user: Any, request: Any) -> Iterator[ArchiveMember]:
    tokens = ApiToken.objects.filter(user=user)
    account = {
        "username": user.get_username(),
        "email": user.email,
        "joined_at": user.date_joined,
        "last_login_at": user.last_login,
        "tokens": list(tokens.values("prefix", "name", "scope", "created_at", "last_used_at", "revoked_at")),
    }
    yield ArchiveMember.of_json("account.json", account)
    for part in registered_user_data():
        yield from part.members(user, request)


def tar_pieces(members: Iterable[ArchiveMember]) -> Iterator[bytes]:
    """Yield the archive in pieces."""
    for member in members:
        header = tarfile.TarInfo(member.name)
        header.size, header.mtime = member.size, int(time.time())
        yield header.tobuf(tarfile.PAX_FORMAT)
        remaining = member.size
        with closing(member.content):
            while remaining and (piece := member.content.read(min(ARCHIVE_PIECE_BYTES, remaining))):
                remaining -= len(piece)
                yield piece
        yield bytes(remaining + -member.size % tarfile.BLOCKSIZE)  # a file that became shorter is padded
    yield bytes(2 * tarfile.BLOCKSIZE)
