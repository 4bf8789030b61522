"""The request of a prediction and the query that it is to one snapshot: names become positions, settings get their
values; and the errors that say why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpet_site.web.background import NotReadyYet, answer_is_outdated
from predictor.core import methods, scenarios
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.core.arrays import slug_index
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.database import Database
from predictor.core.methods import DEFAULT_METHOD
from predictor.core.scenarios import ScenarioQuery
from predictor.snapshot.building import Snapshot
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
    """A request that has no answer. The message says why; `evidence` holds the same as plain JSON values."""

    @property
    def evidence(self) -> dict[str, Any]:
        return vars(self)


class UnknownName(RequestError):
    """No row of that slug or name is visible to the viewer, or several have the name.

    `request_field`: the field of the request that holds the name.
    """

    noun = ""
    request_field = ""

    def __init__(self, name: str, suggestions: Sequence[str]) -> None:
        self.name = name
        self.suggestions = list(suggestions)
        near = f"; did you mean {', '.join(self.suggestions)}?" if suggestions else ""
        super().__init__(f"no {self.noun} {name!r}{near}")


class UnknownWorkloadName(UnknownName):
    noun = "workload"
    request_field = "workload"


class UnknownTargetName(UnknownName):
    noun = "target machine"
    request_field = "target"


class UnknownReferenceName(UnknownName):
    noun = "reference machine"
    request_field = "references"


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

    def say_left_out(self, left_out: str) -> None:
        """Name in the reason the outliers without which there is no answer."""
        self.left_out = left_out
        self.reason = f"{self.reason}; outliers take no part: {left_out}"
        self.args = (self.reason,)

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
    return resolve_request(request, snapshot.database, viewer), snapshot, origins


def workload_snapshot(
    workload: str, user: Any, *, include_simulated: bool = False, include_outliers: bool = False
) -> tuple[Snapshot, tuple[str, ...]]:
    """The snapshot that answers questions about the workload, and the origins of its profiles."""
    origins = (*MEASURED, *SIMULATED) if include_simulated else MEASURED
    snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    index = position_named(workload, snapshot.database.workloads, Workload, user, UnknownWorkloadName)
    if not include_simulated and is_only_simulated(index, snapshot.database, user):
        origins = SIMULATED
        snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    return snapshot, origins


def is_only_simulated(workload: int, database: Database, user: Any) -> bool:
    """Whether the workload has simulated profiles, and none in a database of measured ones."""
    if len(database.rows_of_workload(workload)):
        return False
    slug = database.workloads[workload]
    return bool(Profile.objects.candidates_for(user).filter(workload__slug=slug, origin="simulated").exists())


def resolve_request(request: PredictionRequest, database: Database, user: Any) -> ScenarioQuery:
    method = registered_method(request.method)
    return ScenarioQuery(
        workload=position_named(request.workload, database.workloads, Workload, user, UnknownWorkloadName),
        target=position_named(request.target, database.platforms, Platform, user, UnknownTargetName),
        references=reference_positions(request.references, database, user),
        n=checked_thread_counts(request.n),
        method=method,
        settings=checked_settings(method, request.settings),
        scenario=scenario_of(request),
    )


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


def position_named(text: str, slugs: tuple[str, ...], model: Any, user: Any, error: type[UnknownName]) -> int:
    """The position in `slugs` of the slug `text`, or of the only visible row that has this name.

    Raises `error`; NotReadyYet where the row is newer than the snapshot that has the slugs.
    """
    index = slug_index(slugs, text)
    if index is not None:
        return index
    visible = model.objects.visible_to(user)
    named = slugs_of_name(visible, text)
    if len(named) == 1 and (index := slug_index(slugs, named[0])) is not None:
        return index
    if answer_is_outdated() and (named or visible.filter(slug=text).exists()):
        raise NotReadyYet
    raise error(text, suggestions(visible, text, named))


def reference_positions(references: Sequence[str] | None, database: Database, user: Any) -> tuple[int, ...] | None:
    if references is None:
        return None
    if not references:
        raise InvalidField("references", "an empty list leaves no reference; leave it out to use all")
    platforms = database.platforms
    positions = {position_named(text, platforms, Platform, user, UnknownReferenceName) for text in references}
    return tuple(sorted(positions))


def checked_thread_counts(n: Sequence[int] | None) -> tuple[int, ...] | None:
    if n is None:
        return None
    if not 0 < len(n) <= MOST_THREAD_COUNTS:
        raise InvalidField("n", f"{len(n)} thread counts; give 1 to {MOST_THREAD_COUNTS}")
    for count in n:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LARGEST_THREAD_COUNT:
            raise InvalidField("n", f"{count!r} is not a thread count from 1 to {LARGEST_THREAD_COUNT}")
    return tuple(sorted(set(n)))
