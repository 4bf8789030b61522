"""From a question to its answer with the rows of the snapshot behind it: the method runs on the snapshot, and from this
the document is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from predictor.core import methods, scenarios
from predictor.core.answers import Answer, Candidate
from predictor.core.database import Database
from predictor.core.references import groups_of_question, reference_rows
from predictor.core.scenarios import Scenario, ScenarioOutcome
from predictor.predictions.question import InvalidField, NoPrediction, Question
from predictor.snapshot.building import Snapshot, read_measures_at_one, read_stored_curves
from profiles.models import Workload


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


def run_question(question: Question, snapshot: Snapshot) -> Basis:
    """The method's answer to the question, with the rows of the snapshot that it came from. Raises a RequestError."""
    database, query = snapshot.database, method_query(question)
    groups = comparable_groups(question, query, database)
    try:
        outcome = scenarios.run_scenario(
            database,
            query,
            question.method,
            question.settings,
            scenario=question.scenario,
            facts=scenario_facts(question, snapshot),
        )
    except methods.SettingsError as error:
        raise InvalidField(error.setting, error.reason) from error
    except methods.PredictionError as error:
        raise no_prediction(error) from error
    return Basis(
        snapshot=snapshot,
        workload=question.workload,
        target=question.target,
        groups=groups,
        references=question.references,
        outcome=outcome,
        scenario=question.scenario,
        warnings=tuple(reference_warnings(question, database, groups)),
    )


def refusal_of_question(question: Question, snapshot: Snapshot) -> NoPrediction | None:
    """The error with which `run_question` refuses, without making the answer where the method's check tells; None where
    it answers. Raises InvalidField as that does."""
    try:
        error = scenarios.refusal_of_scenario(
            snapshot.database,
            method_query(question),
            question.method,
            question.settings,
            scenario=question.scenario,
            facts=scenario_facts(question, snapshot),
        )
    except methods.SettingsError as invalid:
        raise InvalidField(invalid.setting, invalid.reason) from invalid
    return None if error is None else no_prediction(error)


def method_query(question: Question) -> methods.Query:
    """What the method is asked."""
    return methods.Query(
        workload=question.workload,
        target=question.target,
        group=None,
        references=question.references,
        n=question.n,
    )


def no_prediction(error: methods.PredictionError) -> NoPrediction:
    """The method's refusal as that of the request."""
    if isinstance(error, methods.TooFewCandidates):
        return NoPrediction(str(error), error.found, error.needed, error.lacks)
    return NoPrediction(str(error), 0, 1, error.lacks)


def scenario_facts(question: Question, snapshot: Snapshot) -> scenarios.ScenarioFacts:
    """What a scenario may read beside the database. Only changes need the workload's bound: else it is not read."""
    bound: str | None = None
    if question.scenario.is_virtual:
        slug = snapshot.database.workloads[question.workload]
        bound = Workload.objects.filter(slug=slug).values_list("bound", flat=True).first()
    return scenarios.ScenarioFacts(
        bound, lambda: read_measures_at_one(snapshot), lambda row: read_stored_curves(snapshot, row)
    )


def comparable_groups(question: Question, query: methods.Query, database: Database) -> tuple[int, ...]:
    """The groups that the method chooses for this query; an answer's rows are looked up in them."""
    if question.scenario.uses_only_n1_of_workload or is_about_itself(question):
        return tuple(sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g)))
    try:
        rows = reference_rows(database.without(query.target, query.workload), query)
    except methods.NoReference:
        return ()  # the method says so itself, in its own words
    return groups_of_question(database, query, rows, question.settings)


def is_about_itself(question: Question) -> bool:
    """Whether what was measured on the target is what is changed there, or its t(1) is parallelised."""
    changes_itself = question.scenario.is_virtual or question.scenario.name == "parallelisation"
    return question.references == (question.target,) and changes_itself


def reference_warnings(question: Question, database: Database, groups: tuple[int, ...]) -> list[str]:
    """A sentence for each reference that was asked for and took no part."""
    warnings: list[str] = []
    if is_about_itself(question):
        return warnings
    for reference in question.references or ():
        if reference == question.target:
            warnings.append(f"reference {database.platforms[reference]} was not used: it is the target")
        elif database.lookup(reference, question.workload, groups) < 0:
            warnings.append(
                f"reference {database.platforms[reference]} was not used: no comparable profile of the workload there"
            )
    return warnings
