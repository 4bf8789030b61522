"""The ceilings of a machine on logarithmic axes, and where its workloads lie below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from profiles.figures.base import Chart, Table, figure, plot_numbers, series_style
from profiles.scaling.roofline import Placed, Roof, Roofline

REACH = 16.0  # how far the axis goes beyond the ridges


def roofline_chart(roofline: Roofline, placed: Sequence[Placed] = ()) -> Chart | None:
    """None where no roof was measured."""
    roofs = roofline.drawn
    if not roofs:
        return None
    intensities = [roof.ridge for roof in roofs] + [one.intensity for one in placed]
    low, high = min(intensities) / REACH, max(intensities) * REACH
    traces = [roof_trace(roof, index, low, high) for index, roof in enumerate(roofs)]
    if placed:
        traces.append(points_trace(placed))
    axis: dict[str, Any] = {"type": "log", "exponentformat": "SI", "dtick": 1}
    caption = "What the machine can reach at most: memory bandwidth on the left of a bend, arithmetic on its right."
    if placed:
        caption += (
            " Points are workloads by their instructions, for lack of counted flop: how far one lies below the slanted "
            "roof is how much of the bandwidth it leaves, whatever is counted; the flat roof does not bound them."
        )
    return Chart(
        "roofline",
        "Roofline",
        caption,
        figure(
            traces,
            "attainable rate (flop/s)",
            hovermode="closest",
            x_axis={
                "title": {"text": "operational intensity (flop/byte)"},
                "range": list(np.log10([low, high])),
                **axis,
            },
            **axis,
        ),
        roofline_table(roofs, placed),
    )


def roof_trace(roof: Roof, index: int, low: float, high: float) -> go.Scatter:
    colour, dash = series_style(index)
    x = [low, roof.ridge, high]
    return go.Scatter(
        name=threads(roof.n),
        x=plot_numbers(x),
        y=plot_numbers([roof.at(one) for one in x]),
        mode="lines",
        line={"width": 2, "dash": dash},
        meta={"colour": colour},
        hovertemplate="%{x:.3~g} flop/byte: %{y:.3~s}flop/s",
    )


def points_trace(placed: Sequence[Placed]) -> go.Scatter:
    return go.Scatter(
        name="workloads, by instructions",
        x=plot_numbers([one.intensity for one in placed]),
        y=plot_numbers([one.rate for one in placed]),
        text=[f"{one.name}, {threads(one.n)}" for one in placed],
        mode="markers",
        marker={"size": 8, "symbol": "circle-open"},
        meta={"colour": "measured"},
        hovertemplate="%{text}: %{x:.3~g} per byte, %{y:.3~s}/s",
    )


def threads(n: int) -> str:
    return "1 thread" if n == 1 else f"{n} threads"


def roofline_table(roofs: Sequence[Roof], placed: Sequence[Placed]) -> Table:
    columns = ("of", "operations per byte", "operations per second", "bytes per second")
    rows: list[tuple[Any, ...]] = [
        (f"roof of {threads(roof.n)}, at its bend", roof.ridge, roof.flop_per_s, roof.bytes_per_s) for roof in roofs
    ]
    rows += [(f"{one.name}, {threads(one.n)}", one.intensity, one.rate, one.rate / one.intensity) for one in placed]
    return Table(columns, rows)
