"""Figures of errors, for the page, for files and for tests. Pure functions, as in profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from profiles.figures.axes import logarithmic_ticks
from profiles.figures.base import Chart, Figure, Table, Trace, figure, trace

ErrorRow = Mapping[str, Any]

ERROR_TITLE = "prediction error (%)"
LEAST_ERROR = 0.01  # percent, drawn for an error of 0 on a logarithmic axis
STATISTIC_COLOURS = {"median": "predicted", "mean": "fitted", "p95": "reference"}
BAR_WIDTHS = (0.5, 1.0, 2.0, 5.0, 10.0)  # of a histogram, in percent
MOST_BARS = 20
MANY_NAMES = 10  # on one axis; with more names the chart is taller
PERCENTILES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100)
PART_SLUGS = {"t(1)": "t1", "scaling vector": "scaling"}


def accuracy_figure(traces: Sequence[Trace], x_axis: Mapping[str, Any], y_axis: Mapping[str, Any]) -> Figure:
    """Return a figure with an error, a revision or a share as x. `y_axis` contains the title."""
    title = y_axis["title"]["text"]
    return figure(traces, title, hovermode="closest", showlegend=len(traces) > 1, x_axis=x_axis, **y_axis)


def percent_dots(name: str, colour: str, percents: Sequence[float | None], names: Sequence[str]) -> Trace:
    """Return one dot per name of a `category_axis`."""
    return trace(name, colour, percents, names, mode="markers", marker={"size": 9}, hovertemplate="%{x:.3~g} %")


def error_axis(values: Sequence[float | None], *, few: bool = False) -> dict[str, Any]:
    """Return a logarithmic axis of errors. `few` is for an axis with labels that a phone would otherwise rotate."""
    return {"title": {"text": ERROR_TITLE}, **logarithmic_ticks([value for value in values if value], few=few)}


def category_axis(title: str) -> dict[str, Any]:
    """Return an axis of names from top to bottom."""
    return {"title": {"text": title, "standoff": 14}, "autorange": "reversed", "type": "category"}


def clipped_error(value: float | None) -> float | None:
    return None if value is None else max(value, LEAST_ERROR)


def methods_chart(methods: Sequence[tuple[str, ErrorRow]]) -> Chart:
    """Return the median, mean and 95 % percentile of the full error of each method, the best median first."""
    answered = sorted(
        (method for method in methods if method[1]["median"] is not None), key=lambda method: method[1]["median"]
    )
    names = [name for name, _ in answered]
    columns = {column: [clipped_error(row[column]) for _, row in answered] for column in STATISTIC_COLOURS}
    traces = [percent_dots(column, STATISTIC_COLOURS[column], values, names) for column, values in columns.items()]
    axis = error_axis([value for values in columns.values() for value in values], few=True)
    return Chart(
        "methods",
        "Error of each method",
        "Full curve: median, mean and 95 % percentile of the error, on a logarithmic scale; further left is better.",
        accuracy_figure(traces, axis, category_axis("method")),
        Table(
            ("method", "median (%)", "mean (%)", "95 % (%)", "predictions", "refused"),
            [
                (name, *(row[column] for column in ("median", "mean", "p95", "count", "refused")))
                for name, row in answered
            ],
        ),
        tall=len(names) > MANY_NAMES,
    )


def error_histogram(errors: Sequence[float]) -> Chart:
    """Return the histogram of the errors: 20 bars of equal width, and a last one for all larger errors."""
    values = np.asarray(errors, dtype=float)
    widest = float(np.percentile(values, 90)) if len(values) else 1.0
    width = next((width for width in BAR_WIDTHS if MOST_BARS * width >= widest), BAR_WIDTHS[-1])
    edges = width * np.arange(MOST_BARS + 1)
    counts = np.histogram(values, edges)[0].tolist()
    beyond = int((values > edges[-1]).sum())
    starts = edges[:-1].tolist()
    names = [f"{start:g} to {start + width:g} %" for start in starts]
    places = [start + width / 2 for start in starts]
    if beyond:
        names.append(f"over {edges[-1]:g} %")
        counts.append(beyond)
        places.append(edges[-1] + width / 2)
    bars = {
        **trace("predictions", "predicted", places, counts, hovertemplate="%{text}: %{y}", text=names),
        "type": "bar",
        "width": width,
        "textposition": "none",
    }
    last = f"{edges[-1]:g}+" if beyond else f"{edges[-1]:g}"
    ticks = edges[::4].tolist()
    x_axis = {
        "title": {"text": ERROR_TITLE},
        "tickvals": ticks,
        "ticktext": [*(f"{tick:g}" for tick in ticks[:-1]), last],
        "range": [0, edges[-1] + (width if beyond else 0)],
    }
    histogram = accuracy_figure([bars], x_axis, {"title": {"text": "predictions"}, "rangemode": "tozero"})
    histogram["layout"]["bargap"] = 0.08
    return Chart(
        "error-histogram",
        "Errors of hidden measurements",
        "Each measurement was hidden, predicted from the others, and compared with its prediction.",
        histogram,
        Table(("error", "predictions"), list(zip(names, counts, strict=True))),
    )


def history_chart(history: Sequence[ErrorRow]) -> Chart:
    """Return the median full error of each method by revision. `history` comes from `EvaluationQuerySet.history`."""
    points = [row for row in history if row["methods__statistics"]["full"]["median"] is not None]
    names = list(dict.fromkeys(row["methods__name"] for row in points))
    traces = []
    for index, name in enumerate(names):
        mine = [row for row in points if row["methods__name"] == name]
        medians = [clipped_error(row["methods__statistics"]["full"]["median"]) for row in mine]
        style: dict[str, Any] = {"mode": "lines+markers", "line": {"dash": ("solid", "dot", "dash")[index // 8 % 3]}}
        revisions = [row["revision"] for row in mine]
        traces.append(
            trace(name, f"series-{index % 8}", revisions, medians, hovertemplate="revision %{x}: %{y:.3~g} %", **style)
        )
    medians = [row["methods__statistics"]["full"]["median"] for row in points]
    # While there are few revisions the ticks are at the revisions, because there is nothing between two revisions.
    revisions = sorted({row["revision"] for row in points})
    ticks: dict[str, Any] = {"tickvals": revisions} if len(revisions) <= MANY_NAMES else {"tickformat": "d"}
    return Chart(
        "history",
        "History",
        "Median error of the full curve by revision of the database, for each method.",
        accuracy_figure(traces, {"title": {"text": "revision"}, **ticks}, error_axis(medians)),
        Table(
            ("revision", "method", "version", "median (%)", "mean (%)", "evaluated"),
            [
                (
                    row["revision"],
                    row["methods__name"],
                    row["methods__version"],
                    row["methods__statistics"]["full"]["median"],
                    row["methods__statistics"]["full"]["mean"],
                    f"{row['created_at']:%Y-%m-%d %H:%M}",
                )
                for row in points
            ],
        ),
    )


def paper_charts(results: Mapping[str, Sequence[ErrorRow]]) -> list[Chart]:
    """Return the charts of Figures 10 and 11, of the influence of the parts, and of the ablation, if they have any
    numbers."""
    charts = [figure10(part, results["figure10"]) for part in PART_SLUGS]
    charts.append(figure11(results["figure11"]))
    charts.append(influence_chart(results["influence"]))
    charts += [ablation_chart(part, results["ablation"]) for part in PART_SLUGS]
    return [chart for chart in charts if chart.table.rows]


def figure10(part: str, rows: Sequence[ErrorRow]) -> Chart:
    """Return the chart of sorted errors with one and with ten candidates."""
    mine = [row for row in rows if row["part"] == part]
    counts = sorted({row["candidates"] for row in mine})
    errors = {count: [row["error"] for row in mine if row["candidates"] == count] for count in counts}
    traces = [
        trace(
            f"{count} candidate{'s' if count > 1 else ''}",
            f"series-{index}",
            [row["share"] for row in mine if row["candidates"] == count],
            [clipped_error(error) for error in errors[count]],
            mode="lines",
            hovertemplate="%{x:.0f} % of the predictions: at most %{y:.3~g} %",
        )
        for index, count in enumerate(counts)
    ]
    percentiles = [np.percentile(errors[count], PERCENTILES).tolist() for count in counts]
    axis = error_axis([clipped_error(error) for values in errors.values() for error in values])
    return Chart(
        f"figure10-{PART_SLUGS[part]}",
        f"Figure 10: sorted errors of {part}",
        "Errors of all predictions in ascending order, with 1 candidate and with 10.",
        accuracy_figure(traces, {"title": {"text": "predictions (%)"}, "range": [0, 100]}, axis),
        Table(
            ("predictions (%)", *(f"error with {count} (%)" for count in counts)),
            [(percentile, *values) for percentile, *values in zip(PERCENTILES, *percentiles, strict=True)]
            if counts
            else [],
        ),
    )


def figure11(rows: Sequence[ErrorRow]) -> Chart:
    counts = sorted({row["candidates"] for row in rows})
    traces = []
    for index, count in enumerate(counts):
        mine = [row for row in rows if row["candidates"] == count]
        for column, word, dash in (("av", "mean", "dot"), ("med", "median", "solid")):
            traces.append(
                trace(
                    f"{word}, {count} candidate{'s' if count > 1 else ''}",
                    f"series-{index}",
                    [row["distance"] for row in mine],
                    [clipped_error(row[column]) for row in mine],
                    mode="lines+markers",
                    line={"dash": dash},
                    hovertemplate="D_a = %{x:.3~g}: %{y:.3~g} %",
                )
            )
    values = [clipped_error(row[column]) for row in rows for column in ("av", "med")]
    return Chart(
        "figure11",
        "Figure 11: error against distance",
        "Error of the scaling for candidates at varying workload distance; bins hold equally many predictions.",
        accuracy_figure(
            traces, {"title": {"text": "workload distance D_a"}, "rangemode": "tozero"}, error_axis(values)
        ),
        Table(
            ("candidates", "distance", "mean (%)", "median (%)", "predictions"),
            [tuple(row[name] for name in ("candidates", "distance", "av", "med", "count")) for row in rows],
        ),
    )


def influence_chart(rows: Sequence[ErrorRow]) -> Chart:
    with_share = [row for row in rows if row["share"] is not None]
    names = [row["parameter"].replace("_", " ") for row in with_share]
    traces = [
        percent_dots(name, colour, [row[column] for row in with_share], names)
        for name, column, colour in (
            ("share of the loss", "share", "predicted"),
            ("profiles in which it is the largest", "largest", "reference"),
        )
    ]
    return Chart(
        "influence",
        "What costs most",
        "Share of each scaling part in n·t(n) − t(1) at the largest measured n, mean over the decomposed profiles.",
        accuracy_figure(traces, {"title": {"text": "%"}, "rangemode": "tozero"}, category_axis("part")),
        Table(
            ("part", "share of the loss (%)", "largest in (% of profiles)", "profiles"),
            [(name, row["share"], row["largest"], row["count"]) for name, row in zip(names, with_share, strict=True)],
        ),
    )


def ablation_chart(part: str, rows: Sequence[ErrorRow]) -> Chart:
    mine = [row for row in rows if row["part"] == part and row["med"] is not None]
    names = [f"{row['value']}{' (paper)' if row['is_default'] else ''}" for row in mine]
    traces = [
        percent_dots(name, STATISTIC_COLOURS[name], [clipped_error(row[column]) for row in mine], names)
        for name, column in (("median", "med"), ("mean", "av"), ("p95", "p95"))
    ]
    axis = error_axis([clipped_error(row[column]) for row in mine for column in ("av", "med", "p95")], few=True)
    return Chart(
        f"ablation-{PART_SLUGS[part]}",
        f"Ablation: {part}",
        "mpet2020 with one of its choices changed at a time; the paper's choice is marked.",
        accuracy_figure(traces, axis, category_axis("choice")),
        Table(
            ("choice", "median (%)", "mean (%)", "95 % (%)", "predictions", "refused"),
            [
                (name, row["med"], row["av"], row["p95"], row["count"], row["refused"])
                for name, row in zip(names, mine, strict=True)
            ],
        ),
        tall=len(names) > MANY_NAMES,
    )
