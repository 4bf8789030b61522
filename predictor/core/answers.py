"""Queries to methods, and their answers."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from predictor.core.database import Database
from predictor.core.errors import InvalidThreadCounts, PredictionError, SettingsError, TooFewCandidates
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.scaling.features import feature_fit
from profiles.scaling.names import CURVE_NAMES, FEATURE_NAMES, FRACTIONS
from profiles.scaling.runs import CurveTable

LARGEST_THREAD_COUNT = 2**20
MOST_ANSWERED_COUNTS, EVERY_COUNT_TO = 512, 256  # thread counts
MEDIUM, LOW = 1, 2  # levels of reduced confidence

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Query:
    """A query for workload A on target T. All measurements of (T,A), in any group, are hidden from the method.

    If `group` is None, it is the group in which A has the most reference platforms; in a tie a decomposed one, then the
    first. If `references` is None, every platform that has A is one. If `n` is None, T's 1..n_max are used, at most 512
    of them.
    """

    workload: int
    target: int
    group: int | None = None
    references: tuple[int, ...] | None = None
    n: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Candidate:
    """A candidate (P,B): benchmark B, known on reference platform P and on the target, as slugs. A distance is None if
    undefined.

    `distance_platform` is D_p(B,P,T) and `distance_workload` D_a(P,A,B), or their means if the method ranks by means,
    `distance_tuple` is D_t of both (Eq. 20), and `weight` is the r(w) of Eq. 22.
    """

    platform: str
    workload: str
    distance_platform: float | None
    distance_workload: float | None
    distance_tuple: float | None
    weight: float


def answered_thread_counts(n_max: int) -> IntArray:
    """Return the thread counts of an answer: all of 1..n_max up to 512; for larger n_max 1 to 256, powers of two, and
    others evenly spaced in ln n up to n_max.

    This limits the cost of an answer independently of the n_max of a platform.

    >>> answered_thread_counts(4), len(answered_thread_counts(512)), answered_thread_counts(2**20)[[0, 255, -1]]
    (array([1, 2, 3, 4]), 512, array([      1,     256, 1048576]))
    >>> len(answered_thread_counts(2**20)) <= 512
    True
    """
    if n_max <= MOST_ANSWERED_COUNTS:
        return np.arange(1, n_max + 1, dtype=np.int64)
    powers = 2 ** np.arange(1 + np.log2(n_max), dtype=np.int64)
    spread = np.geomspace(EVERY_COUNT_TO, n_max, MOST_ANSWERED_COUNTS - EVERY_COUNT_TO - len(powers)).round()
    counts = np.concatenate([np.arange(1, EVERY_COUNT_TO), powers, spread.astype(np.int64)])
    return np.unique(counts[counts <= n_max])


def predicted_thread_counts(database: Database, target: int, n: tuple[int, ...] | None) -> IntArray:
    """Return the requested n, or the target's `answered_thread_counts` if `n` is None. Raise InvalidThreadCounts if `n`
    is empty or has a value below 1."""
    if n is None:
        return answered_thread_counts(int(database.n_max[target]))
    if not n or min(n) < 1:
        raise InvalidThreadCounts(f"thread counts must be one or more integers of at least 1, not {list(n)}")
    return np.array(n, dtype=np.int64)


@dataclass(frozen=True)
class AnswerConfidence:
    """The data from which the confidence of an answer is judged. Each method adds its own in a subclass with plain
    fields."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The predicted t(1), curve and feature vector of A on T, with the evidence. NaN = invalid."""

    t1_s: float
    n: IntArray  # (J,)
    time_s: FloatArray  # (J,)
    features: FloatArray  # (84,)
    curves: dict[str, FloatArray]  # name -> (J,): the 14 curves and `utilisation`
    candidates_t1: list[Candidate]
    candidates_scaling: list[Candidate]
    warnings: list[str] = field(default_factory=list)
    low_s: FloatArray | None = None  # (J,), None = the method has no intervals
    high_s: FloatArray | None = None
    credible_n: int | None = None  # largest n with a credible gain over fewer threads; None = no limit
    confidence: AnswerConfidence = field(default_factory=AnswerConfidence)
    changes: tuple[str, ...] = ()  # sentences that describe what a scenario changed
    lowered: tuple[tuple[int, str], ...] = ()  # why these changes reduce the confidence: (MEDIUM or LOW, reason)
    baseline: Answer | None = None  # the answer before any change; None = nothing was changed
    largest_measured_n: int | None = None  # of the profile with the scaling; None = that of the references
    is_measured: bool = False  # based on a measured profile of the pair, without candidates
    # In a prediction in two steps, the rows behind the first one. They are not among the candidates' rows.
    rows_of_first_step: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class DeferredAnswer(Answer):
    """An answer with curves, features and candidates that are computed when they are first read. Rankings and
    evaluations need times only.

    `later` maps each of these four fields that is not `given` to a function of the answer. The answer is passed as an
    argument because a closure over it would keep it alive. Each function is dropped after its call.

    >>> DeferredAnswer({"curves": lambda answer: {"redundancy": answer.t1_s / 2}}, t1_s=2.0).curves
    {'redundancy': 1.0}
    """

    later: dict[str, Callable[[Answer], Any]]

    def __init__(self, later: Mapping[str, Callable[[Answer], Any]] | None = None, **given: object) -> None:
        defaults = {each.name: each.default_factory() for each in fields(Answer) if each.default_factory is not MISSING}
        for name, value in (defaults | given | {"later": dict(later or {})}).items():
            object.__setattr__(self, name, value)  # the base class is frozen

    @cached_property
    def features(self) -> Any:
        return self.later.pop("features")(self)

    @cached_property
    def curves(self) -> Any:
        return self.later.pop("curves")(self)

    @cached_property
    def candidates_t1(self) -> Any:
        return self.later.pop("candidates_t1")(self)

    @cached_property
    def candidates_scaling(self) -> Any:
        return self.later.pop("candidates_scaling")(self)


def is_decomposed(answer: Answer) -> bool:
    """Return whether the six fractions are predicted."""
    return not any(np.isnan(answer.curves[name]).all() for name in FRACTIONS)


def fractions_of(answer: Answer) -> FloatArray:
    """Return the six fractions (6, J), clipped to 0..1 as in reconstruction, and 0 for a time-only answer.

    >>> curves = dict.fromkeys(FRACTIONS, np.zeros(1)) | {"lock_delay": np.array([-0.1]), "task_join": np.array([0.25])}
    >>> fractions_of(Answer(1.0, np.array([1]), np.array([1.0]), np.empty(0), curves, [], []))[:, 0].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.25]
    """
    values = np.stack([answer.curves[name] for name in FRACTIONS])
    return np.clip(values, 0.0, 1.0) if is_decomposed(answer) else np.zeros_like(values)


def log_half_widths(answer: Answer) -> FloatArray:
    """Return half the width of the interval of ln t(n), (J,); NaN where there is no interval.

    >>> low_s, high_s = np.array([8.0]), np.array([12.5])
    >>> answer = Answer(10.0, np.array([1]), np.array([10.0]), np.empty(0), {}, [], [], [], low_s, high_s)
    >>> np.exp(log_half_widths(answer)).round(9)
    array([1.25])
    """
    if answer.low_s is None or answer.high_s is None:
        return np.full(len(answer.n), np.nan)
    return np.asarray(np.log(answer.high_s / answer.low_s) / 2)


def refit_features(answer: Answer, n_nu: float, n_ht: float) -> Answer:
    """Return the answer with the 84 elements fitted to its curves (Eq. 5-9).

    Parameters: `n_nu`, `n_ht`, the thread counts at which the platform's curves bend, NaN = no bend. All elements are
    NaN if no finite time is predicted; those of a curve are NaN if it has too few values.

    >>> n, r = np.array([1, 2, 3]), np.array([1.0, 1.1, 1.2])
    >>> curves = dict.fromkeys(CURVE_NAMES, np.full(3, np.nan)) | {"redundancy": r}
    >>> refit_features(Answer(6.0, n, 6 * r / n, np.empty(0), curves, [], []), np.nan, np.nan).features[:2].round(9)
    array([0.1, 0.9])
    """
    is_predicted = np.isfinite(answer.time_s)
    if not is_predicted.any():
        return replace(answer, features=np.full(len(FEATURE_NAMES), np.nan))
    values = np.stack([answer.time_s, *(answer.curves[name] for name in CURVE_NAMES)])[:, is_predicted]
    n = answer.n[is_predicted]
    profile = CurveTable(n, values, is_decomposed(answer), n.tolist() == [1], answer.t1_s)
    return replace(answer, features=feature_fit(profile, n_nu, n_ht).values)


def answer_at(answer: Answer, n: IntArray) -> Answer:
    """Return the answer at those of its thread counts that are in `n`."""
    chosen: BoolArray = np.isin(answer.n, n)
    return replace(
        answer,
        n=answer.n[chosen],
        time_s=answer.time_s[chosen],
        curves={name: values[chosen] for name, values in answer.curves.items()},
        low_s=None if answer.low_s is None else answer.low_s[chosen],
        high_s=None if answer.high_s is None else answer.high_s[chosen],
    )


def fastest_position(n: IntArray, time_s: FloatArray, credible_n: int | None) -> int:
    """Return the position of the least predicted time (J,) among the n with a credible gain over fewer threads, or
    among all n if none of those has a time. Raise TooFewCandidates if there is no time.

    >>> n, time_s = np.array([1, 2, 4]), np.array([np.nan, 4.0, 3.0])
    >>> fastest_position(n, time_s, credible_n=None), fastest_position(n, time_s, credible_n=2)
    (2, 1)
    """
    if not np.isfinite(time_s).any():
        raise TooFewCandidates(0, 1, "no time can be predicted at any thread count")
    if credible_n is not None:
        credible = np.where(n <= credible_n, time_s, np.nan)
        time_s = credible if np.isfinite(credible).any() else time_s
    return int(np.nanargmin(time_s))


def is_limited(n: IntArray, credible_n: int | None) -> bool:
    """Return whether the platform has more threads than the largest credible n; `n` (J,) are all its thread counts.

    >>> is_limited(np.array([1, 2, 4]), credible_n=2), is_limited(np.array([1, 2, 4]), credible_n=None)
    (True, False)
    """
    return credible_n is not None and credible_n < int(n.max())


@dataclass(frozen=True, eq=False)
class EstimatedTimes:
    """Quick estimates of A on several targets (T,): the least time in seconds, NaN = none, and the n with that time.

    `is_limited`: a larger n was excluded because a gain by more threads is not credible.
    """

    n: IntArray
    time_s: FloatArray
    is_limited: BoolArray

    @classmethod
    def unknown(cls, count: int) -> EstimatedTimes:
        """Return empty estimates for `count` targets, to be filled by `put`."""
        return cls(np.ones(count, dtype=np.int64), np.full(count, np.nan), np.zeros(count, dtype=bool))

    def put(self, targets: IntArray, estimates: EstimatedTimes) -> None:
        """Set the estimates of some targets, given by their positions."""
        for name in ("n", "time_s", "is_limited"):
            getattr(self, name)[targets] = getattr(estimates, name)


@dataclass(frozen=True)
class SettingDescription:
    """A setting of a method: its type in words, and its default."""

    type: str
    default: object


@dataclass(frozen=True)
class MethodDescription:
    """A method as listed by the API, with settings by name."""

    name: str
    version: str
    summary: str
    baseline: bool
    settings: dict[str, SettingDescription]


@dataclass(frozen=True)
class Method(Generic[Settings]):
    """A registered prediction method. `settings` is a frozen dataclass of int, float and Literal fields with the
    method's published choices as defaults.

    `check` raises the PredictionError of a refused `predict` in less time; without it `predict` is called instead.
    `lacks_by_target` returns, for a workload and every platform of a database, the keyword of the error that `predict`
    would raise; empty if none. `estimate` quickly estimates the time of a workload on many targets, at their fastest n
    or at the given n, to order the targets; it is not an answer. The estimates are yielded several times, and
    are complete at last.
    """

    name: str
    version: str
    settings: type[Settings]
    predict: Callable[[Database, Query, Settings], Answer]
    summary: str = ""
    baseline: bool = False  # a simple method for comparison
    check: Callable[[Database, Query, Settings], None] | None = None
    lacks_by_target: Callable[[Database, int], tuple[str, ...]] | None = None
    estimate: Callable[[Database, int, IntArray, int | None], Iterator[EstimatedTimes]] | None = None

    def refusal(self, database: Database, query: Query, settings: Settings) -> PredictionError | None:
        """Return the error with which the query is refused; None if `predict` returns an answer."""
        try:
            if self.check is None:
                self.predict(database, query, settings)
            else:
                self.check(database, query, settings)
        except PredictionError as error:
            return error
        return None

    def settings_from(self, values: Mapping[str, object] | None = None) -> Settings:
        """Return settings from plain values (JSON, command line); omitted ones have their defaults.

        Raise SettingsError for an unknown name, a wrong type, and values that the settings class refuses.
        """
        annotations = typing.get_type_hints(self.settings)
        for name, value in (values or {}).items():
            if name not in annotations:
                raise SettingsError(name, f"unknown setting of {self.name}; known: {', '.join(annotations) or 'none'}")
            if not _fits(value, annotations[name]):
                raise SettingsError(name, f"{value!r} is not {_type_name(annotations[name])}")
        return self.settings(**dict(values or {}))

    def describe(self) -> MethodDescription:
        """Return the description of the method for the API."""
        annotations = typing.get_type_hints(self.settings)
        defaults = {f.name: f.default for f in fields(typing.cast(Any, self.settings)) if f.default is not MISSING}
        settings = {
            name: SettingDescription(_type_name(kind), defaults.get(name)) for name, kind in annotations.items()
        }
        return MethodDescription(self.name, self.version, self.summary, self.baseline, settings)


def settings_values(settings: Any) -> dict[str, Any]:
    """Return the settings as plain values, for storage with the answer.

    The return type is a plain dict, because every method has its own settings class.
    """
    return asdict(settings)


def _fits(value: object, kind: Any) -> bool:
    """Return whether a plain value has the annotated type; an int fits float, a bool fits neither int nor float."""
    if typing.get_origin(kind) is Literal:
        return value in typing.get_args(kind)
    return isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)


def _type_name(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(kind)))
    return str(getattr(kind, "__name__", kind))
