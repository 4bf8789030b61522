"""Figures of a stored answer. Pure functions, as in profiles.figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.figures.axes import SPEEDUP, logarithmic_ticks, speedup_axis
from profiles.figures.base import (
    FEW_POINTS,
    MOST_LINES,
    Breakpoints,
    Chart,
    Figure,
    MeasuredCurve,
    Trace,
    figure,
    ideal_line,
    line,
    scatter,
    speedup_of,
    stacked_shares,
    table,
)
from profiles.scaling.names import FRACTIONS

REFERENCES_DRAWN = MOST_LINES - 2  # in addition to the prediction and the baseline of a what-if


@dataclass(frozen=True)
class BaselineCurve:
    """The curve of the same question without its changes."""

    n: IntArray
    time_s: FloatArray
    speedup: FloatArray


@dataclass(frozen=True)
class AnswerDrawing:
    """The curves of one answer.

    `low_s` and `high_s` are NaN if the method gives no interval, `time_s` is NaN in the scenario scaling. `baseline`
    has time and speedup without the changes of a what-if.
    """

    n: IntArray
    time_s: FloatArray
    low_s: FloatArray
    high_s: FloatArray
    speedup: FloatArray
    measured: MeasuredCurve | None
    references: list[MeasuredCurve]
    fractions: dict[str, FloatArray]
    breakpoints: Breakpoints
    time_unit: str
    baseline: BaselineCurve | None = None
    measured_label: str = "measured"

    @property
    def has_times(self) -> bool:
        return bool(np.isfinite(self.time_s).any())


def answer_drawing(answer: Mapping[str, Any], names: Mapping[str, str], breakpoints: Breakpoints) -> AnswerDrawing:
    """Return the curves of an answer document. `names` are the platform names by slug, for the legend."""
    measured = answer.get("measured")
    scaling = answer.get("scaling_curves", {})
    baseline_curve = None
    if baseline := answer.get("baseline"):
        n, time_s, speedup = (column_of_rows(baseline, name) for name in ("n", "time_s", "speedup"))
        baseline_curve = BaselineCurve(n.astype(np.int64), time_s, speedup)
    return AnswerDrawing(
        n=column_of_rows(answer["curve"], "n").astype(np.int64),
        **{name: column_of_rows(answer["curve"], name) for name in ("time_s", "low_s", "high_s", "speedup")},
        measured=curve_from_rows("measured", measured["curve"], measured["t1_s"]) if measured else None,
        references=[
            curve_from_rows(names.get(reference["platform"], reference["platform"]), reference["curve"])
            for reference in answer.get("reference_curves", [])
        ],
        fractions={name: np.array(scaling.get(name, []), dtype=float) for name in FRACTIONS},
        breakpoints=breakpoints,
        time_unit="unknown unit" if answer.get("time_kind") == "relative" else "s",
        baseline=baseline_curve,
        measured_label=measured_label(answer_origin(answer)),
    )


def answer_origin(answer: Mapping[str, Any]) -> str:
    """Return the origin of the profiles that took part: measured, simulated, or mixed if both were allowed."""
    if not answer.get("simulated"):
        return "measured"
    return "mixed" if answer.get("include_simulated") else "simulated"


def measured_label(origin: str) -> str:
    """Return the label of the curves that were not predicted."""
    return "simulated" if origin == "simulated" else "measured"


def column_of_rows(rows: Sequence[Mapping[str, Any]], name: str) -> FloatArray:
    return np.array([row[name] for row in rows], dtype=float)


def curve_from_rows(label: str, rows: Sequence[Mapping[str, Any]], t1_s: float | None = None) -> MeasuredCurve:
    """Return the curve of the JSON points, with the given t(1) or the one of `curve_with_t1`."""
    n, time_s = column_of_rows(rows, "n").astype(np.int64), column_of_rows(rows, "time_s")
    return curve_with_t1(label, n, time_s, t1_s)


def curve_with_t1(label: str, n: IntArray, time_s: FloatArray, t1_s: float | None = None) -> MeasuredCurve:
    """Return the curve with its t(1), which is t(n_min) n_min if none is given."""
    return MeasuredCurve(label, n, time_s, t1_s or (float(time_s[0] * n[0]) if len(n) else None))


def align_to_counts(n: IntArray, known: IntArray, values: FloatArray) -> FloatArray:
    """Return the values at the thread counts n, NaN where they are not `known`.

    >>> align_to_counts(np.array([1, 2, 3]), np.array([1, 3]), np.array([6.0, 2.0]))
    array([ 6., nan,  2.])
    """
    value_at = dict(zip(known.tolist(), values.tolist(), strict=True))
    return np.array([value_at.get(count, np.nan) for count in n.tolist()], dtype=float)


def cut_beyond(largest: int, curve: MeasuredCurve) -> MeasuredCurve:
    """Return the curve up to its first point at or beyond the largest n. Later points are not visible, but would
    stretch the time axis.

    >>> cut_beyond(3, MeasuredCurve("", np.array([1, 2, 4, 8]), np.array([8.0, 4.0, 2.0, 1.0]), 8.0)).n
    array([1, 2, 4])
    """
    count = int(np.searchsorted(curve.n, largest)) + 1
    return replace(curve, n=curve.n[:count], time_s=curve.time_s[:count])


def reference_traces(references: Sequence[MeasuredCurve], value: Any) -> list[Trace]:
    """Return the lines of the reference machines. All are grey and share one legend entry; hovering shows their names.

    The first ones are visible, so that the prediction can still be followed, and the others are shown on demand.
    """
    traces = [
        line(
            curve.label,
            "reference",
            curve.n,
            value(curve),
            line={"width": 1.3},
            marker={"size": 6},
            legendgroup="references",
            showlegend=False,
            **({} if place < REFERENCES_DRAWN else {"visible": False}),
        )
        for place, curve in enumerate(references)
    ]
    if traces:
        name = "reference machines" if len(traces) > 1 else f"reference: {references[0].label}"
        traces.append(line(name, "reference", [1], [np.nan], mode="lines", legendgroup="references", hoverinfo="skip"))
    return traces


def interval_traces(n: IntArray, low: FloatArray, high: FloatArray) -> list[Trace]:
    """Return the band from low to high, or one bar per n if there are few; empty if the method gives no interval."""
    if not (np.isfinite(low) & np.isfinite(high)).any():
        return []
    if len(n) <= FEW_POINTS:
        # Each bar is a separate line, followed by a gap.
        x, y = np.repeat(n, 3), np.stack([low, high, np.full(len(n), np.nan)], axis=1).ravel()
        return [scatter("interval", "predicted", x, y, mode="lines", line={"width": 6}, opacity=0.35, hoverinfo="skip")]
    edge: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        scatter("low", "predicted", n, low, showlegend=False, **edge),
        scatter("interval", "predicted", n, high, fill="tonexty", **edge),
    ]


def baseline_trace(baseline: BaselineCurve, values: FloatArray) -> Trace:
    return line("baseline", "ideal", baseline.n, values, line={"width": 2, "dash": "dot"})


def measured_trace(measured: MeasuredCurve, values: FloatArray, label: str) -> Trace:
    return scatter(label, "measured", measured.n, values, mode="markers", marker={"size": 8, "symbol": "circle"})


def predicted_time_chart(answer: AnswerDrawing) -> Chart:
    references = [cut_beyond(int(answer.n.max()), curve) for curve in answer.references]
    curves = [*references, *([answer.measured] if answer.measured else [])]
    drawn_times = [answer.time_s, answer.low_s, answer.high_s, *(curve.time_s for curve in curves)]
    columns: dict[str, Any] = {"n": answer.n, "predicted": answer.time_s, "low": answer.low_s, "high": answer.high_s}
    traces = [
        *reference_traces(references, lambda curve: curve.time_s),
        *interval_traces(answer.n, answer.low_s, answer.high_s),
    ]
    if answer.baseline:
        drawn_times.append(answer.baseline.time_s)
        traces.append(baseline_trace(answer.baseline, answer.baseline.time_s))
        columns["baseline"] = align_to_counts(answer.n, answer.baseline.n, answer.baseline.time_s)
    traces.append(line("predicted", "predicted", answer.n, answer.time_s, line={"width": 3}))
    if answer.measured:
        traces.append(measured_trace(answer.measured, answer.measured.time_s, answer.measured_label))
        measured_s = align_to_counts(answer.n, answer.measured.n, answer.measured.time_s)
        error_name = "error (%)" if answer.measured_label == "measured" else "error against the simulation (%)"
        columns[answer.measured_label] = measured_s
        columns[error_name] = 100 * np.abs(answer.time_s - measured_s) / measured_s
    columns |= {curve.label: align_to_counts(answer.n, curve.n, curve.time_s) for curve in answer.references}
    return Chart(
        "time",
        "Time",
        f"Predicted wall time, and the times {answer.measured_label} on the reference machines. Logarithmic scale.",
        figure(
            traces,
            f"time t(n) ({answer.time_unit})",
            breakpoints=answer.breakpoints,
            hovermode="closest",
            largest=int(answer.n.max()),
            **logarithmic_ticks(np.concatenate(drawn_times)),
        ),
        table(columns),
    )


def predicted_speedup_chart(answer: AnswerDrawing) -> Chart:
    predicted = answer.speedup
    traces = [ideal_line(answer.n), *reference_traces(answer.references, speedup_of)]
    columns: dict[str, Any] = {"n": answer.n, "predicted": predicted, "efficiency": predicted / answer.n}
    drawn_speedups = [predicted]
    if answer.baseline:
        drawn_speedups.append(answer.baseline.speedup)
        traces.append(baseline_trace(answer.baseline, answer.baseline.speedup))
        columns["baseline"] = align_to_counts(answer.n, answer.baseline.n, answer.baseline.speedup)
    traces.append(line("predicted", "predicted", answer.n, predicted, line={"width": 3}))
    if answer.measured:
        drawn_speedups.append(speedup_of(answer.measured))
        traces.append(measured_trace(answer.measured, speedup_of(answer.measured), answer.measured_label))
        columns[answer.measured_label] = align_to_counts(answer.n, answer.measured.n, speedup_of(answer.measured))
    columns |= {curve.label: align_to_counts(answer.n, curve.n, speedup_of(curve)) for curve in answer.references}
    return Chart(
        "speedup",
        "Speedup",
        "Speedup over one thread, and the ideal speedup n.",
        speedup_figure(answer, traces, drawn_speedups),
        table(columns),
    )


def speedup_figure(answer: AnswerDrawing, traces: Sequence[Trace], speedups: Sequence[FloatArray]) -> Figure:
    """Return the figure of speedups over n, with an axis that has room for all of them."""
    return figure(
        traces,
        SPEEDUP,
        breakpoints=answer.breakpoints,
        hovermode="closest",
        largest=int(answer.n.max()),
        **speedup_axis(answer.n, np.concatenate(speedups)),
    )


def answer_charts(answer: AnswerDrawing) -> list[Chart]:
    """Return the charts of time and speedup, and of the shares of the thread time if the method predicts them. An
    answer at n = 1 alone has no charts."""
    if answer.n.tolist() == [1]:
        return []
    charts = [*([predicted_time_chart(answer)] if answer.has_times else []), predicted_speedup_chart(answer)]
    if all(len(fraction) and np.isfinite(fraction).all() for fraction in answer.fractions.values()):
        charts.append(
            stacked_shares(
                answer.n,
                answer.fractions,
                answer.breakpoints,
                speedup=answer.speedup,
                title="Where the threads’ time would go",
                caption="Predicted shares of the thread time n·t(n).",
            )
        )
    return charts
