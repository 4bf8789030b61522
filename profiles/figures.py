"""Dataclass -> Plotly figure. Pure: no Django, no colours (a trace names its own in meta; charts.js looks it up)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from profiles.measurements import FloatArray, IntArray
from profiles.scaling.curves import evaluate_curves
from profiles.scaling.names import CURVE_NAMES, FRACTIONS, GAUSSIAN_SUM, SCALING_PARTS
from profiles.scaling.runs import ScalingCurves
from profiles.scaling.times import reconstruct

THREADS = "threads n (count)"
SPEEDUP = "speedup t(1)/t(n) (ratio)"
COLOUR_OF_PART = dict(
    zip(
        SCALING_PARTS,
        ("redundancy", "lock", "imbalance", "creation", "distribution", "switching", "join"),
        strict=True,
    )
)


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: list[tuple]


@dataclass(frozen=True)
class Chart:
    """One figure, what to read in it, and the same numbers as a table. `name` is its id on the page."""

    name: str
    title: str
    caption: str
    figure: go.Figure
    table: Table

    @property
    def json(self) -> dict[str, Any]:
        return self.figure.to_plotly_json()


@dataclass(frozen=True)
class Breakpoints:
    """Thread counts beyond which a second NUMA node / hyperthreads are used; None = no such effect."""

    n_nu: int | None = None
    n_ht: int | None = None


@dataclass(frozen=True)
class ProfileDrawing:
    """What the figures of one profile need; `features`: 84 elements, NaN invalid, or None (nothing fitted)."""

    curves: ScalingCurves
    features: FloatArray | None
    breakpoints: Breakpoints

    def fitted(self, n: IntArray) -> FloatArray:
        """The seven scaling curves of Eq. 5-7 at n: (7, len(n)), NaN where nothing was fitted."""
        if self.features is None:
            return np.full((len(SCALING_PARTS), len(n)), np.nan)
        parts = len(SCALING_PARTS)
        elements = np.reshape(self.features, (len(CURVE_NAMES), -1))[:parts]
        return evaluate_curves(elements, n, self.breakpoints.n_nu, self.breakpoints.n_ht, GAUSSIAN_SUM[:parts])

    def fitted_speedup(self, n: IntArray) -> FloatArray:
        """t(1)/t(n) of the fitted curves (Eq. 3-4), kept possible as in a prediction."""
        curves = self.fitted(n)
        return 1 / reconstruct(1.0, curves[0], curves[1:] if self.curves.decomposed else None, n).time_s

    @property
    def speedup(self) -> FloatArray:
        return self.curves.t1_s / self.curves.time_s

    @property
    def line_n(self) -> IntArray:
        return thread_counts(self.curves.n)


@dataclass(frozen=True)
class MeasuredCurve:
    """t(n) of one profile, under the name that tells it from its neighbours in the figure."""

    label: str
    n: IntArray
    time_s: FloatArray
    t1_s: float | None


def thread_counts(n: IntArray, at_most: int = 200) -> IntArray:
    """Every thread count from the smallest to the largest measured one, thinned evenly where there are many.

    >>> thread_counts(np.array([1, 4])).tolist()
    [1, 2, 3, 4]
    """
    low, high = int(n.min()), int(n.max())
    return np.unique(np.linspace(low, high, min(high - low + 1, at_most)).round().astype(np.int64))


def numbers(values: Any) -> list[float | None]:
    """A list that JSON can carry: NaN and infinity are gaps."""
    return [None if not np.isfinite(value) else float(value) for value in np.asarray(values, dtype=float)]


def table(columns: Mapping[str, Sequence | np.ndarray]) -> Table:
    return Table(
        tuple(columns),
        [
            (int(first), *(None if not np.isfinite(v) else float(v) for v in rest))
            for first, *rest in zip(*columns.values(), strict=True)
        ],
    )


def scatter(name: str, colour: str, x: Any, y: Any, *, unit: str = "", **style: Any) -> go.Scatter:
    return go.Scatter(
        name=name,
        x=[int(value) for value in x],
        y=numbers(y),
        meta={"colour": colour},
        hovertemplate=f"%{{y:.4~g}}{unit}",
        **style,
    )


def figure(
    traces: Sequence[go.Scatter],
    y_title: str,
    *,
    breakpoints: Breakpoints | None = None,
    hovermode: str = "x unified",
    **y_axis: Any,
) -> go.Figure:
    largest = max((max(trace.x) for trace in traces if len(trace.x)), default=1)
    drawn = go.Figure(data=list(traces))
    drawn.update_layout(
        template=go.layout.Template(),
        xaxis={"title": {"text": THREADS}, "range": [0, largest * 1.03], "tickformat": "d"},
        yaxis={"title": {"text": y_title}, **y_axis},
        hovermode=hovermode,
        margin={"l": 12, "r": 16, "t": 44, "b": 12},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )
    mark(drawn, breakpoints or Breakpoints(), largest)
    return drawn


def mark(drawn: go.Figure, breakpoints: Breakpoints, largest: int) -> None:
    """Vertical lines at the breakpoints that the figure reaches."""
    marks = ((breakpoints.n_nu, "NUMA", 16), (breakpoints.n_ht, "hyperthreads", 2))
    for n, label, height in marks:
        if n is not None and n < largest:
            drawn.add_vline(x=n, line={"dash": "dot", "width": 1.2}, layer="below")
            drawn.add_annotation(
                x=n,
                y=1,
                yref="paper",
                yshift=height,
                text=f"{label}: n > {n}",
                showarrow=False,
                xanchor="center",
                yanchor="bottom",
            )


def ideal_line(n: IntArray) -> go.Scatter:
    ends = [1, int(n.max())]
    return scatter("ideal", "ideal", ends, ends, mode="lines", line={"dash": "dash", "width": 1.5}, hoverinfo="skip")


def points(name: str, colour: str, x: Any, y: Any, **style: Any) -> go.Scatter:
    return scatter(name, colour, x, y, mode="markers", marker={"size": 7}, **style)


def line(name: str, colour: str, x: Any, y: Any, **style: Any) -> go.Scatter:
    return scatter(name, colour, x, y, mode="lines", line={"width": 2} | style.pop("line", {}), **style)


def speedup_chart(profile: ProfileDrawing) -> Chart:
    n, speedup = profile.curves.n, profile.speedup
    traces = [
        ideal_line(n),
        line("fitted, Eq. 5-7", "fitted", profile.line_n, profile.fitted_speedup(profile.line_n)),
        points("measured", "measured", n, speedup),
    ]
    columns = {
        "n": n,
        "time (s)": profile.curves.time_s,
        "speedup": speedup,
        "efficiency": speedup / n,
        "speedup, fitted": profile.fitted_speedup(n),
    }
    return Chart(
        "speedup",
        "Speedup",
        "Measured points, the curve that the fitted features stand for, and the ideal speedup n.",
        figure(traces, SPEEDUP, breakpoints=profile.breakpoints, rangemode="tozero"),
        table(columns),
    )


def shares_chart(profile: ProfileDrawing) -> Chart:
    return stacked_shares(
        profile.curves.n,
        {part: profile.curves.curve(part) for part in FRACTIONS},
        profile.breakpoints,
        title="Where the threads’ time goes",
        caption="Shares of the thread time n·t(n). Use is work done; the others are what Eq. 4 counts as lost.",
    )


def stacked_shares(
    n: IntArray, fractions: Mapping[str, FloatArray], breakpoints: Breakpoints, *, title: str, caption: str
) -> Chart:
    """The seven shares of the thread time n*t(n), stacked to 100 %: use = U(n), then Eq. 4's six fractions."""
    losses = {part: 100 * fraction for part, fraction in fractions.items()}
    shares = {"use": 100 - sum(losses.values())} | losses
    traces = [
        scatter(
            part.replace("_", " "),
            COLOUR_OF_PART.get(part, "use"),
            n,
            share,
            unit=" %",
            mode="lines",
            line={"width": 0.5},
            stackgroup="share",
        )
        for part, share in shares.items()
    ]
    return Chart(
        "shares",
        title,
        caption,
        figure(traces, "share of thread time (%)", breakpoints=breakpoints, range=[0, 100]),
        table({"n": n} | {f"{part.replace('_', ' ')} (%)": share for part, share in shares.items()}),
    )


def redundancy_chart(profile: ProfileDrawing) -> Chart:
    n = profile.curves.n
    at = profile.line_n
    traces = [
        line("fitted, Eq. 5-7", "fitted", at, profile.fitted(at)[0]),
        points("measured", "measured", n, profile.curves.redundancy),
    ]
    return Chart(
        "redundancy",
        "Redundancy",
        "R(n): the computing that n threads do together, over the computing that one thread does."
        if profile.curves.decomposed
        else "R(n) = n·t(n)/t(1). Only wall time was measured here, so that every loss counts as redundancy.",
        figure(traces, "redundancy R(n) (ratio)", breakpoints=profile.breakpoints, rangemode="tozero"),
        table({"n": n, "R(n)": profile.curves.redundancy, "R(n), fitted": profile.fitted(n)[0]}),
    )


def losses_chart(profile: ProfileDrawing) -> Chart:
    n, at = profile.curves.n, profile.line_n
    fitted_line, fitted = 100 * profile.fitted(at), 100 * profile.fitted(n)
    traces, columns = [], {"n": n}
    for row, part in enumerate(FRACTIONS, start=1):
        name, colour, measured = part.replace("_", " "), COLOUR_OF_PART[part], 100 * profile.curves.curve(part)
        traces.append(points(name, colour, n, measured, unit=" %", legendgroup=part))
        traces.append(line(f"{name}, fitted", colour, at, fitted_line[row], legendgroup=part, showlegend=False))
        columns |= {f"{name} (%)": measured, f"{name}, fitted (%)": fitted[row]}
    return Chart(
        "losses",
        "Losses, measured and fitted",
        "Points are measured, lines are the fitted curves of Eq. 5-7.",
        figure(
            traces,
            "share of thread time (%)",
            breakpoints=profile.breakpoints,
            hovermode="closest",
            rangemode="tozero",
        ),
        table(columns),
    )


def efficiency_chart(profile: ProfileDrawing) -> Chart:
    n, at = profile.curves.n, profile.line_n
    efficiency, fitted = 100 * profile.speedup / n, 100 * profile.fitted_speedup(at) / at
    traces = [
        line("fitted, Eq. 5-7", "fitted", at, fitted, unit=" %"),
        points("measured", "measured", n, efficiency, unit=" %"),
    ]
    return Chart(
        "efficiency",
        "Parallel efficiency",
        "Speedup over n: the share of the ideal that n threads reach.",
        figure(traces, "efficiency t(1)/(n·t(n)) (%)", breakpoints=profile.breakpoints, rangemode="tozero"),
        table({"n": n, "efficiency (%)": efficiency, "fitted (%)": 100 * profile.fitted_speedup(n) / n}),
    )


def profile_charts(profile: ProfileDrawing) -> list[Chart]:
    """The charts of a profile page, as in the paper's Figure 5; none for a sequential profile."""
    if len(profile.curves.n) < 2:
        return []
    if profile.curves.decomposed:
        return [chart(profile) for chart in (speedup_chart, shares_chart, redundancy_chart, losses_chart)]
    return [chart(profile) for chart in (speedup_chart, efficiency_chart, redundancy_chart)]


def logarithmic_ticks(values: Any) -> dict[str, Any]:
    """A log axis whose ticks 1, 2, 5, 10 ... carry their whole number.

    >>> logarithmic_ticks([0.4, 3.0])["ticktext"]
    ['0.5', '1', '2']
    """
    known = np.asarray([v for v in values if v and np.isfinite(v)], dtype=float)
    if not len(known):
        return {"type": "log"}
    low, high = known.min(), known.max()
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = (1, 2, 5) if np.log10(high / low) < 4 else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    inside = [tick for tick in ticks if low / 1.2 <= tick <= high * 1.2] or ticks
    return {"type": "log", "tickvals": inside, "ticktext": [f"{tick:g}" for tick in inside]}


def comparison_charts(curves: Sequence[MeasuredCurve], time_unit: str = "s") -> list[Chart]:
    """t(n) and speedup of one workload on several platforms, a line each; the table has a row a platform."""
    drawn = [curve for curve in curves if len(curve.n) > 1]
    if not drawn:
        return []
    with_t1 = [curve for curve in drawn if curve.t1_s]
    times = [value for curve in drawn for value in curve.time_s]
    style = {"hovermode": "closest"}
    time_lines = [comparison_line(i, curve, curve.time_s) for i, curve in enumerate(drawn)]
    charts = [
        Chart(
            "time",
            "Time",
            "Measured wall time on each platform.",
            figure(time_lines, f"time t(n) ({time_unit})", **style, **logarithmic_ticks(times)),
            comparison_table(drawn, lambda curve: curve.time_s),
        )
    ]
    if with_t1:
        largest = max(with_t1, key=lambda curve: curve.n.max()).n
        lines = [comparison_line(i, curve, curve.t1_s / curve.time_s) for i, curve in enumerate(with_t1)]
        charts.append(
            Chart(
                "speedup",
                "Speedup",
                "Measured speedup on each platform, and the ideal speedup n.",
                figure([ideal_line(largest), *lines], SPEEDUP, **style, rangemode="tozero"),
                comparison_table(with_t1, lambda curve: curve.t1_s / curve.time_s),
            )
        )
    return charts


def comparison_line(index: int, curve: MeasuredCurve, y: FloatArray) -> go.Scatter:
    dashes = ("solid", "dot", "dash")
    return scatter(
        curve.label,
        f"series-{index % 8}",
        curve.n,
        y,
        mode="lines+markers",
        marker={"size": 5},
        line={"width": 1.8, "dash": dashes[index // 8 % 3]},
    )


def comparison_table(curves: Sequence[MeasuredCurve], value: Any) -> Table:
    counts = sorted({int(n) for curve in curves for n in curve.n})
    rows = []
    for curve in curves:
        at = dict(zip(curve.n.tolist(), numbers(value(curve)), strict=True))
        rows.append((curve.label, *(at.get(n) for n in counts)))
    return Table(("platform", *(f"n = {n}" for n in counts)), rows)
