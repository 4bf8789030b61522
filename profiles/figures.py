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
SERIES_COLOURS = 8
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
    rows: list[tuple[Any, ...]]


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
        drawn: dict[str, Any] = self.figure.to_plotly_json()
        return drawn


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
        """t(1)/t(n) of the fitted curves (Eq. 3-4), kept possible as in a prediction; NaN where the fit of R is not
        positive, which no speedup has."""
        curves = self.fitted(n)
        speedup = 1 / reconstruct(1.0, curves[0], curves[1:] if self.curves.decomposed else None, n).time_s
        return np.where(curves[0] > 0, speedup, np.nan)

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


def table(columns: Mapping[str, Sequence[Any] | np.ndarray]) -> Table:
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
    largest: int = 0,
    showlegend: bool = True,
    **y_axis: Any,
) -> go.Figure:
    """All figures here look alike. `largest`: the last thread count shown; 0 = the last one of any trace."""
    largest = largest or max((max(trace.x) for trace in traces if len(trace.x)), default=1)
    drawn = go.Figure(data=list(traces))
    drawn.update_layout(
        template=go.layout.Template(),
        xaxis={"title": {"text": THREADS}, "range": [0, largest * 1.03], "tickformat": "d"},
        yaxis={"title": {"text": y_title}, **y_axis},
        hovermode=hovermode,
        showlegend=showlegend,
        margin={"l": 12, "r": 16, "t": 20, "b": 12 if showlegend else 48},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )
    if breakpoints is not None:
        mark(drawn, breakpoints, largest)
    return drawn


def mark(drawn: go.Figure, breakpoints: Breakpoints, largest: int) -> None:
    """Vertical lines at the breakpoints that the figure reaches."""
    marks = ((breakpoints.n_nu, "NUMA", 16), (breakpoints.n_ht, "hyperthreads", 2))
    for n, label, height in marks:
        if n is not None and n < largest:
            drawn.update_layout(margin_t=44)
            drawn.add_vline(x=n, line={"dash": "dot", "width": 1.2})
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


def room_for(values: Any) -> list[float]:
    """A range from 0 in which what was measured fits; a fitted line that runs away does not set the scale."""
    return [0.0, 1.05 * float(np.nanmax(np.asarray(values, dtype=float)))]


def room_for_speedup(n: IntArray, speedups: Any) -> list[float]:
    """As `room_for`; the ideal line may leave at the top, so that a speedup far below it can still be read."""
    return room_for([min(float(n.max()), 1.7 * float(np.nanmax(speedups))), *speedups])


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
        figure(traces, SPEEDUP, breakpoints=profile.breakpoints, range=room_for_speedup(n, speedup)),
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
    shares = {"use": 100 - np.sum(list(losses.values()), axis=0)} | losses
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
        table({"n": n, **{f"{part.replace('_', ' ')} (%)": share for part, share in shares.items()}}),
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
    traces: list[go.Scatter] = []
    columns: dict[str, Any] = {"n": n}
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
        figure(
            traces,
            "efficiency t(1)/(n·t(n)) (%)",
            breakpoints=profile.breakpoints,
            range=room_for([100, *efficiency]),
        ),
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
    """A log axis whose ticks (1, 2, 5, 10 ...) carry their whole number.

    >>> logarithmic_ticks([0.4, 13.0])["ticktext"]
    ['0.5', '1', '2', '5', '10']
    """
    known = np.asarray([v for v in values if v and np.isfinite(v)], dtype=float)
    if not len(known):
        return {"type": "log"}
    low, high = known.min(), known.max()
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    span = high / low
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if span < 10 else (1, 2, 5) if span < 1e4 else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    inside = [tick for tick in ticks if low / 1.2 <= tick <= high * 1.2] or ticks
    return {"type": "log", "tickvals": inside, "ticktext": [f"{tick:g}" for tick in inside]}


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


def speedup_of(curve: MeasuredCurve) -> FloatArray:
    return (np.nan if curve.t1_s is None else curve.t1_s) / curve.time_s


def series_style(index: int) -> tuple[str, str]:
    """The colour's name and the dash of the line of that index.

    >>> series_style(0), series_style(9)
    (('series-0', 'solid'), ('series-1', 'dot'))
    """
    return f"series-{index % SERIES_COLOURS}", ("solid", "dot", "dash")[index // SERIES_COLOURS % 3]


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
