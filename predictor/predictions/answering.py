"""From a question to what its answer rests on: the method runs on the snapshot."""

from __future__ import annotations

from predictor.core import methods, scenarios
from predictor.core.database import Database
from predictor.core.references import groups_of_question, reference_rows
from predictor.predictions.basis import Basis
from predictor.predictions.question import Question
from predictor.predictions.request import InvalidField, NoPrediction
from predictor.snapshot.building import Snapshot
from predictor.snapshot.curves import read_measures_at_one, read_stored_curves
from profiles.models import Workload


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
