"""What tables of platforms, workloads and profiles say, column by column: the same on every page that has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from django.core.paginator import Page
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from mpet_site.web.tables import NAME, NUMBER, Column, linked, of
from profiles.models import Platform, Profile, Workload
from profiles.templatetags.quantities import known_or_dash, percent, seconds, significant, unmarked, with_spaces


def counted(page: Page[Profile]) -> str:
    """The caption of a table of profiles: how many there are on all of its pages."""
    count = page.paginator.count
    return f"{count} profile{'' if count == 1 else 's'}"


def with_badges(row: Any, link: SafeString) -> SafeString:
    """What it is called, and what is special about it."""
    return link + SafeString(" ") + render_to_string("profiles/badges.html", {"row": row})


def platform_link(platform: Platform, badge: str) -> SafeString:
    """`badge`: what the row says of its origin, so that the name need not say it again."""
    return linked(reverse("platform", args=[platform.slug]), unmarked(platform.name, badge))


def workload_link(workload: Workload, badge: str) -> SafeString:
    return linked(reverse("workload", args=[workload.slug]), unmarked(workload.name, badge))


def name_in(path: str) -> Callable[[Profile], str]:
    """The name of the workload or platform of a profile, without its mark where the origin of the profile says it."""
    read = attrgetter(path)
    return lambda profile: unmarked(read(profile), profile.origin)


def curves_link(text: str, label: str, profile: Profile) -> SafeString:
    """`label` may name what is in braces: {profile.workload.name}."""
    return linked(reverse("profile", args=[profile.uid]), text, label.format(profile=profile))


def one_thread_time(profile: Profile) -> str:
    if profile.workload.time_kind == Workload.TimeKind.RELATIVE:
        return format_html("{} <small>unknown unit</small>", significant(profile.t1_s))
    return seconds(profile.t1_s)


def thread_counts(profile: Profile) -> str:
    return f"{profile.n_measured} ({profile.n_min}–{profile.n_largest})"


def time_breakdown(profile: Profile) -> str:
    return "seven parts" if profile.decomposed else "none: wall time only"


def curves_of(label: str) -> Column:
    return Column("Profile", partial(curves_link, "Curves", label))


PLATFORM_COLUMNS = (
    Column("Name", lambda row: with_badges(row, platform_link(row, row.first_origin)), sort="name", kind=NAME),
    Column("Class", of("device_class", known_or_dash), sort="device_class"),
    Column("Vendor", of("vendor", known_or_dash), sort="vendor"),
    Column("Microarchitecture", of("microarchitecture", known_or_dash), sort="microarchitecture"),
    Column("Cores", of("physical_cores", known_or_dash), sort="physical_cores", kind=NUMBER),
    Column("Threads", of("threads", known_or_dash), sort="threads", kind=NUMBER),
    Column("NUMA nodes", of("numa_nodes", known_or_dash), sort="numa_nodes", kind=NUMBER),
    Column("Base clock (MHz)", of("base_mhz", partial(significant, digits=5)), sort="base_mhz", kind=NUMBER),
    Column("Profiles", of("profile_count"), sort="profiles", kind=NUMBER),
)
WORKLOAD_COLUMNS = (
    Column("Name", lambda row: with_badges(row, workload_link(row, row.first_origin)), sort="name", kind=NAME),
    Column("Application", of("application", known_or_dash), sort="application", kind=NAME),
    Column("Strategy", of("strategy", with_spaces), sort="strategy"),
    Column("Bound by", of("bound", known_or_dash), sort="bound", term="bound"),
    Column("Runtime", of("runtime", known_or_dash), sort="runtime"),
    Column("Profiles", of("profile_count"), sort="profiles", kind=NUMBER),
)
ONE_THREAD_TIME = Column("t(1)", one_thread_time, sort="t1_s", kind=NUMBER, term="t")
THREAD_COUNTS = Column("Thread counts", thread_counts, kind=NUMBER, term="n")
TIME_BREAKDOWN = Column("Time breakdown", time_breakdown, term="time-breakdown")
FIT_ERROR = Column("Fit error", of("fit_error", percent), sort="fit_error", kind=NUMBER, term="fit-error")
ON_PLATFORM = "Profile of {profile.workload.name} on {profile.platform.name}"
PROFILE_COLUMNS = (
    Column(
        "Workload",
        lambda row: with_badges(row, curves_link(unmarked(row.workload.name, row.origin), ON_PLATFORM, row)),
        sort="workload",
        kind=NAME,
    ),
    Column("Platform", lambda row: platform_link(row.platform, row.origin), sort="platform", kind=NAME),
    ONE_THREAD_TIME,
    Column("Thread counts", of("n_measured"), sort="n_measured", kind=NUMBER, term="n"),
    Column("Largest n", of("n_largest"), sort="n_largest", kind=NUMBER),
    TIME_BREAKDOWN,
    FIT_ERROR,
)
PROFILE_COLUMNS_OF_PLATFORM = (
    Column("Workload", lambda row: with_badges(row, workload_link(row.workload, row.origin)), kind=NAME),
    ONE_THREAD_TIME,
    THREAD_COUNTS,
    TIME_BREAKDOWN,
    FIT_ERROR,
    curves_of("Profile of {profile.workload.name}"),
)
PROFILE_COLUMNS_OF_UPLOAD = (
    Column("Workload", name_in("workload.name"), kind=NAME),
    Column("Platform", name_in("platform.name"), kind=NAME),
    ONE_THREAD_TIME,
    FIT_ERROR,
    curves_of(ON_PLATFORM),
)


def profile_columns_of_workload(workload: Workload, series: Mapping[Any, str]) -> tuple[Column, ...]:
    """The page says beside the table what the unit of relative times is. `series`: by the key of a profile, the class
    of its colour in the figures; none where it is in no figure."""
    is_relative = workload.time_kind == Workload.TimeKind.RELATIVE

    def platform(profile: Profile) -> SafeString:
        swatch = format_html('<span class="swatch {}"></span> ', series[profile.pk]) if profile.pk in series else ""
        return format_html("{}{}", swatch, with_badges(profile, platform_link(profile.platform, profile.origin)))

    return (
        Column("Platform", platform, kind=NAME),
        Column("t(1)", of("t1_s", significant if is_relative else seconds), kind=NUMBER, term="t"),
        THREAD_COUNTS,
        TIME_BREAKDOWN,
        FIT_ERROR,
        curves_of("Profile on {profile.platform.name}"),
    )
