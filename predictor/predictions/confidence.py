"""How far an answer can be trusted: a word for the width of its calibrated interval, lowered by what that cannot know.

Without an interval plain rules over the evidence stand in, and the answer says so: they are provisional
(docs/decisions/prediction-confidence.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from profiles.scaling.wording import spell_threads, whole_percent

LEVELS = ("high", "medium", "low")
FEW_CANDIDATES, VERY_FEW_CANDIDATES = 10, 3
FAR, VERY_FAR = 0.15, 0.3
POOR_FIT, VERY_POOR_FIT = 0.1, 0.25
WIDE, VERY_WIDE = 0.1, 0.25


@dataclass(frozen=True)
class ConfidenceEvidence:
    """The facts that the rules look at. None: the fact does not apply, or is not known."""

    candidates: int | None
    mean_distance: float | None
    fit_error: float | None
    same_architecture: bool | None
    architecture: str
    largest_n: int
    largest_measured_n: int
    stand_in_t1: bool
    relative_times: bool
    simulated: bool
    half_width: float | None = None  # of the 90 % interval, as a share of the time


def judge_confidence(evidence: ConfidenceEvidence, more: Sequence[tuple[int, str]] = ()) -> dict[str, Any]:
    """The level, and the reasons that lowered it from high. `more`: (index of the level that remains, reason)."""
    findings = [*_findings(evidence), *more]
    level = max((level for level, _ in findings), default=0)
    judged = evidence.half_width is None or bool(more)
    reasons = [reason for _, reason in findings]
    return {"level": LEVELS[level], "reasons": reasons, "provisional": judged, "half_width": evidence.half_width}


def _findings(evidence: ConfidenceEvidence) -> list[tuple[int, str]]:
    """(index of the level that remains, reason)."""
    findings = [*(_by_rules(evidence) if evidence.half_width is None else [_by_interval(evidence.half_width)])]
    findings += [
        (level, reason)
        for holds, level, reason in (
            (
                evidence.same_architecture is False,
                2,
                f"no reference machine has the target's instruction set ({evidence.architecture})",
            ),
            (
                evidence.largest_n > evidence.largest_measured_n,
                1,
                f"no reference was measured with more than {spell_threads(evidence.largest_measured_n)}",
            ),
            (evidence.stand_in_t1, 1, "a profile that took part has no run at n = 1"),
            (evidence.relative_times, 1, "times are relative: their unit is unknown"),
            (evidence.simulated, 2, "simulated profiles took part"),
        )
        if holds
    ]
    return [finding for finding in findings if finding is not None]


def _by_interval(half_width: float) -> tuple[int, str] | None:
    if not half_width > WIDE:
        return None
    return (2 if half_width > VERY_WIDE else 1), f"the 90 % interval is wide: typically {width_in_words(half_width)}"


def width_in_words(half_width: float) -> str:
    """Beyond 100 % it is no share of the time on either side, only a factor.

    >>> width_in_words(0.373), width_in_words(7.91)
    ('±37 %', 'a factor of 8.9 to either side')
    """
    return f"±{whole_percent(half_width)}" if half_width <= 1 else f"a factor of {1 + half_width:.2g} to either side"


def _by_rules(evidence: ConfidenceEvidence) -> list[tuple[int, str] | None]:
    """The findings that stand in for an interval where a method gives none."""
    return [
        _below(evidence.candidates, FEW_CANDIDATES, VERY_FEW_CANDIDATES, "only {} comparable pairs".format),
        _above(evidence.mean_distance, FAR, VERY_FAR, "the comparable pairs are far: mean distance {:.2f}".format),
        _above(
            evidence.fit_error,
            POOR_FIT,
            VERY_POOR_FIT,
            lambda share: f"the fit error of the references is {whole_percent(share)}",
        ),
    ]


def _below(value: int | None, medium: int, low: int, reason: Callable[[float], str]) -> tuple[int, str] | None:
    if value is None or value >= medium:
        return None
    return (2 if value < low else 1), reason(value)


def _above(value: float | None, medium: float, low: float, reason: Callable[[float], str]) -> tuple[int, str] | None:
    if value is None or not value > medium:
        return None
    return (2 if value > low else 1), reason(value)
