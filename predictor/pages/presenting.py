"""What the pages that show an answer read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from profiles.figures import Breakpoints
from profiles.models import Platform


def fastest(curve: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The point with the least time; with the largest speedup where only the scaling was asked for."""
    timed = [row for row in curve if row["time_s"] is not None]
    if timed:
        return min(timed, key=lambda row: row["time_s"])
    return max((row for row in curve if row["speedup"] is not None), key=lambda row: row["speedup"], default=None)


def facts_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The fastest point, with changes the fastest one without them and their ratio; the warnings that are no
    reason of the confidence too."""
    best = fastest(answer["curve"])
    before = fastest(answer.get("baseline") or [])
    ratio = None
    if best and before and best["time_s"] and before["time_s"]:
        ratio = before["time_s"] / best["time_s"]
    reasons = answer["confidence"].get("reasons", [])
    warnings = [warning for warning in answer["warnings"] if warning not in reasons]
    return {"fastest": best, "fastest_before": before, "times_as_fast": ratio, "warnings": warnings}


def breakpoints_of(target: Platform | None, answer: Mapping[str, Any]) -> Breakpoints:
    """Where the target's curves bend, as changed by a what-if."""
    if target is None:
        return Breakpoints()
    changes = answer.get("platform_changes") or {}
    return Breakpoints(changes.get("n_nu", target.n_nu), changes.get("n_ht", target.n_ht))
