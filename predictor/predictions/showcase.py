"""Examples for the front page: predictions of measured pairs with the most thread counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.database import Database
from predictor.core.steps import ComputedStep, single_thread
from predictor.predictions.confidence import LEVELS
from predictor.predictions.question import PredictionRequest, RequestError
from predictor.predictions.service import preview_answer
from predictor.snapshot.building import Snapshot
from predictor.snapshot.cache import read_snapshot

FEWEST_POINTS = 4  # least number of points of a curve that is worth drawing
ENOUGH_THREADS = 16
MOST_TRIED, MOST_KEPT = 12, 6
MOST_OF_A_WORKLOAD = 2


@dataclass(frozen=True, eq=False)
class ShowcaseQuestion:
    """The request to choose and predict the examples for the front page.

    Examples are chosen by their number of thread counts and their confidence. The error is not used, so that the
    examples are no better than other predictions.
    """

    snapshot: Snapshot
    origin: str
    kind: ClassVar[str] = "showcase"

    @classmethod
    def of_public(cls) -> ShowcaseQuestion:
        """Return the question for measured profiles, or for simulated profiles if no measured pair qualifies."""
        for origins in (MEASURED, SIMULATED):
            snapshot = read_snapshot(origins=origins)
            if example_pairs(snapshot.database):
                break
        return cls(snapshot, origins[0])

    @classmethod
    def from_canonical(cls, question: Mapping[str, Any], viewer: Any) -> ShowcaseQuestion:
        origin = question["origin"]
        return cls(read_snapshot(origins=(origin,)), origin)

    def canonical(self) -> dict[str, Any]:
        return {"origin": self.origin}

    def steps(self, earlier: Mapping[str, Any] | None = None) -> Iterator[ComputedStep]:
        """Predict one pair per step."""
        pairs = example_pairs(self.snapshot.database)
        answers: list[dict[str, Any]] = []
        for done, (workload, target) in enumerate(pairs, start=1):
            try:
                with single_thread():
                    answer = preview_answer(PredictionRequest(workload, target))
            except RequestError:
                answer = {}
            if answer.get("measured") and answer["confidence"]["half_width"] is not None:
                answers.append(answer)
            yield ComputedStep(done, len(pairs), lambda: {"examples": sorted(answers, key=confidence_key)[:MOST_KEPT]})
        if not pairs:
            yield ComputedStep(0, 0, lambda: {"examples": []})


def confidence_key(answer: Mapping[str, Any]) -> tuple[int, float]:
    """Return a sort key that puts the most confident answer first."""
    confidence = answer["confidence"]
    return LEVELS.index(confidence["level"]), confidence["half_width"]


def example_pairs(database: Database) -> list[tuple[str, str]]:
    """Return measured pairs (workload, platform), those with the most thread counts first. Each platform occurs once.

    Every pair has at least four points, and at least 16 threads if any pair has. The pairs are found from the arrays
    alone, without predictions.
    """
    lengths = np.diff(database.curve_offsets)
    largest = np.where(lengths > 0, database.curve_n[np.maximum(database.curve_offsets[1:] - 1, 0)], 0)
    elsewhere = np.bincount(database.workload_index, minlength=len(database.workloads))[database.workload_index] > 2
    usable = (lengths >= FEWEST_POINTS) & elsewhere & ~database.hidden
    if (usable & (largest >= ENOUGH_THREADS)).any():
        usable &= largest >= ENOUGH_THREADS
    pairs: list[tuple[str, str]] = []
    of_workload: dict[int, int] = {}
    platforms: set[int] = set()
    for row in sorted(np.flatnonzero(usable).tolist(), key=lambda row: (-lengths[row], row)):
        workload, platform = int(database.workload_index[row]), int(database.platform_index[row])
        if platform in platforms or of_workload.get(workload, 0) >= MOST_OF_A_WORKLOAD:
            continue
        platforms.add(platform)
        of_workload[workload] = of_workload.get(workload, 0) + 1
        pairs.append((database.workloads[workload], database.platforms[platform]))
        if len(pairs) == MOST_TRIED:
            break
    return pairs
