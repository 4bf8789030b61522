"""Descriptions of platforms and workloads as rows: kept with each delivery, compared, and the facts told from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models.functions import Coalesce

from profiles.identity.facts import (
    FACTS,
    UNKNOWN,
    FactColumns,
    accept_value,
    compare_with_row,
    forget_facts,
    has_the_say,
    known_facts,
    row_values,
    shortened,
    written_value,
)
from profiles.identity.matching import IngestError, MatchingNotes, key_chunks
from profiles.models import Platform, Source, Workload

DIFFERENCES_SHOWN = 20
DELIVERIES_COMPARED = 100  # the newest that say something else; a page bears no more


def describe_rows(
    columns: FactColumns, source: Source, drafts: Sequence[Any], rows: Sequence[Any], notes: MatchingNotes
) -> None:
    """Store what a delivery says of its rows, and update the rows for which it is authoritative. A row that was made of
    its draft says all of it already. The number of queries is one for each batch of rows."""
    before: dict[Any, dict[str, Any]] = {}
    for draft, row in zip(drafts, rows, strict=True):
        if row is not draft and row.private_to_id == source.private_to_id and has_the_say(row, source.deliverer):
            before[row.pk] = row_values(columns, row)
            accept_value(columns, row, source.deliverer, known_facts(columns, draft))
            _note_corrections(columns, row, before[row.pk], notes)
            _check_facts(columns, row)
    save_facts(columns, [row for row in rows if row.pk in before], before)
    changed_rows = (
        row
        for draft, row in zip(drafts, rows, strict=True)
        if row is draft or any(before[row.pk][name] != getattr(row, name) for name in columns.own if row.pk in before)
    )
    update_differences(columns, {row.pk: row for row in changed_rows})
    _keep_descriptions(columns, source, drafts, rows, notes)


def _keep_descriptions(
    columns: FactColumns, source: Source, drafts: Sequence[Any], rows: Sequence[Any], notes: MatchingNotes
) -> None:
    descriptions = []
    for draft, row in zip(drafts, rows, strict=True):
        description = columns.description(source=source, **{columns.noun: row}, facts=known_facts(columns, draft))
        compare_with_row(columns, description, row)
        descriptions.append(description)
        if description.differs:
            said = (
                f"{name} is {written_value(getattr(row, name))} here and {written_value(value)} in the delivery"
                for name, value in description.differences
            )
            kind = f"{columns.noun}s known with other properties, which were kept"
            notes.add(kind, f"{columns.noun} {row.name!r} was kept as it is known: {'; '.join(said)}")
    columns.description.objects.bulk_create(descriptions)


def _note_corrections(columns: FactColumns, row: Any, before: dict[str, Any], notes: MatchingNotes) -> None:
    said = [
        f"{name} was {written_value(before[name])} and is now {written_value(getattr(row, name))}"
        for name in columns.own
        if before[name] not in UNKNOWN and before[name] != getattr(row, name) and name != columns.largest
    ]
    if said:
        notes.add(
            f"{columns.noun}s that were corrected", f"{columns.noun} {row.name!r} was corrected: {'; '.join(said)}"
        )


def _check_facts(columns: FactColumns, row: Any) -> None:
    others = [field.name for field in row._meta.fields if field.name not in columns.columns]
    try:
        row.clean_fields(exclude=others)
    except ValidationError as error:
        field_name, messages = next(iter(error.message_dict.items()))
        raise IngestError(f"{columns.noun} {row.name!r}: {field_name}: {messages[0]}", columns.noun) from error


def save_facts(columns: FactColumns, rows: Iterable[Any], before: dict[Any, dict[str, Any]]) -> None:
    """Write what is not as it was `before`, by primary key."""
    names: set[str] = set()
    changed = []
    for row in rows:
        different = {name for name, value in before[row.pk].items() if value != getattr(row, name)}
        if different:
            changed.append(row)
            names |= different
    write_columns(changed, sorted(names))


def write_columns(rows: Sequence[Any], names: Sequence[str]) -> None:
    """Write these columns of rows of one model by one prepared statement: a seventh of the time of `bulk_update`, which
    has an arm for each row in one CASE for each column."""
    if not rows or not names:
        return
    model, quote = rows[0]._meta, connection.ops.quote_name
    fields: list[Any] = [model.get_field(name) for name in names]
    assignments = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    statement = f"UPDATE {quote(model.db_table)} SET {assignments} WHERE {quote(model.pk.column)} = %s"  # noqa: S608
    values = [
        (*(field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields), row.pk) for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)


def update_differences(columns: FactColumns, rows: Mapping[Any, Any]) -> None:
    """Compare all descriptions of these rows, which are given by primary key, with them again."""
    descriptions = columns.description.objects
    for part in key_chunks(rows):
        changed = [
            description
            for description in descriptions.filter(**{f"{columns.noun}__in": part})
            if compare_with_row(columns, description, rows[getattr(description, f"{columns.noun}_id")])
        ]
        write_columns(changed, ["differs", "differences"])


def restate(columns: FactColumns, keys: Iterable[Any]) -> None:
    """Compute the facts of these rows from the visible deliveries, as if they came one after the other."""
    for part in key_chunks(keys):
        rows = {row.pk: row for row in columns.model.objects.filter(pk__in=part)}
        before = {key: row_values(columns, row) for key, row in rows.items()}
        for row in rows.values():
            forget_facts(columns, row)
        for key, source, facts in _words(columns, part):
            row = rows[key]
            if source.private_to_id == row.private_to_id and has_the_say(row, source.deliverer):
                accept_value(columns, row, source.deliverer, facts)
        save_facts(columns, rows.values(), before)
        update_differences(columns, rows)


def _words(columns: FactColumns, keys: list[Any]) -> list[tuple[Any, Source, dict[str, Any]]]:
    """What each delivery that can be seen says of these rows, in the order in which they came, or became public."""
    rows = columns.description.objects.filter(**{f"{columns.noun}__in": keys}, source__hidden=False)
    came_at = Coalesce("source__published_at", "source__created_at")
    sources = rows.select_related("source").order_by(came_at, "source_id", "pk")
    columns_read = ("facts", f"{columns.noun}_id", "source__deliverer", "source__private_to")
    return [(getattr(row, f"{columns.noun}_id"), row.source, row.facts) for row in sources.only(*columns_read)]


def described_by(sources: Iterable[Source]) -> list[tuple[FactColumns, list[Any]]]:
    """The primary keys of the platforms and of the workloads of which these deliveries say something."""
    keys = []
    for columns in FACTS.values():
        descriptions = columns.description.objects.filter(source__in=sources).order_by()
        keys.append((columns, list(descriptions.values_list(f"{columns.noun}_id", flat=True).distinct())))
    return keys


@dataclass(frozen=True)
class Difference:
    """What deliveries say otherwise than a row; the newest of them first, `sources`."""

    row: Platform | Workload
    field: str
    here: Any
    value: Any
    sources: tuple[Source, ...]


def differences_of(row: Platform | Workload, user: Any) -> list[Difference]:
    """What the deliveries that the user sees say otherwise, the newest first: at most DIFFERENCES_SHOWN."""
    found: dict[tuple[str, str], tuple[Any, list[Source]]] = {}
    for description in row.descriptions.differing_for(user)[:DELIVERIES_COMPARED]:
        for name, value in description.differences:
            found.setdefault((name, repr(value)), (value, []))[1].append(description.source)
    differences = (
        Difference(row, name, shortened(getattr(row, name)), value, tuple(sources))
        for (name, _), (value, sources) in found.items()
    )
    return list(islice(differences, DIFFERENCES_SHOWN))


def differences_in(source: Source, user: Any) -> list[Difference]:
    """What one delivery says otherwise of the platforms and workloads that the user sees: at most DIFFERENCES_SHOWN."""
    differences = (
        Difference(row, name, shortened(getattr(row, name)), value, (source,))
        for columns in FACTS.values()
        for description in _differing_in(columns, source, user)
        for row in (getattr(description, columns.noun),)
        for name, value in description.differences
    )
    return list(islice(differences, DIFFERENCES_SHOWN))


def _differing_in(columns: FactColumns, source: Source, user: Any) -> Any:
    shown = columns.description.objects.filter(source=source, **{f"{columns.noun}__hidden": False})
    return shown.differing_for(user).select_related(columns.noun).order_by("pk")[:DIFFERENCES_SHOWN]
