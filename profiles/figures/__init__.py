"""Dataclass -> Plotly figure. Pure: no Django, no colours."""

from profiles.figures.base import (
    SPEEDUP,
    Breakpoints,
    Chart,
    MeasuredCurve,
    Table,
    figure,
    ideal_line,
    line,
    logarithmic_ticks,
    marked,
    origin_of,
    room_for_speedup,
    scatter,
    series_style,
    speedup_of,
    stacked_shares,
    table,
    thread_counts,
)
from profiles.figures.comparison import MEASURES, comparison_charts
from profiles.figures.profile import ProfileDrawing, profile_charts

__all__ = [
    "MEASURES",
    "SPEEDUP",
    "Breakpoints",
    "Chart",
    "MeasuredCurve",
    "ProfileDrawing",
    "Table",
    "comparison_charts",
    "figure",
    "ideal_line",
    "line",
    "logarithmic_ticks",
    "marked",
    "origin_of",
    "profile_charts",
    "room_for_speedup",
    "scatter",
    "series_style",
    "speedup_of",
    "stacked_shares",
    "table",
    "thread_counts",
]
