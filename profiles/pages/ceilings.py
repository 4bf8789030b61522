"""What a platform's deliveries tell of its ceilings, and where its workloads lie below them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.db.models import Avg

from profiles.models import CounterReading, Platform, Profile, Source
from profiles.scaling.limits import limits_document
from profiles.scaling.roofline import MachineFacts, Roofline, RooflinePoint, clock_ratio, read_roofline
from profiles.scaling.runs import CurveTable, stored_curves
from profiles.scaling.validity import LARGEST_VALUE

COUNTERS = ("INSTR", "LLC-LDM", "LLC-STM")
LEAST_COUNTED = 1e-9  # of a counter's mean; less is no count, and no ratio of it a number


def roofline_of(platform: Platform, user: Any) -> Roofline | None:
    """The roofline as the newest delivery that the user sees measured it."""
    newest = Source.objects.with_ceilings_of(platform, user).values_list("environment", flat=True).first()
    return read_roofline(newest)


def machine_facts(platform: Platform, user: Any) -> MachineFacts:
    """What a reading of curves measured on the platform needs to know of it, with the ceilings that the user sees."""
    return MachineFacts(
        n_nu=platform.n_nu,
        n_ht=platform.n_ht,
        clock_ratio=clock_ratio(platform.base_mhz, platform.max_mhz),
        virtualised=bool(platform.virtualised),
        roofline=roofline_of(platform, user),
    )


def limits_of(profile: Profile, curves: CurveTable, user: Any) -> dict[str, Any]:
    """What limits the profile, beside the ceilings that the user sees (`limits_document`)."""
    return LimitsReader([profile], user).limits_of(profile, curves)


class LimitsReader:
    """What limits each of these profiles; what is known of a platform and of the counters is read once for all."""

    def __init__(self, profiles: Sequence[Profile], user: Any) -> None:
        self.profiles, self.user = profiles, user
        self.machines: dict[int, MachineFacts] = {}

    def limits_of(self, profile: Profile, curves: CurveTable) -> dict[str, Any]:
        """As the function of this name, of one of the profiles."""
        if profile.platform_id not in self.machines:
            self.machines[profile.platform_id] = machine_facts(profile.platform, self.user)
        machine = self.machines[profile.platform_id]
        point = self.points.get(profile.pk) if machine.roofline else None
        return limits_document(curves, machine, point)

    @cached_property
    def points(self) -> dict[int, RooflinePoint]:
        return points_by_profile(self.profiles)


def points_by_profile(profiles: Sequence[Profile]) -> dict[int, RooflinePoint]:
    """By primary key, where each profile lies below the ceilings; those without counters are left out."""
    readings = CounterReading.objects.filter(
        profile__in=profiles, counter__in=COUNTERS, value__range=(0, LARGEST_VALUE)
    )
    means = readings.order_by().values_list("profile", "n", "counter").annotate(mean=Avg("value"))
    counted: dict[tuple[int, int], dict[str, float]] = {}
    for profile, n, counter, mean in means:
        counted.setdefault((profile, n), {})[counter] = mean
    points = {
        profile.pk: roofline_point(profile, counted.get((profile.pk, profile.n_largest), {})) for profile in profiles
    }
    return {key: point for key, point in points.items() if point}


def roofline_point(profile: Profile, counted: dict[str, float]) -> RooflinePoint | None:
    """`counted`: the mean of each counter. None where a counter is missing or no count, or there were no misses."""
    curves = stored_curves(profile)
    misses = counted.get("LLC-LDM", 0) + counted.get("LLC-STM", 0)
    if curves is None or len(counted) < len(COUNTERS) or min(misses, counted["INSTR"]) < LEAST_COUNTED:
        return None
    time_s = float(curves.time_s[-1])
    return RooflinePoint(profile.workload.name, int(curves.n[-1]), counted["INSTR"], misses, time_s)
