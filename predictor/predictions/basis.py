"""An answer with the rows of the snapshot behind it: from this its document is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Candidate
from predictor.core.scenarios import Scenario, ScenarioOutcome
from predictor.snapshot.building import Snapshot


@dataclass(frozen=True, eq=False)
class Basis:
    """An answer together with the rows of the snapshot that it came from."""

    snapshot: Snapshot
    workload: int
    target: int
    groups: tuple[int, ...]
    references: tuple[int, ...] | None
    outcome: ScenarioOutcome
    scenario: Scenario = field(default_factory=Scenario)
    warnings: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        return self.outcome.answer

    @cached_property
    def candidates(self) -> list[Candidate]:
        return [*self.answer.candidates_t1, *self.answer.candidates_scaling]

    @cached_property
    def reference_platforms(self) -> list[int]:
        """The candidates' platforms P, by slug; where a method names none, the references asked for. Never T."""
        database = self.snapshot.database
        named = {candidate.platform for candidate in self.candidates} - {database.platforms[self.target]}
        platforms = [index for index, slug in enumerate(database.platforms) if slug in named]
        return platforms or list(self.references or ())

    @cached_property
    def reference_rows(self) -> np.ndarray:
        """The rows (P,A)."""
        return self._rows(self.reference_platforms, self.workload)

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that took part: (P,A), (P,B) and (T,B)."""
        database = self.snapshot.database
        position = {slug: index for index, slug in enumerate(database.workloads)}
        platform = {slug: index for index, slug in enumerate(database.platforms)}
        workloads = [position[candidate.workload] for candidate in self.candidates]
        platforms = [platform[candidate.platform] for candidate in self.candidates]
        parts = self.reference_rows, self._rows(platforms, workloads), self._rows(self.target, workloads)
        return np.unique(np.concatenate(parts))

    @cached_property
    def measured_row(self) -> int | None:
        """The row (T,A), which the method did not see; None where nobody measured it in these groups."""
        rows = self._rows(self.target, self.workload)
        return int(rows[0]) if len(rows) else None

    def _rows(self, platforms: Any, workloads: Any) -> np.ndarray:
        rows = self.snapshot.database.lookup(platforms, workloads, self.groups).ravel()
        return rows[rows >= 0]
