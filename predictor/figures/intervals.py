"""The scale on which the intervals of one table are drawn as bars. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class IntervalScale:
    """The times between which all bars of one table are drawn, logarithmically."""

    low: float
    high: float

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> IntervalScale | None:
        """From the least low to the largest high of the rows, with a little room; None where no row has an interval."""
        bounds = [row[name] for row in rows for name in ("low_s", "time_s", "high_s") if has_interval(row)]
        return cls(min(bounds) / 1.02, max(bounds) * 1.02) if bounds else None

    def percent(self, value: float) -> str:
        """
        >>> IntervalScale(1.0, 100.0).percent(10.0)
        '50.0%'
        """
        return f"{100 * math.log(value / self.low) / math.log(self.high / self.low):.1f}%"


def has_interval(row: Mapping[str, Any]) -> bool:
    return bool(row["time_s"] and row["low_s"] and row["high_s"] and row["low_s"] > 0)
