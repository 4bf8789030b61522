"""Figures of scaling models. Pure functions, as in profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from predictor.figures.answer import interval_traces
from profiles.figures.axes import logarithmic_ticks
from profiles.figures.base import (
    Breakpoints,
    Chart,
    Table,
    Trace,
    figure,
    line,
    mark_origin,
    plot_numbers,
    scatter,
    series_style,
    trace,
    vertical_line,
)
from profiles.scaling.wording import whole_percent


def marker_trace(name: str, colour: str, points: Sequence[tuple[float, float]], **style: Any) -> Trace:
    x, y = zip(*points, strict=True) if points else ((), ())
    style = {"mode": "markers", "marker": {"size": 5}} | style
    return trace(name, colour, plot_numbers(x), plot_numbers(y), **style)


def beyond_charts(answer: Mapping[str, Any], breakpoints: Breakpoints, time_unit: str) -> list[Chart]:
    """Return the charts of an extrapolation's document: t(n) and t(size) beyond the measurements, and the penalty
    plots."""
    charts = [
        time_beyond_chart(answer, breakpoints, time_unit),
        penalty_chart(answer["quality"], breakpoints, time_unit),
        serial_fraction_chart(answer["quality"], breakpoints),
        sizes_beyond_chart(answer["sizes"], time_unit),
    ]
    return mark_origin([chart for chart in charts if chart], answer["origin"])


def time_beyond_chart(answer: Mapping[str, Any], breakpoints: Breakpoints, time_unit: str) -> Chart | None:
    models = [model for model in answer["models"] if not model["refusal"]]
    if not models:
        return None
    first, last = models[0], answer["measured"][-1]["n"]
    predicted = {
        name: np.array([row[name] for row in first["predictions"]], dtype=float) for name in ("n", "low_s", "high_s")
    }
    traces = interval_traces(predicted["n"].astype(np.int64), predicted["low_s"], predicted["high_s"])
    drawn_times = [row["time_s"] for row in answer["measured"]]
    for index, model in enumerate(models):
        rows = [(row["n"], row["fitted_s"]) for row in model["points"]]
        rows += [(row["n"], row["time_s"]) for row in model["predictions"]]
        colour, dash = ("predicted", "solid") if model is first else series_style(index)
        n, time_s = zip(*rows, strict=True)
        positive = [value if value and value > 0 else np.nan for value in time_s]
        drawn_times += [value for value in positive if np.isfinite(value)]
        traces.append(
            line(model["title"], colour, n, positive, line={"width": 3 if model is first else 1.6, "dash": dash})
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
    plot = figure(
        traces,
        f"time t(n) ({time_unit})",
        breakpoints=breakpoints,
        hovermode="closest",
        **logarithmic_ticks(drawn_times),
    )
    plot["layout"].setdefault("shapes", []).append(vertical_line(last))
    return Chart(
        "beyond",
        "Time beyond the measured thread counts",
        f"Left of the line at n = {last} the models are fitted to measured times, right of it they extrapolate; "
        f"the band is the {whole_percent(answer['level'])} interval of {first['title']}. Logarithmic scale.",
        plot,
        beyond_table(answer, models),
    )


def beyond_table(answer: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> Table:
    measured = {row["n"]: row["time_s"] for row in answer["measured"]}
    times_by_count = [
        {row["n"]: row["fitted_s"] for row in model["points"]}
        | {row["n"]: row["time_s"] for row in model["predictions"]}
        for model in models
    ]
    counts = sorted(set(measured).union(*times_by_count))
    rows = [(n, measured.get(n), *(times.get(n) for times in times_by_count)) for n in counts]
    return Table(("n", "measured", *(model["title"] for model in models)), rows)


def penalty_chart(quality: Sequence[Mapping[str, Any]], breakpoints: Breakpoints, time_unit: str) -> Chart | None:
    """Return the plot of the parallel penalty (papers/004, Figure 18)."""
    if len(quality) < 2:
        return None
    n, penalty = [row["n"] for row in quality], [row["penalty_s"] for row in quality]
    return Chart(
        "penalty",
        "Parallel penalty",
        "A(n) = t(n) - t(1)/n: time beyond that of the ideal speedup. Where it rises, overhead grows with the threads.",
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
            [scatter("serial fraction", "redundancy", n, percent, mode="lines+markers", line={"width": 2})],
            "serial fraction f(n) (%)",
            breakpoints=breakpoints,
            showlegend=False,
            rangemode="tozero",
        ),
        Table(("n", "f(n) (%)"), rows),
    )


def sizes_beyond_chart(sizes: Mapping[str, Any] | None, time_unit: str) -> Chart | None:
    """Return the lines of the chosen model over the size, for the smallest and the largest n, measured and beyond."""
    if not sizes or not sizes["answer"]:
        return None
    answer, unit = sizes["answer"], sizes["unit"]
    counts = sorted({row["n"] for row in sizes["measured"]})
    traces: list[Trace] = []
    for index, n in enumerate(dict.fromkeys((counts[0], counts[-1]))):
        fitted = [(row["size"], row["fitted_s"]) for row in answer["points"] if row["n"] == n]
        predicted = [(row["size"], row["time_s"]) for row in answer["predictions"] if row["n"] == n]
        line_style = {"mode": "lines", "line": {"width": 2}}
        traces.append(
            marker_trace(f"{answer['label']}, n = {n}", f"series-{index}", sorted([*fitted, *predicted]), **line_style)
        )
        measured = [(row["size"], row["time_s"]) for row in sizes["measured"] if row["n"] == n]
        traces.append(marker_trace(f"measured, n = {n}", f"series-{index}", measured, marker={"size": 7}))
    drawn_times = [value for each in traces for value in each["y"] if value and value > 0]
    axis = {"title": {"text": f"input size ({unit})" if unit else "input size"}, "type": "log"}
    columns = ("size", "n", "time_s", "low_s", "high_s")
    return Chart(
        "sizes",
        "Time beyond the measured sizes",
        f"By {answer['label']}, which predicts the larger measured sizes best from the smaller ones. Logarithmic "
        "scales.",
        figure(traces, f"time ({time_unit})", x_axis=axis, hovermode="closest", **logarithmic_ticks(drawn_times)),
        Table(columns, [tuple(row[column] for column in columns) for row in answer["predictions"]]),
    )
