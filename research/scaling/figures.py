"""Figures of the studies of scaling models: other sizes, other clocks, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from predictor.figures.extrapolation import marker_trace
from profiles.figures.axes import logarithmic_ticks
from profiles.figures.base import Chart, Table, figure
from research.scaling.studies.sizes import WAYS

SIZE_AXIS = {"title": {"text": "input size"}}


def size_charts(study: Mapping[str, Any]) -> list[Chart]:
    """Return the mispredictions of one workload over the size and over the stream.

    The charts correspond to Figures 5-6 and 9-10 (size) and 11-14 (stream) of papers/000.
    """
    every = study["mispredictions"]
    name = study["workload"].replace("/", "-")
    fitted, *streams = every[WAYS[0]], every[WAYS[2]], every[WAYS[3]]
    largest = {
        unit: max(
            (abs(row[unit]) for rows in streams for row in map(with_seconds, rows) if has_prediction(row)), default=1.0
        )
        for unit in ("percent", "seconds")
    }
    charts = [size_chart(name, study["workload"], fitted, unit) for unit in ("percent", "seconds")]
    for unit in ("percent", "seconds"):
        for way, rows in zip(WAYS[2:], streams, strict=True):
            charts.append(stream_chart(name, f"{study['workload']}: {way}", rows, unit, largest[unit]))
    return charts


def has_prediction(row: Mapping[str, float]) -> bool:
    return row["predicted_s"] is not None and bool(np.isfinite(row["predicted_s"]))


def with_seconds(row: Mapping[str, float]) -> dict[str, float]:
    return dict(row) | {"seconds": row["predicted_s"] - row["measured_s"]}


def size_chart(name: str, title: str, rows: Sequence[Mapping[str, float]], unit: str) -> Chart:
    mispredictions = [with_seconds(row) for row in rows]
    traces = [
        marker_trace(
            f"n = {n:g}", f"series-{index % 8}", [(row["size"], row[unit]) for row in mispredictions if row["n"] == n]
        )
        for index, n in enumerate(sorted({row["n"] for row in mispredictions}))
    ]
    columns = ("size", "n", "measured_s", "predicted_s", "percent", "seconds")
    return Chart(
        f"{name}-size-{unit}",
        f"{title}: prediction errors over the size, in {unit}",
        "Predicted minus measured time" + (", relative to predicted." if unit == "percent" else "."),
        figure(traces, misprediction_axis(unit), x_axis=SIZE_AXIS, hovermode="closest"),
        Table(columns, [tuple(row[column] for column in columns) for row in mispredictions]),
    )


def stream_chart(name: str, title: str, rows: Sequence[Mapping[str, float]], unit: str, largest: float) -> Chart:
    mispredictions = [(run, with_seconds(row)) for run, row in enumerate(rows, start=1) if has_prediction(row)]
    columns = ("size", "n", "measured_s", "predicted_s", "percent", "seconds")
    return Chart(
        f"{name}-{title.rpartition(': ')[2].replace(', ', '-').replace(' ', '-')}-{unit}",
        f"{title}, in {unit}",
        "Single runs in random order, each predicted before it is learned. Predicted minus measured time"
        + (", relative to predicted." if unit == "percent" else "."),
        figure(
            [marker_trace("run", "predicted", [(run, row[unit]) for run, row in mispredictions])],
            misprediction_axis(unit),
            x_axis={"title": {"text": "run of the stream"}},
            hovermode="closest",
            showlegend=False,
            range=[-1.05 * largest, 1.05 * largest],
        ),
        Table(("run", *columns), [(run, *(row[column] for column in columns)) for run, row in mispredictions]),
    )


def misprediction_axis(unit: str) -> str:
    return "error (% of predicted)" if unit == "percent" else "error (s)"


def learning_chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """Return papers/003, Figure 10: the mean over the surfaces of the median errors, by number of learned points."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    traces = [
        marker_trace(
            model.replace("_", " "),
            f"series-{index}",
            [(row["points"], row["mean"]) for row in rows if row["model"] == model],
            mode="lines+markers",
        )
        for index, model in enumerate(models)
    ]
    columns = ("points", "model", "mean", "median", "deviation", "best_on", "surfaces")
    counts = sorted({row["points"] for row in rows})
    axis = {"title": {"text": "learned points"}, "type": "log", "tickvals": counts, "ticktext": list(map(str, counts))}
    return Chart(
        "learning-curves",
        "Number of points that a model needs",
        "Mean squared error of the speedup at the points that were not learned. Both scales are logarithmic.",
        figure(traces, "mean squared error", x_axis=axis, **logarithmic_ticks([row["mean"] for row in rows])),
        Table(columns, [tuple(row[column] for column in columns) for row in rows]),
    )


def task_chart(study: Mapping[str, Any]) -> Chart:
    """Return papers/002, Figure 7: predicted against measured time."""
    points = study["points"]
    ends = [min(row["measured_s"] for row in points), max(row["measured_s"] for row in points)]
    traces = [marker_trace("ideal", "ideal", list(zip(ends, ends, strict=True)), mode="lines", line={"dash": "dash"})]
    for colour, model, column in (
        ("predicted", "task graph", "task_graph_s"),
        ("reference", "direct regression", "direct_s"),
    ):
        traces.append(marker_trace(model, colour, [(row["measured_s"], row[column]) for row in points]))
    columns = ("size", "n", "measured_s", "task_graph_s", "direct_s")
    return Chart(
        f"{study['workload'].replace('/', '-')}-tasks",
        f"{study['workload']}: inputs larger than the learned ones",
        "Predicted against measured time. On the dashed line they are equal.",
        figure(traces, "predicted (s)", x_axis={"title": {"text": "measured (s)"}}, hovermode="closest"),
        Table(columns, [tuple(row[column] for column in columns) for row in points]),
    )
