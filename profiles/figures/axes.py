"""Axes of all figures, and the names at the ends of lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from profiles.arrays import IntArray
from profiles.scaling.validity import LARGEST_VALUE

THREADS = "threads n (count)"
SPEEDUP = "speedup t(1)/t(n) (ratio)"
MOST_DECADES = 20  # maximum number of decades with one tick each
MOST_DOUBLINGS = 9  # maximum number of powers of two with one tick each
LABEL_CHARACTERS = 20
LABEL_PIXELS = 6.4  # width of one character
LABEL_GAP = 0.06  # distance between two names, as a fraction of the height
AT_THE_EDGE = 0.9  # fraction of the width that a line must reach, or else its name would cover other lines
WITHOUT_UNIT = {"ratio", "count", "unknown unit", "distance"}


def axis(**attributes: Any) -> dict[str, Any]:
    """Return an axis with these attributes.

    Large and small numbers have powers of ten, because an SI prefix ("10f") looks like a unit.
    """
    return {"exponentformat": "power"} | attributes


def unit_of(title: str) -> str:
    """Return the unit in a title with a space before it, or "" if the numbers have no unit.

    >>> unit_of("time t(n) (s)"), unit_of("speedup t(1)/t(n) (ratio)"), unit_of("t(n)")
    (' s', '', '')
    """
    unit = title.rpartition(" (")[2].removesuffix(")") if " (" in title else ""
    return "" if not unit or unit in WITHOUT_UNIT else f" {unit}"


def thread_axis(largest: int) -> dict[str, Any]:
    """Return an axis of thread counts from 1 to the largest, with a tick at each power of two."""
    return axis(title={"text": THREADS}, unifiedhovertitle={"text": "n = %{x}"}, **doubling_axis(1, max(largest, 2)))


def doubling_axis(low: float, high: float) -> dict[str, Any]:
    """Return a logarithmic axis with a tick at each power of two, and at its end if the last tick is far from it.

    >>> doubling_axis(1, 12)["ticktext"], doubling_axis(1, 64)["ticktext"]
    (['1', '2', '4', '8', '12'], ['1', '2', '4', '8', '16', '32', '64'])
    >>> doubling_axis(1, 2**20)["ticktext"]
    ['1', '8', '64', '512', '4096', '32768', '262144', '1048576']
    """
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = 1 + (last - first) // MOST_DOUBLINGS
    ticks = [2.0**exponent for exponent in range(first, last + 1, step)]
    if float(high).is_integer() and high >= 1.5 * ticks[-1]:
        ticks.append(float(high))
    room = np.log10(high / low) * 0.03
    return {
        "type": "log",
        "range": [float(np.log10(low) - room), float(np.log10(high) + room)],
        "tickvals": ticks,
        "ticktext": [f"{tick:.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks],
    }


def speedup_axis(n: IntArray, speedups: Any) -> dict[str, Any]:
    """Return an axis of speedups with the scale of the thread axis, so that the ideal speedup is a straight line.

    The ideal speedup may leave the figure at the top, so that much smaller speedups remain readable.
    """
    numbers = np.asarray(speedups, dtype=float)
    known = numbers[(numbers >= 1 / LARGEST_VALUE) & (numbers <= LARGEST_VALUE)]
    largest = float(known.max(initial=1.0))
    high = max(min(float(n.max()), 1.7 * largest), largest, 2.0)
    return doubling_axis(float(known.min(initial=1.0)), high * 1.05)


def range_around(values: Any) -> list[float]:
    """Return a range from 0 to slightly above the largest value, or to 1.05 if no value is positive.

    Values beyond LARGEST_VALUE, such as those of a diverging fit, are ignored.

    >>> range_around([2.0, np.inf, np.nan]), range_around([np.nan, -1.0])
    ([0.0, 2.1], [0.0, 1.05])
    """
    numbers = np.asarray(values, dtype=float)
    largest = numbers.max(initial=0.0, where=np.abs(numbers) <= LARGEST_VALUE)
    return [0.0, 1.05 * float(largest if largest > 0 else 1.0)]


def logarithmic_ticks(values: Any, few: bool = False) -> dict[str, Any]:
    """Return a log axis with labelled ticks (1, 2, 5, 10 ...). `few` reduces them to the number that fits a narrow
    figure.

    >>> logarithmic_ticks([0.4, 13.0])["ticktext"], logarithmic_ticks([0.4, 13.0], few=True)["ticktext"]
    (['0.5', '1', '2', '5', '10'], ['1', '10'])
    >>> logarithmic_ticks([0.005, 0.07], few=True)["ticktext"]
    ['0.005', '0.01', '0.02', '0.05']
    >>> logarithmic_ticks([1.0, 1.5])["ticktext"]
    ['1', '1.2', '1.4', '1.6']
    """
    finite = np.asarray([v for v in values if v is not None and 1 / LARGEST_VALUE <= v <= LARGEST_VALUE], dtype=float)
    if not len(finite):
        return {"type": "log"}
    low, high = finite.min(), finite.max()
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    decades = range(first, last + 1, 1 + (last - first) // MOST_DECADES)
    span = high / low
    dense, whole = (3.0, 10.0) if few else (10.0, 1e4)
    steps: tuple[float, ...] = (1, 2, 5) if span < whole else (1,)
    if span < dense:
        steps = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 8) if span < 2.5 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    inside = [tick for tick in ticks if low / 1.2 <= tick <= high * 1.2] or ticks
    if few and len(inside) < 2:
        return logarithmic_ticks(values)
    return {"type": "log", "tickvals": inside, "ticktext": [f"{tick:g}" for tick in inside]}


def shortened_label(label: str) -> str:
    """Return the label with its middle left out if it is long.

    The start of a label is the kind of machine, and the end is its size.

    >>> shortened_label("KVM guest, 2 vCPUs of an AMD EPYC"), shortened_label("laptop")
    ('KVM guest…n AMD EPYC', 'laptop')
    """
    if len(label) <= LABEL_CHARACTERS:
        return label
    half = (LABEL_CHARACTERS - 1) // 2
    return f"{label[:half].rstrip()}…{label[half - LABEL_CHARACTERS + 1 :].lstrip()}"


def shortened_labels(labels: Sequence[str]) -> list[str]:
    """Return each label shortened, or unchanged if two shortened labels would be equal.

    >>> shortened_labels(["KVM guest, 2 vCPUs of an Intel Xeon", "KVM guest, 4 vCPUs of an Intel Xeon"])
    ['KVM guest, 2 vCPUs of an Intel Xeon', 'KVM guest, 4 vCPUs of an Intel Xeon']
    """
    short = [shortened_label(label) for label in labels]
    return [label if short.count(cut) > 1 else cut for label, cut in zip(labels, short, strict=True)]


def name_line_ends(traces: Sequence[Mapping[str, Any]], layout: dict[str, Any]) -> set[int]:
    """Write the names of lines that reach the right edge there, in their colours, and return the indices of these
    traces.

    `layout` must have the axes. Names at the lines are easier to read than a legend, in which each colour has to be
    looked up twice. charts.js uses the legend on narrow screens.
    """
    ends = {index: end for index, trace in enumerate(traces) if (end := end_of_line(trace)) is not None}
    if not ends:
        return set()
    x_axis, y_axis = layout["xaxis"], layout["yaxis"]
    low, high = y_axis["range"] = y_range(traces, y_axis)
    left, right = x_axis["range"]
    # A line that extends beyond the axis has its name at the edge.
    places = {
        index: (
            (min(np.log10(x), right) - left) / (right - left),
            float(np.clip((on_axis(y, y_axis) - low) / (high - low), 0, 1)),
        )
        for index, (x, y) in ends.items()
    }
    places = {index: place for index, place in places.items() if place[0] >= AT_THE_EDGE}
    heights = spread_apart({index: height for index, (_, height) in places.items()})
    # A fitted line is labelled with the quantity that it fits.
    labels = [traces[index]["meta"].get("label", traces[index]["name"]) for index in places]
    names = dict(zip(places, shortened_labels(labels), strict=True))
    layout.setdefault("annotations", []).extend(
        {
            "x": float(min(np.log10(ends[index][0]), right)),
            "y": heights[index],
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "middle",
            "xshift": 5,
            "text": name,
            "showarrow": False,
            "name": traces[index]["meta"]["colour"],
        }
        for index, name in names.items()
    )
    layout["margin"]["r"] = 16 + int(LABEL_PIXELS * max(map(len, names.values()), default=0))
    return {*places}


def end_of_line(trace: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the last point of a line that needs a name, or None for points, edges of bands, and hidden lines."""
    quiet = trace.get("hoverinfo") == "skip" or trace.get("visible") is False or "stackgroup" in trace
    if quiet or "lines" not in trace.get("mode", ""):
        return None
    known = [(x, y) for x, y in zip(trace["x"], trace["y"], strict=True) if x is not None and y is not None]
    return known[-1] if known else None


def on_axis(value: float, y_axis: Mapping[str, Any]) -> float:
    return float(np.log10(max(value, 1 / LARGEST_VALUE))) if y_axis.get("type") == "log" else value


def y_range(traces: Sequence[Mapping[str, Any]], y_axis: Mapping[str, Any]) -> list[float]:
    """Return the given range of the axis, or else a range that contains all visible values."""
    if "range" in y_axis:
        return list(y_axis["range"])
    shown = [
        value for trace in traces if trace.get("visible") is not False for value in trace["y"] if value is not None
    ]
    if y_axis.get("type") == "log":
        shown = [value for value in shown if value > 0]
    values = [on_axis(value, y_axis) for value in shown if abs(value) <= LARGEST_VALUE] or [0.0]
    low, high = min(values), max(values)
    if y_axis.get("rangemode") == "tozero":
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * (high - low) or 0.5
    return [low if low == 0.0 and y_axis.get("rangemode") == "tozero" else low - room, high + room]


def spread_apart(heights: Mapping[int, float]) -> dict[int, float]:
    """Return the heights of the names, moved so that they do not overlap: first upwards, then down from the top.

    >>> spread_apart({0: 0.5, 1: 0.5}), spread_apart({0: 1.0, 1: 1.0})
    ({0: 0.5, 1: 0.56}, {0: 0.94, 1: 1.0})
    """
    order = sorted(heights, key=lambda index: heights[index])
    raised: dict[int, float] = {}
    least = 0.0
    for index in order:
        raised[index] = max(heights[index], least)
        least = raised[index] + LABEL_GAP
    most = 1.0
    for index in reversed(order):
        raised[index] = round(min(raised[index], most), 4)
        most = raised[index] - LABEL_GAP
    return {index: raised[index] for index in heights}
