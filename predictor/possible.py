"""What can be predicted for a workload and a target, before anything is: for the form, while it is filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from predictor.services import near_misses
from profiles.models import Platform, Profile, Workload


@dataclass(frozen=True)
class Named:
    """What was typed into a field: the slug that it stands for, or what it may have meant."""

    text: str
    slug: str | None
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Possibility:
    """`evidence` counts what there is to predict from (ProfileQuerySet.evidence_for); None where a name is unknown."""

    workload: Named
    target: Named
    evidence: dict[str, int] | None

    @property
    def is_possible(self) -> bool:
        return self.evidence is not None and self.evidence["connecting"] > 0


def possibility(user: Any, workload: str, target: str) -> Possibility | None:
    """None while nothing was typed into one of the two fields."""
    if not (workload.strip() and target.strip()):
        return None
    program = named(Workload.objects.visible_to(user), workload.strip())
    machine = named(Platform.objects.visible_to(user), target.strip())
    if program.slug is None or machine.slug is None:
        return Possibility(program, machine, None)
    return Possibility(program, machine, Profile.objects.evidence_for(user, program.slug, machine.slug))


def named(rows: Any, text: str) -> Named:
    """By slug, or by a name that only one row has, as predictions take them."""
    if rows.filter(slug=text).exists():
        return Named(text, text)
    slugs = list(rows.filter(name=text).order_by("slug").values_list("slug", flat=True)[:5])
    if len(slugs) == 1:
        return Named(text, slugs[0])
    return Named(text, None, tuple(slugs or near_misses(text, rows.values_list("slug", "name"))))
