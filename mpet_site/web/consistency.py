"""Reading many tables as they were at one moment, while others write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def consistent_reads() -> Iterator[bool]:
    """Whether all reads of the block see the database at one moment; they do except inside somebody's transaction.
    Nobody waits for the block, and it must not write."""
    if connection.in_atomic_block:
        yield False
    elif connection.vendor == "sqlite" and connection.connection is not None and connection.connection.in_transaction:
        yield True  # inside such a block
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:  # atomic() would take the lock that writers need
            cursor.execute("BEGIN DEFERRED")
            try:
                yield True
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield True
