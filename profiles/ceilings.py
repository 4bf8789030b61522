"""What a platform's deliveries tell of its ceilings, and where its workloads lie below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Avg

from profiles.models import CounterReading, Platform, Profile, Source
from profiles.scaling.roofline import Placed, Roofline, read_roofline

COUNTERS = ("INSTR", "LLC-LDM", "LLC-STM")


def roofline_of(platform: Platform, user: Any) -> Roofline | None:
    """As the newest delivery measured it that the user sees."""
    newest = Source.objects.with_ceilings_of(platform, user).values_list("environment", flat=True).first()
    return read_roofline(newest)


def placed_below(profiles: Sequence[Profile]) -> list[Placed]:
    """The profiles with the counters that place them, at the most threads that were measured."""
    readings = CounterReading.objects.filter(profile__in=profiles, counter__in=COUNTERS, value__isnull=False)
    means = readings.order_by().values_list("profile", "n", "counter").annotate(mean=Avg("value"))
    at: dict[tuple[int, int], dict[str, float]] = {}
    for profile, n, counter, mean in means:
        at.setdefault((profile, n), {})[counter] = mean
    return [
        one for one in (placed(profile, at.get((profile.pk, profile.n_largest), {})) for profile in profiles) if one
    ]


def placed(profile: Profile, counted: dict[str, float]) -> Placed | None:
    curves = getattr(profile, "curves", None)
    misses = counted.get("LLC-LDM", 0) + counted.get("LLC-STM", 0)
    if curves is None or not len(curves.n) or len(counted) < len(COUNTERS) or not misses or not counted["INSTR"]:
        return None
    time_s = float(curves.values[len(curves.n) - 1])
    return Placed(profile.workload.name, int(curves.n[-1]), counted["INSTR"], misses, time_s)
