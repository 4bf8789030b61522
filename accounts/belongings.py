"""What is kept of a user, application by application: each registers what it has, so that a user can count it, take it
along and have it removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from accounts.export import ArchiveMember


@dataclass(frozen=True)
class Belongings:
    """`count(user)`: how many of what, by name. `members(user, request)`: files of the user's archive, `request` for
    the addresses in them. `remove(user, keep_public)`: delete it; where `keep_public`, what is public stays and names
    nobody."""

    name: str
    count: Callable[[Any], dict[str, int]]
    members: Callable[[Any, Any], Iterator[ArchiveMember]]
    remove: Callable[[Any, bool], Any]


_registered: dict[str, Belongings] = {}


def register_belongings(belongings: Belongings) -> None:
    """For `AppConfig.ready`; a name that is there already is replaced."""
    _registered[belongings.name] = belongings


def registered_belongings() -> tuple[Belongings, ...]:
    return tuple(_registered[name] for name in sorted(_registered))


def belongings_of(user: Any) -> dict[str, int]:
    """How many of what is kept of the user."""
    counts: dict[str, int] = {}
    for belongings in registered_belongings():
        counts |= belongings.count(user)
    return counts


def close_account(user: Any, *, keep_public: bool) -> None:
    """Remove everything of the user, and then the user. Each application's part is whole or not begun; after a failure
    the account is still there, and can be closed again."""
    for belongings in registered_belongings():
        belongings.remove(user, keep_public)
    user.delete()
