"""Rows that violate the check constraints of their tables, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def without_checks(*models: Any) -> Iterator[None]:
    """Disable the check constraints of these tables, to write rows as an older version or a manual change would.

    On PostgreSQL they stay disabled until the test's transaction is rolled back.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            for model in models:
                _drop_checks(cursor, model._meta.db_table)
    try:
        yield
    finally:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA ignore_check_constraints = OFF")


def _drop_checks(cursor: Any, table: str) -> None:
    quote = connection.ops.quote_name
    cursor.execute("SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid = %s::regclass", [table])
    for (name,) in cursor.fetchall():
        cursor.execute(f"ALTER TABLE {quote(table)} DROP CONSTRAINT {quote(name)}")


def set_without_checks(model: Any, key: int, **columns: Any) -> None:
    """Set columns of one row without checks, and without the conversions of the model's fields."""
    quote = connection.ops.quote_name
    names = ", ".join(f"{quote(name)} = %s" for name in columns)
    with without_checks(model), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {quote(model._meta.db_table)} SET {names} WHERE id = %s", [*columns.values(), key])
