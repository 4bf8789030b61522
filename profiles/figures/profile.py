"""Charts of one profile: those of the paper's Figure 5, and the quality of the fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.figures.axes import SPEEDUP, logarithmic_ticks, range_around, speedup_axis
from profiles.figures.base import (
    COLOUR_OF_PART,
    USEFUL_WORK,
    Breakpoints,
    Chart,
    Trace,
    drawn_thread_counts,
    figure,
    ideal_line,
    line,
    plot_numbers,
    points,
    scatter,
    stacked,
    stacked_shares,
    table,
)
from profiles.scaling.features import evaluate_curves
from profiles.scaling.losses import pop_efficiencies
from profiles.scaling.names import CURVE_NAMES, FRACTIONS, GAUSSIAN_SUM, RELATIVE_MEASURES, SCALING_PARTS
from profiles.scaling.quality import RepeatSpread
from profiles.scaling.runs import CurveTable, reconstruct
from profiles.scaling.wording import counted

ROUNDING_PERCENT = 1e-6
LEAST_PERCENT_SHOWN = 1.0  # smallest range of the residual axis


@dataclass(frozen=True)
class ProfileDrawing:
    """The data for the figures of one profile. `features` has 84 elements (NaN if invalid), or is None without a
    fit."""

    curves: CurveTable
    features: FloatArray | None
    breakpoints: Breakpoints
    time_unit: str = "s"
    origin: str = "measured"  # origin of the points
    spread: RepeatSpread | None = None  # spread of the repeats

    def fitted(self, n: IntArray) -> FloatArray:
        """Return the seven scaling curves of Eq. 5-7 at n: (7, len(n)), NaN where nothing was fitted."""
        return self.all_fitted(n)[: len(SCALING_PARTS)]

    def all_fitted(self, n: IntArray) -> FloatArray:
        """Return the seven scaling curves followed by the counter ratios: (14, len(n))."""
        if self.features is None:
            return np.full((len(CURVE_NAMES), len(n)), np.nan)
        elements = np.reshape(self.features, (len(CURVE_NAMES), -1))
        return evaluate_curves(elements, n, self.breakpoints.n_nu, self.breakpoints.n_ht, GAUSSIAN_SUM)

    def fitted_speedup(self, n: IntArray) -> FloatArray:
        """Return t(1)/t(n) of the fitted curves (Eq. 3-4), restricted to possible values as in a prediction.

        It is NaN where the fit of R is not positive, because no speedup has such an R.
        """
        curves = self.fitted(n)
        speedup = 1 / reconstruct(1.0, curves[0], curves[1:] if self.curves.decomposed else None, n).time_s
        return np.where(curves[0] > 0, speedup, np.nan)

    @property
    def speedup(self) -> FloatArray:
        return self.curves.t1_s / self.curves.time_s

    @property
    def line_n(self) -> IntArray:
        return drawn_thread_counts(self.curves.n)


def speedup_chart(profile: ProfileDrawing) -> Chart:
    n, speedup = profile.curves.n, profile.speedup
    traces = [
        ideal_line(n),
        line("fitted, Eq. 5-7", "fitted", profile.line_n, profile.fitted_speedup(profile.line_n)),
        points_with_spread(profile),
    ]
    columns = {
        "n": n,
        f"time ({profile.time_unit})": profile.curves.time_s,
        **spread_columns(profile),
        "speedup": speedup,
        "efficiency": speedup / n,
        "speedup, fitted": profile.fitted_speedup(n),
    }
    return Chart(
        "speedup",
        "Speedup",
        f"Points are {profile.origin}. The line is computed from the fitted curves (Eq. 3 to 7). Dashed: the ideal "
        "speedup n." + (" Bars are the quartiles of the repeats." if profile.spread is not None else ""),
        figure(traces, SPEEDUP, breakpoints=profile.breakpoints, **speedup_axis(n, speedup)),
        table(columns),
    )


def points_with_spread(profile: ProfileDrawing) -> Trace:
    """Return the measured speedup with bars between the quartiles of t(n).

    The hover text has the number of runs and their deviation.
    """
    n, speedup = profile.curves.n, profile.speedup
    measured = points(profile.origin, "measured", n, speedup)
    spread = spread_at(profile)
    if spread is None:
        return measured
    high, low = (profile.curves.t1_s / quartile for quartile in (spread.low_quartile_s, spread.high_quartile_s))
    bars = {"array": plot_numbers(high - speedup), "arrayminus": plot_numbers(speedup - low)}
    repeats = zip(spread.count.tolist(), spread.deviation_s.tolist(), profile.curves.time_s.tolist(), strict=True)
    return measured | {
        "error_y": {"type": "data", "symmetric": False, "thickness": 1.2, "width": 3} | bars,
        "customdata": [describe_repeats(*of_n) for of_n in repeats],
        "hovertemplate": "%{y:.4~g} (%{customdata})",
    }


def describe_repeats(count: int, deviation_s: float, time_s: float) -> str:
    """Return the number of runs of a point and their standard deviation relative to the time.

    >>> describe_repeats(3, 0.02, 2.0), describe_repeats(1, np.nan, 2.0)
    ('3 runs, standard deviation 1 %', '1 run')
    """
    runs = counted(count, "run")
    return runs if np.isnan(deviation_s) else f"{runs}, standard deviation {100 * deviation_s / time_s:.2g} %"


def spread_at(profile: ProfileDrawing) -> RepeatSpread | None:
    """Return the spread at the drawn thread counts, or None if it is unknown or does not cover these points."""
    if profile.spread is None or not np.isin(profile.curves.n, profile.spread.n).all():
        return None
    rows = np.searchsorted(profile.spread.n, profile.curves.n)
    return RepeatSpread(**{name: column[rows] for name, column in vars(profile.spread).items()})


def spread_columns(profile: ProfileDrawing) -> dict[str, FloatArray | IntArray]:
    """Return the table columns for the repeats at each n, or none if the spread is unknown."""
    spread = spread_at(profile)
    if spread is None:
        return {}
    unit = profile.time_unit
    columns: dict[str, FloatArray | IntArray] = {
        "runs": spread.count,
        f"standard deviation ({unit})": spread.deviation_s,
        f"lower quartile ({unit})": spread.low_quartile_s,
        f"upper quartile ({unit})": spread.high_quartile_s,
    }
    if (spread.disturbed_count < 0).all():
        return columns
    return columns | {"disturbed runs": np.where(spread.disturbed_count < 0, np.nan, spread.disturbed_count)}


def time_budget_chart(profile: ProfileDrawing) -> Chart:
    """Return the parts of `shares_chart` as thread time instead of shares. A part that grows with n is a cost of more
    threads."""
    n, whole = profile.curves.n, profile.curves.n * profile.curves.time_s
    parts = {part: whole * profile.curves.curve(part) for part in FRACTIONS}
    budget = {USEFUL_WORK: whole * profile.curves.utilisation} | parts
    traces = stacked(n, {part.replace("_", " "): (COLOUR_OF_PART.get(part, "use"), y) for part, y in budget.items()})
    ideal = line("t(1), the ideal", "ideal", n, np.full(len(n), profile.curves.t1_s), line={"dash": "dash"})
    unit = profile.time_unit
    return Chart(
        "budget",
        "What the threads’ time is spent on",
        "The thread time n·t(n) by part. Dashed: t(1), its value at the ideal speedup.",
        figure([*traces, ideal], f"thread time n·t(n) ({unit})", breakpoints=profile.breakpoints, rangemode="tozero"),
        table({"n": n, **{f"{part.replace('_', ' ')} ({unit})": spent for part, spent in budget.items()}}),
    )


def pop_chart(profile: ProfileDrawing) -> Chart:
    n = profile.curves.n
    parallel, computation, whole = pop_efficiencies(profile.curves)
    efficiencies = {
        "parallel U(n)": (parallel, "use"),
        "computation 1/R(n)": (computation, "redundancy"),
        "global S(n)/n": (whole, "measured"),
    }
    traces = [
        scatter(name, colour, n, 100 * values, mode="lines+markers", line={"width": 2}, marker={"size": 5})
        for name, (values, colour) in efficiencies.items()
    ]
    percentages = np.concatenate([100 * values for values, _ in efficiencies.values()])
    return Chart(
        "pop",
        "POP efficiencies",
        "Parallel efficiency U(n) falls where threads wait or are managed, computation scaling 1/R(n) where they "
        "compute more than one thread. Global efficiency S(n)/n is their product.",
        figure(traces, "efficiency (%)", breakpoints=profile.breakpoints, range=range_around([100, *percentages])),
        table({"n": n, **{f"{name} (%)": 100 * values for name, (values, _) in efficiencies.items()}}),
    )


def excess_percent(value: FloatArray, other: FloatArray) -> FloatArray:
    """Return 100 (value / other - 1) for two vectors, NaN where `other` is not above 0.

    >>> excess_percent(np.array([3.0, 1.0]), np.array([2.0, 0.0]))
    array([50., nan])
    """
    quotient = np.full(other.shape, np.nan)
    np.divide(value, other, out=quotient, where=other > 0)
    return 100 * (quotient - 1)


def residuals_chart(profile: ProfileDrawing) -> Chart:
    """Return the relative errors of the fits: of t(n) computed from the fits (Eq. 3), and of R(n)."""
    n = profile.curves.n
    redundancy = excess_percent(profile.fitted(n)[0], profile.curves.redundancy)
    rebuilt = excess_percent(profile.speedup, profile.fitted_speedup(n))
    # An exact fit leaves only rounding errors, which are not residuals. The axis shows at least one percent.
    redundancy, rebuilt = (np.where(np.abs(values) < ROUNDING_PERCENT, 0.0, values) for values in (redundancy, rebuilt))
    largest = float(np.nanmax(np.abs([redundancy, rebuilt]), initial=LEAST_PERCENT_SHOWN))
    style: dict[str, Any] = {"mode": "lines+markers", "line": {"width": 1.2, "dash": "dot"}, "marker": {"size": 6}}
    traces = [
        scatter("t(n), rebuilt", "fitted", n, rebuilt, **style),
        scatter("R(n), fitted", "redundancy", n, redundancy, **style),
    ]
    return Chart(
        "residuals",
        "Residuals of the fit",
        "(fitted - measured) / measured: above 0 the fitted time is too long. The fit error is the mean of |t(n)|.",
        figure(
            traces,
            "(fitted - measured) / measured (%)",
            breakpoints=profile.breakpoints,
            hovermode="closest",
            range=[-1.1 * largest, 1.1 * largest],
        ),
        table({"n": n, "t(n), rebuilt (%)": rebuilt, "R(n), fitted (%)": redundancy}),
    )


def counters_chart(profile: ProfileDrawing) -> Chart | None:
    """Return the ratios of hardware counters of Table 2 over n with their fits, or None if there are none."""
    n, line_n = profile.curves.n, profile.line_n
    counted = [name for name in RELATIVE_MEASURES if np.isfinite(profile.curves.curve(name)).any()]
    if not counted:
        return None
    fitted = dict(zip(RELATIVE_MEASURES, profile.all_fitted(line_n)[len(SCALING_PARTS) :], strict=True))
    traces: list[Trace] = []
    for index, name in enumerate(counted):
        colour, values = f"series-{index}", profile.curves.curve(name)
        traces.append(points(name, colour, n, values, showlegend=False))
        positive = np.where(fitted[name] > 0, fitted[name], np.nan)  # a logarithmic axis shows positive values only
        traces.append(line(f"{name}, fitted", colour, line_n, positive, line={"width": 1.3}))
        traces[-1]["meta"]["label"] = name
    ratios = np.concatenate([profile.curves.curve(name) for name in counted])
    return Chart(
        "counters",
        "Ratios of hardware counters",
        "Per instruction, per branch or per access (Table 2), on a logarithmic scale; lines are the fits.",
        figure(
            traces,
            "counter / counter (ratio)",
            breakpoints=profile.breakpoints,
            hovermode="closest",
            **logarithmic_ticks(ratios),
        ),
        table({"n": n, **{name: profile.curves.curve(name) for name in counted}}),
    )


def shares_chart(profile: ProfileDrawing) -> Chart:
    return stacked_shares(
        profile.curves.n,
        {part: profile.curves.curve(part) for part in FRACTIONS},
        profile.breakpoints,
        speedup=profile.speedup,
        title="Where the threads’ time goes",
        caption="Shares of the thread time n·t(n). Useful work is that of one thread, redundancy the computation "
        "beyond it; the other six are the losses of Eq. 4.",
    )


def redundancy_chart(profile: ProfileDrawing) -> Chart:
    n = profile.curves.n
    line_n = profile.line_n
    traces = [
        line("fitted, Eq. 5-7", "fitted", line_n, profile.fitted(line_n)[0]),
        points(profile.origin, "measured", n, profile.curves.redundancy),
    ]
    return Chart(
        "redundancy",
        "Redundancy",
        "R(n): the computing time of all n threads, relative to one thread. Above 1 is work inflation."
        if profile.curves.decomposed
        else "R(n) = n·t(n)/t(1). Only the wall time is known here: every loss counts as redundancy.",
        figure(traces, "redundancy R(n) (ratio)", breakpoints=profile.breakpoints, rangemode="tozero"),
        table({"n": n, "R(n)": profile.curves.redundancy, "R(n), fitted": profile.fitted(n)[0]}),
    )


def losses_chart(profile: ProfileDrawing) -> Chart:
    n, line_n = profile.curves.n, profile.line_n
    fitted_line, fitted = 100 * profile.fitted(line_n), 100 * profile.fitted(n)
    traces: list[Trace] = []
    columns: dict[str, Any] = {"n": n}
    for row, part in enumerate(FRACTIONS, start=1):
        name, colour, measured = part.replace("_", " "), COLOUR_OF_PART[part], 100 * profile.curves.curve(part)
        traces.append(points(name, colour, n, measured, showlegend=False))
        traces.append(line(f"{name}, fitted", colour, line_n, fitted_line[row]))
        traces[-1]["meta"]["label"] = name
        columns |= {f"{name} (%)": measured, f"{name}, fitted (%)": fitted[row]}
    return Chart(
        "losses",
        f"Losses, {profile.origin} and fitted",
        f"Points are {profile.origin}, lines are the fitted curves of Eq. 5-7.",
        figure(
            traces, "share of thread time (%)", breakpoints=profile.breakpoints, hovermode="closest", rangemode="tozero"
        ),
        table(columns),
    )


def efficiency_chart(profile: ProfileDrawing) -> Chart:
    n, line_n = profile.curves.n, profile.line_n
    efficiency, fitted = 100 * profile.speedup / n, 100 * profile.fitted_speedup(line_n) / line_n
    traces = [
        line("fitted, Eq. 5-7", "fitted", line_n, fitted),
        points(profile.origin, "measured", n, efficiency),
    ]
    return Chart(
        "efficiency",
        "Parallel efficiency",
        "Speedup over n: the share of the ideal that n threads reach.",
        figure(
            traces,
            "efficiency t(1)/(n·t(n)) (%)",
            breakpoints=profile.breakpoints,
            range=range_around([100, *efficiency]),
        ),
        table({"n": n, "efficiency (%)": efficiency, "fitted (%)": 100 * profile.fitted_speedup(n) / n}),
    )


def profile_charts(profile: ProfileDrawing, *, in_time: bool = False) -> list[Chart]:
    """Return the charts of a profile page, those of the paper's Figure 5 and more, or none for a sequential profile.

    `in_time` shows the time budget in thread time instead of shares.
    """
    if len(profile.curves.n) < 2:
        return []
    if profile.curves.decomposed:
        budget = time_budget_chart if in_time else shares_chart
        chart_makers: tuple[Callable[[ProfileDrawing], Chart | None], ...] = (
            budget,
            speedup_chart,
            pop_chart,
            redundancy_chart,
            losses_chart,
            residuals_chart,
            counters_chart,
        )
    else:
        chart_makers = (speedup_chart, efficiency_chart, redundancy_chart, residuals_chart, counters_chart)
    # Values that are not finite become gaps in the charts.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return [chart for chart in (make(profile) for make in chart_makers) if chart]
