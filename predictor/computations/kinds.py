"""The kinds of long questions: from a stored question to what computes its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from predictor.comparisons.questions import MapQuestion, MatrixQuestion
from predictor.core.steps import ComputedStep
from predictor.predictions.next_measurements import NextMeasurementsQuestion
from predictor.predictions.rankings import RankingQuestion
from predictor.predictions.showcase import ShowcaseQuestion
from predictor.snapshot.building import Snapshot


class LongQuestion(Protocol):
    """A question against one snapshot."""

    @property
    def kind(self) -> str: ...

    @property
    def snapshot(self) -> Snapshot: ...

    def canonical(self) -> dict[str, Any]:
        """The question as plain JSON values in its only spelling."""

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """Compute the answer, or the rest of it where `earlier` is the document of an earlier step."""


LONG_QUESTIONS: dict[str, Callable[[Mapping[str, Any], Any], LongQuestion]] = {
    RankingQuestion.kind: RankingQuestion.from_canonical,
    "program": RankingQuestion.from_canonical,  # of computations stored before a ranking had parts
    MatrixQuestion.kind: MatrixQuestion.from_canonical,
    MapQuestion.kind: MapQuestion.from_canonical,
    NextMeasurementsQuestion.kind: NextMeasurementsQuestion.from_canonical,
    ShowcaseQuestion.kind: ShowcaseQuestion.from_canonical,
}

LONGEST_KINDS = (RankingQuestion.kind,)  # these predict something on every platform
