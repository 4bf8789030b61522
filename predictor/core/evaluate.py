"""Evaluation of methods: leave profiles out, predict them, and compare with the measurements."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.cuts import (
    KNOWN_OF_HALF,
    Cut,
    KnownAt,
    Size,
    known_at,
    known_up_to,
    random_cut,
    with_wrong_profiles,
)
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.interval_scores import NO_INTERVALS, IntervalHits, constant_interval_score, interval_hits
from predictor.core.steps import single_thread
from profiles.arrays import BoolArray, FloatArray, IntArray
from profiles.jobs.executors import Executor, batches_of

Holdout = Literal["pair", "cpu_model", "microarchitecture", "application"]
ErrorPart = Literal["full", "t1", "scaling"]
EvaluationProgress = Callable[[int, int], None]  # predictions done, of how many

HOLDOUTS: tuple[Holdout, ...] = get_args(Holdout)
KNOWN_AT: tuple[KnownAt, ...] = get_args(KnownAt)
ERROR_PARTS: tuple[ErrorPart, ...] = get_args(ErrorPart)
REFERENCE_DRAW = 1  # additional seed, so that the draw of references is independent of that of probes
RANGES_BEYOND = (8, 16, 64, 2**30)  # the largest n of each range beyond the known n
ENDS = 2  # points of a curve
CUT_DATABASES_KEPT = 64  # cached databases with cut curves
PREDICTIONS_PER_BATCH = 250  # at most; enough to outweigh passing the database, few enough for frequent progress


@dataclass(frozen=True)
class Protocol:
    """The profiles that an evaluation leaves out and predicts, the same for every method."""

    holdout: str = "pair"  # of HOLDOUTS, or several joined by commas
    references: int | None = None  # A is known on this number of random platforms; None = on all
    unlike: bool = False  # the references have other microarchitectures than the target
    probes: int | None = None  # this number of random workloads is known on the target; None = all
    bridge: tuple[int, ...] | None = None  # only these workloads are known on the target; None = all
    known_n: int | None = None  # A was measured with at most this number of threads; None = with all
    known_at: KnownAt | None = None  # at which n profiles were measured (`known_at`); None = at all
    wrong: float | None = None  # share of wrong profiles (`with_wrong_profiles`); compared times are not changed
    targets: tuple[int, ...] | None = None  # platforms to predict; None = all
    workloads: tuple[int, ...] | None = None  # workloads to predict; None = all
    sample: int | None = None  # at most this many random profiles (of each cut); None = all
    seed: int = 0
    cut: Size | None = None  # random small databases of this size in place of the whole one
    cuts: int = 1  # number of these databases
    diverse: bool = False  # with platforms as different as possible (`random_cut`)

    def __post_init__(self) -> None:
        for holdout in self.holdouts:
            if holdout not in HOLDOUTS:
                raise ValueError(f"unknown holdout {holdout!r}; known: {', '.join(HOLDOUTS)}")
        for name in ("references", "probes", "known_n", "sample", "cuts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if self.wrong is not None and not 0.0 < self.wrong < 1.0:
            raise ValueError(f"wrong must be a share of the profiles between 0 and 1, not {self.wrong}")
        if self.known_at not in (None, *KNOWN_AT):
            raise ValueError(f"unknown known_at {self.known_at!r}; known: {', '.join(KNOWN_AT)}")
        if self.known_n is not None and self.known_at is not None:
            raise ValueError("known_n and known_at cannot be combined: both limit the known thread counts")
        if self.cut is not None and min(self.cut) < 2:
            raise ValueError(f"a cut of {self.cut} is too small: it needs 2 platforms and 2 workloads")
        if self.diverse and self.cut is None:
            raise ValueError("diverse needs a cut: it selects the platforms of the cut")
        if self.cut is not None and self.targets is not None:
            raise ValueError("targets cannot be combined with a cut, which has random platforms")
        if self.cut is not None and (self.workloads is not None or self.bridge is not None):
            raise ValueError("workloads and bridge cannot be combined with a cut, which has random workloads")

    @property
    def largest_known_n(self) -> int | None:
        """Return the largest n at which A is known on T's half or on all platforms; None if no n is the limit."""
        return KNOWN_OF_HALF if self.known_at == "half" else self.known_n

    @property
    def holdouts(self) -> tuple[str, ...]:
        """Return the distinct holdouts.

        >>> Protocol("application,microarchitecture").holdouts
        ('application', 'microarchitecture')
        """
        return tuple(dict.fromkeys(self.holdout.split(",")))


class PointError(NamedTuple):
    """The relative error at one n, and whether the measured time is inside the interval; None without an interval."""

    n: int
    error: float
    is_covered: bool | None


@dataclass(frozen=True)
class Outcome:
    """One prediction compared with the measured curve.

    `errors` and `biases` are relative (0.1 = 10 %), the means of |pred - meas| / meas and of (pred - meas) / meas over
    the measured n; both lack a part that was not predicted at every measured n. `refused_n` is the number of measured n
    without a predicted time, all of them if the prediction was refused. `beyond` contains the n at which the workload
    was unknown, if the protocol cuts curves.
    """

    method: str
    platform: str
    workload: str
    seconds: float
    errors: dict[ErrorPart, float] = field(default_factory=dict)
    biases: dict[ErrorPart, float] = field(default_factory=dict)
    intervals: IntervalHits = NO_INTERVALS
    refused_n: int = 0
    refusal: str | None = None
    beyond: tuple[PointError, ...] = ()


@dataclass(frozen=True)
class ErrorStatistics:
    """Relative errors of one part, in percent, and their signed mean (`bias`); None without any prediction.

    `refused` is the number of predictions without a time at some measured n.
    """

    mean: float | None
    median: float | None
    p70: float | None
    p80: float | None
    p95: float | None
    max: float | None
    bias: float | None
    count: int
    refused: int


@dataclass(frozen=True)
class PartErrors:
    """The errors of each part."""

    full: ErrorStatistics
    t1: ErrorStatistics
    scaling: ErrorStatistics


@dataclass(frozen=True)
class MethodReport(PartErrors):
    """The errors of a method, the coverage of its intervals, and the time its predictions took.

    `coverage` is a share of the measured times that have an interval, `interval_width` the median of (high - low) /
    predicted; `interval_score` is the mean score of the intervals, and `constant_interval_score` that of intervals of
    constant width around the same predictions (`predictor.core.interval_scores`); all are None without intervals.
    `refused_n` is the number of measured n without a predicted time. `seconds` is the time of all predictions
    together.
    """

    coverage: float | None
    interval_width: float | None
    interval_score: float | None
    constant_interval_score: float | None
    refused_n: int
    seconds: float


@dataclass(frozen=True)
class DistanceStatistics:
    """The errors in a range of n beyond the known n, in percent: statistics over predictions of their mean error in the
    range, and the share of measured times inside the intervals, None without intervals."""

    mean: float
    median: float
    coverage: float | None
    count: int


@dataclass(frozen=True)
class EvaluationReport:
    """The published statistics. `dataclasses.asdict` converts them to the JSON of files and the API."""

    methods: dict[str, MethodReport]
    noise_floor: PartErrors | None


@dataclass(frozen=True)
class EvaluationResult:
    """All outcomes of one protocol, grouped by method; `floor` is the noise floor of the same pairs, if requested."""

    protocol: Protocol
    outcomes: dict[str, list[Outcome]]
    floor: list[Outcome] = field(default_factory=list)

    def report(self) -> EvaluationReport:
        """Return the statistics of every method, and of the noise floor if there is one."""
        return EvaluationReport(
            methods={name: _method_statistics(outcomes) for name, outcomes in self.outcomes.items()},
            noise_floor=PartErrors(**_part_statistics(self.floor)) if self.floor else None,
        )

    def by_distance(self) -> dict[str, dict[str, DistanceStatistics]]:
        """Return the errors of each method at the n for which `known_n` or `known_at` evaluates it (`asked_counts`), by
        ranges of n."""
        limits = [self.protocol.largest_known_n or int(self.protocol.known_at != "workload-most"), *RANGES_BEYOND]
        found: dict[str, dict[str, DistanceStatistics]] = {}
        for above, most in pairwise(limits):
            name = f"{above + 1} to {most}" if most < RANGES_BEYOND[-1] else f"over {above}"
            of_methods = {
                method: _distance_statistics(outcomes, above, most) for method, outcomes in self.outcomes.items()
            }
            known = {method: statistics for method, statistics in of_methods.items() if statistics is not None}
            found |= {name: known} if known else {}
        return found

    def by_application(self, database: Database) -> dict[str, dict[str, MethodReport]]:
        """Return the statistics of the workloads of each named application of the database, by application and
        method."""
        named = dict(zip(database.workloads, database.workload_table["application"], strict=True))
        applications = {named[outcome.workload] for outcomes in self.outcomes.values() for outcome in outcomes}
        return {
            application: {
                name: _method_statistics([outcome for outcome in outcomes if named[outcome.workload] == application])
                for name, outcomes in self.outcomes.items()
            }
            for application in sorted(applications - {""})
        }


def evaluate(
    database: Database,
    methods: Sequence[Method[Any]],
    protocol: Protocol | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    progress: EvaluationProgress | None = None,
) -> EvaluationResult:
    """Predict profiles that are hidden from the method, and measure the errors.

    Every profile (T,A) of the protocol is hidden together with the pairs of the holdout (`hidden_pairs`), predicted at
    its measured n, and compared:

        full: mean over n of |t_pred(n) - t(n)| / t(n);    t1: |t_pred(1) - t(1)| / t(1);
        scaling: as full, with both curves divided by their own t(1)

    Parameters: `settings` by method name (defaults otherwise); `executor`, which runs the predictions, by default in
    this process; `progress` is called after every batch. The time of a prediction is measured in the process that runs
    it. Raises ValueError if the protocol leaves nothing to predict.
    """
    protocol = protocol or Protocol()
    subjects = [(cut.database, chosen_rows(cut.database, protocol)) for cut in evaluated_databases(database, protocol)]
    total = sum(len(rows) for _, rows in subjects) * len(methods)
    if not total:
        raise ValueError("no measured profile to predict: check the targets")
    chosen = [(method, (settings or {}).get(method.name, method.settings())) for method in methods]
    outcomes: dict[str, list[Outcome]] = {method.name: [] for method in methods}
    executor = executor or Executor()
    done = 0
    for cut, rows in subjects:
        cut.prepare()
        batches = batches_of(rows.tolist(), executor, PREDICTIONS_PER_BATCH // len(chosen))
        for found in executor.map(_outcomes, cut, [(chosen, protocol, batch) for batch in batches]):
            for outcome in found:
                outcomes[outcome.method].append(outcome)
            done += len(found)
            if progress:
                progress(done, total)
    return EvaluationResult(protocol, outcomes)


def evaluated_databases(database: Database, protocol: Protocol) -> list[Cut]:
    """Return the databases that are evaluated separately: the whole one, or cuts. Raise ValueError if it is too
    small."""
    if protocol.cut is None:
        return [Cut(database, np.arange(len(database)))]
    return [
        random_cut(database, protocol.cut, protocol.seed, which, diverse=protocol.diverse)
        for which in range(protocol.cuts)
    ]


def predicted_rows(database: Database, protocol: Protocol) -> IntArray:
    """Return the rows of `database` that are predicted, in any cut. A row that two cuts predict occurs twice."""
    parts = evaluated_databases(database, protocol)
    return np.concatenate([part.rows[chosen_rows(part.database, protocol)] for part in parts])


def chosen_rows(database: Database, protocol: Protocol) -> IntArray:
    """Return the rows to predict in ascending order: those with a measured curve on the targets, a random `sample` of
    them by the seed."""
    eligible = (np.diff(database.curve_offsets) > 0) & ~np.isnan(database.t1_s) & ~database.hidden
    if protocol.targets is not None:
        eligible &= np.isin(database.platform_index, protocol.targets)
    if protocol.workloads is not None:
        eligible &= np.isin(database.workload_index, protocol.workloads)
    if protocol.largest_known_n is not None:
        beyond = np.append(0, np.cumsum(database.curve_n > protocol.largest_known_n))
        eligible &= np.diff(beyond[database.curve_offsets]) > 0
    if protocol.known_at == "ends":
        eligible &= np.diff(database.curve_offsets) > ENDS
    rows = np.flatnonzero(eligible)
    if protocol.sample is not None and protocol.sample < len(rows):
        rows = np.sort(np.random.default_rng(protocol.seed).choice(rows, protocol.sample, replace=False))
    return rows


def hidden_pairs(database: Database, row: int, protocol: Protocol) -> tuple[IntArray, IntArray]:
    """Return the platforms and workloads, pairwise, that are hidden while this row (T,A) is predicted.

    `pair`: (T,A). `cpu_model`, `microarchitecture`: A on every platform with the same value as T (an unknown value is
    not shared). `application`: also the other sections of A's application, on the same platforms. Several holdouts,
    joined by commas, are combined: A, and with `application` its sections, are hidden on the platforms of each.
    `references`: A, and with `application` its sections, are known only on this number of random platforms from those
    not hidden otherwise; with `unlike` on platforms of other microarchitectures than T's. `bridge`: also every workload
    on T that is not among these. `probes`: also every other workload on T except this number of random ones. All draws
    depend only on the seed and the pair, so that they are the same for every method.
    """
    target, workload = int(database.platform_index[row]), int(database.workload_index[row])
    platforms, workloads = np.array([target]), np.array([workload])
    for holdout in protocol.holdouts:
        if holdout == "application":
            workloads = _sharing(database, "workload_table", "application", workload)
        elif holdout != "pair":
            platforms = np.union1d(platforms, _sharing(database, "platform_table", holdout, target))
    if protocol.references is not None or protocol.unlike:
        platforms = _all_but_references(database, row, platforms, protocol)
    hidden = np.repeat(platforms, len(workloads)), np.tile(workloads, len(platforms))
    if protocol.bridge is not None:
        unknown = np.setdiff1d(np.arange(len(database.workloads)), protocol.bridge)
        hidden = np.append(hidden[0], np.full(len(unknown), target)), np.append(hidden[1], unknown)
    if protocol.probes is None:
        return hidden
    rows = database.without(*hidden).rows_of_platform(target)
    others = np.unique(database.workload_index[rows[database.group[rows] == database.group[row]]])
    random = np.random.default_rng([protocol.seed, target, workload])
    forgotten = random.permutation(others)[protocol.probes :]
    return np.append(hidden[0], np.full(len(forgotten), target)), np.append(hidden[1], forgotten)


def _all_but_references(database: Database, row: int, hidden: IntArray, protocol: Protocol) -> IntArray:
    """Return the platforms on which A is hidden: all except the random references."""
    target, workload = int(database.platform_index[row]), int(database.workload_index[row])
    rows = database.rows_of_workload(workload)
    having = np.unique(database.platform_index[rows[database.group[rows] == database.group[row]]])
    left_out = [hidden]
    if protocol.unlike:
        left_out.append(_sharing(database, "platform_table", "microarchitecture", target))
    possible = np.setdiff1d(having, np.concatenate(left_out))
    random = np.random.default_rng([protocol.seed, target, workload, REFERENCE_DRAW])
    references = random.permutation(possible)[: protocol.references]
    return np.setdiff1d(np.arange(len(database.platforms)), references)


def _sharing(database: Database, table: str, column: str, index: int) -> IntArray:
    """Return the indices with the same known text in the column as `index`, which is always among them."""
    words = getattr(database, table)[column]
    codes: IntArray = database.derive(
        (table, column), lambda: np.unique(np.array(words, dtype=str), return_inverse=True)[1]
    )
    return np.flatnonzero(codes == codes[index]) if words[index] else np.array([index])


def _outcomes(
    database: Database, batch: tuple[list[tuple[Method[Any], Any]], Protocol, Sequence[int]]
) -> list[Outcome]:
    methods, protocol, rows = batch
    outcomes = []
    with single_thread():  # predictions run in parallel already
        for row in rows:
            known = _known_database(database, row, protocol)
            view = known.without(*hidden_pairs(database, row, protocol))
            outcomes += [_outcome(database, view, row, method, protocol) for method in methods]
    return outcomes


def _known_database(database: Database, row: int, protocol: Protocol) -> Database:
    """Return the database for the prediction of a row, with wrong profiles and cut curves if the protocol requests
    them."""
    known_n, at, wrong, seed = protocol.known_n, protocol.known_at, protocol.wrong, protocol.seed
    workload, target = int(database.workload_index[row]), int(database.platform_index[row])
    if wrong is not None:
        whole = database
        database = whole.derive(("wrong", wrong, seed), lambda: with_wrong_profiles(whole, wrong, seed))
    if known_n is not None:
        cut = partial(known_up_to, database, workload, known_n)
    elif at == "workload-most":
        cut = partial(known_at, database, at, workload)
    else:
        half = target % 2 if at == "half" else 0
        whole = database
        return whole if at is None else whole.derive(("known_at", at, half), lambda: known_at(whole, at, target=half))
    return database.derive_one_of("cut curves", (workload, known_n, at), cut, CUT_DATABASES_KEPT)


def _outcome(
    database: Database, view: Database, row: int, method_and_settings: tuple[Method[Any], Any], protocol: Protocol
) -> Outcome:
    """Return the outcome of predicting one row from the view that hides it. Only the comparison afterwards reads the
    measurement."""
    method, settings = method_and_settings
    target, workload = int(database.platform_index[row]), int(database.workload_index[row])
    n, time_s = database.curve(row)
    query = Query(workload, target, group=int(database.group[row]), n=tuple(n.tolist()))
    names = method.name, database.platforms[target], database.workloads[workload]
    start = time.perf_counter()
    try:
        answer = method.predict(view, query, settings)
    except PredictionError as error:
        return Outcome(*names, time.perf_counter() - start, refused_n=len(n), refusal=str(error))
    seconds = time.perf_counter() - start
    errors, biases = relative_errors(answer, time_s, float(database.t1_s[row]))
    refused_n = int(np.count_nonzero(np.isnan(answer.time_s)))
    beyond = point_errors(answer, time_s, asked_counts(answer.n, protocol))
    return Outcome(*names, seconds, errors, biases, interval_hits(answer, time_s), refused_n, beyond=beyond)


def asked_counts(n: IntArray, protocol: Protocol) -> BoolArray:
    """Return which measured n (J,) are evaluated if the protocol cuts curves: those beyond or between the known n. If
    all profiles are known at their largest n only, it is that n; if only those of the workload are, all n. None without
    a cut."""
    if protocol.largest_known_n is not None:
        return np.asarray(n > protocol.largest_known_n)
    is_asked = {"ends": (n > n.min()) & (n < n.max()), "most": n == n.max(), "workload-most": n > 0, None: n < 0}
    return np.asarray(is_asked[protocol.known_at])


def point_errors(answer: Answer, time_s: FloatArray, chosen: BoolArray) -> tuple[PointError, ...]:
    """Return the errors at the chosen n (J,) of the answer against the measured times (J,) in seconds."""
    points = []
    for j in np.flatnonzero(chosen & ~np.isnan(answer.time_s)).tolist():
        is_covered = None
        if answer.low_s is not None and answer.high_s is not None:
            is_covered = bool(answer.low_s[j] <= time_s[j] <= answer.high_s[j])
        points.append(PointError(int(answer.n[j]), float(abs(answer.time_s[j] / time_s[j] - 1.0)), is_covered))
    return tuple(points)


def relative_errors(
    answer: Answer, time_s: FloatArray, t1_s: float
) -> tuple[dict[ErrorPart, float], dict[ErrorPart, float]]:
    """Return the mean absolute and mean signed relative error of each part that is valid at every measured n.

    Parameters: the answer, and the measurements at its n: `time_s` (J,) and `t1_s`, in seconds. Returns errors and
    biases by part (0.1 = 10 %).

    Example: 8 and 6 s for 10 and 5 s have errors of -20 and +20 %; relative to their own t(1), 1 and 0.75 for 1 and 0.5
    have errors of 0 and +50 %.

    >>> from predictor.core.answers import DeferredAnswer
    >>> answer = DeferredAnswer(t1_s=8.0, time_s=np.array([8.0, 6.0]))
    >>> errors, biases = relative_errors(answer, time_s=np.array([10.0, 5.0]), t1_s=10.0)
    >>> round(errors["full"], 9), round(biases["full"], 9), errors["scaling"]
    (0.2, 0.0, 0.25)
    """
    compared: dict[ErrorPart, FloatArray] = {
        "full": answer.time_s / time_s - 1.0,
        "t1": np.array([answer.t1_s / t1_s - 1.0]),
        "scaling": (answer.time_s / answer.t1_s) / (time_s / t1_s) - 1.0,
    }
    valid = {part: errors for part, errors in compared.items() if not np.isnan(errors).any()}
    return (
        {part: float(np.abs(errors).mean()) for part, errors in valid.items()},
        {part: float(errors.mean()) for part, errors in valid.items()},
    )


def _method_statistics(outcomes: list[Outcome]) -> MethodReport:
    of_outcomes = [outcome.intervals for outcome in outcomes]
    by_platform = [(outcome.platform, outcome.intervals) for outcome in outcomes]
    with_interval = sum(intervals.with_interval for intervals in of_outcomes)
    widths = [width for intervals in of_outcomes for width in intervals.widths]
    scores = [score for intervals in of_outcomes for score in intervals.scores]
    return MethodReport(
        **_part_statistics(outcomes),
        coverage=sum(intervals.covered for intervals in of_outcomes) / with_interval if with_interval else None,
        interval_width=float(np.median(widths)) if widths else None,
        interval_score=float(np.mean(scores)) if scores else None,
        constant_interval_score=constant_interval_score(by_platform),
        refused_n=sum(outcome.refused_n for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
    )


def _distance_statistics(outcomes: list[Outcome], above: int, most: int) -> DistanceStatistics | None:
    """Return the statistics of the points with above < n <= most; None without any."""
    of_outcomes = [[point for point in outcome.beyond if above < point.n <= most] for outcome in outcomes]
    errors = [100.0 * float(np.mean([point.error for point in points])) for points in of_outcomes if points]
    if not errors:
        return None
    covered = [point.is_covered for points in of_outcomes for point in points if point.is_covered is not None]
    coverage = float(np.mean(covered)) if covered else None
    return DistanceStatistics(float(np.mean(errors)), float(np.median(errors)), coverage, len(errors))


def _part_statistics(outcomes: list[Outcome]) -> dict[ErrorPart, ErrorStatistics]:
    return {part: _error_statistics(outcomes, part) for part in ERROR_PARTS}


def _error_statistics(outcomes: list[Outcome], part: ErrorPart) -> ErrorStatistics:
    errors = 100.0 * np.array([outcome.errors[part] for outcome in outcomes if part in outcome.errors])
    biases = 100.0 * np.array([outcome.biases[part] for outcome in outcomes if part in outcome.biases])
    count, refused = len(errors), len(outcomes) - len(errors)
    if not count:
        return ErrorStatistics(None, None, None, None, None, None, None, count, refused)
    p70, p80, p95 = np.percentile(errors, [70, 80, 95]).tolist()
    return ErrorStatistics(
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        p70=p70,
        p80=p80,
        p95=p95,
        max=float(errors.max()),
        bias=float(biases.mean()),
        count=count,
        refused=refused,
    )
