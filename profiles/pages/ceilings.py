"""Measured ceilings of a platform, and the positions of its workloads below them."""

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
LEAST_COUNTED = 1e-9  # smallest mean of a counter for which ratios are computed


def roofline_of(platform: Platform, user: Any) -> Roofline | None:
    """Return the roofline in the newest delivery with a roofline that the user sees."""
    newest = Source.objects.with_ceilings_of(platform, user).values_list("environment", flat=True).first()
    return read_roofline(newest)


def machine_facts(platform: Platform, user: Any) -> MachineFacts:
    """Return the facts of the platform for interpreting its curves, with the ceilings that the user sees."""
    return MachineFacts(
        n_nu=platform.n_nu,
        n_ht=platform.n_ht,
        clock_ratio=clock_ratio(platform.base_mhz, platform.max_mhz),
        virtualised=bool(platform.virtualised),
        roofline=roofline_of(platform, user),
    )


def limits_of(profile: Profile, curves: CurveTable, user: Any) -> dict[str, Any]:
    """Return the limits of the profile (`limits_document`), with the ceilings that the user sees."""
    return LimitsReader([profile], user).limits_of(profile, curves)


class LimitsReader:
    """The limits of several profiles. Facts of platforms and counters are read once for all profiles."""

    def __init__(self, profiles: Sequence[Profile], user: Any) -> None:
        self.profiles, self.user = profiles, user
        self.machines: dict[int, MachineFacts] = {}

    def limits_of(self, profile: Profile, curves: CurveTable) -> dict[str, Any]:
        """Return the limits of one of the profiles, like the function of this name."""
        if profile.platform_id not in self.machines:
            self.machines[profile.platform_id] = machine_facts(profile.platform, self.user)
        machine = self.machines[profile.platform_id]
        point = self.points.get(profile.pk) if machine.roofline else None
        return limits_document(curves, machine, point)

    @cached_property
    def points(self) -> dict[int, RooflinePoint]:
        return points_by_profile(self.profiles)


def points_by_profile(profiles: Sequence[Profile]) -> dict[int, RooflinePoint]:
    """Return the roofline point of each profile by primary key, without profiles that have no counters."""
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
    """Return the point of a profile from the mean of each counter (`counted`).

    Returns None if a counter is missing or not counted, or if there were no misses.
    """
    curves = stored_curves(profile)
    misses = counted.get("LLC-LDM", 0) + counted.get("LLC-STM", 0)
    if curves is None or len(counted) < len(COUNTERS) or min(misses, counted["INSTR"]) < LEAST_COUNTED:
        return None
    time_s = float(curves.time_s[-1])
    return RooflinePoint(profile.workload.name, int(curves.n[-1]), counted["INSTR"], misses, time_s)
