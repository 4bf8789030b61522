"""Matching of the platforms and workloads of a delivery with stored rows, and creation of the rows that are new.

A public delivery matches only public rows, and creates public rows. A private delivery matches public rows and its
owner's private rows, edits only the owner's rows, and creates rows that are visible to the owner only. No message names
a row that the deliverer may not see.

The machines of one owner are also matched by the fingerprint of their hardware that the kit computes from processor,
topology, memory and virtualisation. Between owners, names and topology decide (docs/decisions/hardware-fingerprint.md).
"""

from __future__ import annotations

import difflib
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.text import slugify
from django.utils.timesince import timesince

from profiles.identity import spelling as identity
from profiles.models import Platform, PlatformDescription, Source, Workload, WorkloadDescription
from profiles.models.querysets import key_chunks

SLUG_LENGTH = 190
PRIVATE_SLUG_LENGTH = 175
NEAR_MISS_RATIO = 0.9
NOTES_LISTED = 10


class IngestError(Exception):
    """Raised with the reason when a delivery cannot be stored. Nothing of the delivery is stored.

    `noun` is "platform" or "workload" if one of these is the cause.
    """

    def __init__(self, reason: str, noun: str = "") -> None:
        super().__init__(reason)
        self.noun = noun


@dataclass(frozen=True)
class MatchingRules:
    """The rules by which platforms, or workloads, are matched and described."""

    model: Any  # Platform or Workload
    description: Any  # PlatformDescription or WorkloadDescription
    noun: str
    identity: Callable[[Any], str]
    spelling: Callable[[Any], str]
    kin: Callable[[Any], tuple[Any, ...]]
    texts: tuple[str, ...]  # the columns whose texts are compared for near misses
    described_by: tuple[str, ...]  # the columns that `kin` reads, and `texts`
    coarse: str  # a column that near misses have in common
    suffixes: tuple[str, ...]  # columns appended to a slug to distinguish rows with the same name
    fact_columns: tuple[str, ...]  # facts from deliveries: neither identity nor measurement conditions
    largest: str = ""  # the fact column that keeps the deliverer's largest value instead of the latest
    of_delivery: tuple[str, ...] = ()  # measurement conditions, in which deliveries may differ

    @property
    def delivered_columns(self) -> tuple[str, ...]:
        return (*self.fact_columns, *self.of_delivery)


PLATFORM_RULES = MatchingRules(
    model=Platform,
    description=PlatformDescription,
    noun="platform",
    identity=identity.platform_identity,
    spelling=identity.platform_spelling,
    kin=identity.platform_kin,
    texts=identity.IDENTIFYING_PLATFORM_TEXTS,
    described_by=(*identity.TOPOLOGY_COLUMNS, *identity.IDENTIFYING_PLATFORM_TEXTS),
    coarse="threads",
    suffixes=(),
    fact_columns=(
        *("vendor", "microarchitecture", "word_bits", "device_class", "n_max", "placement", "base_mhz", "max_mhz"),
        *("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes", "virtualised"),
    ),
    largest="n_max",
    of_delivery=("kernel", "compiler", "compiler_flags"),
)
WORKLOAD_RULES = MatchingRules(
    model=Workload,
    description=WorkloadDescription,
    noun="workload",
    identity=identity.workload_identity,
    spelling=identity.workload_spelling,
    kin=identity.workload_kin,
    texts=("name", "runtime"),
    described_by=identity.IDENTIFYING_WORKLOAD_TEXTS,
    coarse="input",
    suffixes=("version", "input", "runtime"),
    fact_columns=("application", "section", "strategy", "bound", "description", "size", "size_unit"),
)
RULES: dict[type, MatchingRules] = {Platform: PLATFORM_RULES, Workload: WORKLOAD_RULES}


@dataclass
class MatchingNotes:
    """Warnings by kind. Only NOTES_LISTED of each kind are listed, because there may be hundreds of machines."""

    kinds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, message: str) -> None:
        self.kinds[kind].append(message)

    def warnings(self) -> list[str]:
        warnings = []
        for kind, messages in self.kinds.items():
            warnings += messages[:NOTES_LISTED]
            if len(messages) > NOTES_LISTED:
                warnings.append(f"and {len(messages) - NOTES_LISTED} more: {kind}")
        return warnings


def match_rows(
    rules: MatchingRules, drafts: Sequence[Any], notes: MatchingNotes, *, other_than: Mapping[int, str] | None = None
) -> list[Any]:
    """Return the stored row of every unsaved draft: an existing row, or one that is created here.

    All drafts have the same `private_to`. The number of queries does not depend on the number of drafts. Raises
    IngestError.

    `other_than` maps the primary keys of rows that are known to be other machines to texts. If a draft has the identity
    of such a row, the text is hashed into the draft's identity to distinguish the two.
    """
    if not drafts:
        return []
    identities: set[str] = set()
    for draft in drafts:
        draft.identity, draft.spelling = rules.identity(draft), rules.spelling(draft)
        if draft.identity in identities:
            raise IngestError(f"{rules.noun} {draft.name!r} appears twice with the same description", rules.noun)
        identities.add(draft.identity)
    candidates = _candidate_rows(rules, drafts)
    if other_than:
        others = {row.identity: other_than[row.pk] for row in candidates if row.pk in other_than}
        for draft in drafts:
            if draft.identity in others:
                draft.identity = identity.distinct_identity(draft.identity, others[draft.identity])
        candidates = [row for row in _candidate_rows(rules, drafts) if row.pk not in other_than]
    rows = _match_by_identity(rules, drafts, candidates)
    _match_by_spelling(rules, drafts, rows, candidates, notes)
    new = [draft for draft, row in zip(drafts, rows, strict=True) if row is None]
    if new:
        _warn_of_near_misses(rules, new, notes)
        _warn_of_same_names(rules, new, notes)
        _create_rows(rules, new)
    return _follow_merges(rules, [row or draft for draft, row in zip(drafts, rows, strict=True)])


def _warn_of_same_names(rules: MatchingRules, new: Sequence[Any], notes: MatchingNotes) -> None:
    if rules.model is not Workload:
        return
    visible = _visible_rows(rules, new[0].private_to_id).filter(hidden=False)
    names = key_chunks(draft.name for draft in new)
    known = {name for part in names for name in visible.filter(name__in=part).values_list("name", flat=True)}
    for draft in new:
        if draft.name in known:
            notes.add(
                "workloads with the name of an existing one",
                f"workload {draft.name!r} exists with another input, version or runtime: these runs "
                f"({draft.input or 'no input named'}) became a separate workload",
            )


def _follow_merges(rules: MatchingRules, rows: list[Any]) -> list[Any]:
    """Replace merged platforms by their merge target, unhide rows that are delivered again, and return the rows."""
    standing = [getattr(row, "merged_into", None) or row for row in rows]
    if len({row.pk for row in standing}) < len(standing):
        raise IngestError(f"two {rules.noun}s of the upload match the same stored {rules.noun}", rules.noun)
    hidden = [row for row in standing if row.hidden]
    for part in key_chunks(row.pk for row in hidden):
        rules.model.objects.filter(pk__in=part).update(hidden=False)
    for row in hidden:
        row.hidden = False
    return standing


def _visible_rows(rules: MatchingRules, owner_id: int | None) -> Any:
    """Return the rows that a delivery may match. These include hidden rows if it is public, to avoid duplicates."""
    public = Q(private_to__isnull=True)
    if owner_id is None:
        return rules.model.objects.filter(public)
    return rules.model.objects.filter(public | Q(private_to=owner_id), hidden=False)


def _candidate_rows(rules: MatchingRules, drafts: Sequence[Any]) -> list[Any]:
    """Return the visible rows with the same identity or spelling as a draft: public rows first, then by slug."""
    visible = _visible_rows(rules, drafts[0].private_to_id)
    if rules.model is Platform:
        visible = visible.select_related("merged_into")
    by_key: dict[int, Any] = {}
    for part in key_chunks((draft.identity, draft.spelling) for draft in drafts):
        identities, spellings = zip(*part, strict=True)
        same = Q(identity__in=identities) | Q(spelling__in=spellings)
        by_key |= {row.pk: row for row in visible.filter(same)}
    return sorted(by_key.values(), key=lambda row: (row.private_to_id is not None, row.slug))


def _time_kind_differs(draft: Any, row: Any) -> bool:
    return getattr(draft, "time_kind", None) != getattr(row, "time_kind", None)


def _match_by_identity(rules: MatchingRules, drafts: Sequence[Any], candidates: list[Any]) -> list[Any]:
    by_identity = defaultdict(list)
    for row in candidates:
        by_identity[row.identity].append(row)
    rows = []
    for draft in drafts:
        same = sorted(by_identity[draft.identity], key=lambda row: _time_kind_differs(draft, row))
        if same and _time_kind_differs(draft, same[0]):
            raise IngestError(
                f"workload {draft.name!r} has {same[0].time_kind} times, these are {draft.time_kind} and cannot be "
                "compared with them: give the workload another name or version",
                rules.noun,
            )
        rows.append(same[0] if same else None)
    return rows


def _match_by_spelling(
    rules: MatchingRules, drafts: Sequence[Any], rows: list[Any], candidates: list[Any], notes: MatchingNotes
) -> None:
    """Set the missing `rows` to rows that differ in spelling only. Two drafts never match the same row."""
    taken = {row.pk for row in rows if row is not None}
    for index, draft in enumerate(drafts):
        if rows[index] is not None:
            continue
        for row in candidates:
            if row.spelling == draft.spelling and row.pk not in taken and not _time_kind_differs(draft, row):
                taken.add(row.pk)
                rows[index] = row
                kind = f"{rules.noun}s matched to existing ones with another spelling"
                new, old = _first_difference(rules, draft, row)
                notes.add(kind, f"{new!r} was matched to the existing {rules.noun} {old!r}")
                break


def _first_difference(rules: MatchingRules, draft: Any, row: Any) -> tuple[str, str]:
    """Return the first text in which the draft and the similar row differ, as the pair (draft, row)."""
    names = ("name", "cpu_model") if rules is PLATFORM_RULES else ("name", "version", "input", "runtime")
    for name in names:
        new, old = getattr(draft, name) or "", getattr(row, name) or ""
        if new != old:
            prefix = "" if name == "name" else f"{row.name} {name} "
            return prefix + new, prefix + old
    return draft.name, row.name


def _warn_of_near_misses(rules: MatchingRules, new: list[Any], notes: MatchingNotes) -> None:
    values = {getattr(draft, rules.coarse) for draft in new}
    candidates = Q(**{f"{rules.coarse}__isnull": True}) if None in values else Q(pk__in=[])
    known = _visible_rows(rules, new[0].private_to_id).values_list(*rules.described_by, named=True)
    kin: dict[tuple[Any, ...], dict[str, str]] = {rules.kin(draft): {} for draft in new}
    parts = key_chunks(value for value in values if value is not None)
    for query in chain([candidates], (Q(**{f"{rules.coarse}__in": part}) for part in parts)):
        for row in known.filter(query):
            if (same := kin.get(rules.kin(row))) is not None:
                same[identity.folded_text(row, rules.texts)] = row.name
    for draft in new:
        texts = kin[rules.kin(draft)]
        for text in difflib.get_close_matches(
            identity.folded_text(draft, rules.texts), texts, n=1, cutoff=NEAR_MISS_RATIO
        ):
            kind = f"{rules.noun}s that are new but look like existing ones"
            notes.add(kind, f"{rules.noun} {draft.name!r} is new, but looks like the existing {texts[text]!r}")


def _create_rows(rules: MatchingRules, new: list[Any]) -> None:
    public = new[0].private_to_id is None
    _assign_public_slugs(rules, new) if public else assign_private_slugs(new)
    for draft in new:
        check_columns(rules.noun, draft, ["private_to"])
    rules.model.objects.bulk_create(new)
    if public:
        merge_private_rows_into(rules, new)


def check_columns(noun: str, row: Any, exclude: list[str]) -> None:
    """Validate the columns of the row except those in `exclude`. Raises IngestError for the first invalid column."""
    try:
        row.clean_fields(exclude=exclude)
    except ValidationError as error:
        column, messages = next(iter(error.message_dict.items()))
        raise IngestError(f"{noun} {row.name!r}: {column}: {messages[0]}", noun) from error


def slug_base(name: str, fallback: str) -> str:
    """Return a readable slug: '/', '.', '@' and spaces become '-', and Django's `slugify` does the rest.

    >>> slug_base("aws/c7a.large @ 2.6GHz", "platform")
    'aws-c7a-large-2-6ghz'
    """
    return slugify("".join("-" if mark in "/.@ " else mark for mark in name))[:SLUG_LENGTH].strip("-_") or fallback


def _possible_slugs(rules: MatchingRules, draft: Any) -> Iterator[str]:
    """Yield the slug that the draft already has, if any, then the slugs derived from its name."""
    if draft.slug:
        yield draft.slug
    base = slug_base(draft.name, rules.noun)
    yield base
    for name in rules.suffixes:
        if getattr(draft, name):
            yield slug_base(f"{base[:150]}-{getattr(draft, name)}", rules.noun)
    yield from (f"{base}-{number}" for number in count(2))


def _assign_public_slugs(rules: MatchingRules, new: list[Any]) -> None:
    """Assign slugs that depend on public rows only. A private row that has the same slug gets a new one."""
    taken = set(rules.model.objects.public().values_list("slug", flat=True))
    for draft in new:
        draft.slug = next(slug for slug in _possible_slugs(rules, draft) if slug not in taken)
        taken.add(draft.slug)
    for part in key_chunks(draft.slug for draft in new):
        for row in rules.model.objects.filter(private_to__isnull=False, slug__in=part):
            assign_private_slugs([row])
            row.save(update_fields=["slug"])


def assign_private_slugs(rows: Iterable[Any]) -> None:
    for row in rows:
        row.slug = f"{slug_base(row.name, 'private')[:PRIVATE_SLUG_LENGTH]}-{secrets.token_hex(8)}"


def merge_private_rows_into(rules: MatchingRules, new: Sequence[Any]) -> None:
    """Merge private rows into the new public rows of the same identity, and move their profiles to the public rows.

    Only the owner of a private row can notice the merge.
    """
    public = {row.identity: row for row in new}
    for part in key_chunks(public):
        for private_row in rules.model.objects.filter(private_to__isnull=False, identity__in=part):
            row = public[private_row.identity]
            if not _time_kind_differs(row, private_row):
                for moved in (private_row.profiles, private_row.descriptions):
                    moved.update(**{rules.noun: row})
                private_row.delete()


def match_measured_machine(source: Source, drafts: Sequence[Platform], notes: MatchingNotes) -> list[Platform]:
    """Return the platforms of a delivery that is being stored.

    Hardware that the owner has measured before is the same platform, under any name. Other hardware under a name that
    the owner has used before is another platform.
    """
    if not source.fingerprint or source.owner_id is None or len(drafts) != 1:
        return match_rows(PLATFORM_RULES, drafts, notes)
    earlier = _described(source).filter(source__fingerprint=source.fingerprint).order_by("-source__created_at").first()
    if earlier is None:
        others = _described(source).exclude(source__fingerprint="").values_list("platform", flat=True)
        return match_rows(PLATFORM_RULES, drafts, notes, other_than=dict.fromkeys(others, source.fingerprint))
    platform = earlier.platform
    since = timesince(earlier.source.created_at).replace("\xa0", " ")
    notes.add("machines matched by their hardware", f"The same machine as {platform.name}, measured {since} ago")
    return [platform]


def _described(source: Source) -> QuerySet[PlatformDescription]:
    """Return the descriptions of platforms in the owner's earlier deliveries.

    They are of public platforms, and of the owner's private platforms if this delivery is private.
    """
    visible = Q(platform__private_to=None)
    if source.private_to_id is not None:
        visible |= Q(platform__private_to=source.private_to_id)
    rows = PlatformDescription.objects.filter(
        visible, source__owner=source.owner_id, source__hidden=False, platform__hidden=False
    )
    return rows.exclude(source=source).select_related("platform", "source")
