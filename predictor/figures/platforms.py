"""Figures of platforms: rankings and t(1) with one interval per platform, programs by part, time against cost, and the
scale of the interval bars in a table. Pure functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictor.core.arrays import sampled
from predictor.figures.answer import answer_origin, measured_label
from profiles.arrays import FloatArray, IntArray
from profiles.figures.axes import logarithmic_ticks, shortened_label, shortened_labels
from profiles.figures.base import (
    SERIES_COLOURS,
    Chart,
    PlotlyMarkup,
    Table,
    Trace,
    figure,
    plot_numbers,
    stacked,
    table,
    trace,
)

MOST_DOTS = 60  # dots that are distinguishable in one figure
FEW_DOTS = 14
MOST_PARTS_DRAWN = SERIES_COLOURS - 1  # each with its own colour; the others are one band
OTHER_REGIONS = "other regions"
POINTS_DRAWN = 3000  # in the cost chart
LEAST_SHOWN_COST = 0.01
RUNS_PRICED = {1: "run", 10**3: "1,000 runs", 10**6: "million runs", 10**9: "billion runs"}
MOST_NAMED = 7  # points on the line in the cost chart with a label


@dataclass(frozen=True)
class PlatformTime:
    """A platform with its predicted time, its measured time, or both. NaN means unknown."""

    name: str
    slug: str
    time_s: float = np.nan
    low_s: float = np.nan
    high_s: float = np.nan
    measured_s: float = np.nan
    n: int | None = None

    @classmethod
    def of(
        cls, name: str, slug: str, predicted: Mapping[str, Any], measured_s: float | None, n: int | None
    ) -> PlatformTime:
        """Return the row from plain JSON values, in which null means unknown."""
        time_s, low_s, high_s = (nan_for_none(predicted.get(part)) for part in ("time_s", "low_s", "high_s"))
        return cls(name, slug, time_s, low_s, high_s, nan_for_none(measured_s), n)


def nan_for_none(value: float | None) -> float:
    return np.nan if value is None else value


def sequential_charts(answer: Mapping[str, Any], names: Mapping[str, str], time_unit: str) -> list[Chart]:
    """Return the chart of an answer that is t(1) alone, with the single-thread times on the reference machines."""
    (point,) = answer["curve"]
    if point["time_s"] is None:
        return []
    label = measured_label(answer_origin(answer))
    measured = answer.get("measured") or {}
    target = answer["target"]
    elsewhere = [
        (reference["platform"], first["time_s"])
        for reference in answer["reference_curves"]
        for first in reference["curve"][:1]
        if first["n"] == 1
    ]
    rows = [
        PlatformTime.of(names.get(target, target), target, point, measured.get("t1_s"), 1),
        *(PlatformTime.of(names.get(slug, slug), slug, {}, time_s, 1) for slug, time_s in elsewhere),
    ]
    return [
        dot_chart(
            "first-time",
            "Time with one thread",
            f"The predicted t(1) with its interval, and the times {label} on the reference machines.",
            rows,
            axis=f"time t(1) ({time_unit})",
            measured=label,
        )
    ]


def dot_trace(name: str, colour: str, labels: Sequence[str], values: Sequence[float], **style: Any) -> Trace:
    finite = [index for index, value in enumerate(values) if np.isfinite(value)]
    return trace(
        name,
        colour,
        plot_numbers([values[index] for index in finite]),
        [labels[index] for index in finite],
        mode="markers",
        hovertemplate="%{y}: %{x:.4~g}",
        **style,
    )


def interval_bars(rows: Sequence[PlatformTime]) -> dict[str, Any]:
    """Return the bars from low to high around the predicted times; empty if no platform has an interval."""
    predicted = [row for row in rows if np.isfinite(row.time_s)]
    if not any(np.isfinite(row.low_s) and np.isfinite(row.high_s) for row in predicted):
        return {}
    upper = np.nan_to_num([row.high_s - row.time_s for row in predicted])
    lower = np.nan_to_num([row.time_s - row.low_s for row in predicted])
    return {
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": plot_numbers(upper),
            "arrayminus": plot_numbers(lower),
            "thickness": 3,
            "width": 0,
        }
    }


def dot_chart(
    name: str, title: str, caption: str, rows: Sequence[PlatformTime], *, axis: str, measured: str = "measured"
) -> Chart:
    """Return the chart of the first `MOST_DOTS` rows, from top to bottom in the given order. Its table has all rows."""
    # Add the slug to names that several platforms have.
    count = Counter(row.name for row in rows)
    labels = [row.name if count[row.name] == 1 else f"{row.name} ({row.slug})" for row in rows]
    labels_drawn, rows_drawn = labels[:MOST_DOTS], rows[:MOST_DOTS]
    values = [value for row in rows_drawn for value in (row.time_s, row.low_s, row.high_s, row.measured_s)]
    times, measured_s = [row.time_s for row in rows_drawn], [row.measured_s for row in rows_drawn]
    traces = [dot_trace("predicted", "predicted", labels_drawn, times, marker={"size": 9}, **interval_bars(rows_drawn))]
    if np.isfinite(measured_s).any():
        traces.append(
            dot_trace(measured, "measured", labels_drawn, measured_s, marker={"size": 9, "symbol": "diamond"})
        )
    columns = ("machine", "predicted", "low", "high", measured, "threads n")
    return Chart(
        name,
        title,
        caption + (f" The first {MOST_DOTS} of {len(rows)}." if len(rows) > MOST_DOTS else ""),
        figure(
            traces,
            "machine",
            hovermode="closest",
            title={"text": "machine", "standoff": 14},
            x_axis={"title": {"text": axis}} | logarithmic_ticks(values, few=True),
            type="category",
            categoryorder="array",
            categoryarray=labels_drawn[::-1],
            tickvals=labels_drawn,
            ticktext=shortened_labels(labels_drawn),
        ),
        Table(
            columns,
            [
                (label, row.time_s, row.low_s, row.high_s, row.measured_s, row.n)
                for label, row in zip(labels, rows, strict=True)
            ],
        ),
        tall=len(rows_drawn) > FEW_DOTS,
    )


@dataclass(frozen=True)
class IntervalScale:
    """The ends of the logarithmic scale on which all interval bars of one table are drawn."""

    low: float
    high: float

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> IntervalScale | None:
        """Return the scale from the least low to the largest high of the rows, with a small margin; None without
        intervals."""
        bounds = [row[name] for row in rows for name in ("low_s", "time_s", "high_s") if has_interval(row)]
        return cls(min(bounds) / 1.02, max(bounds) * 1.02) if bounds else None

    def percent(self, value: float) -> str:
        """Return the position of the value on the scale.

        >>> IntervalScale(1.0, 100.0).percent(10.0)
        '50.0%'
        """
        return f"{100 * math.log(value / self.low) / math.log(self.high / self.low):.1f}%"


def has_interval(row: Mapping[str, Any]) -> bool:
    return bool(row["time_s"] and row["low_s"] and row["high_s"] and row["low_s"] > 0)


@dataclass(frozen=True)
class ProgramPart:
    """A part of the program, with its times at the n of the drawing."""

    label: str
    time_s: FloatArray


def program_chart(n: IntArray, parts: Sequence[ProgramPart], caption: str) -> Chart:
    """Return the chart of the program's t(n) on one machine, with stacked parts. `n` has shape (J,), as the parts'
    times."""
    drawn = merge_small_parts(parts)
    traces = stacked(n, {part.label: (f"series-{index}", part.time_s) for index, part in enumerate(drawn)})
    whole = np.sum([part.time_s for part in parts], axis=0)
    columns = {"n": n, **{f"{part.label} (s)": part.time_s for part in parts}, "program (s)": whole}
    return Chart(
        "program",
        "Where the program’s time goes",
        caption,
        figure(traces, "time t(n) (s)", rangemode="tozero"),
        Table(tuple(columns), table(columns).rows),
    )


def merge_small_parts(parts: Sequence[ProgramPart]) -> list[ProgramPart]:
    """Return the parts with the longest sums over n, in the given order, and the others as one part."""
    if len(parts) <= MOST_PARTS_DRAWN + 1:
        return list(parts)
    by_time = sorted(range(len(parts)), key=lambda index: -float(parts[index].time_s.sum()))
    longest = set(by_time[:MOST_PARTS_DRAWN])
    others = np.sum([part.time_s for index, part in enumerate(parts) if index not in longest], axis=0)
    large = [part for index, part in enumerate(parts) if index in longest]
    return [*large, ProgramPart(OTHER_REGIONS, others)]


def priced(costs: Iterable[float | None], unit: str, currency: str) -> tuple[float, str]:
    """Return the factor by which costs of a run are multiplied for display, and the title of the product.

    The product is the cost of so many runs that the least cost is not tiny. If the unit of times is unknown, only
    ratios are meaningful, and the least cost is 1.

    >>> priced([1.2e-5, 3.0, None], "s", "USD"), priced([0.5], "s", "USD"), priced([], "s", "USD")
    ((1000, 'USD per 1,000 runs'), (1, 'USD per run'), (1, 'USD per run'))
    >>> priced([0.25, 3.0], "unknown unit", "USD")
    (4.0, 'cost relative to the lowest')
    """
    least = min((cost for cost in costs if cost), default=1.0)
    if unit != "s":
        return 1 / least, "cost relative to the lowest"
    runs = next((runs for runs in RUNS_PRICED if least * runs >= LEAST_SHOWN_COST), max(RUNS_PRICED))
    return runs, f"{currency} per {RUNS_PRICED[runs]}"


def cost_charts(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], unit: str) -> list[Chart]:
    """Return the chart of time and cost of all machines with a known price, with a line through those that no other
    machine beats in both. Empty if fewer than two machines have a price.

    Of the machines that are not on the line, only the first POINTS_DRAWN are drawn.
    """
    known = [row for row in rows if row["pareto"] is not None and row["cost"] > 0]
    if len(known) < 2:
        return []
    factor, cost = priced((row["cost"] for row in known), unit, known[0]["currency"])
    best = sorted((row for row in known if row["pareto"]), key=lambda row: row["time_s"])
    others = [row for row in known if not row["pareto"]][:POINTS_DRAWN]
    # Label the points on the line: all if they are few, else some that are evenly spaced. The labels are below the
    # points, where there is no machine.
    named = {row["platform"] for row in sampled(best, MOST_NAMED)}
    labels = [shortened_label(names[row["platform"]]) if row["platform"] in named else "" for row in best]
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
            "have a price. The line is the Pareto front.",
            figure(
                traces,
                cost,
                hovermode="closest",
                x_axis={
                    "title": {"text": f"predicted time ({unit})"},
                    **logarithmic_ticks([row["time_s"] for row in known]),
                    "range": padded_range([row["time_s"] for row in known]),
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


def padded_range(times: Sequence[float]) -> list[float]:
    """Return the range of a logarithmic axis, with room for names before the first point.

    >>> padded_range([1.0, 10.0, 100.0])
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
