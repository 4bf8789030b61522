"""Which measurement would narrow an answer's interval most: each is added as if it had been made, and the query
repeated."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from predictor.core.answers import Answer, Method, Query, log_half_widths
from predictor.core.comparisons.mean_distances import mean_distances
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.observations import Observation, with_observations
from predictor.core.references import groups_of_same_origin
from profiles.arrays import BoolArray, IntArray

MeasurementKind = Literal["benchmark", "platform"]  # a benchmark on the target, or the workload on another platform
UnmeasuredPair: TypeAlias = tuple[int, int]  # platform, workload
PLACES_TRIED = 6  # pairs of each kind, the nearest ones
MOST_COUNTS = 12


@dataclass(frozen=True)
class NextMeasurement:
    """A measurement that may narrow the interval. `now` and `expected` are the widths before and after it as factors to
    either side: the geometric means over n of sqrt(high / low), at least 1."""

    kind: MeasurementKind
    platform: str
    workload: str
    now: float
    expected: float


def interval_factor(answer: Answer) -> float | None:
    """Return the width of the interval as a factor to either side: the geometric mean over n of sqrt(high / low).

    None without any interval. Example: 8 to 12.5 s around 10 s is a factor of 1.25.

    >>> n, nothing = np.array([1]), np.zeros(84)
    >>> answer = Answer(10.0, n, np.array([10.0]), nothing, {}, [], [], [], np.array([8.0]), np.array([12.5]))
    >>> interval_factor(answer)
    1.25
    """
    half = log_half_widths(answer)
    half = half[np.isfinite(half)]
    return float(np.exp(half.mean())) if len(half) else None


class MeasurementsTried(NamedTuple):
    """The progress: `done` of `total` predictions, and the measurements tried so far, the best first."""

    done: int
    total: int
    measurements: list[NextMeasurement]


def try_measurements(
    database: Database,
    query: Query,
    method: Method[Any],
    settings: Any,
    *,
    tried: int = PLACES_TRIED,
    no_benchmarks: Collection[int] = (),
) -> Iterator[MeasurementsTried]:
    """Yield the progress of trying unmeasured benchmarks on T and platforms for A; the measurement that would narrow
    the interval most comes first.

    For each kind the `tried` nearest are tried: workloads by D_a(A,B), platforms by D_p(P,T). The measurement is
    predicted and added to the database as a profile, and A on T is predicted again. The expected interval follows from
    the method's own variance and calibration, on the assumption that the new profile agrees with its prediction.

    `query` must contain the group; all groups of its origin are used, as in the evidence of `mpet`. `no_benchmarks` are
    workloads that cannot be measured without measuring A. Raise a PredictionError if A on T cannot be predicted. For a
    method without intervals there are no measurements.
    """
    database = database.without(query.target, query.workload)
    before = method.predict(database, query, settings)
    now = interval_factor(before)
    if now is None or query.group is None:
        yield MeasurementsTried(1, 1, [])
        return
    query = replace(query, n=tuple(before.n.tolist()))
    benchmarks = [place for place in unmeasured_benchmarks(database, query) if place[1] not in no_benchmarks]
    places = [*benchmarks[:tried], *unmeasured_platforms(database, query)[:tried]]
    total = 1 + 2 * len(places)
    yield MeasurementsTried(1, total, [])
    observations: list[Observation] = []
    for made, place in enumerate(places, start=2):
        observation = predict_observation(database, query, place, method, settings)
        observations += [observation] if observation is not None else []
        yield MeasurementsTried(made, total, [])
    extended = with_observations(database, observations)
    measurements: list[NextMeasurement] = []
    for made, observation in enumerate(observations, start=total - len(observations) + 1):
        others = [other for other in observations if other is not observation]
        view = extended.without([other.platform for other in others], [other.workload for other in others])
        try:
            expected = interval_factor(method.predict(view, query, settings))
        except PredictionError:
            expected = None
        if expected is not None:
            kind: MeasurementKind = "benchmark" if observation.platform == query.target else "platform"
            platform, workload = database.platforms[observation.platform], database.workloads[observation.workload]
            measurements.append(NextMeasurement(kind, platform, workload, now, expected))
        measurements.sort(key=lambda one: (one.expected, one.kind, one.platform, one.workload))
        yield MeasurementsTried(made, total, measurements)
    yield MeasurementsTried(total, total, measurements)


def of_same_origin(database: Database, query: Query) -> BoolArray:
    """Return which visible rows (N,) are in groups of the query's origin."""
    return np.asarray(np.isin(database.group, groups_of_same_origin(database, query.group or 0)) & ~database.hidden)


def unmeasured_benchmarks(database: Database, query: Query) -> list[UnmeasuredPair]:
    """Return (T, B) for the workloads that T lacks and that a platform with A has, nearest to A first."""
    visible = of_same_origin(database, query)
    references = np.unique(database.platform_index[visible & (database.workload_index == query.workload)])
    on_references = np.unique(database.workload_index[visible & np.isin(database.platform_index, references)])
    on_target = database.workload_index[visible & (database.platform_index == query.target)]
    missing = np.setdiff1d(on_references, np.append(on_target, query.workload)).astype(np.int64)
    return [(query.target, b) for b in _sort_by_distance(database, "workloads", query.workload, missing)]


def unmeasured_platforms(database: Database, query: Query) -> list[UnmeasuredPair]:
    """Return (P, A) for the platforms without A that share a workload with T, nearest to T first. Empty if the query
    names its references, because another platform would not be a reference."""
    if query.references is not None:
        return []
    visible = of_same_origin(database, query)
    have = database.platform_index[visible & (database.workload_index == query.workload)]
    shared = database.workload_index[visible & (database.platform_index == query.target)]
    related = np.unique(database.platform_index[visible & np.isin(database.workload_index, shared)])
    missing = np.setdiff1d(related, np.append(have, query.target)).astype(np.int64)
    return [(p, query.workload) for p in _sort_by_distance(database, "platforms", query.target, missing)]


def _sort_by_distance(database: Database, kind: Any, of: int, among: IntArray) -> list[int]:
    """Return the indices in ascending order of mean distance, undefined ones last."""
    if not len(among):
        return []
    distance = mean_distances(database, kind, [of], among).mean[0]
    order = np.argsort(np.where(np.isnan(distance), np.inf, distance), kind="stable")
    return [int(index) for index in among[order]]


def predict_observation(
    database: Database, query: Query, place: UnmeasuredPair, method: Method[Any], settings: Any
) -> Observation | None:
    """Return the predicted profile of the pair, at thread counts that others measured; None if it is refused."""
    platform, workload = place
    rows = np.flatnonzero(of_same_origin(database, query) & (database.workload_index == workload))
    group = int(np.bincount(database.group[rows]).argmax()) if workload != query.workload else query.group
    counts = np.unique(
        np.concatenate([database.curve(row)[0] for row in rows.tolist()] or [np.ones(1, dtype=np.int32)])
    )
    counts = counts[counts <= database.n_max[platform]]
    if not len(counts):
        return None
    sample = np.unique(np.linspace(0, len(counts) - 1, MOST_COUNTS).round().astype(int))
    question = Query(workload, platform, group=group, n=tuple(counts[sample].tolist()))
    try:
        answer = method.predict(database, question, settings)
    except PredictionError:
        return None
    usable = np.isfinite(answer.time_s).any() and np.isfinite(answer.t1_s)
    return Observation(platform, workload, group or 0, answer) if usable else None
