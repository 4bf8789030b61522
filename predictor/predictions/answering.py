"""From a query to its answer with the rows of the snapshot behind it: the method runs on the snapshot, and from this
the document is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from predictor.core import methods, scenarios
from predictor.core.answers import Answer, Candidate
from predictor.core.database import Database
from predictor.core.references import groups_of_query
from predictor.core.scenarios import ScenarioQuery
from predictor.predictions.question import InvalidField, NoPrediction
from predictor.snapshot.building import Snapshot, read_measures_at_one, read_stored_curves
from profiles.models import Workload


@dataclass(frozen=True, eq=False)
class Basis:
    """An answer together with the rows of the snapshot that it came from."""

    snapshot: Snapshot
    query: ScenarioQuery
    answer: Answer

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The groups that the method chose for the query."""
        return comparable_groups(self.query, self.snapshot.database)

    @cached_property
    def candidates(self) -> list[Candidate]:
        return [*self.answer.candidates_t1, *self.answer.candidates_scaling]

    @cached_property
    def reference_platforms(self) -> list[int]:
        """The candidates' platforms P, by slug; where a method names none, the references asked for. Never T."""
        database = self.snapshot.database
        named = {candidate.platform for candidate in self.candidates} - {database.platforms[self.query.target]}
        platforms = [index for index, slug in enumerate(database.platforms) if slug in named]
        return platforms or list(self.query.references or ())

    @cached_property
    def reference_rows(self) -> np.ndarray:
        """The rows (P,A)."""
        return self._rows(self.reference_platforms, self.query.workload)

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that took part: (P,A), (P,B) and (T,B)."""
        rows = candidate_rows(self.snapshot.database, self.query.target, self.candidates, self.groups)
        return np.unique(np.concatenate([self.reference_rows, rows]))

    @property
    def uses_simulated(self) -> bool:
        """Whether simulated profiles took part."""
        return bool(self.snapshot.is_simulated[self.rows].any())

    @property
    def evidence_rows(self) -> np.ndarray:
        """The rows that the answer rests on, also where its method names no candidate."""
        query = self.query
        return rows_behind(self.snapshot.database, query.workload, query.target, self.candidates, self.groups)

    @cached_property
    def measured_row(self) -> int | None:
        """The row (T,A), which the method did not see; None where nobody measured it in these groups."""
        rows = self._rows(self.query.target, self.query.workload)
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


def run_query(query: ScenarioQuery, snapshot: Snapshot) -> Basis:
    """The method's answer to the query, with the rows of the snapshot that it came from. Raises a RequestError."""
    try:
        answer = scenarios.run_scenario(snapshot.database, query, scenario_facts(query, snapshot))
    except methods.SettingsError as error:
        raise InvalidField(error.setting, error.reason) from error
    except methods.PredictionError as error:
        raise no_prediction(error) from error
    return Basis(snapshot, query, answer)


def refusal_of_query(query: ScenarioQuery, snapshot: Snapshot) -> NoPrediction | None:
    """The error with which `run_query` refuses, without making the answer where the method's check tells; None where
    it answers. Raises InvalidField as that does."""
    try:
        error = scenarios.refusal_of_scenario(snapshot.database, query, scenario_facts(query, snapshot))
    except methods.SettingsError as invalid:
        raise InvalidField(invalid.setting, invalid.reason) from invalid
    return None if error is None else no_prediction(error)


def no_prediction(error: methods.PredictionError) -> NoPrediction:
    """The method's refusal as that of the request."""
    if isinstance(error, methods.TooFewCandidates):
        return NoPrediction(str(error), error.found, error.needed, error.lacks)
    return NoPrediction(str(error), 0, 1, error.lacks)


def scenario_facts(query: ScenarioQuery, snapshot: Snapshot) -> scenarios.ScenarioFacts:
    """What a scenario may read beside the database. Only changes need the workload's bound: else it is not read."""
    bound: str | None = None
    if query.scenario.is_virtual:
        slug = snapshot.database.workloads[query.workload]
        bound = Workload.objects.filter(slug=slug).values_list("bound", flat=True).first()
    return scenarios.ScenarioFacts(
        bound, lambda: read_measures_at_one(snapshot), lambda row: read_stored_curves(snapshot, row)
    )


def comparable_groups(query: ScenarioQuery, database: Database) -> tuple[int, ...]:
    """The groups that the method chooses for this query; an answer's rows are looked up in them."""
    if query.scenario.uses_only_n1_of_workload or is_about_itself(query):
        return tuple(sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g)))
    return groups_of_query(database, query, query.settings)


def is_about_itself(query: ScenarioQuery) -> bool:
    """Whether what was measured on the target is what is changed there, or its t(1) is parallelised."""
    changes_itself = query.scenario.is_virtual or query.scenario.name == "parallelisation"
    return query.references == (query.target,) and changes_itself


def reference_warnings(basis: Basis) -> list[str]:
    """A sentence for each reference that was asked for and took no part."""
    query, database = basis.query, basis.snapshot.database
    if is_about_itself(query):
        return []
    warnings = []
    for reference in query.references or ():
        if reference == query.target:
            warnings.append(f"reference {database.platforms[reference]} was not used: it is the target")
        elif database.lookup(reference, query.workload, basis.groups) < 0:
            warnings.append(
                f"reference {database.platforms[reference]} was not used: no comparable profile of the workload there"
            )
    return warnings
