"""Template tags for answers: intervals as text and as bars, and costs of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from predictor.figures.platforms import IntervalScale, has_interval
from profiles.scaling.wording import whole_percent
from profiles.templatetags.quantities import in_unit, significant

register = template.Library()
ODDS = {0.5: "half of all", 0.8: "8 of 10", 0.9: "9 of 10", 0.95: "19 of 20", 0.99: "99 of 100"}


@register.simple_tag
def interval_bar(
    row: Mapping[str, Any], unit: str = "s", level: float | None = None, scale: IntervalScale | None = None
) -> SafeString | str:
    """Return the interval as an SVG line with a dot at the predicted time, or "" if there is no interval.

    Without the scale of a table, the axis extends from low_s / 1.5 to 1.5 * high_s.
    """
    if not has_interval(row):
        return ""
    drawn = scale or IntervalScale(row["low_s"] / 1.5, row["high_s"] * 1.5)
    low, time, high = (drawn.percent(row[name]) for name in ("low_s", "time_s", "high_s"))
    return format_html(
        '<svg class="interval" width="100%" height="12" role="img" aria-label="{}">'
        '<line class="axis" x1="0" x2="100%" y1="6" y2="6"/><line x1="{}" x2="{}" y1="6" y2="6"/>'
        '<circle cx="{}" cy="6" r="4.5"/></svg>',
        interval_words(row, unit, level),
        low,
        high,
        time,
    )


@register.simple_tag
def interval_words(row: Mapping[str, Any], unit: str = "s", level: float | None = None) -> str:
    """Return the interval in words.

    >>> interval_words({"time_s": 0.162, "low_s": 0.126, "high_s": 0.21})
    '9 of 10 times between 126 ms and 210 ms'
    """
    if not has_interval(row):
        return ""
    odds = ODDS.get(level or 0.9, f"{whole_percent(level or 0.9)} of")
    return f"{odds} times between {in_unit(row['low_s'], unit)} and {in_unit(row['high_s'], unit)}"


@register.simple_tag
def relative_speed(here_s: float, there_s: float | None) -> str:
    """Return how many times as fast the run is with `there_s` as with `here_s`.

    >>> relative_speed(3.0, 2.0)
    '1.5×'
    """
    return "–" if not there_s else f"{significant(here_s / there_s)}×"


@register.filter
def times(cost: float | None, factor: float) -> str:
    """Return the displayed cost of a run (see `predictor.figures.platforms.priced`).

    >>> times(1.2e-5, 1000), times(None, 1)
    ('0.012', '–')
    """
    return significant(None if cost is None else cost * factor)
