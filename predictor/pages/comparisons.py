"""Pages about likeness and difference. What they show is what the viewer's predictions may use."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from mpet_site.web.pages import json_address
from predictor.comparisons.selection import FEWEST, MODELS, MOST, ORIGINS, Selection, select
from predictor.core.arrays import slug_index
from predictor.core.comparisons.documents import (
    ProfileSummary,
    SharedWorkload,
    compare_platforms,
    compare_workloads,
    pair_that_shares_most,
)
from predictor.core.comparisons.mean_distances import Kind
from predictor.core.database import Database
from predictor.figures.comparisons import characteristic_charts, curves_of, speed_chart
from profiles.figures import DRAWN_MEASURES, Chart, comparison_charts, mark_origin, origin_of, series_style
from profiles.models import Platform, Source, Workload

OFFERED = 2000
SHOWN_IN_FIGURE_9 = 8


def selection_of(request: HttpRequest, kind: Kind, slugs: Sequence[str] = ()) -> Selection:
    """?origin=measured or simulated, ?include_simulated=true; else by the rule of predictor.comparisons.selection."""
    origin = request.GET.get("origin", "")
    included = request.GET.get("include_simulated") == "true" or None
    return select(
        request.user,
        origin=origin if origin in ORIGINS else "",
        include_simulated=included,
        kind=kind,
        slugs=[slug for slug in slugs if slug],
    )


def sources_of(user: Any, selection: Selection, **profiles: Any) -> QuerySet[Source]:
    origin = "" if selection.origin == "mixed" else selection.origin
    return Source.objects.datasets_behind(user, origin, **profiles)


def names_of(user: Any, kind: Kind, slugs: Sequence[str]) -> dict[str, str]:
    rows = MODELS[kind].objects.visible_to(user).filter(slug__in=set(slugs))
    return dict(rows.values_list("slug", "name"))


def chosen_of(request: HttpRequest, parameter: str) -> tuple[str, ...]:
    """The first six slugs given, each once."""
    return tuple(dict.fromkeys(slug for slug in request.GET.getlist(parameter) if slug))[:MOST]


@require_safe
def compare(request: HttpRequest, kind: Kind) -> HttpResponse:
    """Platforms: ?platform=&platform=[&workload=]. Workloads: ?workload=&workload=&on=<platform>. Without a choice,
    those with the most profiles, under an address that holds it."""
    parameter = kind[:-1]
    chosen = chosen_of(request, parameter)
    selection = selection_of(request, kind, chosen)
    if not chosen:
        database = selection.database
        slugs = database.platforms if kind == "platforms" else database.workloads
        default = [slugs[at] for at in pair_that_shares_most(database, kind)]
        if len(default) == FEWEST:
            return redirect(f"{request.path}?{urlencode({parameter: default}, doseq=True)}")
    names = names_of(request.user, kind, chosen)
    if any(slug not in names for slug in chosen):
        raise Http404
    build = platforms_compared if kind == "platforms" else workloads_compared
    offered = {name: MODELS[name].objects.offered_to(request.user)[:OFFERED] for name in ("platforms", "workloads")}
    context = {
        "kind": kind,
        "parameter": parameter,
        "chosen": [(slug, names[slug], " ".join(series_style(at))) for at, slug in enumerate(chosen)],
        "free": range(min(MOST - len(chosen), max(1, FEWEST - len(chosen)))),
        "section": "compare",
        "origin": selection.origin if len(chosen) >= FEWEST else "measured",
        "leaves_simulated_out": selection.leaves_simulated_out,
        **offered,
        **(build(request, selection, chosen, names) if len(chosen) >= FEWEST else {}),
    }
    return render(request, "predictor/compare.html", context)


def platforms_compared(
    request: HttpRequest, selection: Selection, chosen: tuple[str, ...], names: dict[str, str]
) -> dict[str, Any]:
    database = selection.database
    places = [at for at in (slug_index(database.platforms, slug) for slug in chosen) if at is not None]
    comparison = compare_platforms(database, places, selection.snapshot.is_simulated)
    shared = comparison.workloads
    slugs = [workload.workload for workload in shared]
    names = names | names_of(request.user, "workloads", slugs)
    drawn = next((workload for workload in shared if workload.workload == request.GET.get("workload", "")), None)
    if drawn is None and shared:
        drawn = shared[0]
    shown = in_figures(names, selection.origin)
    relative = relative_among(request.user, slugs)
    return {
        "summary": comparison.platforms,
        "names": names,
        "shared": [
            (workload, shown.get(workload.workload, workload.workload), [workload.on(slug) for slug in chosen])
            for workload in shared
        ],
        "heads": [shown[slug] for slug in chosen],
        "drawn": drawn,
        "drawn_name": drawn and names.get(drawn.workload, drawn.workload),
        "relative": relative,
        "charts": curves_on(drawn, chosen, names, relative) if drawn else [],
        "speed": speeds(shared, chosen, names) if shared else [],
        "characteristics": figure_9(shared[:SHOWN_IN_FIGURE_9], chosen, names) if drawn else [],
        "sources": sources_of(request.user, selection, platform__slug__in=chosen),
        "twin": json_address("api-compare-platforms", query=urlencode({"slugs": ",".join(chosen)} | selection.asked)),
    }


def speeds(shared: Sequence[SharedWorkload], chosen: Sequence[str], names: Mapping[str, str]) -> list[Chart]:
    origin = origin_in(shared)
    return mark_origin([speed_chart(shared, chosen, in_figures(names, origin))], origin)


def curves_on(
    workload: SharedWorkload, chosen: Sequence[str], names: Mapping[str, str], relative: set[str]
) -> list[Chart]:
    """The curves of one workload, a line a platform; those that lack it stay empty, so that the others keep their
    colours."""
    profiles = [workload.on(slug) for slug in chosen]
    origin = origin_in([workload])
    shown = in_figures(names, origin)
    labels = [
        shown[slug] + (" (simulated)" if origin == "mixed" and profile and profile.simulated else "")
        for slug, profile in zip(chosen, profiles, strict=True)
    ]
    charts = comparison_charts(curves_of(profiles, labels), unit_of({workload.workload} & relative))
    return mark_origin(charts, origin)


def figure_9(workloads: Sequence[SharedWorkload], chosen: Sequence[str], names: Mapping[str, str]) -> list[Chart]:
    origin = origin_in(workloads)
    shown = in_figures(names, origin)
    labels = [shown.get(workload.workload, workload.workload) for workload in workloads]
    series = {shown[slug]: [characteristics_on(workload, slug) for workload in workloads] for slug in chosen}
    return mark_origin(characteristic_charts(labels, series), origin)


def in_figures(names: Mapping[str, str], origin: str) -> dict[str, str]:
    """Names as axes and legends have room for: what the title says of all of them is said there."""
    mark = f" ({origin})"
    return {slug: name.removesuffix(mark) for slug, name in names.items()}


def origin_in(workloads: Sequence[SharedWorkload]) -> str:
    profiles = [profile for workload in workloads for profile in workload.platforms]
    return origin_of("simulated" if profile.simulated else "measured" for profile in profiles)


def characteristics_on(workload: SharedWorkload, platform: str) -> Mapping[str, float] | None:
    profile = workload.on(platform)
    return profile.characteristics if profile else None


def relative_among(user: Any, slugs: Sequence[str]) -> set[str]:
    """Those whose times are in an unknown unit."""
    rows = Workload.objects.visible_to(user).filter(slug__in=slugs, time_kind=Workload.TimeKind.RELATIVE)
    return set(rows.values_list("slug", flat=True))


def unit_of(relative: set[str]) -> str:
    return "unknown unit" if relative else "s"


def workloads_compared(
    request: HttpRequest, selection: Selection, chosen: tuple[str, ...], names: dict[str, str]
) -> dict[str, Any]:
    database = selection.database
    places = [at for at in (slug_index(database.workloads, slug) for slug in chosen) if at is not None]
    on = platform_with_most(database, places, request.GET.get("on", ""))
    if on is None:
        return {"summary": []}
    comparison = compare_workloads(database, on, places, selection.snapshot.is_simulated)
    profiles = {profile.workload: profile for profile in comparison.workloads}
    platform = Platform.objects.visible_to(request.user).get(slug=comparison.platform)
    unit = unit_of(relative_among(request.user, [slug for slug in chosen if slug in profiles]))
    return {
        "on": platform,
        "summary": [profiles.get(slug) for slug in chosen],
        "time_unit": unit,
        **figures_on(platform, profiles, {slug: names[slug] for slug in chosen}, unit, request.GET.get("show", "")),
        "sources": sources_of(request.user, selection, platform=platform, workload__slug__in=chosen),
        "twin": json_address(
            "api-compare-workloads",
            query=urlencode({"slugs": ",".join(chosen), "on": platform.slug} | selection.asked),
        ),
    }


def figures_on(
    platform: Platform, profiles: Mapping[str, ProfileSummary], names: dict[str, str], unit: str, show: str
) -> dict[str, Any]:
    """Curves and characteristics of the workloads; `show`: one measure of the curves alone."""
    origin = origin_of("simulated" if profile.simulated else "measured" for profile in profiles.values())
    names = in_figures(names, origin)
    curves = curves_of([profiles.get(slug) for slug in names], list(names.values()))
    series = {platform.name: [profile.characteristics for profile in profiles.values()]}
    measures = (show,) if show in DRAWN_MEASURES else ("time", "speedup")
    return {
        "show": show if show in DRAWN_MEASURES else "",
        "measures": {name: measure.title for name, measure in DRAWN_MEASURES.items()},
        "charts": mark_origin(comparison_charts(curves, unit, measures), origin),
        "characteristics": mark_origin(characteristic_charts([names[slug] for slug in profiles], series), origin),
    }


def platform_with_most(database: Database, workloads: Sequence[int], asked: str) -> int | None:
    """The platform asked for; else the one that has most of the workloads."""
    at = slug_index(database.platforms, asked)
    if at is not None:
        return at
    counts: dict[int, int] = {}
    for workload in workloads:
        for platform in set(database.platform_index[database.rows_of_workload(workload)].tolist()):
            counts[platform] = counts.get(platform, 0) + 1
    return max(counts, key=lambda one: (counts[one], -one)) if counts else None
