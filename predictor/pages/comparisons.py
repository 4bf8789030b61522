"""Pages that compare platforms or workloads, based on the profiles that the user's predictions may use."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address, page_of
from predictor.comparisons import FEWEST_COMPARED, MODEL_OF_KIND, MOST_COMPARED, ComparedProfiles, select_profiles
from predictor.core.arrays import slug_index
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.comparisons.documents import (
    ProfileSummary,
    SharedWorkload,
    compare_platforms,
    compare_workloads,
    pair_that_shares_most,
)
from predictor.core.comparisons.mean_distances import Kind
from predictor.core.database import Database
from predictor.figures.comparisons import characteristic_charts, curves_of_profiles, speed_chart
from predictor.pages.presenting import (
    MOST_NAMES_IN_LIST,
    asks_for_public,
    given_parameters,
    names_by_slug,
    short_names,
)
from profiles.figures.base import Chart, mark_origin, origin_of, series_style
from profiles.figures.comparison import DRAWN_MEASURES, comparison_charts
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name, slug_of_label
from profiles.models import Platform, Profile, Workload
from profiles.pages.not_found import NoSuchRow
from profiles.pages.page_cache import kept_for_visitors
from profiles.templatetags.quantities import significant

WORKLOADS_IN_FIGURE_9 = 8
# Of a request without a choice. Of a comparison of platforms, `workload` selects the curves.
KEPT_PARAMETERS = ("workload", "on", "show", "origin", "include_simulated", "public_only")
SHARED_PER_PAGE = 200  # more dots cannot be distinguished


def compared_profiles(request: HttpRequest, kind: Kind, slugs: Sequence[str] = ()) -> ComparedProfiles:
    """Return the profiles that `?origin=measured`, `?origin=simulated` or `?include_simulated=true` selects.

    Without these parameters, `predictor.comparisons.select_profiles` decides.
    """
    origin = request.GET.get("origin", "")
    included = request.GET.get("include_simulated") == "true" or None
    return select_profiles(
        None if asks_for_public(request.GET) else request.user,
        origin=origin if origin in PREDICTION_ORIGINS else "",
        include_simulated=included,
        kind=kind,
        slugs=[slug for slug in slugs if slug],
    )


def selecting_parameters(request: HttpRequest, selection: ComparedProfiles) -> dict[str, str]:
    """Return the parameters of the JSON API that select the same profiles."""
    is_public = asks_for_public(request.GET)
    return selection.parameters | ({"public_only": "true"} if is_public else {})


def names_in_address(request: HttpRequest, parameter: str, kind: Kind) -> dict[str, str]:
    """Return the names by slug of the first six platforms or workloads in the query string, which has slugs or names.
    Raise NoSuchRow if one is unknown."""
    texts = list(dict.fromkeys(text for text in request.GET.getlist(parameter) if text))[:MOST_COMPARED]
    names = names_by_slug(MODEL_OF_KIND[kind], request.user, texts)
    slugs = {text: text if text in names else slug_of_name(request, text, kind) for text in texts}
    return {slug: names.get(slug, text) for text, slug in slugs.items()}


def slug_of_name(request: HttpRequest, text: str, kind: Kind) -> str:
    """Return the slug for a text from the form or the query string. Raise NoSuchRow if there is none."""
    slug = slug_of_label(MODEL_OF_KIND[kind], request.user, text)
    if slug is None:
        raise NoSuchRow(kind[:-1], text)
    return slug


@require_safe
@kept_for_visitors
def compare(request: HttpRequest, kind: Kind) -> HttpResponse:
    """Compare platforms or workloads.

    The parameters are `?platform=&platform=[&workload=]` for platforms and `?workload=&workload=&on=<platform>` for
    workloads. Without a choice, redirect to the two with the most shared profiles and keep the other parameters.
    """
    parameter = kind[:-1]
    names = names_in_address(request, parameter, kind)
    chosen = tuple(names)
    selection = compared_profiles(request, kind, chosen)
    if not chosen:
        database = selection.database
        slugs = database.platforms if kind == "platforms" else database.workloads
        default = [slugs[index] for index in pair_that_shares_most(database, kind)]
        if len(default) == FEWEST_COMPARED:
            query = {parameter: default, **given_parameters(request.GET, KEPT_PARAMETERS)}
            return redirect(f"{request.path}?{urlencode(query, doseq=True)}")
    build = platforms_context if kind == "platforms" else workloads_context
    offered = {
        name: disambiguate(MODEL_OF_KIND[name].objects.offered_to(request.user)[:MOST_NAMES_IN_LIST], request.user)
        for name in ("platforms", "workloads")
    }
    labels = {row.slug: disambiguated_name(row) for rows in offered.values() for row in rows}
    context = {
        "kind": kind,
        "things": "machines" if kind == "platforms" else kind,
        "thing": "machine" if kind == "platforms" else parameter,
        "parameter": parameter,
        "chosen": [
            (slug, names[slug], " ".join(series_style(index)), labels.get(slug, slug))
            for index, slug in enumerate(chosen)
        ],
        "free": range(min(MOST_COMPARED - len(chosen), max(1, FEWEST_COMPARED - len(chosen)))),
        "section": "compare",
        "origin": selection.origin if len(chosen) >= FEWEST_COMPARED else "measured",
        "leaves_simulated_out": selection.leaves_simulated_out,
        "public_only": asks_for_public(request.GET),
        "has_private": Profile.objects.has_private_of(request.user),
        **offered,
        **(build(request, selection, chosen, names) if len(chosen) >= FEWEST_COMPARED else {}),
    }
    if on := context.get("on"):
        context["on_label"] = labels.get(on.slug, on.slug)
    return render(request, "predictor/compare.html", context)


def platforms_context(
    request: HttpRequest, selection: ComparedProfiles, chosen: tuple[str, ...], names: dict[str, str]
) -> dict[str, Any]:
    database = selection.database
    positions = [index for index in (slug_index(database.platforms, slug) for slug in chosen) if index is not None]
    comparison = compare_platforms(database, positions, selection.snapshot.is_simulated)
    page = page_of(request, comparison.workloads, SHARED_PER_PAGE)
    shared = list(page)
    asked = request.GET.get("workload", "")
    chosen_workload = next((workload for workload in comparison.workloads if workload.workload == asked), None)
    if chosen_workload is None and shared:
        chosen_workload = shared[0]
    slugs = [workload.workload for workload in [*shared, chosen_workload] if workload]
    names = names | names_by_slug(Workload, request.user, slugs)
    labels = short_names(names, selection.origin)
    units = units_of_times(request.user, slugs)
    origin = origin_of_workloads(shared)
    return {
        "decided": sum(workload.winner is not None for workload in comparison.workloads),
        "page": page,
        "standings": [
            (one, names[one.platform], " ".join(series_style(chosen.index(one.platform))))
            for one in comparison.platforms
        ],
        "names": names,
        "shared": [
            (
                workload,
                labels.get(workload.workload, workload.workload),
                units[workload.workload],
                [
                    (profile, cell_note(profile, workload.equal_n, is_first=slug == chosen[0]))
                    for slug in chosen
                    for profile in [workload.on(slug)]
                ],
            )
            for workload in shared
        ],
        "heads": [labels[slug] for slug in chosen],
        "drawn": chosen_workload,
        "drawn_name": chosen_workload and names.get(chosen_workload.workload, chosen_workload.workload),
        "charts": curve_charts(chosen_workload, chosen, names, units) if chosen_workload else [],
        "speed": mark_origin([speed_chart(shared, chosen, short_names(names, origin))], origin) if shared else [],
        "characteristics": figure_9_charts(shared[:WORKLOADS_IN_FIGURE_9], chosen, names) if chosen_workload else [],
        "sources": selection.credits(platform__slug__in=chosen),
        "twin": json_address(
            "api-compare-platforms",
            query=urlencode({"slugs": ",".join(chosen)} | selecting_parameters(request, selection)),
        ),
    }


def cell_note(profile: ProfileSummary | None, equal_n: int | None, *, is_first: bool) -> str:
    """Return the note below the shortest time of a profile: its thread count, and its speed relative to the first
    platform."""
    if profile is None:
        return ""
    at = f"n = {profile.fastest_n}" + ("" if profile.whole else f", not on all {profile.whole_n} cores")
    speed = {
        "whole": f", {significant(profile.speed)}×",
        "equal_n": f"; {significant(profile.speed_at_equal_n)}× at n = {equal_n}",
        "no_common_n": "; no common n",
        "not_on_first": "",
    }[profile.compared]
    return at if is_first else at + speed


def curve_charts(
    workload: SharedWorkload, chosen: Sequence[str], names: Mapping[str, str], units: Mapping[str, str]
) -> list[Chart]:
    """Return the curves of one workload with one line per platform.

    Platforms without the workload get an empty line, so that the other platforms keep their colours.
    """
    profiles = [workload.on(slug) for slug in chosen]
    origin = origin_of_workloads([workload])
    short = short_names(names, origin)
    labels = [
        short[slug] + (" (simulated)" if origin == "mixed" and profile and profile.simulated else "")
        for slug, profile in zip(chosen, profiles, strict=True)
    ]
    charts = comparison_charts(curves_of_profiles(profiles, labels), units[workload.workload])
    return mark_origin(charts, origin)


def figure_9_charts(
    workloads: Sequence[SharedWorkload], chosen: Sequence[str], names: Mapping[str, str]
) -> list[Chart]:
    origin = origin_of_workloads(workloads)
    short = short_names(names, origin)
    labels = [short.get(workload.workload, workload.workload) for workload in workloads]
    profiles = {short[slug]: [workload.on(slug) for workload in workloads] for slug in chosen}
    series = {name: [row.characteristics if row else None for row in rows] for name, rows in profiles.items()}
    return mark_origin(characteristic_charts(labels, series), origin)


def origin_of_workloads(workloads: Sequence[SharedWorkload]) -> str:
    profiles = [profile for workload in workloads for profile in workload.platforms]
    return origin_of("simulated" if profile.simulated else "measured" for profile in profiles)


def units_of_times(user: Any, slugs: Sequence[str]) -> dict[str, str]:
    """Return the unit of times by workload slug."""
    rows = Workload.objects.visible_to(user).filter(slug__in=slugs, time_kind=Workload.TimeKind.RELATIVE)
    relative = set(rows.values_list("slug", flat=True))
    return {slug: "unknown unit" if slug in relative else "s" for slug in slugs}


def workloads_context(
    request: HttpRequest, selection: ComparedProfiles, chosen: tuple[str, ...], names: dict[str, str]
) -> dict[str, Any]:
    database = selection.database
    positions = [index for index in (slug_index(database.workloads, slug) for slug in chosen) if index is not None]
    asked = request.GET.get("on", "")
    if asked and slug_index(database.platforms, asked) is None:
        asked = slug_of_name(request, asked, "platforms")
    on = platform_with_most_workloads(database, positions, asked)
    if on is None:
        return {"summary": []}
    comparison = compare_workloads(database, on, positions, selection.snapshot.is_simulated)
    profiles = {profile.workload: profile for profile in comparison.workloads}
    platform = Platform.objects.visible_to(request.user).get(slug=comparison.platform)
    units = units_of_times(request.user, [slug for slug in chosen if slug in profiles])
    unit = "unknown unit" if "unknown unit" in units.values() else "s"
    return {
        "on": platform,
        "summary": [profiles.get(slug) for slug in chosen],
        "time_unit": unit,
        **figures_context(
            platform, profiles, {slug: names[slug] for slug in chosen}, unit, request.GET.get("show", "")
        ),
        "sources": selection.credits(platform=platform, workload__slug__in=chosen),
        "twin": json_address(
            "api-compare-workloads",
            query=urlencode(
                {"slugs": ",".join(chosen), "on": platform.slug} | selecting_parameters(request, selection)
            ),
        ),
    }


def figures_context(
    platform: Platform, profiles: Mapping[str, ProfileSummary], names: dict[str, str], unit: str, show: str
) -> dict[str, Any]:
    """Return the curves and characteristics of the workloads. `show` selects one measure for the curves."""
    origin = origin_of("simulated" if profile.simulated else "measured" for profile in profiles.values())
    names = short_names(names, origin)
    curves = curves_of_profiles([profiles.get(slug) for slug in names], list(names.values()))
    series = {platform.name: [profile.characteristics for profile in profiles.values()]}
    measures = (show,) if show in DRAWN_MEASURES else ("time", "speedup")
    return {
        "show": show if show in DRAWN_MEASURES else "",
        "measures": {name: measure.title for name, measure in DRAWN_MEASURES.items()},
        "charts": mark_origin(comparison_charts(curves, unit, measures), origin),
        "characteristics": mark_origin(characteristic_charts([names[slug] for slug in profiles], series), origin),
    }


def platform_with_most_workloads(database: Database, workloads: Sequence[int], slug: str) -> int | None:
    """Return the index of the platform with the given slug, or else of the platform that has most of the workloads."""
    index = slug_index(database.platforms, slug)
    if index is not None:
        return index
    counts: dict[int, int] = {}
    for workload in workloads:
        for platform in set(database.platform_index[database.rows_of_workload(workload)].tolist()):
            counts[platform] = counts.get(platform, 0) + 1
    return max(counts, key=lambda platform: (counts[platform], -platform)) if counts else None
