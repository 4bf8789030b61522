"""Batches: many workloads on many targets in one request, with one line per pair as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from predictor.core.steps import single_thread
from predictor.predictions.question import DEFAULT_METHOD, InvalidField, position_named
from predictor.predictions.ranking_rows import estimated_rows, row_or_refusal
from predictor.predictions.rankings import RankingQuestion

MOST_BATCH_WORKLOADS = 500
MOST_BATCH_TARGETS = 20_000


@dataclass(frozen=True)
class BatchRequest:
    """A request for a batch of predictions.

    `workloads` and `targets` are slugs or exact names; without targets every platform is predicted. `n` None means the
    fastest thread count of each platform. With `estimate` the pairs are estimated, in one pass per workload. The first
    `skip` pairs are left out.
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
    """The ranking questions of a batch, one per workload, each with the positions of the targets in its snapshot."""

    questions: Sequence[RankingQuestion]
    targets: Sequence[Sequence[int]]
    request: BatchRequest

    @classmethod
    def of(cls, request: BatchRequest, user: Any) -> Batch:
        """Return the batch of a request. Raises a RequestError if a name or a value is invalid, before any pair is
        predicted."""
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
                    else [position_named(name, database, viewer, "target") for name in request.targets]
                )
        return cls(questions, [positions[id(question.snapshot.database)] for question in questions], request)

    @property
    def pairs(self) -> int:
        return sum(map(len, self.targets))

    def lines(self, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield one line per pair, workload after workload, until the time is over. At least one pair is answered.

        The last line is a summary: its `next` is the `skip` of a request for the rest, or None if there is no rest.
        """
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
        """Yield the rows of the pairs after the first `skip`, each with its question: estimated if requested, else
        computed."""
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
