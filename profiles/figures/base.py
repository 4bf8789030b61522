"""Building blocks of all figures. This module does not import Django and contains no colours: a trace has the name of
its colour in `meta`, and charts.js looks it up."""

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
FEW_POINTS = 2  # curves with so few points are drawn as dots or bars, because nothing was measured between them
MOST_LINE_POINTS = 200  # maximum number of thread counts of a fitted line
MOST_LINES = 6  # readable lines in one figure; "Show all lines" below the figure adds the others
LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"}
COLOUR_OF_PART = dict(
    zip(
        SCALING_PARTS, ("redundancy", "lock", "imbalance", "creation", "distribution", "switching", "join"), strict=True
    )
)

Trace = dict[str, Any]


class Figure(TypedDict):
    """A figure for plotly.js, with the attribute names of https://plotly.com/javascript/reference. Both axes have a
    title.

    Figures are plain dictionaries, because the classes of Plotly's Python package check every value in every request,
    which takes half of the time of a profile page. The tests validate the figures with these classes.
    """

    data: list[Trace]
    layout: dict[str, Any]


class PlotlyMarkup(str):
    """A constant text of this code that may contain Plotly markup. All other texts of a figure are escaped."""


def escape_markup(value: Any) -> Any:
    """Return the value with all texts escaped for Plotly, which renders links and other markup in texts.

    `PlotlyMarkup` and `meta` are not escaped. `meta` is read by charts.js and not drawn by Plotly.

    >>> escape_markup({"name": "<b>R&D</b>", "hovertemplate": PlotlyMarkup("%{y}<extra></extra>"), "meta": ["/?a&b"]})
    {'name': '&lt;b&gt;R&amp;D&lt;/b&gt;', 'hovertemplate': '%{y}<extra></extra>', 'meta': ['/?a&b']}
    """
    if isinstance(value, str):
        return value if isinstance(value, PlotlyMarkup) else escape(value, quote=False)
    if isinstance(value, dict):
        return {key: item if key == "meta" else escape_markup(item) for key, item in value.items()}
    if isinstance(value, list):
        # Most items are floats, for which no call is needed.
        return [item if type(item) is float else escape_markup(item) for item in value]
    return value


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Chart:
    """One figure with its caption, and the same numbers as a table. `name` is its id on the page."""

    name: str
    title: str
    caption: str
    figure: Figure
    table: Table
    tall: bool = False
    origin: str = ""  # simulated, emulated or mixed, if not all data was measured

    @property
    def hidden_lines(self) -> int:
        """Return the number of lines that are drawn on demand."""
        return sum(each.get("visible") is False for each in self.figure["data"])

    @property
    def json(self) -> dict[str, Any]:
        """Return the figure in the only form that leaves the server, with all names escaped for Plotly.

        The title is for saved pictures.
        """
        layout = self.figure["layout"] | {"title": {"text": self.title}}
        document: dict[str, Any] = escape_markup(nan_to_null({"data": self.figure["data"], "layout": layout}))
        return document


def mark_origin(charts: Sequence[Chart], origin: str) -> list[Chart]:
    """Return the charts with the origin of data that was not measured.

    It is added to the title, which saved pictures show, and stored as `origin` for saved numbers. `origin` is measured,
    simulated, emulated or mixed.
    """
    if origin in {"", "measured"}:
        return list(charts)
    mark = " (partly simulated)" if origin == "mixed" else f" ({origin})"
    return [replace(chart, title=chart.title.removesuffix(mark) + mark, origin=origin) for chart in charts]


def origin_of(origins: Iterable[str]) -> str:
    """Return the common origin, "mixed" if there are several, or "measured" if there is none.

    >>> origin_of(["simulated", "simulated"]), origin_of(["measured", "simulated"]), origin_of([])
    ('simulated', 'mixed', 'measured')
    """
    distinct = set(origins)
    return "mixed" if len(distinct) > 1 else distinct.pop() if distinct else "measured"


@dataclass(frozen=True)
class Breakpoints:
    """Thread counts beyond which a second NUMA node or SMT threads are used. None means no such effect."""

    n_nu: int | None = None
    n_ht: int | None = None


@dataclass(frozen=True)
class MeasuredCurve:
    """t(n) of one profile, with a label that distinguishes it from the other curves of the figure."""

    label: str
    n: IntArray
    time_s: FloatArray
    t1_s: float | None


def drawn_thread_counts(n: IntArray) -> IntArray:
    """Return all thread counts from the smallest to the largest measured one, thinned evenly if there are many.

    >>> drawn_thread_counts(np.array([1, 4])).tolist()
    [1, 2, 3, 4]
    >>> thinned = drawn_thread_counts(np.array([1, 1024])).tolist()
    >>> len(thinned), thinned[0], thinned[-1]
    (200, 1, 1024)
    """
    low, high = int(n.min()), int(n.max())
    return np.unique(np.linspace(low, high, min(high - low + 1, MOST_LINE_POINTS)).round().astype(np.int64))


def plot_numbers(values: Any) -> list[float | None]:
    """Return the values as a list for JSON, with None for NaN and infinity."""
    return [value if math.isfinite(value) else None for value in np.asarray(values, dtype=float).tolist()]


def table(columns: Mapping[str, Sequence[Any] | np.ndarray]) -> Table:
    thread_counts, *others = columns.values()
    return Table(
        tuple(columns),
        [(int(first), *values) for first, *values in zip(thread_counts, *map(plot_numbers, others), strict=True)],
    )


def trace(name: str, colour: str, x: Sequence[Any], y: Sequence[Any], **style: Any) -> Trace:
    """Return a trace of the points x, y with further attributes (`style`), the nested ones given as dictionaries."""
    return {"type": "scatter", "name": name, "x": list(x), "y": list(y), "meta": {"colour": colour}} | style


def scatter(name: str, colour: str, x: Any, y: Any, **style: Any) -> Trace:
    """Return a trace of values over thread counts."""
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
    """Return a figure in the common style.

    `largest` is the last thread count shown, and 0 means the last one of any trace. `x_axis` is the axis for an x other
    than thread counts.
    """
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
    """Add the axis of thread counts, and the units in the hover texts. The thread counts are categories if there are
    bars."""
    unit = unit_of(layout["yaxis"]["title"]["text"])
    at = "n = %{x}: " if layout["hovermode"] == "closest" else ""
    for each in (one for one in traces if "%{y:.4~g}" in one["hovertemplate"]):
        each["hovertemplate"] = each["hovertemplate"].replace("%{y:.4~g}", f"{at}%{{y:.4~g}}{unit}")
    if any(each["type"] == "bar" for each in traces):
        layout |= {"xaxis": axis(title={"text": THREADS}, type="category"), "barmode": "stack"}
        return
    layout["xaxis"] = thread_axis(largest)
    if breakpoints is not None:
        mark_breakpoints(layout, breakpoints, largest)


def mark_breakpoints(layout: dict[str, Any], breakpoints: Breakpoints, largest: int) -> None:
    """Add vertical lines at the breakpoints within the range of the figure."""
    marks = ((breakpoints.n_nu, "NUMA", 16), (breakpoints.n_ht, "SMT threads", 2))
    reached = [(n, label, height) for n, label, height in marks if n is not None and n < largest]
    if not reached:
        return
    layout["margin"]["t"] = 44
    layout["shapes"] = [vertical_line(n, dash="dot") for n, _, _ in reached]
    layout["annotations"] = [
        {
            "x": float(np.log10(n)),  # on a logarithmic axis, annotations need the logarithm, but shapes do not
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
    """Return a layout shape at x = n that spans the height of the drawing."""
    ends = {"x0": n, "x1": n, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return {"type": "line", **ends, "line": {"width": 1.2, **style}}


def ideal_line(n: IntArray) -> Trace:
    ends = [1, int(n.max())]
    return scatter("ideal", "ideal", ends, ends, mode="lines", line={"dash": "dash", "width": 1.5}, hoverinfo="skip")


def points(name: str, colour: str, x: Any, y: Any, **style: Any) -> Trace:
    return scatter(name, colour, x, y, mode="markers", marker={"size": 7}, **style)


def line(name: str, colour: str, x: Any, y: Any, **style: Any) -> Trace:
    """Return a line over thread counts, or dots if there are too few points for a line."""
    mode = "lines" if len(x) > FEW_POINTS else "markers"
    width = {"width": 2} | style.pop("line", {})
    return scatter(name, colour, x, y, **{"mode": mode, "line": width, "marker": {"size": 9}} | style)


def stacked(n: IntArray, parts: Mapping[str, tuple[str, Any]]) -> list[Trace]:
    """Return stacked areas over n, or stacked bars if there are too few thread counts for areas.

    `parts` maps names to colours and values.
    """
    if len(n) <= FEW_POINTS:
        return [scatter(name, colour, n, y) | {"type": "bar"} for name, (colour, y) in parts.items()]
    area = {"mode": "lines", "line": {"width": 0.5}, "stackgroup": "parts"}
    return [scatter(name, colour, n, y, **area) for name, (colour, y) in parts.items()]


def speedup_of(curve: MeasuredCurve) -> FloatArray:
    return (np.nan if curve.t1_s is None else curve.t1_s) / curve.time_s


def series_style(index: int) -> tuple[str, str]:
    """Return the colour name and the dash of the line with this index.

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
    """Return a chart of the shares of the thread time n*t(n), stacked to 100 %.

    The shares are the work of one thread S(n)/n, the computation beyond it (redundancy, as in the sentences about the
    profile, and 0 if the threads together compute less), and the six fractions of Eq. 4.
    """
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
