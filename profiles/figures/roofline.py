"""Roofline chart: the ceilings of a machine on logarithmic axes, and the points of its workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from profiles.figures.base import Chart, Table, Trace, figure, plot_numbers, series_style, trace
from profiles.scaling.roofline import Roofline, RooflinePoint

REACH = 16.0  # factor by which the axis extends beyond the ridges


def roofline_chart(roofline: Roofline, points: Sequence[RooflinePoint]) -> Chart | None:
    """Return the roofline chart, or None if no roof was measured."""
    roofs = roofline.drawn
    if not roofs:
        return None
    intensities = [roof.ridge for roof in roofs] + [point.intensity for point in points]
    low, high = min(intensities) / REACH, max(intensities) * REACH
    traces: list[Trace] = []
    rows: list[tuple[Any, ...]] = []
    for index, roof in enumerate(roofs):
        colour, dash = series_style(index)
        x = [low, roof.ridge, high]
        style = {"mode": "lines", "line": {"width": 2, "dash": dash}}
        hover = "%{x:.3~g} flop/byte: %{y:.3~s}flop/s"
        rates = plot_numbers([roof.at(intensity) for intensity in x])
        traces.append(trace(thread_label(roof.n), colour, plot_numbers(x), rates, hovertemplate=hover, **style))
        rows.append((f"roof of {thread_label(roof.n)}, at its bend", roof.ridge, roof.flop_per_s, roof.bytes_per_s))
    caption = "Maximum rates of the machine: memory bandwidth left of the bend, arithmetic right of it."
    if points:
        names = [f"{point.name}, {thread_label(point.n)}" for point in points]
        traces.append(
            trace(
                "workloads, by instructions",
                "measured",
                plot_numbers([point.intensity for point in points]),
                plot_numbers([point.rate for point in points]),
                text=names,
                mode="markers",
                marker={"size": 8, "symbol": "circle-open"},
                hovertemplate="%{text}: %{x:.3~g} per byte, %{y:.3~s}/s",
            )
        )
        rows += [
            (name, point.intensity, point.rate, point.rate / point.intensity)
            for name, point in zip(names, points, strict=True)
        ]
        caption += (
            " Points are workloads by their instructions, for lack of counted flop: how far one lies below the slanted "
            "roof is how much of the bandwidth it leaves, whatever is counted; the flat roof does not bound them."
        )
    axis: dict[str, Any] = {"type": "log", "dtick": 1}
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
        Table(("of", "operations per byte", "operations per second", "bytes per second"), rows),
    )


def thread_label(n: int) -> str:
    return "1 thread" if n == 1 else f"{n} threads"
