"""How long a write waits for another one, because SQLite allows one writer at a time.

A command waits as long as `mpet_site.settings` allows. A request occupies a process that other requests need for
reading, so it waits for at most MPET_LOCK_SECONDS and is then answered with 503 (mpet_site.web.database_unavailable).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet

from mpet_site.web.background import can_wait

logger = logging.getLogger(__name__)


def shorten_waits_of_requests(*, connection: Any, **_signal: Any) -> None:
    """Handle `connection_created`: shorten the lock timeout of connections that are opened in a request."""
    if connection.vendor == "sqlite" and not can_wait():
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {round(1000 * settings.LOCK_SECONDS)}")


def update_without_waiting(rows: QuerySet[Any], lost: str, **values: Any) -> None:
    """Update the rows without waiting for a lock. If that fails, log `lost`, the description of the lost update.

    The database may be locked, full or read-only, and reading must not depend on writing.
    """
    try:
        with without_waiting():
            rows.update(**values)
    except DatabaseError as error:
        logger.info("%s: %s", lost, error)


@contextmanager
def without_waiting() -> Iterator[None]:
    """Open a transaction that does not wait for other writers but raises DatabaseError at once."""
    with connection.cursor() as cursor:
        if connection.vendor != "sqlite":
            with transaction.atomic():
                cursor.execute("SET LOCAL lock_timeout = 1")  # in ms; 0 would wait without limit
                yield
            return
        cursor.execute("PRAGMA busy_timeout")
        (before,) = cursor.fetchone()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            with transaction.atomic():
                yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
