"""From a request to a stored prediction: names to rows, the method on the viewer's snapshot, the answer kept for ever.

docs/decisions/prediction-idempotence.md: the same request at the same revision is the same stored prediction.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mpet_site.json import clean
from predictor import stored_curves
from predictor.core import methods, scenarios
from predictor.core.candidates import choose_groups, reference_rows
from predictor.core.database import Database
from predictor.documents import Basis, answer_document
from predictor.models import Prediction
from predictor.snapshot import MEASURED, Snapshot, read_snapshot
from predictor.threads import one_thread
from profiles.measurements import STRATEGIES
from profiles.models import Platform, Profile, Workload

DEFAULT_METHOD = "mpet"
SIMULATED = ("simulated",)
ANSWER_VERSION = "4"  # of the document: raised when it changes shape, so that no stored one is taken for a new one
SUGGESTIONS = 5
MOST_THREAD_COUNTS = 4096
LARGEST_THREAD_COUNT = 2**20


@dataclass(frozen=True)
class PredictionRequest:
    """`workload`, `target` and `references` by slug or by exact name. None: all references, n = 1..n_max.

    `scenario` is one of predictor.core.scenarios.SCENARIOS; `parallelisation` takes a `strategy`. `workload_changes`
    are factors on characteristics of the workload, `platform_changes` new values of the platform (docs/scenarios.md).
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


class RequestError(Exception):
    """A request that has no answer. The message says why; `evidence` holds the same as plain JSON values."""

    @property
    def evidence(self) -> dict[str, Any]:
        return vars(self)


class UnknownName(RequestError):
    """No row of that slug or name is visible to the viewer, or several have the name."""

    noun = ""

    def __init__(self, name: str, suggestions: Sequence[str]) -> None:
        self.name = name
        self.suggestions = list(suggestions)
        near = f"; did you mean {', '.join(self.suggestions)}?" if suggestions else ""
        super().__init__(f"no {self.noun} {name!r}{near}")


class UnknownWorkload(UnknownName):
    noun = "workload"


class UnknownTarget(UnknownName):
    noun = "target platform"


class UnknownReference(UnknownName):
    noun = "reference platform"


class UnknownMethod(UnknownName):
    noun = "method"


class InvalidSettings(RequestError):
    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name}: {reason}")


class InvalidField(InvalidSettings):
    """Not a setting but a field of the request, perhaps with its member: `workload_changes.work`."""


class NoPrediction(RequestError):
    """The method refuses: what it needs was not measured."""

    def __init__(self, reason: str, found: int, needed: int) -> None:
        self.reason = reason
        self.found = found
        self.needed = needed
        super().__init__(reason)


@dataclass(frozen=True)
class Question:
    """A request against one snapshot: every name a position, every setting given its value."""

    workload: int
    target: int
    references: tuple[int, ...] | None
    n: tuple[int, ...] | None
    method: methods.Method[Any]
    settings: Any
    scenario: scenarios.Scenario = field(default_factory=scenarios.Scenario)


def predict(request: PredictionRequest, user: Any = None) -> Prediction:
    """The stored prediction for the request, made now unless it was made before. Raises a RequestError.

    A workload that nobody measured anywhere is predicted from simulated profiles alone, which needs no asking.
    """
    question, snapshot, origins = placed(request, user)
    asked = asked_of(question, snapshot.database) | {"include_outliers": request.include_outliers}
    key = request_key(asked, snapshot, user, origins)
    stored: Prediction | None = Prediction.objects.filter(request_key=key).first()
    if stored is not None:
        return stored
    document = document_of(request, question, snapshot)
    stored, _ = Prediction.objects.get_or_create(
        request_key=key,
        defaults={
            "private_to": user if snapshot.holds_private else None,
            "workload": document["workload"],
            "target": document["target"],
            "method": document["method"],
            "method_version": document["method_version"],
            "revision": document["revision"],
            "answer": document,
        },
    )
    return stored


def preview(request: PredictionRequest, user: Any = None) -> dict[str, Any]:
    """The same answer without keeping it, for a page that asks although nobody asked it to. Raises a RequestError."""
    question, snapshot, _ = placed(request, user)
    return document_of(request, question, snapshot)


def placed(request: PredictionRequest, user: Any) -> tuple[Question, Snapshot, tuple[str, ...]]:
    """The question, what it is asked of, and the origins of the profiles in that."""
    snapshot, origins = workload_snapshot(
        request.workload,
        user,
        include_simulated=request.include_simulated,
        include_outliers=request.include_outliers,
    )
    return resolve(request, snapshot.database, user), snapshot, origins


def workload_snapshot(
    workload: str, user: Any, *, include_simulated: bool = False, include_outliers: bool = False
) -> tuple[Snapshot, tuple[str, ...]]:
    """What a question about the workload is asked of, and the origins of the profiles in that."""
    origins = (*MEASURED, *SIMULATED) if include_simulated else MEASURED
    snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    at = position(workload, snapshot.database.workloads, Workload, user, UnknownWorkload)
    if not include_simulated and is_only_simulated(at, snapshot.database, user):
        origins = SIMULATED
        snapshot = read_snapshot(user, origins=origins, outliers=include_outliers)
    return snapshot, origins


def document_of(request: PredictionRequest, question: Question, snapshot: Snapshot) -> dict[str, Any]:
    asked = asked_of(question, snapshot.database) | {
        "include_simulated": request.include_simulated,
        "include_outliers": request.include_outliers,
    }
    with one_thread():
        return answer_document(answered(question, snapshot), asked)


def is_only_simulated(workload: int, database: Database, user: Any) -> bool:
    """Whether the workload has simulated profiles, and none in a database of measured ones."""
    if len(database.rows_of_workload(workload)):
        return False
    slug = database.workloads[workload]
    return bool(Profile.objects.candidates_for(user).filter(workload__slug=slug, origin="simulated").exists())


def resolve(request: PredictionRequest, database: Database, user: Any) -> Question:
    method = known_method(request.method)
    return Question(
        workload=position(request.workload, database.workloads, Workload, user, UnknownWorkload),
        target=position(request.target, database.platforms, Platform, user, UnknownTarget),
        references=reference_positions(request.references, database, user),
        n=thread_counts(request.n),
        method=method,
        settings=method_settings(method, request.settings),
        scenario=scenario_of(request),
    )


def method_settings(method: methods.Method[Any], values: Mapping[str, Any]) -> Any:
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


def known_method(name: str) -> methods.Method[Any]:
    try:
        return methods.get_method(name)
    except methods.UnknownMethod as error:
        raise UnknownMethod(name, error.known) from error


def position(text: str, slugs: tuple[str, ...], model: Any, user: Any, error: type[UnknownName]) -> int:
    """Where the slug, or the slug of the only visible row of that name, stands in `slugs`."""
    found = _index(slugs, text)
    if found is not None:
        return found
    visible = model.objects.visible_to(user)
    named = list(visible.filter(name=text).order_by("slug").values_list("slug", flat=True))
    if len(named) == 1 and (found := _index(slugs, named[0])) is not None:
        return found
    raise error(text, named[:SUGGESTIONS] or near_misses(text, visible.values_list("slug", "name")))


def _index(slugs: tuple[str, ...], slug: str) -> int | None:
    at = bisect_left(slugs, slug)
    return at if at < len(slugs) and slugs[at] == slug else None


def near_misses(text: str, rows: Any) -> list[str]:
    """Slugs that look like the text, or whose names do."""
    slug_of = {name.lower(): slug for slug, name in rows} | {slug: slug for slug, _ in rows}
    close = difflib.get_close_matches(text.lower(), slug_of, n=SUGGESTIONS)
    return list(dict.fromkeys(slug_of[spelling] for spelling in close))


def reference_positions(references: Sequence[str] | None, database: Database, user: Any) -> tuple[int, ...] | None:
    if references is None:
        return None
    if not references:
        raise InvalidField("references", "an empty list leaves no reference; leave it out to use all")
    platforms = database.platforms
    found = {position(text, platforms, Platform, user, UnknownReference) for text in references}
    return tuple(sorted(found))


def thread_counts(n: Sequence[int] | None) -> tuple[int, ...] | None:
    if n is None:
        return None
    if not 0 < len(n) <= MOST_THREAD_COUNTS:
        raise InvalidField("n", f"{len(n)} thread counts; give 1 to {MOST_THREAD_COUNTS}")
    for one in n:
        if isinstance(one, bool) or not isinstance(one, int) or not 1 <= one <= LARGEST_THREAD_COUNT:
            raise InvalidField("n", f"{one!r} is not a thread count from 1 to {LARGEST_THREAD_COUNT}")
    return tuple(sorted(set(n)))


def asked_of(question: Question, database: Database) -> dict[str, Any]:
    """The request in its only spelling: slugs, every setting with its value."""
    references = question.references
    asked: dict[str, Any] = clean(
        {
            "workload": database.workloads[question.workload],
            "target": database.platforms[question.target],
            "references": None if references is None else [database.platforms[at] for at in references],
            "method": question.method.name,
            "method_version": question.method.version,
            "n": question.n,
            "settings": asdict(question.settings),
            "scenario": question.scenario.name,
            "strategy": question.scenario.strategy,
            "workload_changes": question.scenario.workload.as_values(),
            "platform_changes": question.scenario.platform.as_values(),
        }
    )
    return asked


def request_key(asked: dict[str, Any], snapshot: Snapshot, user: Any, origins: Sequence[str]) -> str:
    """Answers from public data alone are shared; others belong to their viewer and his own revision."""
    viewer = [user.pk, snapshot.private_revision] if snapshot.holds_private else None
    parts = [ANSWER_VERSION, asked, snapshot.database.revision, viewer, origins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def answered(question: Question, snapshot: Snapshot) -> Basis:
    database = snapshot.database
    query = methods.Query(
        workload=question.workload,
        target=question.target,
        group=None,
        references=question.references,
        n=question.n,
    )
    groups = comparable_groups(question, query, database)
    try:
        outcome = scenarios.run(
            database,
            query,
            question.method,
            question.settings,
            scenario=question.scenario,
            facts=facts_of(question, snapshot),
        )
    except methods.SettingsError as error:
        raise InvalidField(error.setting, error.reason) from error
    except methods.TooFewCandidates as error:
        raise NoPrediction(str(error), error.found, error.needed) from error
    except methods.PredictionError as error:
        raise NoPrediction(str(error), 0, 1) from error
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


def facts_of(question: Question, snapshot: Snapshot) -> scenarios.Facts:
    """Only changes need the bound: it is not asked for without."""
    bound: str | None = None
    if question.scenario.is_virtual:
        slug = snapshot.database.workloads[question.workload]
        bound = Workload.objects.filter(slug=slug).values_list("bound", flat=True).first()
    return scenarios.Facts(
        bound, lambda: stored_curves.measures_at_one(snapshot), lambda row: stored_curves.curves_of(snapshot, row)
    )


def comparable_groups(question: Question, query: methods.Query, database: Database) -> tuple[int, ...]:
    """The groups that every method chooses for this query; also known here, to name the rows behind an answer."""
    if question.scenario.uses_only_n1_of_workload or is_about_itself(question):
        return tuple(sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g)))
    try:
        rows = reference_rows(database.without(query.target, query.workload), query)
    except methods.NoReference:
        return ()  # the method says so itself, in its own words
    return choose_groups(database, query, rows, getattr(question.settings, "mix_runtimes", False))


def is_about_itself(question: Question) -> bool:
    """Whether what was measured on the target is what is changed there, or its t(1) is parallelised."""
    changes_itself = question.scenario.is_virtual or question.scenario.name == "parallelisation"
    return question.references == (question.target,) and changes_itself


def reference_warnings(question: Question, database: Database, groups: tuple[int, ...]) -> list[str]:
    """References that were asked for and took no part."""
    found: list[str] = []
    if is_about_itself(question):
        return found
    for at in question.references or ():
        if at == question.target:
            found.append(f"reference {database.platforms[at]} was not used: it is the target")
        elif database.lookup(at, question.workload, groups) < 0:
            found.append(
                f"reference {database.platforms[at]} was not used: no comparable profile of the workload there"
            )
    return found
