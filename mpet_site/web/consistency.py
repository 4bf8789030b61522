"""Consistent reads of several tables while other connections write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def consistent_reads() -> Iterator[bool]:
    """Make all reads of the block see one state of the database, and yield whether they do.

    The value is False only inside an open transaction. The block does not make writers wait, and must not write.
    """
    if connection.in_atomic_block:
        yield False
    elif connection.vendor == "sqlite" and connection.connection is not None and connection.connection.in_transaction:
        yield True  # nested in another such block
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:  # atomic() would take the lock for writing
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
