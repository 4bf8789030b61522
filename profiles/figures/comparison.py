"""One workload on several platforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from profiles.figures.base import (
    SPEEDUP,
    Chart,
    MeasuredCurve,
    Table,
    figure,
    ideal_line,
    logarithmic_ticks,
    numbers,
    room_for_speedup,
    scatter,
    series_style,
    speedup_of,
)
from profiles.measurements import FloatArray


def comparison_charts(curves: Sequence[MeasuredCurve], time_unit: str = "s") -> list[Chart]:
    """t(n) and speedup of one workload on several platforms, a line each in its `series_style`; no legend, because
    the names are long and stand in a table beside. The data table has a row a platform."""
    drawn = [(index, curve) for index, curve in enumerate(curves) if len(curve.n) > 1]
    if not drawn:
        return []
    style: dict[str, Any] = {"hovermode": "closest", "showlegend": False}
    times = np.concatenate([curve.time_s for _, curve in drawn])
    with_t1 = [(index, curve) for index, curve in drawn if curve.t1_s]
    speedups = np.concatenate([speedup_of(curve) for _, curve in with_t1] or [np.ones(1)])
    widest = max((curve.n for _, curve in drawn), key=lambda n: n.max())
    return [
        Chart(
            "time",
            "Time",
            "Measured wall time on each platform, on a logarithmic scale. The colours are those of the table below.",
            figure(
                [comparison_line(index, curve, curve.time_s) for index, curve in drawn],
                f"time t(n) ({time_unit})",
                **style,
                **logarithmic_ticks(times),
            ),
            comparison_table([curve for _, curve in drawn], lambda curve: curve.time_s),
        ),
        Chart(
            "speedup",
            "Speedup",
            "Measured speedup on each platform; dashed, the ideal speedup n.",
            figure(
                [ideal_line(widest), *(comparison_line(index, curve, speedup_of(curve)) for index, curve in with_t1)],
                SPEEDUP,
                **style,
                range=room_for_speedup(widest, speedups),
            ),
            comparison_table([curve for _, curve in with_t1], speedup_of),
        ),
    ]


def comparison_line(index: int, curve: MeasuredCurve, y: FloatArray) -> go.Scatter:
    colour, dash = series_style(index)
    style: dict[str, Any] = {"marker": {"size": 5}, "line": {"width": 1.8, "dash": dash}}
    return scatter(curve.label, colour, curve.n, y, mode="lines+markers", **style)


def comparison_table(curves: Sequence[MeasuredCurve], value: Any) -> Table:
    counts = sorted({int(n) for curve in curves for n in curve.n})
    rows = []
    for curve in curves:
        at = dict(zip(curve.n.tolist(), numbers(value(curve)), strict=True))
        rows.append((curve.label, *(at.get(n) for n in counts)))
    return Table(("platform", *(f"n = {n}" for n in counts)), rows)
