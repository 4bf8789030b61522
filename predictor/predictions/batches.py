"""Many workloads on many targets in one question: a line for each pair, as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from predictor.core.steps import single_thread
from predictor.predictions.question import DEFAULT_METHOD, InvalidField, UnknownTargetName, position_named
from predictor.predictions.ranking_rows import estimated_rows, row_or_refusal
from predictor.predictions.rankings import RankingQuestion

MOST_BATCH_WORKLOADS = 500  # of a batch
MOST_BATCH_TARGETS = 20_000


@dataclass(frozen=True)
class BatchRequest:
    """`workloads` and `targets` by slug or by exact name; no targets: every platform. `n`: None, the fastest of each.

    `estimate`: every pair is estimated, in one pass for each workload. The first `skip` pairs are left out.
    """

    workloads: Sequence[str]
    targets: Sequence[str] | None = None
    method: str = DEFAULT_METHOD
    settings: Mapping[str, Any] = field(default_factory=dict)
    n: int | None = None
    include_simulated: bool = False
    public_only: bool = False
    estimate: bool = False
    skip: int = 0


@dataclass(frozen=True, eq=False)
class Batch:
    """The questions of a batch, one for each workload, each with the positions of the targets in its snapshot."""

    questions: Sequence[RankingQuestion]
    targets: Sequence[Sequence[int]]
    request: BatchRequest

    @classmethod
    def of(cls, request: BatchRequest, user: Any) -> Batch:
        """Raises a RequestError where a name or a value is wrong: before anything is answered."""
        viewer = None if request.public_only else user
        questions = [
            RankingQuestion.of(
                name,
                viewer,
                method=request.method,
                settings=request.settings,
                include_simulated=request.include_simulated,
                n=request.n,
            )
            for name in request.workloads
        ]
        if request.estimate and any(question.method.estimate is None for question in questions):
            raise InvalidField("estimate", f"{request.method} has no estimates")
        positions: dict[int, list[int]] = {}
        for question in questions:
            database = question.snapshot.database
            if id(database) not in positions:
                positions[id(database)] = (
                    list(range(len(database.platforms)))
                    if request.targets is None
                    else [position_named(name, database, viewer, UnknownTargetName) for name in request.targets]
                )
        return cls(questions, [positions[id(question.snapshot.database)] for question in questions], request)

    @property
    def pairs(self) -> int:
        return sum(map(len, self.targets))

    def lines(self, seconds: float) -> Iterator[dict[str, Any]]:
        """A line for each pair, workload after workload, until the seconds are over; the last line sums up: `next` is
        what to `skip` for the rest, None where there is none. At least one pair is answered."""
        deadline, done = time.monotonic() + seconds, min(self.request.skip, self.pairs)
        for question, row in self._rows_from(done):
            yield {"workload": question.snapshot.database.workloads[question.workload], "target": row["platform"]} | {
                name: value for name, value in row.items() if name != "platform"
            }
            done += 1
            if time.monotonic() > deadline:
                break
        yield {"pairs": self.pairs, "answered": done, "next": done if done < self.pairs else None} | {
            "method": self.request.method,
            "method_version": self.questions[0].method.version,
            "revision": self.questions[0].snapshot.database.revision,
        }

    def _rows_from(self, skip: int) -> Iterator[tuple[RankingQuestion, Mapping[str, Any]]]:
        """The row of each pair but the first ones, with its question: estimated if that is asked for, else computed."""
        for question, targets in zip(self.questions, self.targets, strict=True):
            if skip >= len(targets):
                skip -= len(targets)
                continue
            with single_thread():
                estimates = estimated_rows(question) if self.request.estimate else None
            for target in targets[skip:]:
                with single_thread():
                    estimate = None if estimates is None else estimates[target]
                    row = row_or_refusal(question, target) if estimate is None else estimate
                yield question, row
            skip = 0
