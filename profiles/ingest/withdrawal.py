"""Withdrawal of deliveries: everything that came from them is deleted, and other measurements are as if the deliveries
had never been stored.

docs/decisions/deletions.md explains what is kept, and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import Signal

from profiles.identity.descriptions import described_by, restate
from profiles.identity.matching import MatchingRules, assign_private_slugs
from profiles.identity.spelling import distinct_identity
from profiles.ingest.staging import leave_to_sweep, sweep
from profiles.judgement.owners import contested_pairs, judge_pairs
from profiles.models import Platform, Profile, Revision, Source, StagedDelivery, WithdrawnSource, held
from profiles.models.querysets import key_chunks

# Sent with a list of `sources` before they are deleted, in the caller's transaction. If `takes_away` is False, another
# delivery replaces them, and results computed from them may be shown until they are recomputed.
withdrawing = Signal()


def withdraw(sources: QuerySet[Source]) -> None:
    """Delete these deliveries with their profiles, and the platforms and workloads that have no other support.

    One short transaction hides everything. Runs and derived rows are deleted afterwards in steps.
    """
    with transaction.atomic():
        staged = withdraw_in_transaction(sources)
    sweep_withdrawn(staged)


def sweep_withdrawn(staged: Iterable[StagedDelivery]) -> None:
    """Delete the rows that `withdraw_in_transaction` left, after its transaction."""
    for entry in staged:
        with held(entry):
            sweep(entry)


def withdraw_in_transaction(sources: QuerySet[Source], replaced_by: Source | None = None) -> list[StagedDelivery]:
    """Run the transaction of `withdraw`, and return the entries for `sweep_withdrawn`.

    `replaced_by` is a public delivery, stored in the same transaction, with which the publisher of these deliveries
    replaces them. In this case nothing is revoked, because data published under its licence may still be shown:
    predictions use the previous state until the new one is read, and name the new delivery as the source. Removals for
    reasons of licence or privacy have no `replaced_by`.
    """
    Revision.hold()
    withdrawn = list(sources.select_related("private_to"))
    if not withdrawn:
        return []
    withdrawing.send(Source, sources=withdrawn, takes_away=replaced_by is None)
    keys = [source.pk for source in withdrawn]
    profiles = Profile.objects.filter(source__in=keys)
    supported = []
    for rules, described in described_by(withdrawn):
        measured = profiles.order_by().values_list(rules.noun, flat=True).distinct()
        supported.append((rules, sorted({*described, *measured})))
    contested = contested_pairs(profiles)
    staged = leave_to_sweep(profiles)
    WithdrawnSource.objects.filter(replaced_by__in=keys).update(replaced_by=replaced_by)
    Source.objects.filter(pk__in=keys).delete()
    judge_pairs(contested)
    for rules, rows in supported:
        drop_unsupported(rules, rows)
        restate(rules, rows)
    WithdrawnSource.objects.bulk_create(
        WithdrawnSource(uid=source.uid, key=None if replaced_by is None else key, replaced_by=replaced_by)
        for source, key in zip(withdrawn, keys, strict=True)
        if source.private_to_id is None
    )
    for owner in {source.private_to for source in withdrawn}:
        Revision.raise_for(owner, takes_away=replaced_by is None)
    return staged


def drop_unsupported(rules: MatchingRules, keys: Iterable[Any]) -> None:
    """Delete the rows without profiles.

    A public row is kept for public profiles only. Owners of private profiles get a private copy of the row, so that its
    existence does not reveal them.
    """
    for part in key_chunks(keys):
        support = Profile.objects.filter(**{f"{rules.noun}__in": part}).order_by()
        shown, public = (
            set(rows.values_list(rules.noun, flat=True))
            for rows in (support.filter(private_to=None, hidden=False), support.filter(private_to=None))
        )
        owners = set(support.exclude(private_to=None).values_list(rules.noun, "private_to"))
        rows = rules.model.objects.in_bulk(part)
        for key, owner in sorted(owners):
            if rows[key].private_to_id is None and key not in shown:
                _give_own_row(rules, rows[key], owner)
        still_private = {key for key, _ in owners if rows[key].private_to_id is not None}
        doomed = set(rows) - public - still_private
        rules.model.objects.filter(pk__in=(public & set(rows)) - shown).update(hidden=True)
        if rules.model is Platform:  # delete the platforms that were merged into these first
            Platform.objects.filter(merged_into__in=doomed).delete()
        rules.model.objects.filter(pk__in=doomed).delete()


def _give_own_row(rules: MatchingRules, row: Any, owner: int) -> None:
    """Copy a public row for one owner, and move the owner's private profiles and descriptions to the copy."""
    original = rules.model.objects.get(pk=row.pk)
    original.pk, original.private_to_id, original.hidden = None, owner, False
    if rules.model.objects.filter(identity=original.identity, private_to=owner).exists():  # with another kind of times
        original.identity = distinct_identity(original.identity, row.slug)
    original._state.adding = True
    assign_private_slugs([original])
    original.save(force_insert=True)
    row.profiles.filter(private_to=owner).update(**{rules.noun: original})
    row.descriptions.filter(source__private_to=owner).update(**{rules.noun: original})
    restate(rules, [original.pk])
