"""One profile: what the paper's Figure 5 shows, and how well the fits describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from profiles.figures.base import (
    COLOUR_OF_PART,
    SPEEDUP,
    Breakpoints,
    Chart,
    figure,
    ideal_line,
    line,
    points,
    room_for,
    room_for_speedup,
    stacked_shares,
    table,
    thread_counts,
)
from profiles.measurements import FloatArray, IntArray
from profiles.scaling.curves import evaluate_curves
from profiles.scaling.names import CURVE_NAMES, FRACTIONS, GAUSSIAN_SUM, SCALING_PARTS
from profiles.scaling.runs import ScalingCurves
from profiles.scaling.times import reconstruct


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
