"""Columns of the tables of platforms, workloads and profiles, common to all pages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.core.paginator import Page
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from mpet_site.web.tables import NAME, NUMBER, VALUE, PageTable, TableColumn, show_attribute, text_link
from profiles.identity.descriptions import Difference
from profiles.models import Platform, Profile, Source, Workload
from profiles.scaling.wording import counted
from profiles.templatetags.quantities import (
    badges,
    known_or_dash,
    percent,
    seconds,
    significant,
    size,
    unmarked,
    with_spaces,
)

LABEL_SHOWN = 40  # maximum number of characters of a delivered file's name


def profile_count_caption(page: Page[Profile]) -> str:
    """Return the caption of a table of profiles: their number on all pages."""
    return counted(page.paginator.count, "profile")


def add_badges(row: Any, link: SafeString) -> SafeString:
    """Return the link followed by the badges of the row."""
    return link + SafeString(" ") + badges(row)


def platform_link(platform: Platform, badge: str) -> SafeString:
    """Return a link to the platform. `badge` is the origin that the row shows, which the name then does not repeat."""
    return text_link(reverse("platform", args=[platform.slug]), unmarked(platform.name, badge))


def workload_link(workload: Workload, badge: str) -> SafeString:
    return text_link(reverse("workload", args=[workload.slug]), unmarked(workload.name, badge))


def with_input(link: str, workload: Workload) -> SafeString:
    """Return the link with input and version, which distinguish workloads of the same name."""
    details = ", ".join(text for text in (workload.input, workload.version and f"version {workload.version}") if text)
    return format_html("{} <small>{}</small>", link, details) if details else format_html("{}", link)


def delivery(profile: Profile) -> SafeString:
    """Return the file name and the date of the delivery, which distinguish profiles of the same pair."""
    label = unmarked(profile.source.label, profile.origin)
    short = label if len(label) <= LABEL_SHOWN else f"{label[: LABEL_SHOWN - 1]}…"
    return format_html("{} <small>{}</small>", short, f"{profile.source.created_at:%Y-%m-%d}")


def curves_link(text: str, label: str, profile: Profile) -> SafeString:
    """Return a link to the profile. `label` is a format string such as "Profile of {profile.workload.name}"."""
    return text_link(reverse("profile", args=[profile.uid]), text, label.format(profile=profile))


def one_thread_time(profile: Profile) -> str:
    if profile.workload.time_kind == Workload.TimeKind.RELATIVE:
        return format_html("{} <small>unknown unit</small>", significant(profile.t1_s))
    return seconds(profile.t1_s)


def thread_count_range(profile: Profile) -> str:
    counts = str(profile.n_min) if profile.n_measured == 1 else f"{profile.n_min}–{profile.n_largest}"
    return f"{profile.n_measured} ({counts})"


def curves_column(label: str) -> TableColumn:
    return TableColumn("Profile", partial(curves_link, "Curves", label))


PLATFORM_COLUMNS = (
    TableColumn("Name", lambda row: add_badges(row, platform_link(row, row.first_origin)), sort="name", kind=NAME),
    TableColumn("Cores", show_attribute("physical_cores", known_or_dash), sort="physical_cores", kind=NUMBER),
    TableColumn("Threads", show_attribute("threads", known_or_dash), sort="threads", kind=NUMBER),
    TableColumn("Memory", show_attribute("memory_bytes", size), sort="memory_bytes", kind=NUMBER),
    TableColumn("Class", show_attribute("device_class", known_or_dash), sort="device_class"),
    TableColumn("Vendor", show_attribute("vendor", known_or_dash), sort="vendor"),
    TableColumn("Microarchitecture", show_attribute("microarchitecture", known_or_dash), sort="microarchitecture"),
    TableColumn("NUMA nodes", show_attribute("numa_nodes", known_or_dash), sort="numa_nodes", kind=NUMBER),
    TableColumn(
        "Base clock (MHz)", show_attribute("base_mhz", partial(significant, digits=5)), sort="base_mhz", kind=NUMBER
    ),
    TableColumn("Profiles", show_attribute("profile_count"), sort="profiles", kind=NUMBER),
)
WORKLOAD_COLUMNS = (
    TableColumn(
        "Name",
        lambda row: add_badges(row, with_input(workload_link(row, row.first_origin), row)),
        sort="name",
        kind=NAME,
    ),
    TableColumn("Application", show_attribute("application", known_or_dash), sort="application", kind=NAME),
    TableColumn("Strategy", show_attribute("strategy", with_spaces), sort="strategy"),
    TableColumn("Bound by", show_attribute("bound", known_or_dash), sort="bound", term="bound"),
    TableColumn("Runtime", show_attribute("runtime", known_or_dash), sort="runtime"),
    TableColumn("Profiles", show_attribute("profile_count"), sort="profiles", kind=NUMBER),
)
ONE_THREAD_TIME = TableColumn("t(1)", one_thread_time, sort="t1_s", kind=NUMBER, term="t")
THREAD_COUNTS = TableColumn("Thread counts", thread_count_range, kind=NUMBER, term="n")
TIME_BREAKDOWN = TableColumn(
    "Time breakdown", lambda row: "seven parts" if row.decomposed else "wall time only", term="time-breakdown"
)
FIT_ERROR = TableColumn(
    "Fit error", show_attribute("fit_error", percent), sort="fit_error", kind=NUMBER, term="fit-error"
)
DELIVERED = TableColumn("Source", delivery, kind=NAME)
ON_PLATFORM = "Profile of {profile.workload.name} on {profile.platform.name}"
PROFILE_COLUMNS = (
    TableColumn(
        "Workload",
        lambda row: add_badges(
            row, with_input(curves_link(unmarked(row.workload.name, row.origin), ON_PLATFORM, row), row.workload)
        ),
        sort="workload",
        kind=NAME,
    ),
    TableColumn("Machine", lambda row: platform_link(row.platform, row.origin), sort="platform", kind=NAME),
    ONE_THREAD_TIME,
    TableColumn("Thread counts", show_attribute("n_measured"), sort="n_measured", kind=NUMBER, term="n"),
    TableColumn("Largest n", show_attribute("n_largest"), sort="n_largest", kind=NUMBER),
    TIME_BREAKDOWN,
    FIT_ERROR,
    DELIVERED,
)
PROFILE_COLUMNS_OF_PLATFORM = (
    TableColumn(
        "Workload",
        lambda row: add_badges(row, with_input(workload_link(row.workload, row.origin), row.workload)),
        kind=NAME,
    ),
    ONE_THREAD_TIME,
    THREAD_COUNTS,
    TIME_BREAKDOWN,
    FIT_ERROR,
    DELIVERED,
    curves_column("Profile of {profile.workload.name}"),
)
PROFILE_COLUMNS_OF_UPLOAD = (
    TableColumn("Workload", lambda row: with_input(unmarked(row.workload.name, row.origin), row.workload), kind=NAME),
    TableColumn("Machine", lambda row: platform_link(row.platform, row.origin), kind=NAME),
    ONE_THREAD_TIME,
    FIT_ERROR,
    curves_column(ON_PLATFORM),
)


FACT_TITLES = {
    "n_max": "Threads a program may use",
    "placement": "CPU order of threads",
    "base_mhz": "Base clock (MHz)",
    "max_mhz": "Maximum clock (MHz)",
    "l1d_bytes": "L1 data cache",
    "l2_bytes": "L2 cache",
    "l3_bytes": "L3 cache",
    "memory_bytes": "Memory",
    "virtualised": "Virtual machine",
    "bound": "Bound by",
    "size": "Size of the input",
    "size_unit": "Unit of the size",
}
DELIVERIES_NAMED = 3
TOOLCHAINS_SHOWN = 10


def fact_text(name: str, value: Any) -> Any:
    """Return the value of a column in the format of pages."""
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_mhz"):
        return significant(value, digits=5)
    return known_or_dash(None if value == "unknown" else value)


def delivery_links(difference: Difference) -> SafeString:
    """Return links to the newest deliveries with this difference. An upload's link leads to its report."""
    links = format_html_join(", ", "{}", ((delivery_link(one),) for one in difference.sources[:DELIVERIES_NAMED]))
    more = len(difference.sources) - DELIVERIES_NAMED
    return format_html("{} and {} more", links, more) if more > 0 else links


def delivery_link(source: Source) -> SafeString | str:
    upload = getattr(source, "upload", None)
    if upload is None:
        return source.label
    day = f"{source.created_at:%Y-%m-%d}"
    return text_link(reverse("upload-report", args=[upload.uid]), day, f"upload of {day}")


FACT_COLUMN = TableColumn("What", lambda found: FACT_TITLES.get(found.field, with_spaces(found.field).capitalize()))
VALUE_HERE = TableColumn("Here", lambda found: fact_text(found.field, found.here), kind=VALUE)
DIFFERENCE_COLUMNS = (
    FACT_COLUMN,
    VALUE_HERE,
    TableColumn("Other uploads say", lambda found: fact_text(found.field, found.value), kind=VALUE),
    TableColumn("Delivered", delivery_links, kind=VALUE),
)
DIFFERENCE_COLUMNS_OF_UPLOAD = (
    FACT_COLUMN,
    TableColumn(
        "Of",
        lambda found: platform_link(found.row, "") if isinstance(found.row, Platform) else workload_link(found.row, ""),
        kind=NAME,
    ),
    VALUE_HERE,
    TableColumn("In this upload", lambda found: fact_text(found.field, found.value), kind=VALUE),
)
TOOLCHAIN_COLUMNS = (
    TableColumn("Compiler", lambda toolchain: known_or_dash(toolchain[0]), kind=VALUE),
    TableColumn("Flags", lambda toolchain: known_or_dash(toolchain[1]), kind=VALUE),
    TableColumn("Kernel", lambda toolchain: known_or_dash(toolchain[2]), kind=VALUE),
)


def difference_table(differences: list[Difference], columns: tuple[TableColumn, ...]) -> PageTable | None:
    """Return a table of the differences, or None if there are none."""
    return PageTable("Differences", columns, differences) if differences else None


def toolchain_table(toolchains: list[tuple[str | None, ...]]) -> PageTable | None:
    """Return a table of compilers, their flags and kernels, or None if none is known."""
    return PageTable("Compilers and kernels", TOOLCHAIN_COLUMNS, toolchains) if toolchains else None


def profile_columns_of_workload(workload: Workload, series: Mapping[Any, str]) -> tuple[TableColumn, ...]:
    """Return the columns of a workload's profiles. For relative times, the page shows the unit next to the table.

    `series` maps primary keys of profiles to the CSS class of their colour in the figures. Profiles without a line are
    not in it.
    """
    is_relative = workload.time_kind == Workload.TimeKind.RELATIVE

    def platform(profile: Profile) -> SafeString:
        swatch = format_html('<span class="swatch {}"></span> ', series[profile.pk]) if profile.pk in series else ""
        return format_html("{}{}", swatch, add_badges(profile, platform_link(profile.platform, profile.origin)))

    return (
        TableColumn("Machine", platform, kind=NAME),
        TableColumn("t(1)", show_attribute("t1_s", significant if is_relative else seconds), kind=NUMBER, term="t"),
        THREAD_COUNTS,
        TIME_BREAKDOWN,
        FIT_ERROR,
        DELIVERED,
        curves_column("Profile on {profile.platform.name}"),
    )
