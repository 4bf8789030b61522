"""What every figure is made of. Pure: no Django, no colours (a trace names its own in meta; charts.js looks it up)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, TypedDict

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from profiles.arrays import FloatArray, IntArray
from profiles.figures.axes import THREADS, axis, name_line_ends, thread_axis, unit_of
from profiles.scaling.names import SCALING_PARTS

USEFUL_WORK = "useful work"
SERIES_COLOURS = 8
FEW_POINTS = 2  # of a curve: dots or bars, as an area or a line between them would be invented
MOST_LINE_POINTS = 200  # thread counts of a fitted line
MOST_LINES = 6  # that a reader can follow in one figure; "Show all lines" below it adds the others
LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"}
COLOUR_OF_PART = dict(
    zip(
        SCALING_PARTS,
        ("redundancy", "lock", "imbalance", "creation", "distribution", "switching", "join"),
        strict=True,
    )
)

Trace = dict[str, Any]


class Figure(TypedDict):
    """What plotly.js draws, by the names of https://plotly.com/javascript/reference; both axes have a title. Plain
    dictionaries: the classes of Plotly's Python package check every value for every reader, half of the work of a
    profile's page. Tests have them check it."""

    data: list[Trace]
    layout: dict[str, Any]


class PlotlyMarkup(str):
    """A text written in this code, in which Plotly may find markup. In every other text of a figure it finds none."""


def escape_markup(value: Any) -> Any:
    """The value with every text in it escaped for Plotly, which draws links and other markup that it finds in a text.

    Only `PlotlyMarkup` stays as it is, and `meta`, which charts.js reads and Plotly does not draw.

    >>> escape_markup({"name": "<b>R&D</b>", "hovertemplate": PlotlyMarkup("%{y}<extra></extra>")})
    {'name': '&lt;b&gt;R&amp;D&lt;/b&gt;', 'hovertemplate': '%{y}<extra></extra>'}
    """
    if isinstance(value, str):
        return value if isinstance(value, PlotlyMarkup) else escape(value, quote=False)
    if isinstance(value, dict):
        return {key: item if key == "meta" else escape_markup(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) is float else escape_markup(item) for item in value]  # mostly floats: without a call
    return value


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
    figure: Figure
    table: Table
    tall: bool = False
    origin: str = ""  # of what it shows, where not all of it was measured: simulated, emulated, mixed

    @property
    def hidden_lines(self) -> int:
        """The number of lines that are drawn on demand."""
        return sum(each.get("visible") is False for each in self.figure["data"])

    @property
    def json(self) -> dict[str, Any]:
        """The figure as Plotly may read it, whoever wrote the names in it: the only form in which one leaves the
        server. Its title is for a saved picture."""
        layout = self.figure["layout"] | {"title": {"text": self.title}}
        document: dict[str, Any] = escape_markup(nan_to_null({"data": self.figure["data"], "layout": layout}))
        return document


def mark_origin(charts: Sequence[Chart], origin: str) -> list[Chart]:
    """The same charts, which say of themselves what is not measured: in the title, which a saved picture keeps, and as
    `origin`, which saved numbers carry. `origin`: measured, simulated, emulated or mixed."""
    if origin in {"", "measured"}:
        return list(charts)
    mark = " (partly simulated)" if origin == "mixed" else f" ({origin})"
    return [replace(chart, title=chart.title.removesuffix(mark) + mark, origin=origin) for chart in charts]


def origin_of(origins: Iterable[str]) -> str:
    """The one origin of several, or "mixed"; "measured" of none.

    >>> origin_of(["simulated", "simulated"]), origin_of(["measured", "simulated"]), origin_of([])
    ('simulated', 'mixed', 'measured')
    """
    distinct = set(origins)
    return "mixed" if len(distinct) > 1 else distinct.pop() if distinct else "measured"


@dataclass(frozen=True)
class Breakpoints:
    """Thread counts beyond which a second NUMA node / SMT threads are used; None = no such effect."""

    n_nu: int | None = None
    n_ht: int | None = None


@dataclass(frozen=True)
class MeasuredCurve:
    """t(n) of one profile, under the name that tells it from its neighbours in the figure."""

    label: str
    n: IntArray
    time_s: FloatArray
    t1_s: float | None


def drawn_thread_counts(n: IntArray) -> IntArray:
    """Every thread count from the smallest to the largest measured one, thinned evenly where there are many.

    >>> drawn_thread_counts(np.array([1, 4])).tolist()
    [1, 2, 3, 4]
    """
    low, high = int(n.min()), int(n.max())
    return np.unique(np.linspace(low, high, min(high - low + 1, MOST_LINE_POINTS)).round().astype(np.int64))


def plot_numbers(values: Any) -> list[float | None]:
    """A list that JSON can carry: NaN and infinity are gaps."""
    return [value if math.isfinite(value) else None for value in np.asarray(values, dtype=float).tolist()]


def table(columns: Mapping[str, Sequence[Any] | np.ndarray]) -> Table:
    thread_counts, *others = columns.values()
    return Table(
        tuple(columns),
        [(int(first), *rest) for first, *rest in zip(thread_counts, *map(plot_numbers, others), strict=True)],
    )


def trace(name: str, colour: str, x: Sequence[Any], y: Sequence[Any], **style: Any) -> Trace:
    """Points x, y as they are; `style`: any other attribute of the trace, nested ones as dictionaries."""
    return {"type": "scatter", "name": name, "x": list(x), "y": list(y), "meta": {"colour": colour}} | style


def scatter(name: str, colour: str, x: Any, y: Any, **style: Any) -> Trace:
    """Values over thread counts."""
    return trace(name, colour, [int(value) for value in x], plot_numbers(y), hovertemplate="%{y:.4~g}", **style)


def figure(
    traces: Sequence[Trace],
    y_title: str,
    *,
    breakpoints: Breakpoints | None = None,
    hovermode: str = "x unified",
    largest: int = 0,
    showlegend: bool = True,
    x_axis: Mapping[str, Any] | None = None,
    **y_axis: Any,
) -> Figure:
    """All figures here look alike. `largest`: the last thread count shown; 0 = the last one of any trace. `x_axis`:
    where x is no thread count."""
    layout: dict[str, Any] = {
        "yaxis": axis(**{"title": {"text": y_title}} | y_axis),
        "hovermode": hovermode,
        "margin": {"l": 12, "r": 16, "t": 20},
        "legend": LEGEND,
    }
    if x_axis is not None:
        layout["xaxis"] = axis(**x_axis)
    else:
        largest = largest or max((max(each["x"]) for each in traces if each["x"]), default=1)
        draw_over_threads(traces, layout, largest, breakpoints)
        if showlegend and layout["xaxis"]["type"] == "log":
            for index in name_line_ends(traces, layout):
                traces[index] |= {"showlegend": False, "meta": traces[index]["meta"] | {"named": True}}
    named = any(each.get("showlegend") is not False for each in traces)
    layout["showlegend"] = showlegend and named
    layout["margin"]["b"] = 12 if layout["showlegend"] else 58
    return {"data": list(traces), "layout": layout}


def draw_over_threads(
    traces: Sequence[Trace], layout: dict[str, Any], largest: int, breakpoints: Breakpoints | None
) -> None:
    """The axis of thread counts, and what the pointer says at a point. Bars stand at their thread counts."""
    unit = unit_of(layout["yaxis"]["title"]["text"])
    at = "n = %{x}: " * (layout["hovermode"] == "closest")
    for each in (one for one in traces if "%{y:.4~g}" in one["hovertemplate"]):
        each["hovertemplate"] = each["hovertemplate"].replace("%{y:.4~g}", f"{at}%{{y:.4~g}}{unit}")
    if any(each["type"] == "bar" for each in traces):
        layout |= {"xaxis": axis(title={"text": THREADS}, type="category"), "barmode": "stack"}
        return
    layout["xaxis"] = thread_axis(largest)
    if breakpoints is not None:
        mark_breakpoints(layout, breakpoints, largest)


def mark_breakpoints(layout: dict[str, Any], breakpoints: Breakpoints, largest: int) -> None:
    """Vertical lines at the breakpoints that the figure reaches."""
    marks = ((breakpoints.n_nu, "NUMA", 16), (breakpoints.n_ht, "SMT threads", 2))
    reached = [(n, label, height) for n, label, height in marks if n is not None and n < largest]
    if not reached:
        return
    layout["margin"]["t"] = 44
    layout["shapes"] = [vertical_line(n, dash="dot") for n, _, _ in reached]
    layout["annotations"] = [
        {
            "x": float(np.log10(n)),  # annotations of a logarithmic axis are placed so, shapes are not
            "y": 1,
            "yref": "paper",
            "yshift": height,
            "text": f"{label}: n > {n}",
            "showarrow": False,
            "xanchor": "center",
            "yanchor": "bottom",
        }
        for n, label, height in reached
    ]


def vertical_line(n: int, **style: Any) -> dict[str, Any]:
    """A shape of the layout at x = n, from the bottom of the drawing to its top."""
    ends = {"x0": n, "x1": n, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return {"type": "line", **ends, "line": {"width": 1.2, **style}}


def ideal_line(n: IntArray) -> Trace:
    ends = [1, int(n.max())]
    return scatter("ideal", "ideal", ends, ends, mode="lines", line={"dash": "dash", "width": 1.5}, hoverinfo="skip")


def points(name: str, colour: str, x: Any, y: Any, **style: Any) -> Trace:
    return scatter(name, colour, x, y, mode="markers", marker={"size": 7}, **style)


def line(name: str, colour: str, x: Any, y: Any, **style: Any) -> Trace:
    """A line over thread counts; dots where there are too few for one."""
    mode = "lines" if len(x) > FEW_POINTS else "markers"
    width = {"width": 2} | style.pop("line", {})
    return scatter(name, colour, x, y, **{"mode": mode, "line": width, "marker": {"size": 9}} | style)


def stacked(n: IntArray, parts: Mapping[str, tuple[str, Any]]) -> list[Trace]:
    """Areas on each other over n, or bars where there are too few thread counts for an area. `parts`: name -> colour
    and values."""
    if len(n) <= FEW_POINTS:
        return [scatter(name, colour, n, y) | {"type": "bar"} for name, (colour, y) in parts.items()]
    area = {"mode": "lines", "line": {"width": 0.5}, "stackgroup": "parts"}
    return [scatter(name, colour, n, y, **area) for name, (colour, y) in parts.items()]


def speedup_of(curve: MeasuredCurve) -> FloatArray:
    return (np.nan if curve.t1_s is None else curve.t1_s) / curve.time_s


def series_style(index: int) -> tuple[str, str]:
    """The colour's name and the dash of the line of that index.

    >>> series_style(0), series_style(9)
    (('series-0', 'solid'), ('series-1', 'dot'))
    """
    return f"series-{index % SERIES_COLOURS}", ("solid", "dot", "dash")[index // SERIES_COLOURS % 3]


def stacked_shares(
    n: IntArray,
    fractions: Mapping[str, FloatArray],
    breakpoints: Breakpoints,
    *,
    speedup: FloatArray,
    title: str,
    caption: str,
) -> Chart:
    """The shares of the thread time n*t(n), stacked to 100 %: the work of one thread S(n)/n, what is computed beyond it
    (redundancy, as the sentences about the profile name it; 0 where threads together compute less), and Eq. 4's six
    fractions."""
    losses = {part: 100 * fraction for part, fraction in fractions.items()}
    used = 100 - np.sum(list(losses.values()), axis=0)
    redundancy = np.maximum(used - 100 * speedup / n, 0.0)
    shares = {USEFUL_WORK: used - redundancy, "redundancy": redundancy} | losses
    named = {part.replace("_", " "): (COLOUR_OF_PART.get(part, "use"), share) for part, share in shares.items()}
    return Chart(
        "shares",
        title,
        caption,
        figure(stacked(n, named), "share of thread time (%)", breakpoints=breakpoints, range=[0, 100]),
        table({"n": n, **{f"{part.replace('_', ' ')} (%)": share for part, share in shares.items()}}),
    )
