"""Scaling models -> Plotly figures. Pure, as profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from predictor.figures.answer import interval_traces
from profiles.figures import Breakpoints, Chart, Table, figure, line, logarithmic_ticks, scatter, series_style
from profiles.figures.base import mark_origin, plot_numbers


def known(row: Mapping[str, float]) -> bool:
    return row["predicted_s"] is not None and bool(np.isfinite(row["predicted_s"]))


def markers(name: str, colour: str, points: Sequence[tuple[float, float]], **style: Any) -> go.Scatter:
    x, y = zip(*points, strict=True) if points else ((), ())
    style = {"mode": "markers", "marker": {"size": 5}} | style
    return go.Scatter(name=name, x=plot_numbers(x), y=plot_numbers(y), meta={"colour": colour}, **style)


def beyond_charts(answer: Mapping[str, Any], breakpoints: Breakpoints, time_unit: str) -> list[Chart]:
    """t(n) and t(size) beyond what was measured, and the penalty plot, of the document of an extrapolation."""
    charts = [
        time_beyond(answer, breakpoints, time_unit),
        penalty_chart(answer["quality"], breakpoints, time_unit),
        serial_fraction_chart(answer["quality"], breakpoints),
        sizes_beyond(answer["sizes"], time_unit),
    ]
    return mark_origin([chart for chart in charts if chart], answer["origin"])


def time_beyond(answer: Mapping[str, Any], breakpoints: Breakpoints, time_unit: str) -> Chart | None:
    told = [part for part in answer["models"] if not part["refusal"]]
    if not told:
        return None
    first, last = told[0], answer["measured"][-1]["n"]
    there = {
        name: np.array([row[name] for row in first["predictions"]], dtype=float) for name in ("n", "low_s", "high_s")
    }
    traces = interval_traces(there["n"].astype(np.int64), there["low_s"], there["high_s"])
    shown = [row["time_s"] for row in answer["measured"]]
    for index, part in enumerate(told):
        rows = [(row["n"], row["fitted_s"]) for row in part["points"]]
        rows += [(row["n"], row["time_s"]) for row in part["predictions"]]
        colour, dash = ("predicted", "solid") if part is first else series_style(index)
        n, time_s = zip(*rows, strict=True)
        positive = [value if value and value > 0 else np.nan for value in time_s]
        shown += [value for value in positive if np.isfinite(value)]
        traces.append(
            line(part["title"], colour, n, positive, line={"width": 3 if part is first else 1.6, "dash": dash})
        )
    measured = answer["measured"]
    traces.append(
        scatter(
            "measured",
            "measured",
            [row["n"] for row in measured],
            [row["time_s"] for row in measured],
            mode="markers",
            marker={"size": 8},
        )
    )
    drawn = figure(
        traces, f"time t(n) ({time_unit})", breakpoints=breakpoints, hovermode="closest", **logarithmic_ticks(shown)
    )
    drawn.add_vline(x=last, line={"width": 1.2})
    return Chart(
        "beyond",
        "Time beyond the measured thread counts",
        f"Left of the line at n = {last} the models are fitted to what was measured, right of it they go on alone; "
        f"the band is the {100 * answer['level']:.0f} % interval of {first['title']}. On a logarithmic scale.",
        drawn,
        beyond_table(answer, told),
    )


def beyond_table(answer: Mapping[str, Any], told: Sequence[Mapping[str, Any]]) -> Table:
    measured = {row["n"]: row["time_s"] for row in answer["measured"]}
    said = [
        {row["n"]: row["fitted_s"] for row in part["points"]} | {row["n"]: row["time_s"] for row in part["predictions"]}
        for part in told
    ]
    counts = sorted(set(measured).union(*said))
    rows = [(n, measured.get(n), *(one.get(n) for one in said)) for n in counts]
    return Table(("n", "measured", *(part["title"] for part in told)), rows)


def penalty_chart(quality: Sequence[Mapping[str, Any]], breakpoints: Breakpoints, time_unit: str) -> Chart | None:
    """papers/004, Figure 18."""
    if len(quality) < 2:
        return None
    n, penalty = [row["n"] for row in quality], [row["penalty_s"] for row in quality]
    return Chart(
        "penalty",
        "Parallel penalty",
        "A(n) = t(n) - t(1)/n: what a run takes longer than an even share of the work of one thread. Where it rises, "
        "more threads cost more than they save.",
        figure(
            [scatter("penalty", "predicted", n, penalty, mode="lines+markers", line={"width": 2})],
            f"penalty A(n) ({time_unit})",
            breakpoints=breakpoints,
            showlegend=False,
            rangemode="tozero",
        ),
        Table(("n", f"A(n) ({time_unit})"), list(zip(n, penalty, strict=True))),
    )


def serial_fraction_chart(quality: Sequence[Mapping[str, Any]], breakpoints: Breakpoints) -> Chart | None:
    rows = [(row["n"], 100 * row["serial_fraction"]) for row in quality if row["n"] > 1]
    if not rows:
        return None
    n, percent = zip(*rows, strict=True)
    return Chart(
        "serial-fraction",
        "Serial fraction",
        "Karp and Flatt's f(n) = (t(n)/t(1) - 1/n) / (1 - 1/n). Constant: the loss is serial work. Rising: overhead "
        "grows with the threads. Falling: t(1) is too long, or caches help many threads.",
        figure(
            [scatter("serial fraction", "redundancy", n, percent, unit=" %", mode="lines+markers", line={"width": 2})],
            "serial fraction f(n) (%)",
            breakpoints=breakpoints,
            showlegend=False,
            rangemode="tozero",
        ),
        Table(("n", "f(n) (%)"), rows),
    )


def sizes_beyond(sizes: Mapping[str, Any] | None, time_unit: str) -> Chart | None:
    """Lines of the chosen model over the size, for the smallest and the largest n, measured and beyond."""
    if not sizes or not sizes["answer"]:
        return None
    answer, unit = sizes["answer"], sizes["unit"]
    counts = sorted({row["n"] for row in sizes["measured"]})
    traces: list[go.Scatter] = []
    for index, n in enumerate(dict.fromkeys((counts[0], counts[-1]))):
        fitted = [(row["size"], row["fitted_s"]) for row in answer["points"] if row["n"] == n]
        there = [(row["size"], row["time_s"]) for row in answer["predictions"] if row["n"] == n]
        line_style = {"mode": "lines", "line": {"width": 2}}
        traces.append(
            markers(f"{answer['label']}, n = {n}", f"series-{index}", sorted([*fitted, *there]), **line_style)
        )
        measured = [(row["size"], row["time_s"]) for row in sizes["measured"] if row["n"] == n]
        traces.append(markers(f"measured, n = {n}", f"series-{index}", measured, marker={"size": 7}))
    shown = [value for trace in traces for value in trace.y if value and value > 0]
    axis = {"title": {"text": f"input size ({unit})" if unit else "input size"}, "type": "log"}
    columns = ("size", "n", "time_s", "low_s", "high_s")
    return Chart(
        "sizes",
        "Time beyond the measured sizes",
        f"By {answer['label']}, which predicts the larger measured sizes best from the smaller ones. Logarithmic "
        "scales.",
        figure(traces, f"time ({time_unit})", x_axis=axis, hovermode="closest", **logarithmic_ticks(shown)),
        Table(columns, [tuple(row[column] for column in columns) for row in answer["predictions"]]),
    )
