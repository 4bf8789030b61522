"""Time against cost of one workload on many platforms. Pure functions, as in profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from profiles.figures import Chart, Table, Trace, figure, logarithmic_ticks, trace
from profiles.figures.base import PlotlyMarkup

POINTS_DRAWN = 3000


def cost_charts(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], unit: str) -> list[Chart]:
    """Every platform whose price is known, and the line of those that none beats in both; nothing where there are no
    two prices. Where there are more than POINTS_DRAWN, those on the line and the first others are drawn."""
    known = [row for row in rows if row["pareto"] is not None and row["cost"] > 0]
    if len(known) < 2:
        return []
    best = sorted((row for row in known if row["pareto"]), key=lambda row: row["time_s"])
    others = [row for row in known if not row["pareto"]][:POINTS_DRAWN]
    currency = known[0]["currency"]
    traces = [
        _cost_trace("other platforms", "muted", others, names, mode="markers", marker={"size": 6, "opacity": 0.6}),
        _cost_trace("none is faster and cheaper", "predicted", best, names, mode="lines+markers", marker={"size": 9}),
    ]
    columns = ("platform", "n", f"time ({unit})", f"cost of a run ({currency})", f"price per hour ({currency})")
    return [
        Chart(
            "cost",
            "Time and cost of a run",
            f"Each point is a platform; to the left is faster, below is cheaper. {len(known)} of {len(rows)} platforms "
            "have a price. On the line are those that no other beats in both.",
            figure(
                traces,
                f"cost of a run ({currency})",
                hovermode="closest",
                x_axis={
                    "title": {"text": f"predicted time ({unit})"},
                    **logarithmic_ticks([row["time_s"] for row in known]),
                },
                **logarithmic_ticks([row["cost"] for row in known]),
            ),
            Table(
                columns,
                [(names[row["platform"]], row["n_best"], row["time_s"], row["cost"], row["price"]) for row in best],
            ),
        )
    ]


def _cost_trace(
    name: str, colour: str, rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], **style: Any
) -> Trace:
    return trace(
        name,
        colour,
        [row["time_s"] for row in rows],
        [row["cost"] for row in rows],
        text=[names[row["platform"]] for row in rows],
        hovertemplate=PlotlyMarkup("%{text}: %{x:.4~g}, %{y:.4~g}<extra></extra>"),
        **style,
    )
