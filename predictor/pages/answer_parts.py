"""What the page of an answer has below its first screen: sections with headlines, which the browser makes tabs of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AnswerPart:
    """`id` is what a link behind # opens."""

    id: str
    title: str

    @property
    def template(self) -> str:
        return f"predictor/answer_{self.id.replace('-', '_')}.html"


CHANGES_PART = AnswerPart("changes", "What was changed")
WHY_PART = AnswerPart("why", "Why")
CAUTIONS_PART = AnswerPart("cautions", "Cautions")
CURVES_PART = AnswerPart("curves", "Speedup and time breakdown")
CANDIDATES_PART = AnswerPart("candidates", "Evidence")
NEXT_PART = AnswerPart("next", "What to measure next")
METHOD_PART = AnswerPart("method", "Method and sources")
COMMANDS_PART = AnswerPart("commands", "Command line")


def answer_parts(answer: Mapping[str, Any], charts: Sequence[Any], cautions: int) -> list[AnswerPart]:
    """Those that have something to show for this answer, the first of which is open."""
    shown = {
        CHANGES_PART: bool(answer.get("changes")),
        WHY_PART: True,
        CAUTIONS_PART: cautions > 0,
        CURVES_PART: len(charts) > 1,
        CANDIDATES_PART: True,
        NEXT_PART: True,
        METHOD_PART: True,
        COMMANDS_PART: True,
    }
    return [part for part, is_shown in shown.items() if is_shown]
