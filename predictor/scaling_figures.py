"""Scaling models -> Plotly figures. Pure, as profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from predictor.figures import interval_traces
from predictor.scaling_models.studies.sizes import WAYS
from profiles.figures import Breakpoints, Chart, Table, figure, line, logarithmic_ticks, scatter, series_style
from profiles.figures.base import marked, numbers

SIZE_AXIS = {"title": {"text": "input size"}}


def size_charts(study: Mapping[str, Any]) -> list[Chart]:
    """Of one workload: mispredictions over the size (papers/000, Figures 5-6, 9-10) and over the stream (11-14)."""
    every = study["mispredictions"]
    name = study["workload"].replace("/", "-")
    fitted, *streams = every[WAYS[0]], every[WAYS[2]], every[WAYS[3]]
    largest = {
        unit: max((abs(row[unit]) for rows in streams for row in map(in_seconds, rows) if known(row)), default=1.0)
        for unit in ("percent", "seconds")
    }
    charts = [over_size(name, study["workload"], fitted, unit) for unit in ("percent", "seconds")]
    for unit in ("percent", "seconds"):
        for way, rows in zip(WAYS[2:], streams, strict=True):
            charts.append(over_stream(name, f"{study['workload']}: {way}", rows, unit, largest[unit]))
    return charts


def in_seconds(row: Mapping[str, float]) -> dict[str, float]:
    return dict(row) | {"seconds": row["predicted_s"] - row["measured_s"]}


def known(row: Mapping[str, float]) -> bool:
    return row["predicted_s"] is not None and bool(np.isfinite(row["predicted_s"]))


def over_size(name: str, title: str, rows: Sequence[Mapping[str, float]], unit: str) -> Chart:
    told = [in_seconds(row) for row in rows]
    traces = [
        markers(f"n = {n:g}", f"series-{index % 8}", [(row["size"], row[unit]) for row in told if row["n"] == n])
        for index, n in enumerate(sorted({row["n"] for row in told}))
    ]
    columns = ("size", "n", "measured_s", "predicted_s", "percent", "seconds")
    return Chart(
        f"{name}-size-{unit}",
        f"{title}: mispredictions over the size, in {unit}",
        "Predicted less measured" + (", of the predicted time." if unit == "percent" else "."),
        figure(traces, axis_of(unit), x_axis=SIZE_AXIS, hovermode="closest"),
        Table(columns, [tuple(row[column] for column in columns) for row in told]),
    )


def over_stream(name: str, title: str, rows: Sequence[Mapping[str, float]], unit: str, largest: float) -> Chart:
    told = [(at, in_seconds(row)) for at, row in enumerate(rows, start=1) if known(row)]
    columns = ("size", "n", "measured_s", "predicted_s", "percent", "seconds")
    return Chart(
        f"{name}-{title.rpartition(': ')[2].replace(', ', '-').replace(' ', '-')}-{unit}",
        f"{title}, in {unit}",
        "Single runs in random order, each predicted before it was learned; predicted less measured"
        + (", of the predicted time." if unit == "percent" else "."),
        figure(
            [markers("run", "predicted", [(at, row[unit]) for at, row in told])],
            axis_of(unit),
            x_axis={"title": {"text": "run of the stream"}},
            hovermode="closest",
            showlegend=False,
            range=[-1.05 * largest, 1.05 * largest],
        ),
        Table(("run", *columns), [(at, *(row[column] for column in columns)) for at, row in told]),
    )


def axis_of(unit: str) -> str:
    return "misprediction (% of predicted)" if unit == "percent" else "misprediction (s)"


def markers(name: str, colour: str, points: Sequence[tuple[float, float]], **style: Any) -> go.Scatter:
    x, y = zip(*points, strict=True) if points else ((), ())
    style = {"mode": "markers", "marker": {"size": 5}} | style
    return go.Scatter(name=name, x=numbers(x), y=numbers(y), meta={"colour": colour}, **style)


def learning_chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """papers/003, Figure 10: the mean over the surfaces of the median errors, by number of learned points."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    traces = [
        markers(
            model.replace("_", " "),
            f"series-{index}",
            [(row["points"], row["mean"]) for row in rows if row["model"] == model],
            mode="lines+markers",
        )
        for index, model in enumerate(models)
    ]
    columns = ("points", "model", "mean", "median", "deviation", "best_on", "surfaces")
    counts = sorted({row["points"] for row in rows})
    axis = {"title": {"text": "points learned"}, "type": "log", "tickvals": counts, "ticktext": list(map(str, counts))}
    return Chart(
        "learning-curves",
        "How many points a model needs",
        "Mean squared error of the speedup at the points that were not learned, on logarithmic scales.",
        figure(traces, "mean squared error", x_axis=axis, **logarithmic_ticks([row["mean"] for row in rows])),
        Table(columns, [tuple(row[column] for column in columns) for row in rows]),
    )


def task_chart(study: Mapping[str, Any]) -> Chart:
    """papers/002, Figure 7: predicted over measured time."""
    points = study["points"]
    ends = [min(row["measured_s"] for row in points), max(row["measured_s"] for row in points)]
    traces = [markers("ideal", "ideal", list(zip(ends, ends, strict=True)), mode="lines", line={"dash": "dash"})]
    for colour, model, column in (
        ("predicted", "task graph", "task_graph_s"),
        ("reference", "direct regression", "direct_s"),
    ):
        traces.append(markers(model, colour, [(row["measured_s"], row[column]) for row in points]))
    columns = ("size", "n", "measured_s", "task_graph_s", "direct_s")
    return Chart(
        f"{study['workload'].replace('/', '-')}-tasks",
        f"{study['workload']}: larger inputs than learned",
        "Predicted over measured time; on the dashed line they are the same.",
        figure(traces, "predicted (s)", x_axis={"title": {"text": "measured (s)"}}, hovermode="closest"),
        Table(columns, [tuple(row[column] for column in columns) for row in points]),
    )


def beyond_charts(answer: Mapping[str, Any], breakpoints: Breakpoints, time_unit: str) -> list[Chart]:
    """Of the document of `predictor.beyond`: t(n) and t(size) beyond what was measured, and the penalty plot."""
    charts = [
        time_beyond(answer, breakpoints, time_unit),
        penalty_chart(answer["quality"], breakpoints, time_unit),
        serial_fraction_chart(answer["quality"], breakpoints),
        sizes_beyond(answer["sizes"], time_unit),
    ]
    return marked([chart for chart in charts if chart], answer["origin"])


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
