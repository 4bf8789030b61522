"""The examples of the front page: predictions of pairs that were measured, with the most thread counts."""

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

FEWEST_POINTS = 4  # of a curve that is worth drawing
ENOUGH_THREADS = 16
MOST_TRIED, MOST_KEPT = 12, 6
MOST_OF_A_WORKLOAD = 2


@dataclass(frozen=True, eq=False)
class ShowcaseQuestion:
    """Which predictions show best what the server can do. Chosen by the number of thread counts and by confidence; the
    error plays no part, so that the examples are no better than the rest."""

    snapshot: Snapshot
    origin: str
    kind: ClassVar[str] = "showcase"

    @classmethod
    def of_public(cls) -> ShowcaseQuestion:
        """Of measured profiles where there is an example among them, else of simulated ones."""
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
        """Predict one pair a step."""
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
    """The most confident answer is sorted first by this."""
    confidence = answer["confidence"]
    return LEVELS.index(confidence["level"]), confidence["half_width"]


def example_pairs(database: Database) -> list[tuple[str, str]]:
    """Pairs (workload, platform) with a measured curve, those of the most thread counts first; each platform once. Of
    16 threads and more where there are such, never of fewer than four points. Looks at the arrays, predicts nothing."""
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
