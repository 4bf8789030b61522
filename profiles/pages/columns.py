"""What tables of platforms, workloads and profiles say, column by column: the same on every page that has one."""

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

LABEL_SHOWN = 40  # characters of the name of a delivered file


def profile_count_caption(page: Page[Profile]) -> str:
    """The caption of a table of profiles: how many there are on all of its pages."""
    count = page.paginator.count
    return f"{count} profile{'' if count == 1 else 's'}"


def add_badges(row: Any, link: SafeString) -> SafeString:
    """What it is called, and what is special about it."""
    return link + SafeString(" ") + badges(row)


def platform_link(platform: Platform, badge: str) -> SafeString:
    """`badge`: what the row says of its origin, so that the name need not say it again."""
    return text_link(reverse("platform", args=[platform.slug]), unmarked(platform.name, badge))


def workload_link(workload: Workload, badge: str) -> SafeString:
    return text_link(reverse("workload", args=[workload.slug]), unmarked(workload.name, badge))


def with_input(link: str, workload: Workload) -> SafeString:
    """What tells workloads of one name apart."""
    told = ", ".join(text for text in (workload.input, workload.version and f"version {workload.version}") if text)
    return format_html("{} <small>{}</small>", link, told) if told else format_html("{}", link)


def delivery(profile: Profile) -> SafeString:
    """What tells two profiles of one pair apart: the file, and the day on which it came."""
    label = unmarked(profile.source.label, profile.origin)
    short = label if len(label) <= LABEL_SHOWN else f"{label[: LABEL_SHOWN - 1]}…"
    return format_html("{} <small>{}</small>", short, f"{profile.source.created_at:%Y-%m-%d}")


def curves_link(text: str, label: str, profile: Profile) -> SafeString:
    """`label` may name what is in braces: {profile.workload.name}."""
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
DELIVERED = TableColumn("Source", delivery, kind=VALUE)
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
    "placement": "CPUs as threads fill them",
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
    """A value of a column, as pages write it."""
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_mhz"):
        return significant(value, digits=5)
    return known_or_dash(None if value == "unknown" else value)


def delivery_links(difference: Difference) -> SafeString:
    """The newest deliveries that say so: uploads lead to their reports."""
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
    """None where there are none."""
    return PageTable("Differences", columns, differences) if differences else None


def toolchain_table(toolchains: list[tuple[str | None, ...]]) -> PageTable | None:
    """Compilers, their flags and kernels; None where none is known."""
    return PageTable("Compilers and kernels", TOOLCHAIN_COLUMNS, toolchains) if toolchains else None


def profile_columns_of_workload(workload: Workload, series: Mapping[Any, str]) -> tuple[TableColumn, ...]:
    """The page says beside the table what the unit of relative times is. `series`: by the key of a profile, the class
    of its colour in the figures; none where it is in no figure."""
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
