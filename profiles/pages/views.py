"""Pages of one platform and of one profile, and the profiles on the page of a workload."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import Avg
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address, page_of
from mpet_site.web.tables import PageTable
from profiles.figures.base import Breakpoints, MeasuredCurve, Table, mark_origin, origin_of, series_style
from profiles.figures.comparison import DRAWN_MEASURES, comparison_charts
from profiles.figures.multiples import small_multiples
from profiles.figures.profile import ProfileDrawing, profile_charts
from profiles.figures.roofline import roofline_chart
from profiles.identity.descriptions import DELIVERIES_COMPARED, differences_of
from profiles.identity.programs import program_of_workload
from profiles.ingest.derivation import stored_spreads
from profiles.models import Platform, PlatformDescription, Profile, Source, Workload
from profiles.pages.ceilings import limits_of, points_by_profile, roofline_of
from profiles.pages.columns import (
    DIFFERENCE_COLUMNS,
    PROFILE_COLUMNS_OF_PLATFORM,
    TOOLCHAINS_SHOWN,
    difference_table,
    profile_columns_of_workload,
    profile_count_caption,
    toolchain_table,
)
from profiles.pages.page_cache import kept_for_visitors
from profiles.pages.topology import describe_counts, describe_machine, draw_sockets, memory_levels
from profiles.prices.tables import prices_for
from profiles.scaling.features import stored_features
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, SCALING_PARTS
from profiles.scaling.quality import CONFIDENCE, RepeatSpread
from profiles.scaling.runs import stored_curves
from profiles.scaling.validity import LARGEST_VALUE, thinned_positions

MOST_COUNTERS = 64  # maximum number of columns of a table
CURVES_DRAWN = 16  # rows of a workload page, as many as the lines that fit into one figure
EXACT_FIT = 1e-12  # residuals below this are rounding errors of an exact fit


@require_safe
@kept_for_visitors(of="platform")
def platform(request: HttpRequest, slug: str) -> HttpResponse:
    shown_platform = get_object_or_404(Platform.objects.visible_to(request.user), slug=slug)
    page = page_of(request, Profile.objects.on_platform_page(shown_platform, request.user))
    origin = origin_of(profile.origin for profile in page)
    multiples = small_multiples(
        [profile_curve(profile, profile.workload.name + label_of(profile, origin)) for profile in page]
    )
    roofline = roofline_of(shown_platform, request.user)
    chart = roofline and roofline_chart(roofline, list(points_by_profile(list(page)).values()))
    context = {
        "platform": shown_platform,
        "page": page,
        "sentence": describe_machine(shown_platform),
        "load": Profile.objects.load_on(shown_platform, request.user),
        "prices": prices_for(request.user, platform=shown_platform),
        "roofline": roofline,
        "charts": [chart] if chart else [],
        "origin": origin,
        "sockets": draw_sockets(shown_platform),
        "counts": describe_counts(shown_platform),
        "levels": memory_levels(shown_platform),
        "multiples": multiples,
        "rows": list(zip(page, multiples.drawings, strict=True)),
        "table": PageTable(
            f"Profiles on {shown_platform.name}", PROFILE_COLUMNS_OF_PLATFORM, page, profile_count_caption(page)
        ),
        "csv": json_address("api-profiles", query=urlencode({"platform": shown_platform.slug, "format": "csv"})),
        "section": "platforms",
        "sources": Source.objects.credited_with(page).credits(),
        "differences": difference_table(differences_of(shown_platform, request.user), DIFFERENCE_COLUMNS),
        "toolchains": toolchain_table(
            shown_platform.descriptions.visible_to(request.user).toolchains(DELIVERIES_COMPARED)[:TOOLCHAINS_SHOWN]
        ),
        "twin": json_address("api-platform", shown_platform.slug),
    }
    return render(request, "profiles/platform.html", context)


def workload_profiles(request: HttpRequest, workload: Workload) -> dict[str, Any]:
    """Return the template context for the profiles of a workload.

    It has as many curves as fit into one figure, and a table row for each of them. The list of profiles has all.
    """
    profiles = Profile.objects.on_workload_page(workload, request.user)
    page = Paginator(profiles, CURVES_DRAWN).get_page(1)
    origin = origin_of(profile.origin for profile in page)
    curves = [profile_curve(profile, profile.platform.name + label_of(profile, origin)) for profile in page]
    show = request.GET.get("show", "")
    measures = (show,) if show in DRAWN_MEASURES else ("time", "speedup")
    charts = comparison_charts(curves, time_unit(workload), measures)
    return {
        "program": program_of_workload(workload, request.user),
        "show": show if show in DRAWN_MEASURES else "",
        "measures": {name: measure.title for name, measure in DRAWN_MEASURES.items()},
        "csv": json_address("api-profiles", query=urlencode({"workload": workload.slug, "format": "csv"})),
        "page": page,
        "table": PageTable(
            f"Profiles of {workload.name}",
            profile_columns_of_workload(workload, series_drawn(page) if charts else {}),
            page,
            profile_count_caption(page),
        ),
        "origin": origin,
        "charts": mark_origin(charts, origin),
        "sources": Source.objects.credited_with(page).credits(),
        "differences": difference_table(differences_of(workload, request.user), DIFFERENCE_COLUMNS),
        "twin": json_address("api-workload", workload.slug),
    }


@require_safe
@kept_for_visitors
def profile(request: HttpRequest, uid: Any) -> HttpResponse:
    shown_profile = get_object_or_404(Profile.objects.on_profile_page(request.user), uid=uid)
    drawing = profile_drawing(shown_profile, stored_spreads([shown_profile]).get(shown_profile.pk))
    described = PlatformDescription.objects.filter(platform=shown_profile.platform_id, source=shown_profile.source_id)
    in_time = request.GET.get("budget") == "time"
    context = {
        "profile": shown_profile,
        "in_time": in_time,
        "sentences": limits_of(shown_profile, drawing.curves, request.user)["sentences"] if drawing else [],
        "charts": mark_origin(profile_charts(drawing, in_time=in_time), shown_profile.origin) if drawing else [],
        "time_half_width": (
            None if shown_profile.standard_error is None else CONFIDENCE * shown_profile.standard_error
        ),
        "counters": counter_rows(shown_profile),
        "section": "profiles",
        "fits": fit_rows(shown_profile),
        "elements": ELEMENTS,
        "time_unit": time_unit(shown_profile.workload),
        "sources": [shown_profile.source],
        "toolchain": next(iter(described.toolchains(1)), None),  # the delivery's compiler, compiler flags and kernel
        "twin": json_address("api-profile", shown_profile.uid),
    }
    return render(request, "profiles/profile.html", context)


def series_drawn(page: Page[Profile]) -> dict[Any, str]:
    """Return the CSS classes of each profile that is a line in the figures, by primary key."""
    styles = ((profile, " ".join(series_style(index))) for index, profile in enumerate(page))
    return {profile.pk: style for profile, style in styles if profile.n_measured > 1}


def label_of(profile: Profile, origin: str) -> str:
    """Return a suffix that distinguishes simulated from measured curves in one figure."""
    return f" ({profile.origin})" if origin == "mixed" and profile.origin != "measured" else ""


def time_unit(workload: Workload) -> str:
    return "unknown unit" if workload.time_kind == Workload.TimeKind.RELATIVE else "s"


def profile_curve(profile: Profile, label: str) -> MeasuredCurve:
    """Return t(n) as stored, or an empty curve if no usable curves are stored."""
    curves = stored_curves(profile)
    if curves is None:
        return MeasuredCurve(label, np.array([], dtype=np.int64), np.array([]), None)
    drawn = curves.thinned
    return MeasuredCurve(label, drawn.n, drawn.time_s, profile.t1_s)


def profile_drawing(profile: Profile, spread: RepeatSpread | None = None) -> ProfileDrawing | None:
    curves = stored_curves(profile)
    if curves is None:
        return None
    curves = curves.thinned
    breakpoints = Breakpoints(profile.platform.n_nu, profile.platform.n_ht)
    unit, features = time_unit(profile.workload), stored_features(profile)[0]
    return ProfileDrawing(curves, features, breakpoints, unit, profile.origin, spread)


def counter_rows(profile: Profile) -> Table | None:
    """Return a table with one row per thread count and one column per counter, with means over the readable repeats."""
    readings = profile.counter_readings.filter(value__range=(-LARGEST_VALUE, LARGEST_VALUE)).order_by()
    means = readings.values_list("n", "counter").annotate(mean=Avg("value"))
    mean_of = {(n, counter): mean for n, counter, mean in means}
    if not mean_of:
        return None
    names = sorted({counter for _, counter in mean_of})[:MOST_COUNTERS]
    counts = np.array(sorted({n for n, _ in mean_of}))
    shown = counts[thinned_positions(counts)].tolist()
    rows = [(n, *(mean_of.get((n, name)) for name in names)) for n in shown]
    return Table(("n", *names), rows)


def fit_rows(profile: Profile) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the scaling curves and of the counter ratios: each curve with its elements and residual.

    Curves that the profile does not have are left out.
    """
    features, rms = stored_features(profile)
    rms = np.where(rms < EXACT_FIT, 0.0, rms)
    rows = list(zip(CURVE_NAMES, features.reshape(len(CURVE_NAMES), -1).tolist(), rms.tolist(), strict=True))
    parts = len(SCALING_PARTS)
    groups = {"Scaling curves": rows[:parts], "Ratios of hardware counters": rows[parts:]}
    measured = {title: [row for row in group if not np.isnan(row[1]).all()] for title, group in groups.items()}
    return {title: group for title, group in measured.items() if group}
