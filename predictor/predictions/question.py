"""Requests and queries: from a request for a prediction to the method's answer.

Names are resolved to positions in one snapshot, settings get their values, and the method runs. The result is the
answer with the rows behind it, or an error with the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mpet_site.web.background import NotReadyYet, answer_is_outdated
from predictor.core import methods, scenarios
from predictor.core.answers import LARGEST_THREAD_COUNT, Answer, Candidate
from predictor.core.arrays import slug_index
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.database import Database
from predictor.core.methods import DEFAULT_METHOD
from predictor.core.references import groups_of_query
from predictor.core.scenarios import ScenarioQuery
from predictor.snapshot.building import Snapshot, read_measures_at_one, read_stored_curves
from predictor.snapshot.cache import read_snapshot
from profiles.identity.name_disambiguation import slugs_of_name, suggestions
from profiles.measurements import STRATEGIES
from profiles.models import Platform, Profile, Workload

MOST_THREAD_COUNTS = 4096
# The fields of a request that take names, and what they name.
NOUNS = {"workload": "workload", "target": "target machine", "references": "reference machine", "method": "method"}


@dataclass(frozen=True)
class PredictionRequest:
    """A request for a prediction.

    `workload`, `target` and `references` are slugs or exact names. `references` None means all references; `n` None
    means n = 1..n_max, at most 512 thread counts. `scenario` is one of predictor.core.scenarios.SCENARIOS;
    `parallelisation` takes a `strategy`. `workload_changes` are factors on characteristics of the workload,
    `platform_changes` new values of the platform (docs/scenarios.md). With `public_only` the answer is the one for a
    user without own data.
    """

    workload: str
    target: str
    references: Sequence[str] | None = None
    method: str = DEFAULT_METHOD
    n: Sequence[int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    include_simulated: bool = False
    scenario: str = "migration"
    strategy: str | None = None
    workload_changes: Mapping[str, float] | None = None
    platform_changes: Mapping[str, float | None] | None = None
    include_outliers: bool = False
    public_only: bool = False

    def viewer(self, user: Any) -> Any:
        """Return the user whose data may be used: None with `public_only`, so that everybody may read the answer."""
        return None if self.public_only else user


class RequestError(Exception):
    """A request that cannot be answered. The message is the reason."""


class UnknownName(RequestError):
    """No row with this slug or name is visible to the viewer, or several rows have the name. `request_field` is the
    field of the request with the name."""

    def __init__(self, request_field: str, name: str, suggestions: Sequence[str]) -> None:
        self.request_field = request_field
        self.noun = NOUNS[request_field]
        self.name = name
        self.suggestions = list(suggestions)
        near = f"; did you mean {', '.join(self.suggestions)}?" if suggestions else ""
        super().__init__(f"no {self.noun} {name!r}{near}")


class InvalidSettings(RequestError):
    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name}: {reason}")


class InvalidField(InvalidSettings):
    """An invalid field of the request, which may have a member, such as `workload_changes.work`."""


@dataclass(frozen=True)
class Remedy:
    """A way to make a refused prediction possible: a sentence without a full stop, and its parts if it has any.

    `kind` is kit (run `command` on `platform`, which then shares `shared_workloads` with `shares_with`), measure, or
    the part of the request to change: method, settings, references, scenario, strategy, change, simulated.
    """

    kind: str
    sentence: str
    platform: str | None = None
    command: str | None = None
    shares_with: str | None = None
    shared_workloads: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "sentence"}


class NoPrediction(RequestError):
    """The refusal of a method: the measurements that it needs do not exist.

    `lacks` is a word for what is missing (docs/api.md), `remedy` is what would help, if anything is known, and
    `left_out` names the outliers that would have made an answer possible.
    """

    def __init__(self, reason: str, found: int, needed: int, lacks: str = "") -> None:
        self.reason = reason
        self.found = found
        self.needed = needed
        self.lacks = lacks
        self.remedy: Remedy | None = None
        self.left_out = ""
        super().__init__(reason)

    @property
    def advice(self) -> str | None:
        return None if self.remedy is None else self.remedy.sentence


def resolve_with_snapshot(request: PredictionRequest, user: Any) -> tuple[ScenarioQuery, Snapshot]:
    """Return the query, and the snapshot that it runs on."""
    viewer = request.viewer(user)
    snapshot = workload_snapshot(
        request.workload, viewer, include_simulated=request.include_simulated, include_outliers=request.include_outliers
    )
    database = snapshot.database
    method = registered_method(request.method)
    workload = position_named(request.workload, database, viewer)
    target = position_named(request.target, database, viewer, "target")
    references = None
    if request.references is not None:
        if not request.references:
            raise InvalidField("references", "the list is empty; omit it to use all references")
        named = {position_named(text, database, viewer, "references") for text in request.references}
        references = tuple(sorted(named))
    query = ScenarioQuery(
        workload=workload,
        target=target,
        references=references,
        n=checked_thread_counts(request.n),
        method=method,
        settings=checked_settings(method, request.settings),
        scenario=scenario_of(request),
    )
    return query, snapshot


def workload_snapshot(
    workload: str, user: Any, *, include_simulated: bool = False, include_outliers: bool = False
) -> Snapshot:
    """Return the snapshot for questions about the workload."""
    origins = (*MEASURED, *SIMULATED) if include_simulated else MEASURED
    snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    database = snapshot.database
    index = position_named(workload, database, user)
    if snapshot.is_simulated[database.rows_of_workload(index)].all():
        # The workload was not measured: use simulated profiles alone, if there are any, so that no measurement, such
        # as a private one, has an influence.
        slug = database.workloads[index]
        if Profile.objects.candidates_for(user).filter(workload__slug=slug, origin="simulated").exists():
            return read_snapshot(user, origins=SIMULATED, outliers=include_outliers)
    return snapshot


def checked_settings(method: methods.Method[Any], values: Mapping[str, Any]) -> Any:
    try:
        return method.settings_from(values)
    except methods.SettingsError as error:
        raise InvalidSettings(error.setting, error.reason) from error


def scenario_of(request: PredictionRequest) -> scenarios.Scenario:
    if request.scenario == "sequential" and request.n is not None and set(request.n) != {1}:
        raise InvalidField("n", "the scenario sequential predicts only n = 1")
    try:
        return scenarios.Scenario.of(
            request.scenario,
            request.strategy,
            request.workload_changes,
            request.platform_changes,
            strategies=STRATEGIES,
        )
    except methods.SettingsError as error:
        raise InvalidField(error.setting, error.reason) from error


def registered_method(name: str) -> methods.Method[Any]:
    try:
        return methods.get_method(name)
    except methods.UnknownMethod as error:
        raise UnknownName("method", name, error.known) from error


def position_named(text: str, database: Database, user: Any, request_field: str = "workload") -> int:
    """Return the position of the workload or platform with the slug `text`, or of the only visible one with that name.
    `request_field` is the field of the request with the text.

    Raises UnknownName, or NotReadyYet if the row is newer than the database.
    """
    model: Any = Workload if request_field == "workload" else Platform
    slugs = database.workloads if model is Workload else database.platforms
    index = slug_index(slugs, text)
    if index is not None:
        return index
    visible = model.objects.visible_to(user)
    named = slugs_of_name(visible, text)
    if len(named) == 1 and (index := slug_index(slugs, named[0])) is not None:
        return index
    if answer_is_outdated() and (named or visible.filter(slug=text).exists()):
        raise NotReadyYet
    raise UnknownName(request_field, text, suggestions(visible, text, named))


def checked_thread_counts(n: Sequence[int] | None) -> tuple[int, ...] | None:
    if n is None:
        return None
    if not 0 < len(n) <= MOST_THREAD_COUNTS:
        raise InvalidField("n", f"{len(n)} thread counts; give 1 to {MOST_THREAD_COUNTS}")
    for count in n:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LARGEST_THREAD_COUNT:
            raise InvalidField("n", f"{count!r} is not a thread count from 1 to {LARGEST_THREAD_COUNT}")
    return tuple(sorted(set(n)))


@dataclass(frozen=True, eq=False)
class Basis:
    """An answer with the rows of the snapshot that it is based on."""

    snapshot: Snapshot
    query: ScenarioQuery
    answer: Answer

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """Return the groups that the method chose for the query."""
        return comparable_groups(self.query, self.snapshot.database)

    @cached_property
    def candidates(self) -> list[Candidate]:
        return [*self.answer.candidates_t1, *self.answer.candidates_scaling]

    @cached_property
    def reference_platforms(self) -> list[int]:
        """Return the candidates' platforms P without T, by slug, or the requested references if the method names no
        candidates."""
        database = self.snapshot.database
        named = {candidate.platform for candidate in self.candidates} - {database.platforms[self.query.target]}
        platforms = [index for index, slug in enumerate(database.platforms) if slug in named]
        return platforms or list(self.query.references or ())

    @cached_property
    def reference_rows(self) -> np.ndarray:
        """Return the rows (P,A)."""
        database = self.snapshot.database
        return visible_rows(database, self.reference_platforms, self.query.workload, self.groups)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the rows that took part: (P,A), (P,B) and (T,B), and those of the first step of two."""
        rows = candidate_rows(self.snapshot.database, self.query.target, self.candidates, self.groups)
        return np.unique(np.concatenate([self.reference_rows, rows, self.answer.rows_of_first_step]))

    @property
    def uses_simulated(self) -> bool:
        """Return whether simulated profiles took part."""
        return bool(self.snapshot.is_simulated[self.rows].any())

    @cached_property
    def measured_row(self) -> int | None:
        """Return the row (T,A), which was hidden from the method; None if it was not measured in these groups."""
        rows = visible_rows(self.snapshot.database, self.query.target, self.query.workload, self.groups)
        return int(rows[0]) if len(rows) else None


def rows_behind(
    database: Database, workload: int, target: int, candidates: Sequence[Candidate], groups: tuple[int, ...]
) -> np.ndarray:
    """Return the rows that an answer is based on: (P,A), (P,B) and (T,B) of its candidates, never (T,A).

    If the method names no candidates, these are all rows of A and of T.
    """
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
    """Return the rows (P,B) and (T,B) of the candidates. Rows of several candidates are repeated."""
    position = {slug: index for index, slug in enumerate(database.workloads)}
    platform = {slug: index for index, slug in enumerate(database.platforms)}
    workloads = [position[candidate.workload] for candidate in candidates]
    platforms = [platform[candidate.platform] for candidate in candidates]
    return np.concatenate([visible_rows(database, known, workloads, groups) for known in (platforms, target)])


def visible_rows(database: Database, platforms: Any, workloads: Any, groups: tuple[int, ...]) -> np.ndarray:
    """Return the rows of the measured pairs."""
    rows = database.lookup(platforms, workloads, groups).ravel()
    return rows[rows >= 0]


def run_query(query: ScenarioQuery, snapshot: Snapshot) -> Basis:
    """Return the method's answer to the query, with the rows behind it. Raises a RequestError."""
    try:
        answer = scenarios.run_scenario(snapshot.database, query, scenario_facts(query, snapshot))
    except methods.SettingsError as error:
        raise InvalidField(error.setting, error.reason) from error
    except methods.PredictionError as error:
        raise no_prediction(error) from error
    return Basis(snapshot, query, answer)


def refusal_of_query(query: ScenarioQuery, snapshot: Snapshot) -> NoPrediction | None:
    """Return the error that `run_query` would raise; None if it would return an answer.

    The answer is not computed if the method's check can decide. Raises InvalidField, as `run_query` does.
    """
    try:
        error = scenarios.refusal_of_scenario(snapshot.database, query, scenario_facts(query, snapshot))
    except methods.SettingsError as invalid:
        raise InvalidField(invalid.setting, invalid.reason) from invalid
    return None if error is None else no_prediction(error)


def no_prediction(error: methods.PredictionError) -> NoPrediction:
    """Return the NoPrediction for a method's error."""
    if isinstance(error, methods.TooFewCandidates):
        return NoPrediction(str(error), error.found, error.needed, error.lacks)
    return NoPrediction(str(error), 0, 1, error.lacks)


def scenario_facts(query: ScenarioQuery, snapshot: Snapshot) -> scenarios.ScenarioFacts:
    """Return the facts that a scenario may need in addition to the database. The workload's bound is only read for
    changes."""
    bound: str | None = None
    if query.scenario.is_virtual:
        slug = snapshot.database.workloads[query.workload]
        bound = Workload.objects.filter(slug=slug).values_list("bound", flat=True).first()
    return scenarios.ScenarioFacts(
        bound, lambda: read_measures_at_one(snapshot), lambda row: read_stored_curves(snapshot, row)
    )


def comparable_groups(query: ScenarioQuery, database: Database) -> tuple[int, ...]:
    """Return the groups that the method chooses for this query. The rows of its answer are looked up in them."""
    if query.scenario.uses_only_n1_of_workload or is_about_itself(query):
        return tuple(sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g)))
    return groups_of_query(database, query, query.settings)


def is_about_itself(query: ScenarioQuery) -> bool:
    """Return whether the query changes the workload's measurement on the target itself, or parallelises its t(1)."""
    changes_itself = query.scenario.is_virtual or query.scenario.name == "parallelisation"
    return query.references == (query.target,) and changes_itself
