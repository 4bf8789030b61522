"""Very many rows inserted at once, of model instances or without any. Their columns are prepared one by one, and the
database takes row by row: `bulk_create` writes one statement for all of them, which takes longer. PostgreSQL copies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db import connection, models, transaction

INSERTED_AT_ONCE = 5_000  # in one transaction
PLAIN_FIELDS = (models.FloatField, models.IntegerField, models.BooleanField, models.CharField, models.ForeignKey)


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of what the database stores, in the order given, in transactions of INSERTED_AT_ONCE."""
    quote = connection.ops.quote_name
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    into = f"{quote(model._meta.db_table)} ({', '.join(quote(field.column) for field in fields)})"
    remaining = iter(rows)
    while batch := list(islice(remaining, INSERTED_AT_ONCE)):
        started = time.monotonic()
        with transaction.atomic(), connection.cursor() as cursor:
            _insert_batch(cursor, into, batch)
        let_others_write(time.monotonic() - started)


def insert_instances(instances: Sequence[models.Model]) -> None:
    """Insert instances of one model that have their keys, with what `pre_save` gives them; a date of creation that an
    instance has already stays."""
    for start in range(0, len(instances), INSERTED_AT_ONCE):
        some = instances[start : start + INSERTED_AT_ONCE]
        fields = some[0]._meta.concrete_fields
        stored = [_stored_column(field, some) for field in fields]
        insert_rows(type(some[0]), [field.name for field in fields], zip(*stored, strict=True))
    for instance in instances:
        instance._state.adding, instance._state.db = False, connection.alias


def let_others_write(seconds: float) -> None:
    """Who waits for SQLite's lock looks again every 0.1 s at most; one who always took it back would keep it."""
    if not connection.in_atomic_block and connection.vendor == "sqlite":
        time.sleep(min(seconds, 0.1))


def _stored_column(field: Any, instances: Sequence[models.Model]) -> list[Any]:
    """A field of the instances as the database stores it. Plain numbers and texts are stored as they are."""
    if type(field).pre_save is models.Field.pre_save and isinstance(field, PLAIN_FIELDS):
        return list(map(attrgetter(field.attname), instances))
    prepare: Callable[..., Any] = field.get_db_prep_save
    is_date = getattr(field, "auto_now_add", False)
    values = ((is_date and getattr(one, field.attname)) or field.pre_save(one, add=True) for one in instances)
    return [prepare(value, connection) for value in values]


def _insert_batch(cursor: Any, into: str, batch: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows into a table and columns. PostgreSQL copies them: as many INSERTs cost it several times as much."""
    if connection.vendor == "postgresql":
        with connection.wrap_database_errors, cursor.copy(f"COPY {into} FROM STDIN") as copy:
            for row in batch:
                copy.write_row(row)
    else:
        values = ", ".join(["%s"] * len(batch[0]))
        cursor.executemany(f"INSERT INTO {into} VALUES ({values})", batch)  # noqa: S608  names of ours
