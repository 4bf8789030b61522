"""From the request of a prediction to the method's answer: names become positions in one snapshot, settings get their
values, and the method runs. The answer comes with the rows behind it, or an error says why there is none."""

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


@dataclass(frozen=True)
class PredictionRequest:
    """`workload`, `target` and `references` by slug or by exact name. None: all references, n = 1..n_max, at most 512.

    `scenario` is one of predictor.core.scenarios.SCENARIOS; `parallelisation` takes a `strategy`. `workload_changes`
    are factors on characteristics of the workload, `platform_changes` new values of the platform (docs/scenarios.md).
    `public_only`: answered as for somebody without data of their own.
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
        """Whose data answers: nobody's where public data alone is asked for, so that everybody may read the answer."""
        return None if self.public_only else user


class RequestError(Exception):
    """A request that has no answer. The message says why."""


class UnknownName(RequestError):
    """No row of that slug or name is visible to the viewer, or several have the name.

    `request_field`: the field of the request that holds the name; `model`: of the rows.
    """

    noun = ""
    request_field = ""
    model: Any = None

    def __init__(self, name: str, suggestions: Sequence[str]) -> None:
        self.name = name
        self.suggestions = list(suggestions)
        near = f"; did you mean {', '.join(self.suggestions)}?" if suggestions else ""
        super().__init__(f"no {self.noun} {name!r}{near}")


class UnknownWorkloadName(UnknownName):
    noun = "workload"
    request_field = "workload"
    model = Workload


class UnknownTargetName(UnknownName):
    noun = "target machine"
    request_field = "target"
    model = Platform


class UnknownReferenceName(UnknownName):
    noun = "reference machine"
    request_field = "references"
    model = Platform


class UnknownMethodName(UnknownName):
    noun = "method"
    request_field = "method"


class InvalidSettings(RequestError):
    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name}: {reason}")


class InvalidField(InvalidSettings):
    """Not a setting but a field of the request, perhaps with its member: `workload_changes.work`."""


@dataclass(frozen=True)
class Remedy:
    """What would make a refused prediction possible: a sentence without a full stop, and its parts where it has any.

    `kind`: kit (run `command` on `platform`, which then shares `shared_workloads` with `shares_with`), measure, or a
    part of the request that would have to be another: method, settings, references, scenario, strategy, change,
    simulated.
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
    """The method refuses: what it needs was not measured. `lacks` is a word for what is missing (docs/api.md), `remedy`
    what would help, where anything is known to; `left_out` names the outliers that would have answered."""

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


def resolve_with_snapshot(request: PredictionRequest, user: Any) -> tuple[ScenarioQuery, Snapshot, tuple[str, ...]]:
    """The query, the snapshot that answers it, and the origins of the snapshot's profiles."""
    viewer = request.viewer(user)
    snapshot, origins = workload_snapshot(
        request.workload,
        viewer,
        include_simulated=request.include_simulated,
        include_outliers=request.include_outliers,
    )
    database = snapshot.database
    method = registered_method(request.method)
    workload = position_named(request.workload, database, viewer, UnknownWorkloadName)
    target = position_named(request.target, database, viewer, UnknownTargetName)
    references = None
    if request.references is not None:
        if not request.references:
            raise InvalidField("references", "an empty list leaves no reference; leave it out to use all")
        named = {position_named(text, database, viewer, UnknownReferenceName) for text in request.references}
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
    return query, snapshot, origins


def workload_snapshot(
    workload: str, user: Any, *, include_simulated: bool = False, include_outliers: bool = False
) -> tuple[Snapshot, tuple[str, ...]]:
    """The snapshot that answers questions about the workload, and the origins of its profiles."""
    origins = (*MEASURED, *SIMULATED) if include_simulated else MEASURED
    snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    database = snapshot.database
    index = position_named(workload, database, user, UnknownWorkloadName)
    if not include_simulated and not len(database.rows_of_workload(index)):
        # Nobody measured the workload: simulated profiles alone answer, where there are any.
        slug = database.workloads[index]
        if Profile.objects.candidates_for(user).filter(workload__slug=slug, origin="simulated").exists():
            origins = SIMULATED
            snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    return snapshot, origins


def checked_settings(method: methods.Method[Any], values: Mapping[str, Any]) -> Any:
    try:
        return method.settings_from(values)
    except methods.SettingsError as error:
        raise InvalidSettings(error.setting, error.reason) from error


def scenario_of(request: PredictionRequest) -> scenarios.Scenario:
    if request.scenario == "sequential" and request.n is not None and set(request.n) != {1}:
        raise InvalidField("n", "the scenario sequential predicts n = 1 alone")
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
        raise UnknownMethodName(name, error.known) from error


def position_named(text: str, database: Database, user: Any, error: type[UnknownName]) -> int:
    """The position of the workload or platform with the slug `text`, or of the only visible one that has this name.

    Raises `error`, which says of what; NotReadyYet where the row is newer than the database.
    """
    slugs = database.workloads if error.model is Workload else database.platforms
    index = slug_index(slugs, text)
    if index is not None:
        return index
    visible = error.model.objects.visible_to(user)
    named = slugs_of_name(visible, text)
    if len(named) == 1 and (index := slug_index(slugs, named[0])) is not None:
        return index
    if answer_is_outdated() and (named or visible.filter(slug=text).exists()):
        raise NotReadyYet
    raise error(text, suggestions(visible, text, named))


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
        database = self.snapshot.database
        return visible_rows(database, self.reference_platforms, self.query.workload, self.groups)

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that took part: (P,A), (P,B) and (T,B)."""
        rows = candidate_rows(self.snapshot.database, self.query.target, self.candidates, self.groups)
        return np.unique(np.concatenate([self.reference_rows, rows]))

    @property
    def uses_simulated(self) -> bool:
        """Whether simulated profiles took part."""
        return bool(self.snapshot.is_simulated[self.rows].any())

    @cached_property
    def measured_row(self) -> int | None:
        """The row (T,A), which the method did not see; None where nobody measured it in these groups."""
        rows = visible_rows(self.snapshot.database, self.query.target, self.query.workload, self.groups)
        return int(rows[0]) if len(rows) else None


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
