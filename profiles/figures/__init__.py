"""Dataclass -> Plotly figure. Pure: no Django, no colours."""

from profiles.figures.base import (
    SPEEDUP,
    Breakpoints,
    Chart,
    MeasuredCurve,
    Table,
    drawn_thread_counts,
    figure,
    ideal_line,
    line,
    logarithmic_ticks,
    mark_origin,
    origin_of,
    room_for_speedup,
    scatter,
    series_style,
    speedup_of,
    stacked_shares,
    table,
)
from profiles.figures.comparison import DRAWN_MEASURES, comparison_charts
from profiles.figures.profile import ProfileDrawing, profile_charts

__all__ = [
    "DRAWN_MEASURES",
    "SPEEDUP",
    "Breakpoints",
    "Chart",
    "MeasuredCurve",
    "ProfileDrawing",
    "Table",
    "comparison_charts",
    "drawn_thread_counts",
    "figure",
    "ideal_line",
    "line",
    "logarithmic_ticks",
    "mark_origin",
    "origin_of",
    "profile_charts",
    "room_for_speedup",
    "scatter",
    "series_style",
    "speedup_of",
    "stacked_shares",
    "table",
]
