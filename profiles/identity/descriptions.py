"""Descriptions of platforms and workloads: the facts of a row, and the deliveries that differ from them.

Each delivery stores its description of each row. The facts of a row come from one deliverer: the one with the first
visible delivery, in the order of arrival. The operator replaces any other deliverer, and a moderator's decision takes
precedence over all deliveries. A delivery of any other deliverer never changes a fact, even an unknown one: values that
disagree are stored as differences.

A private row has one owner, and only that owner's deliveries describe it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models.functions import Coalesce

from profiles.identity.matching import RULES, MatchingNotes, MatchingRules, check_columns
from profiles.models import Platform, Source, Workload
from profiles.models.querysets import key_chunks
from profiles.models.sources import OPERATOR

TEXT_SHOWN = 80  # maximum number of characters of a value in a sentence or a table
UNKNOWN = (None, "unknown")
DIFFERENCES_SHOWN = 20
DELIVERIES_COMPARED = 100  # the newest differing deliveries, as many as a page has room for


def known_facts(rules: MatchingRules, described: Any) -> dict[str, Any]:
    """Return the known values of a row or draft by column."""
    values = ((name, getattr(described, name)) for name in rules.delivered_columns)
    return {name: value for name, value in values if value not in UNKNOWN}


def row_values(rules: MatchingRules, row: Any) -> dict[str, Any]:
    """Return all columns of a row that a delivery may change, with their values."""
    return {name: getattr(row, name) for name in (*rules.delivered_columns, "facts_by")}


def is_authoritative(row: Any, deliverer: str) -> bool:
    """Return whether this deliverer may set the facts of the row, given the deliveries so far."""
    return deliverer == OPERATOR or row.facts_by in ("", deliverer)


def accept_value(rules: MatchingRules, row: Any, deliverer: str, facts: dict[str, Any]) -> None:
    """Set the columns of the row to the deliverer's facts, except the columns that a moderator decided.

    While the deliverer remains the same, the column `rules.largest` only grows.
    """
    takes_over = row.facts_by != deliverer
    for name, value in facts.items():
        if name not in row.decided:
            grows = name == rules.largest and not takes_over
            setattr(row, name, max(getattr(row, name), value) if grows else value)
    row.facts_by = deliverer


def compare_with_row(rules: MatchingRules, description: Any, row: Any) -> bool:
    """Store in the description where it differs from the row. Returns whether these differences changed."""
    # PostgreSQL does not preserve the order of the facts, so the loop follows `fact_columns`.
    facts = description.facts
    shown = [
        [name, shortened(facts[name])]
        for name in rules.fact_columns
        # A delivery that used fewer threads does not contradict a machine that has more.
        if name in facts
        and (facts[name] > getattr(row, name) if name == rules.largest else facts[name] != getattr(row, name))
    ]
    changed = bool(shown != description.differences)
    description.differences, description.differs = shown, bool(shown)
    return changed


def shortened(value: Any) -> Any:
    """Return the value in a short form: a long text is cut, and a long list keeps only its first and last items.

    >>> shortened(2400.0), shortened([0, 1, 2]), shortened(list(range(64)))
    (2400.0, '0, 1, 2', '0, 1, 2, 3, 4, 5, 6, 7, ..., 63 (64 of them)')
    >>> shortened("x" * 100) == "x" * 79 + "…"
    True
    """
    if isinstance(value, list):
        ends = [str(part) for part in (value if len(value) <= 10 else [*value[:8], "...", value[-1]])]
        return shortened(", ".join(ends) + (f" ({len(value)} of them)" if len(value) > 10 else ""))
    if isinstance(value, str) and len(value) > TEXT_SHOWN:
        return value[: TEXT_SHOWN - 1] + "…"
    return value


def written_value(value: Any) -> str:
    """Return the value as it is written in a sentence.

    >>> written_value(None), written_value("Linux"), written_value(2400.0), written_value([0, 1])
    ('unknown', "'Linux'", '2400.0', "'0, 1'")
    """
    return "unknown" if value in UNKNOWN else repr(shortened(value))


def describe_rows(
    rules: MatchingRules, source: Source, drafts: Sequence[Any], rows: Sequence[Any], notes: MatchingNotes
) -> None:
    """Store the descriptions of a delivery, and update the rows for which the delivery is authoritative.

    A row that was created from its draft already has all of the draft's facts. The number of queries is one for each
    batch of rows.
    """
    before: dict[Any, dict[str, Any]] = {}
    fixed = [field.name for field in rules.model._meta.fields if field.name not in rules.delivered_columns]
    for draft, row in zip(drafts, rows, strict=True):
        if row is not draft and row.private_to_id == source.private_to_id and is_authoritative(row, source.deliverer):
            before[row.pk] = row_values(rules, row)
            accept_value(rules, row, source.deliverer, known_facts(rules, draft))
            _note_corrections(rules, row, before[row.pk], notes)
            check_columns(rules.noun, row, fixed)
    save_facts([row for row in rows if row.pk in before], before)
    changed_rows = (
        row
        for draft, row in zip(drafts, rows, strict=True)
        if row is draft
        or any(before[row.pk][name] != getattr(row, name) for name in rules.fact_columns if row.pk in before)
    )
    update_differences(rules, {row.pk: row for row in changed_rows})
    _keep_descriptions(rules, source, drafts, rows, notes)


def _keep_descriptions(
    rules: MatchingRules, source: Source, drafts: Sequence[Any], rows: Sequence[Any], notes: MatchingNotes
) -> None:
    descriptions = []
    for draft, row in zip(drafts, rows, strict=True):
        description = rules.description(source=source, **{rules.noun: row}, facts=known_facts(rules, draft))
        compare_with_row(rules, description, row)
        descriptions.append(description)
        if description.differs:
            differences = (
                f"{name} is {written_value(getattr(row, name))} here and {written_value(value)} in the upload"
                for name, value in description.differences
            )
            kind = f"{rules.noun}s with other stored properties, which were kept"
            notes.add(kind, f"{rules.noun} {row.name!r} keeps its stored properties: {'; '.join(differences)}")
    rules.description.objects.bulk_create(descriptions)


def _note_corrections(rules: MatchingRules, row: Any, before: dict[str, Any], notes: MatchingNotes) -> None:
    corrections = [
        f"{name} was {written_value(before[name])} and is now {written_value(getattr(row, name))}"
        for name in rules.fact_columns
        if before[name] not in UNKNOWN and before[name] != getattr(row, name) and name != rules.largest
    ]
    if corrections:
        notes.add(
            f"{rules.noun}s that were corrected", f"{rules.noun} {row.name!r} was corrected: {'; '.join(corrections)}"
        )


def save_facts(rows: Iterable[Any], before: dict[Any, dict[str, Any]]) -> None:
    """Save the columns that differ from `before`, which maps primary keys to values by column."""
    names: set[str] = set()
    changed = []
    for row in rows:
        different = {name for name, value in before[row.pk].items() if value != getattr(row, name)}
        if different:
            changed.append(row)
            names |= different
    write_columns(changed, sorted(names))


def write_columns(rows: Sequence[Any], names: Sequence[str]) -> None:
    """Write these columns of rows of one model with one prepared statement.

    This takes a seventh of the time of `bulk_update`, which builds one CASE per column with one branch per row.
    """
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


def update_differences(rules: MatchingRules, rows: Mapping[Any, Any]) -> None:
    """Compare all descriptions of these rows, given by primary key, with the rows again."""
    descriptions = rules.description.objects
    for part in key_chunks(rows):
        changed = [
            description
            for description in descriptions.filter(**{f"{rules.noun}__in": part})
            if compare_with_row(rules, description, rows[getattr(description, f"{rules.noun}_id")])
        ]
        write_columns(changed, ["differs", "differences"])


def restate(rules: MatchingRules, keys: Iterable[Any]) -> None:
    """Recompute the facts of these rows from the visible deliveries, in the order in which they arrived."""
    for part in key_chunks(keys):
        rows = {row.pk: row for row in rules.model.objects.filter(pk__in=part)}
        before = {key: row_values(rules, row) for key, row in rows.items()}
        for row in rows.values():
            # Reset all columns except n_max, which is never null, then apply the moderators' decisions.
            for name in rules.delivered_columns:
                if name != rules.largest:
                    setattr(row, name, "unknown" if name == "strategy" else None)
            for name, value in row.decided.items():
                setattr(row, name, value)
            row.facts_by = ""
        # Visible deliveries in the order in which they arrived or became public.
        descriptions = rules.description.objects.filter(**{f"{rules.noun}__in": part}, source__hidden=False)
        came_at = Coalesce("source__published_at", "source__created_at")
        descriptions = descriptions.select_related("source").order_by(came_at, "source_id", "pk")
        for description in descriptions.only("facts", f"{rules.noun}_id", "source__deliverer", "source__private_to"):
            row, source = rows[getattr(description, f"{rules.noun}_id")], description.source
            if source.private_to_id == row.private_to_id and is_authoritative(row, source.deliverer):
                accept_value(rules, row, source.deliverer, description.facts)
        save_facts(rows.values(), before)
        update_differences(rules, rows)


def described_by(sources: Iterable[Source]) -> list[tuple[MatchingRules, list[Any]]]:
    """Return the primary keys of the platforms and of the workloads that these deliveries describe."""
    keys = []
    for rules in RULES.values():
        descriptions = rules.description.objects.filter(source__in=sources).order_by()
        keys.append((rules, list(descriptions.values_list(f"{rules.noun}_id", flat=True).distinct())))
    return keys


@dataclass(frozen=True)
class Difference:
    """A value of a field that deliveries give and that differs from the row. `sources` begins with the newest
    delivery."""

    row: Platform | Workload
    field: str
    here: Any
    value: Any
    sources: tuple[Source, ...]


def differences_of(row: Platform | Workload, user: Any) -> list[Difference]:
    """Return the differences between the row and the deliveries visible to the user, newest first, at most
    DIFFERENCES_SHOWN."""
    found: dict[tuple[str, str], tuple[Any, list[Source]]] = {}
    for description in row.descriptions.differing_for(user)[:DELIVERIES_COMPARED]:
        for name, value in description.differences:
            found.setdefault((name, repr(value)), (value, []))[1].append(description.source)
    return [
        Difference(row, name, shortened(getattr(row, name)), value, tuple(sources))
        for (name, _), (value, sources) in list(found.items())[:DIFFERENCES_SHOWN]
    ]


def differences_in(source: Source, user: Any) -> list[Difference]:
    """Return the differences between a delivery and the rows visible to the user, at most DIFFERENCES_SHOWN."""
    differences: list[Difference] = []
    for rules in RULES.values():
        shown = rules.description.objects.filter(source=source, **{f"{rules.noun}__hidden": False})
        for description in shown.differing_for(user).select_related(rules.noun).order_by("pk")[:DIFFERENCES_SHOWN]:
            row = getattr(description, rules.noun)
            differences += [
                Difference(row, name, shortened(getattr(row, name)), value, (source,))
                for name, value in description.differences
            ]
    return differences[:DIFFERENCES_SHOWN]
