"""The answer that holds all data of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import StreamingHttpResponse

from accounts.belongings import registered_belongings
from accounts.export import ArchiveMember, tar_pieces
from accounts.models import ApiToken

ARCHIVE_TYPE = "application/x-tar"


def archive_response(user: Any, request: Any) -> StreamingHttpResponse:
    """`request`: of Django or of the API, for the addresses in the documents."""
    response = StreamingHttpResponse(tar_pieces(archive_members(user, request)), content_type=ARCHIVE_TYPE)
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
    for belongings in registered_belongings():
        yield from belongings.members(user, request)
