"""An answer with the rows of the snapshot behind it: from this its document is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Candidate
from predictor.core.database import Database
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
        rows = candidate_rows(self.snapshot.database, self.target, self.candidates, self.groups)
        return np.unique(np.concatenate([self.reference_rows, rows]))

    @property
    def evidence_rows(self) -> np.ndarray:
        """The rows that the answer rests on, also where its method names no candidate."""
        return rows_behind(self.snapshot.database, self.workload, self.target, self.candidates, self.groups)

    @cached_property
    def measured_row(self) -> int | None:
        """The row (T,A), which the method did not see; None where nobody measured it in these groups."""
        rows = self._rows(self.target, self.workload)
        return int(rows[0]) if len(rows) else None

    def _rows(self, platforms: Any, workloads: Any) -> np.ndarray:
        return visible_rows(self.snapshot.database, platforms, workloads, self.groups)


def rows_behind(
    database: Database, workload: int, target: int, candidates: Sequence[Candidate], groups: tuple[int, ...]
) -> np.ndarray:
    """The rows that an answer rests on: (P,A), (P,B) and (T,B) of its candidates; where its method names none, all of A
    and all of T. Never (T,A)."""
    if candidates:
        slugs = {candidate.platform for candidate in candidates} - {database.platforms[target]}
        platforms = [index for index, slug in enumerate(database.platforms) if slug in slugs]
        of_workload = visible_rows(database, platforms, workload, groups)
        rows = np.append(of_workload, candidate_rows(database, target, candidates, groups))
    else:
        rows = np.append(database.rows_of_workload(workload), database.rows_of_platform(target))
        rows = rows[np.isin(database.group[rows], groups)]
    is_own = (database.platform_index[rows] == target) & (database.workload_index[rows] == workload)
    return np.unique(rows[~is_own])


def candidate_rows(
    database: Database, target: int, candidates: Sequence[Candidate], groups: tuple[int, ...]
) -> np.ndarray:
    """The rows (P,B) and (T,B) of the candidates, each as often as it is named."""
    position = {slug: index for index, slug in enumerate(database.workloads)}
    platform = {slug: index for index, slug in enumerate(database.platforms)}
    workloads = [position[candidate.workload] for candidate in candidates]
    platforms = [platform[candidate.platform] for candidate in candidates]
    return np.concatenate([visible_rows(database, known, workloads, groups) for known in (platforms, target)])


def visible_rows(database: Database, platforms: Any, workloads: Any, groups: tuple[int, ...]) -> np.ndarray:
    """The rows of the pairs that are measured."""
    rows = database.lookup(platforms, workloads, groups).ravel()
    return rows[rows >= 0]
