"""Django's command with a lock, for installations whose services start at the same time (deploy/compose.yaml)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from mpet_site.state_folder import file_lock
from mpet_site.web.health import pending_migrations

ADVISORY_LOCK = 0x6D706574  # "mpet" in ASCII; PostgreSQL identifies these locks by number
ASK_EVERY_S = 1.0


class Command(migrate.Command):
    help = f"{migrate.Command.help} Only one process migrates at a time; others wait."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--wait",
            type=float,
            default=0.0,
            metavar="SECONDS",
            help="maximum time to wait until the database accepts connections or, with --check, until all "
            "migrations are applied",
        )

    def handle(self, *args: Any, wait: float, **options: Any) -> None:
        connection = connections[options["database"]]
        end = time.monotonic() + wait
        is_check = options["check_unapplied"]
        while reason := reason_not_ready(connection, migrated=is_check and wait > 0):
            connection.close()
            if time.monotonic() >= end:
                raise CommandError(f"{reason} (waited for {wait:g} s)" if wait else reason)
            time.sleep(ASK_EVERY_S)
        if is_check:
            super().handle(*args, **options)
            return
        with one_at_a_time(connection):
            super().handle(*args, **options)


def reason_not_ready(connection: BaseDatabaseWrapper, *, migrated: bool) -> str:
    """Return why the database cannot be used now, or "" if it can. With `migrated`, unapplied migrations are a
    reason."""
    try:
        connection.ensure_connection()
        pending = pending_migrations(connection) if migrated else 0
    except Error as error:
        return f"the database does not answer; check DATABASE_URL: {error}"
    return f"{pending} migrations are not applied; run manage.py migrate" if pending else ""


@contextmanager
def one_at_a_time(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Hold a lock for the block. It is released when the process ends.

    It is an advisory lock of PostgreSQL, whose clients may run on several hosts, or else a file in the state folder.
    """
    if connection.vendor != "postgresql":
        with file_lock(Path(settings.STATE_DIR) / "migrate.lock"):
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
    try:
        yield
    finally:
        if connection.connection is not None and not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_LOCK])
