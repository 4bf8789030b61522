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


CHANGES = AnswerPart("changes", "What was changed")
WHY = AnswerPart("why", "Why")
CAUTIONS = AnswerPart("cautions", "Cautions")
CURVES = AnswerPart("curves", "Speedup and time breakdown")
CANDIDATES = AnswerPart("candidates", "Candidates")
NEXT = AnswerPart("next", "What to measure next")
METHOD = AnswerPart("method", "Method and sources")
COMMANDS = AnswerPart("commands", "Command line")


def answer_parts(answer: Mapping[str, Any], charts: Sequence[Any], cautions: int) -> list[AnswerPart]:
    """Those that have something to show for this answer, the first of which is open."""
    shown = {
        CHANGES: bool(answer.get("changes")),
        WHY: bool(answer.get("why", {}).get("sentences")),
        CAUTIONS: cautions > 0,
        CURVES: len(charts) > 1,
        CANDIDATES: True,
        NEXT: True,
        METHOD: True,
        COMMANDS: True,
    }
    return [part for part, is_shown in shown.items() if is_shown]
