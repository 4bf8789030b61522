"""Publication of a private delivery by its owner.

The platforms and workloads of the delivery are matched with the public ones as if it were new. Only withdrawal can undo
a publication.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from profiles.identity.descriptions import described_by, known_facts, restate
from profiles.identity.matching import RULES, IngestError, MatchingNotes, MatchingRules, match_rows
from profiles.ingest.service import announce, claim_announcement
from profiles.ingest.withdrawal import drop_unsupported
from profiles.judgement.owners import contested_pairs, is_established, judge_pairs
from profiles.models import FormerSlug, Revision, Source
from profiles.models.sources import deliverer_of

ROW_COLUMNS = ("id", "slug", "identity", "spelling", "private_to", "hidden", "facts_by", "decided", "merged_into")


class PublicationError(Exception):
    """Raised with the reason when a delivery cannot be made public. Nothing is changed."""


@transaction.atomic
def publish_source(source: Source) -> list[str]:
    """Make a private delivery public, and return the warnings of the matching. Raises PublicationError.

    Of the descriptions of platforms and workloads, only those of this delivery are published, not those of the owner's
    other deliveries.
    """
    Revision.hold()
    if source.origin == "emulated":
        raise PublicationError("Emulated measurements cannot be made public.")
    owner, deliverer = source.private_to, deliverer_of(source.private_to, private=False)
    notes = MatchingNotes()
    moved = [(rules, _publish_rows(rules, source, deliverer, notes)) for rules in RULES.values()]
    _refuse_other_sizes_of(source)
    source.private_to, source.deliverer, source.published_at = None, deliverer, timezone.now()
    source.is_established = is_established(owner)
    source.save(update_fields=["private_to", "deliverer", "published_at", "is_established"])
    source.profiles.update(private_to=None, outlier_reason="", outlier_judge="", outlier_checked_at=None)
    judge_pairs(contested_pairs(source.profiles.all()))
    for rules, remaining in moved:
        drop_unsupported(rules, remaining)
        restate(rules, remaining)
    for rules, keys in described_by([source]):
        restate(rules, keys)
    Revision.raise_for(None, takes_away=False)
    Revision.raise_for(owner)  # some of the owner's private platforms and workloads may be deleted
    claim_announcement(source)
    transaction.on_commit(lambda: announce(source))
    return notes.warnings()


def _publish_rows(rules: MatchingRules, source: Source, deliverer: str, notes: MatchingNotes) -> list[Any]:
    """Move the delivery from private platforms (workloads) to public ones, and return the keys of the private ones."""
    noun = rules.noun
    descriptions = rules.description.objects.filter(source=source)
    facts_by_row = dict(descriptions.values_list(f"{noun}_id", "facts"))
    measured = set(source.profiles.order_by().values_list(noun, flat=True))
    rows = rules.model.objects.filter(pk__in={*measured, *facts_by_row})
    private = list(rows.exclude(private_to=None).order_by("pk"))
    facts = {row.pk: facts_by_row.get(row.pk, known_facts(rules, row)) for row in rows}
    drafts = [_draft(rules, row, facts[row.pk], deliverer) for row in private]
    try:
        standing = match_rows(rules, drafts, notes)
    except IngestError as error:
        raise PublicationError(f"It cannot be made public: {error}.") from error
    FormerSlug.objects.bulk_create(
        [
            FormerSlug(noun=noun, slug=row.slug, leads_to=public.slug)
            for row, public in zip(private, standing, strict=True)
        ],
        ignore_conflicts=True,
    )
    for row, public in zip(private, standing, strict=True):
        source.profiles.filter(**{noun: row.pk}).update(**{noun: public})
        descriptions.filter(**{noun: row.pk}).update(**{noun: public})
    return [row.pk for row in private]


def _refuse_other_sizes_of(source: Source) -> None:
    """Raise PublicationError if a workload is public with another size.

    A workload can have only one size, which applies to all runs without a size of their own.
    """
    for description in source.workload_descriptions.select_related("workload"):
        size, row = description.facts.get("size"), description.workload
        if size is not None and row.size not in (None, size):
            raise PublicationError(
                f"The public workload {row.name!r} has size {row.size:g}; this upload has size {size:g}."
            )


def _draft(rules: MatchingRules, row: Any, facts: dict[str, Any], deliverer: str) -> Any:
    """Return a public row as this delivery alone describes it."""
    columns = {*rules.delivered_columns, *ROW_COLUMNS, "created_at"}
    values = {field.name: getattr(row, field.name) for field in row._meta.fields if field.name not in columns}
    if rules.largest:
        values[rules.largest] = getattr(row, rules.largest)
    return rules.model(**values | facts, facts_by=deliverer)
