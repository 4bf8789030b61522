"""Comparison charts of one workload on several platforms, or of several workloads on one platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiles.arrays import FloatArray
from profiles.figures.axes import SPEEDUP, logarithmic_ticks, range_around, speedup_axis
from profiles.figures.base import (
    FEW_POINTS,
    MOST_LINES,
    Chart,
    MeasuredCurve,
    Table,
    Trace,
    figure,
    ideal_line,
    plot_numbers,
    scatter,
    series_style,
    speedup_of,
)


@dataclass(frozen=True)
class Measure:
    """A quantity computed from t(n). `value` needs t(1) if `from_t1`."""

    title: str
    caption: str
    axis: str
    value: Callable[[MeasuredCurve], FloatArray]
    from_t1: bool = False


DRAWN_MEASURES = {
    "time": Measure("Time", "Wall time, on a logarithmic scale.", "time t(n) ({unit})", lambda c: c.time_s),
    "speedup": Measure("Speedup", "Dashed: the ideal speedup n.", SPEEDUP, speedup_of, from_t1=True),
    "efficiency": Measure(
        "Parallel efficiency",
        "Speedup over n: the share of the ideal that n threads reach.",
        "efficiency t(1)/(n·t(n)) (%)",
        lambda curve: 100 * speedup_of(curve) / curve.n,
        from_t1=True,
    ),
    "cost": Measure(
        "Cost per core",
        "Thread time n·t(n), the cost of a run if cores are paid by the second; on a logarithmic scale. A flat line "
        "is a perfect speedup.",
        "thread time n·t(n) ({unit})",
        lambda curve: curve.n * curve.time_s,
    ),
}


def comparison_charts(
    curves: Sequence[MeasuredCurve], time_unit: str = "s", measures: Sequence[str] = ("time", "speedup")
) -> list[Chart]:
    """Return charts that compare the curves, with one line per curve in its `series_style` and its name at the end.

    The lines after the first MOST_LINES are drawn on demand. The data tables have one row per curve. Curves with one
    point are left out.
    """
    numbered = [(index, curve) for index, curve in enumerate(curves) if len(curve.n) > 1]
    charts = [comparison_chart(numbered, name, time_unit) for name in measures]
    return [chart for chart in charts if chart]


def comparison_chart(numbered: Sequence[tuple[int, MeasuredCurve]], name: str, time_unit: str) -> Chart | None:
    measure = DRAWN_MEASURES[name]
    numbered = [(index, curve) for index, curve in numbered if curve.t1_s or not measure.from_t1]
    if not numbered:
        return None
    values = np.concatenate([measure.value(curve) for _, curve in numbered])
    widest = max((curve.n for _, curve in numbered), key=lambda n: n.max())
    traces = [
        comparison_line(index, curve, measure.value(curve)) | ({} if place < MOST_LINES else {"visible": False})
        for place, (index, curve) in enumerate(numbered)
    ]
    axis: dict[str, Any] = {"range": range_around([100, *values])}
    if name == "speedup":
        traces.insert(0, ideal_line(widest))
        axis = speedup_axis(widest, values)
    elif name != "efficiency":
        axis = logarithmic_ticks(values)
    return Chart(
        name,
        measure.title,
        measure.caption,
        figure(traces, measure.axis.format(unit=time_unit), hovermode="closest", **axis),
        comparison_table([curve for _, curve in numbered], measure.value),
    )


def comparison_line(index: int, curve: MeasuredCurve, y: FloatArray) -> Trace:
    colour, dash = series_style(index)
    if len(curve.n) <= FEW_POINTS:
        return scatter(curve.label, colour, curve.n, y, mode="markers", marker={"size": 9})
    style: dict[str, Any] = {"marker": {"size": 5}, "line": {"width": 1.8, "dash": dash}}
    return scatter(curve.label, colour, curve.n, y, mode="lines+markers", **style)


def comparison_table(curves: Sequence[MeasuredCurve], value: Callable[[MeasuredCurve], FloatArray]) -> Table:
    counts = sorted({int(n) for curve in curves for n in curve.n})
    rows = []
    for curve in curves:
        value_of = dict(zip(curve.n.tolist(), plot_numbers(value(curve)), strict=True))
        rows.append((curve.label, *(value_of.get(n) for n in counts)))
    return Table(("curve", *(f"n = {n}" for n in counts)), rows)
