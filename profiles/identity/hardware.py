"""Which machine of an owner a tarball was measured on, by the fingerprint of its hardware and not by its name.

The fingerprint is the kit's: processor, topology, memory, virtualisation. It identifies a machine among those of one
owner alone; between owners names and topology decide, as before (docs/decisions/hardware-fingerprint.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.timesince import timesince

from profiles.identity.matching import PLATFORM_RULES, MatchingNotes, match_rows
from profiles.models import Platform, PlatformDescription, Source


def match_measured_machine(source: Source, drafts: Sequence[Platform], notes: MatchingNotes) -> list[Platform]:
    """The platforms of a delivery that is being stored. Where its owner has measured the same hardware before it is
    that platform, under any name; where its owner has measured other hardware of that name it is another one."""
    if not source.fingerprint or source.owner_id is None or len(drafts) != 1:
        return match_rows(PLATFORM_RULES, drafts, notes)
    earlier = _described(source).filter(source__fingerprint=source.fingerprint).order_by("-source__created_at").first()
    if earlier is None:
        others = _described(source).exclude(source__fingerprint="").values_list("platform", flat=True)
        return match_rows(PLATFORM_RULES, drafts, notes, other_than=dict.fromkeys(others, source.fingerprint))
    platform = earlier.platform
    since = timesince(earlier.source.created_at).replace("\xa0", " ")
    notes.add("machines known by their hardware", f"The same machine as {platform.name}, measured {since} ago")
    return [platform]


def machines_of_fingerprint(fingerprint: str, owner: Any) -> QuerySet[Platform]:
    """The machines on which this owner has measured with that fingerprint."""
    described = PlatformDescription.objects.filter(source__owner=owner, source__fingerprint=fingerprint)
    return Platform.objects.filter(pk__in=described.values("platform"))


def _described(source: Source) -> QuerySet[PlatformDescription]:
    """What the owner's earlier deliveries say of machines that this delivery may be of: public ones, or, of a private
    delivery, also private ones."""
    visible = Q(platform__private_to=None)
    if source.private_to_id is not None:
        visible |= Q(platform__private_to=source.private_to_id)
    rows = PlatformDescription.objects.filter(
        visible, source__owner=source.owner_id, source__hidden=False, platform__hidden=False
    )
    return rows.exclude(source=source).select_related("platform", "source")
