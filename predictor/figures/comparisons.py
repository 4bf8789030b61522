"""Figures of distances and comparisons. Pure functions, as in profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictor.core.arrays import sampled
from predictor.core.comparisons.documents import COMPARED_CHARACTERISTICS, ProfileSummary, SharedWorkload
from profiles.figures.axes import logarithmic_ticks, shortened_labels
from profiles.figures.base import (
    SERIES_COLOURS,
    Chart,
    MeasuredCurve,
    PlotlyMarkup,
    Table,
    Trace,
    figure,
    plot_numbers,
    trace,
)


@dataclass(frozen=True)
class MapPlace:
    """A workload on the map, with its coordinates `x` and `y` in units of the distance, None without a distance."""

    name: str
    strategy: str
    address: str
    x: float | None
    y: float | None
    marked: bool = False


BARS_IN_A_LOW_FIGURE = 20
MOST_NAMED_ROWS = 40  # on the axis; with more rows, only every second or third one has a name
MARKER_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")


def map_chart(places: Sequence[MapPlace], stress: float) -> Chart:
    """Return the map with one point per workload. The parallel strategy is shown by the colour, and by the symbol for
    people who cannot distinguish the colours."""
    strategies = sorted({place.strategy for place in places})
    axis: dict[str, Any] = {"tickformat": "~g", "nticks": 6, "zeroline": False}
    return Chart(
        "map",
        "Map of the workloads",
        "Distances on the map approximate the mean distances of Eq. 18 (metric multidimensional scaling; "
        f"stress {stress:.2f}, where 0 is exact and 0.2 poor). Click on a point to open its workload.",
        figure(
            [strategy_trace(places, strategy, index) for index, strategy in enumerate(strategies)],
            "second axis of the map (distance)",
            hovermode="closest",
            x_axis={"title": {"text": "first axis of the map (distance)"}, **axis},
            scaleanchor="x",
            **axis,
        ),
        Table(("workload", "strategy", "x", "y"), [(place.name, place.strategy, place.x, place.y) for place in places]),
        tall=True,
    )


def strategy_trace(places: Sequence[MapPlace], strategy: str, index: int) -> Trace:
    mine = [place for place in places if place.strategy == strategy]
    colour = f"series-{index % SERIES_COLOURS}"
    return trace(
        strategy.replace("_", " "),
        colour,
        [place.x for place in mine],
        [place.y for place in mine],
        text=[place.name for place in mine],
        mode="markers",
        marker={
            "size": [17 if place.marked else 10 for place in mine],
            "symbol": MARKER_SYMBOLS[(index + 3 * (index // SERIES_COLOURS)) % len(MARKER_SYMBOLS)],
        },
        meta={"colour": colour, "addresses": [place.address for place in mine]},
        hovertemplate=PlotlyMarkup("%{text}<extra>%{fullData.name}</extra>"),
    )


def curves_of_profiles(profiles: Sequence[ProfileSummary | None], names: Sequence[str]) -> list[MeasuredCurve]:
    """Return the measured curves of compared profiles. The curve of a missing profile is empty, an unmeasured t(1) is
    None."""
    return [
        MeasuredCurve(name, profile.n, profile.time_s, profile.t1_s if np.isfinite(profile.t1_s) else None)
        if profile
        else MeasuredCurve(name, np.array([], dtype=np.int64), np.array([]), None)
        for profile, name in zip(profiles, names, strict=True)
    ]


def speed_chart(workloads: Sequence[SharedWorkload], slugs: Sequence[str], names: Mapping[str, str]) -> Chart:
    """Return the speed of each platform relative to the first, with one dot per workload, on a logarithmic scale.

    A dot is open if the two are compared at an equal n, because one of them was not measured as a whole machine.
    """
    rows = [{profile.platform: profile for profile in workload.platforms} for workload in workloads]
    speeds = [[shown_speed(row.get(slug)) for row in rows] for slug in slugs]
    labels = [names.get(workload.workload, workload.workload) for workload in workloads]
    compared = [
        [compared_words(row.get(slug), workload.equal_n) for row, workload in zip(rows, workloads, strict=True)]
        for slug in slugs
    ]
    named = sampled(labels, MOST_NAMED_ROWS)
    base = names.get(slugs[0], slugs[0])
    traces = [
        trace(
            names.get(slug, slug),
            f"series-{index}",
            plot_numbers(speeds[index]),
            labels,
            mode="markers",
            marker={"size": 9, "symbol": [MARKER_SYMBOLS[index] + "-open" * (not is_whole(row, slug)) for row in rows]},
            text=compared[index],
            hovertemplate="%{y}: %{x:.3~g}, %{text}",
        )
        for index, slug in enumerate(slugs)
    ]
    columns = (
        "workload",
        *(f"speed of {names.get(slug, slug)}" for slug in slugs),
        *(f"{names.get(slug, slug)} compared" for slug in slugs[1:]),
        "fastest whole machine",
    )
    return Chart(
        "speed",
        f"Speed relative to {base}",
        f"Each dot is a workload: the shortest time on {base} divided by the shortest time on the other machine. Above "
        "1 the other is faster. Open dots compare the times at the largest common n, because one of the two was not "
        "measured on every core.",
        figure(
            traces,
            "workload",
            hovermode="closest",
            x_axis={"title": {"text": "speed (ratio)"}}
            | logarithmic_ticks([*(speed for of in speeds for speed in of if np.isfinite(speed)), 1.0], few=True),
            autorange="reversed",
            type="category",
            tickvals=named,
            ticktext=shortened_labels(named),
        ),
        Table(
            columns,
            [
                (
                    label,
                    *(of[place] for of in speeds),
                    *(of[place] for of in compared[1:]),
                    names.get(workload.winner or "", workload.winner),
                )
                for place, (label, workload) in enumerate(zip(labels, workloads, strict=True))
            ],
        ),
        tall=len(labels) > 14,
    )


def shown_speed(profile: ProfileSummary | None) -> float:
    """Return the speed of whole machines, else the speed at an equal n, else NaN."""
    if profile is None:
        return np.nan
    return profile.speed if profile.compared == "whole" else profile.speed_at_equal_n


def is_whole(row: Mapping[str, ProfileSummary], slug: str) -> bool:
    return slug not in row or row[slug].compared == "whole"


def compared_words(profile: ProfileSummary | None, equal_n: int | None) -> str:
    """Return how a platform is compared with the first one on a workload."""
    if profile is None:
        return "not measured"
    return {
        "whole": "whole machines",
        "equal_n": f"both at n = {equal_n}",
        "no_common_n": "no common n",
        "not_on_first": "not measured on the first",
    }[profile.compared]


def characteristic_charts(
    labels: Sequence[str], series: Mapping[str, Sequence[Mapping[str, float] | None]]
) -> list[Chart]:
    """Return one chart per parameter, as in Figure 9 of the paper, with one group of bars per label and one bar per
    series (a platform). The bars are horizontal, so that long names can be read on a narrow screen."""
    charts = []
    for place, (element, (title, axis)) in enumerate(COMPARED_CHARACTERISTICS.items()):
        values = {name: [row[element] if row else np.nan for row in rows] for name, rows in series.items()}
        if not np.isfinite(np.array(list(values.values()), dtype=float)).any():
            continue
        style = {"type": "bar", "orientation": "h", "hovertemplate": "%{y}: %{x:.4~g}"}
        traces = [
            trace(name, f"series-{index % SERIES_COLOURS}", plot_numbers(heights), labels, **style)
            for index, (name, heights) in enumerate(values.items())
        ]
        charts.append(
            Chart(
                f"characteristic-{place}",
                title,
                f"{axis[0].upper()}{axis[1:]}: the element {element} of the feature vectors.",
                figure(
                    traces,
                    "workload",
                    hovermode="closest",
                    showlegend=len(series) > 1,
                    x_axis={"title": {"text": axis}},
                    type="category",
                    autorange="reversed",
                ),
                Table(("workload", *values), list(zip(labels, *values.values(), strict=True))),
                tall=len(labels) * len(series) > BARS_IN_A_LOW_FIGURE,
            )
        )
    return charts
