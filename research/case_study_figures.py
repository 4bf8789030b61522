"""Figures of the case study: the deviations of each stage (Figure 12), and each way's cost and error (Figure 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from profiles.figures.axes import logarithmic_ticks
from profiles.figures.base import Chart, Figure, Table, figure, trace
from research.case_study import CASE_WAYS, StagePrediction

# Bars are cut at this percentage.
LARGEST_SHOWN = 150.0
# Smallest processor time on the logarithmic axis. Smaller values are shown as this one.
LEAST_SECONDS = 1e-5


def ways_of(predictions: Sequence[StagePrediction]) -> list[str]:
    """Return the ways that gave predictions, in the order of CASE_WAYS."""
    answered = {one.way for one in predictions}
    return [way for way in CASE_WAYS if way in answered]


def deviation_chart(name: str, predictions: Sequence[StagePrediction]) -> Chart:
    """Return Figure 12: the signed deviation of each stage by each way, on one target from one reference."""
    first = predictions[0]
    bars = []
    for index, way in enumerate(ways_of(predictions)):
        of_way = [one for one in predictions if one.way == way]
        bars.append(
            trace(
                way,
                f"series-{index}",
                [one.stage for one in of_way],
                [one.deviation for one in of_way],
                type="bar",
                hovertemplate="%{y:+.3~g} %",
            )
        )
    largest = max((abs(one.deviation) for one in predictions), default=0.0)
    y_axis: dict[str, Any] = {"range": [-100, LARGEST_SHOWN]} if largest > LARGEST_SHOWN else {}
    x_axis = {"title": {"text": "stage"}, "type": "category"}
    columns = ("stage", "way", "deviation_percent", "error_percent")
    return Chart(
        name,
        f"{first.target}, predicted from {first.reference}",
        "Mean over n of (predicted - measured) / measured time. Above 0, the predicted time is too long. "
        f"Bars are cut at {LARGEST_SHOWN:.0f} %.",
        with_room(figure(bars, "deviation (%)", x_axis=x_axis, **y_axis)),
        Table(columns, [(one.stage, one.way, one.deviation, one.error) for one in predictions]),
    )


def worth_chart(predictions: Sequence[StagePrediction]) -> Chart:
    """Return Figure 13: the mean error over all stages and targets against the processor time per stage."""
    rows = [(way, *mean_cost_and_error(predictions, way)) for way in ways_of(predictions)]
    points = [
        trace(
            way,
            f"series-{index}",
            [max(seconds, LEAST_SECONDS)],
            [error],
            mode="markers",
            marker={"size": 11},
            hovertemplate="%{y:.3~g} %, %{x:.2~g} s",
        )
        for index, (way, seconds, error, _) in enumerate(rows)
    ]
    axis = {"title": {"text": "processor time per stage (s)"}}
    axis |= logarithmic_ticks([max(seconds, LEAST_SECONDS) for _, seconds, _, _ in rows])
    y_axis = logarithmic_ticks([error for _, _, error, _ in rows])
    return Chart(
        "case-study-worth",
        "Cost and error of each approach",
        "Mean error over all stages and targets against processor time, which includes the counting of instructions. "
        "Lower is better, further left is faster.",
        with_room(figure(points, "mean error (%)", x_axis=axis, hovermode="closest", **y_axis)),
        Table(("way", "seconds", "mean_percent", "median_percent"), rows),
    )


def with_room(plot: Figure) -> Figure:
    """Return the plot with room for the title, the axis labels and the legend below them.

    Figures outside the pages of the site need these margins.
    """
    layout = plot["layout"]
    axes = {name: layout[name] | {"automargin": True} for name in ("xaxis", "yaxis")}
    return {"data": plot["data"], "layout": layout | axes | {"margin": layout["margin"] | {"l": 12, "t": 60, "b": 110}}}


def mean_cost_and_error(predictions: Sequence[StagePrediction], way: str) -> tuple[float, float, float]:
    """Return the mean processor seconds per stage of a way, and the mean and median of its errors in percent."""
    of_way = [one for one in predictions if one.way == way]
    errors = [one.error for one in of_way]
    return float(np.mean([one.seconds for one in of_way])), float(np.mean(errors)), float(np.median(errors))
