"""Time against cost of one workload on many platforms. Pure functions, as in profiles.figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from profiles.figures import Chart, Table, Trace, figure, logarithmic_ticks, shortened_label, trace
from profiles.figures.base import PlotlyMarkup

POINTS_DRAWN = 3000
LEAST_SHOWN_COST = 0.01
RUNS_PRICED = {1: "run", 10**3: "1,000 runs", 10**6: "million runs", 10**9: "billion runs"}
MOST_NAMED = 7  # points of the edge with their names


def priced(costs: Iterable[float | None], unit: str, currency: str) -> tuple[float, str]:
    """What the cost of a run is multiplied by to be shown, and the title of the product: the cost of so many runs that
    the least is no tiny number. Where times are in an unknown unit only ratios mean something, and the least is 1.

    >>> priced([1.2e-5, 3.0, None], "s", "USD"), priced([0.5], "s", "USD"), priced([], "s", "USD")
    ((1000, 'USD per 1,000 runs'), (1, 'USD per run'), (1, 'USD per run'))
    >>> priced([0.25, 3.0], "unknown unit", "USD")
    (4.0, 'cost relative to the least')
    """
    least = min((cost for cost in costs if cost), default=1.0)
    if unit != "s":
        return 1 / least, "cost relative to the least"
    runs = next((runs for runs in RUNS_PRICED if least * runs >= LEAST_SHOWN_COST), max(RUNS_PRICED))
    return runs, f"{currency} per {RUNS_PRICED[runs]}"


def cost_charts(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], unit: str) -> list[Chart]:
    """Every machine with a known price, and the line of those that none beats in both; nothing where there are no
    two prices. Where there are more than POINTS_DRAWN, those on the line and the first others are drawn."""
    known = [row for row in rows if row["pareto"] is not None and row["cost"] > 0]
    if len(known) < 2:
        return []
    factor, cost = priced((row["cost"] for row in known), unit, known[0]["currency"])
    best = sorted((row for row in known if row["pareto"]), key=lambda row: row["time_s"])
    others = [row for row in known if not row["pareto"]][:POINTS_DRAWN]
    # Names stand at the points of the edge, below them, where no machine is: at all of a few, else at some that are
    # evenly spaced.
    step = -(-len(best) // MOST_NAMED)
    labels = [shortened_label(names[row["platform"]]) if at % step == 0 else "" for at, row in enumerate(best)]
    traces = [
        _cost_trace(
            "other machines", "muted", others, names, factor, mode="markers", marker={"size": 6, "opacity": 0.6}
        ),
        _cost_trace(
            "no machine is faster and cheaper",
            "predicted",
            best,
            names,
            factor,
            mode="lines+markers+text",
            marker={"size": 9},
            text=labels,
            textposition=["top right", *["bottom left"] * (len(best) - 1)],
            cliponaxis=False,
        ),
    ]
    return [
        Chart(
            "cost",
            "Time and cost of a run",
            f"Each point is a machine; to the left is faster, below is cheaper. {len(known)} of {len(rows)} machines "
            "have a price. On the line are those that no other beats in both.",
            figure(
                traces,
                cost,
                hovermode="closest",
                x_axis={
                    "title": {"text": f"predicted time ({unit})"},
                    **logarithmic_ticks([row["time_s"] for row in known]),
                    "range": range_with_room([row["time_s"] for row in known]),
                },
                **logarithmic_ticks([row["cost"] * factor for row in known]),
            ),
            Table(
                ("machine", "n", f"time ({unit})", cost, f"price per hour ({known[0]['currency']})"),
                [
                    (names[row["platform"]], row["n_best"], row["time_s"], row["cost"] * factor, row["price"])
                    for row in best
                ],
            ),
        )
    ]


def range_with_room(times: Sequence[float]) -> list[float]:
    """Of a logarithmic axis, with room for names before the first point.

    >>> range_with_room([1.0, 10.0, 100.0])
    [-0.3, 2.1]
    """
    first, last = math.log10(min(times)), math.log10(max(times))
    span = max(last - first, 0.1)
    return [first - 0.15 * span, last + 0.05 * span]


def _cost_trace(
    name: str, colour: str, rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], factor: float, **style: Any
) -> Trace:
    return trace(
        name,
        colour,
        [row["time_s"] for row in rows],
        [row["cost"] * factor for row in rows],
        **{"text": [names[row["platform"]] for row in rows]} | style,
        customdata=[names[row["platform"]] for row in rows],
        hovertemplate=PlotlyMarkup("%{customdata}: %{x:.4~g}, %{y:.4~g}<extra></extra>"),
    )
