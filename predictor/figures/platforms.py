"""One time a platform, a dot each with its interval: a ranking, or a predicted t(1) beside measured ones. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from predictor.figures.answer import known_as, origin_of
from profiles.figures import Chart, Table, figure, logarithmic_ticks
from profiles.figures.base import plot_numbers

SHOWN = 60  # dots that can be told apart in one figure
FEW = 14
LABEL_CHARACTERS = 20


@dataclass(frozen=True)
class PlatformTime:
    """A platform and its predicted time, its measured one, or both. NaN: not known."""

    name: str
    slug: str
    time_s: float = np.nan
    low_s: float = np.nan
    high_s: float = np.nan
    measured_s: float = np.nan
    n: int | None = None

    @classmethod
    def of(
        cls, name: str, slug: str, predicted: Mapping[str, Any], measured_s: float | None, n: int | None
    ) -> PlatformTime:
        """From plain JSON values, in which null is what is not known."""
        time_s, low_s, high_s = (nan_for_none(predicted.get(part)) for part in ("time_s", "low_s", "high_s"))
        return cls(name, slug, time_s, low_s, high_s, nan_for_none(measured_s), n)


def nan_for_none(value: float | None) -> float:
    return np.nan if value is None else value


def sequential_charts(answer: Mapping[str, Any], names: Mapping[str, str], time_unit: str) -> list[Chart]:
    """Of an answer that is t(1) alone, with the times of one thread on the reference platforms."""
    (point,) = answer["curve"]
    if point["time_s"] is None:
        return []
    known = known_as(origin_of(answer))
    measured = answer.get("measured") or {}
    target = answer["target"]
    elsewhere = [
        (one["platform"], first["time_s"])
        for one in answer["reference_curves"]
        for first in one["curve"][:1]
        if first["n"] == 1
    ]
    rows = [
        PlatformTime.of(names.get(target, target), target, point, measured.get("t1_s"), 1),
        *(PlatformTime.of(names.get(slug, slug), slug, {}, time_s, 1) for slug, time_s in elsewhere),
    ]
    return [
        dot_chart(
            "first-time",
            "Time with one thread",
            f"The predicted t(1) with its interval, and the times {known} on the reference platforms.",
            rows,
            axis=f"time t(1) ({time_unit})",
            measured=known,
        )
    ]


def labels_of(rows: Sequence[PlatformTime]) -> list[str]:
    """Names, with the slug where several platforms have one name."""
    count = Counter(row.name for row in rows)
    return [row.name if count[row.name] == 1 else f"{row.name} ({row.slug})" for row in rows]


def shortened(label: str) -> str:
    """
    >>> shortened("Intel(R) Xeon(R) Platinum 8488C, 192 threads")
    'Intel(R) Xeon(R) Pl…'
    """
    return label if len(label) <= LABEL_CHARACTERS else label[: LABEL_CHARACTERS - 1].rstrip() + "…"


def dots(name: str, colour: str, labels: Sequence[str], values: Sequence[float], **style: Any) -> go.Scatter:
    known = [at for at, value in enumerate(values) if np.isfinite(value)]
    return go.Scatter(
        name=name,
        x=plot_numbers([values[at] for at in known]),
        y=[labels[at] for at in known],
        mode="markers",
        meta={"colour": colour},
        hovertemplate="%{y}: %{x:.4~g}",
        **style,
    )


def interval_bars(rows: Sequence[PlatformTime]) -> dict[str, Any]:
    """From low to high around each predicted time; none where no platform has an interval."""
    shown = [row for row in rows if np.isfinite(row.time_s)]
    if not any(np.isfinite(row.low_s) and np.isfinite(row.high_s) for row in shown):
        return {}
    upper = np.nan_to_num([row.high_s - row.time_s for row in shown])
    lower = np.nan_to_num([row.time_s - row.low_s for row in shown])
    return {
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": plot_numbers(upper),
            "arrayminus": plot_numbers(lower),
            "thickness": 1.6,
            "width": 4,
        }
    }


def dot_chart(
    name: str, title: str, caption: str, rows: Sequence[PlatformTime], *, axis: str, measured: str = "measured"
) -> Chart:
    """The first `SHOWN` rows from top to bottom as they are given; the table has all of them."""
    labels = labels_of(rows)
    shown, drawn = labels[:SHOWN], rows[:SHOWN]
    known = [value for row in drawn for value in (row.time_s, row.low_s, row.high_s, row.measured_s)]
    times, known_s = [row.time_s for row in drawn], [row.measured_s for row in drawn]
    traces = [dots("predicted", "predicted", shown, times, marker={"size": 9}, **interval_bars(drawn))]
    if np.isfinite(known_s).any():
        traces.append(dots(measured, "measured", shown, known_s, marker={"size": 9, "symbol": "diamond"}))
    columns = ("platform", "predicted", "low", "high", measured, "threads n")
    return Chart(
        name,
        title,
        caption + (f" The first {SHOWN} of {len(rows)}." if len(rows) > SHOWN else ""),
        figure(
            traces,
            "platform",
            hovermode="closest",
            title={"text": "platform", "standoff": 14},
            x_axis={"title": {"text": axis}} | logarithmic_ticks(known, few=True),
            type="category",
            categoryorder="array",
            categoryarray=shown[::-1],
            tickvals=shown,
            ticktext=[shortened(label) for label in shown],
        ),
        Table(
            columns,
            [
                (label, row.time_s, row.low_s, row.high_s, row.measured_s, row.n)
                for label, row in zip(labels, rows, strict=True)
            ],
        ),
        tall=len(drawn) > FEW,
    )
