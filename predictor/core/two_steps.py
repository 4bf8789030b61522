"""Predictions in two steps, for targets that share no workload with a platform that has A.

A program of a user is often known on one platform P only, with workloads that the target never ran. If other platforms
ran both P's workloads and T's, then T's workloads are predicted on P first, and A is predicted on T from these
predicted profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from predictor.core.answers import Answer, EstimatedTimes, Query, log_half_widths, predicted_thread_counts
from predictor.core.availability import groups_of_targets, lacks_by_target
from predictor.core.curves import evaluated_curves
from predictor.core.database import Database
from predictor.core.errors import NothingShared, PredictionError
from predictor.core.estimates import estimate_targets
from predictor.core.mpet.gathering import check_evidence
from predictor.core.mpet.method import MpetSettings
from predictor.core.observations import Observation, with_observations
from predictor.core.references import choose_group, groups_of_same_origin, reference_rows
from profiles.arrays import BoolArray, FloatArray, IntArray

MOST_FIRST_REFERENCES = 4  # platforms that have A and on which other workloads are predicted
MOST_ROUNDS = 2  # rounds of these predictions; the second starts from the results of the first
MOST_CONNECTING_WORKLOADS = 16  # workloads that are predicted in a round
KEPT_CONNECTIONS, KEPT_DATABASES = 16, 2  # per database; a kept one takes 55 MB on 3,400 platforms
NAMES_IN_WARNING = 3

Predict: TypeAlias = Callable[[Database, Query, MpetSettings], Answer]


@dataclass(frozen=True, eq=False)
class Connection:
    """The workloads that connect the references with targets that share nothing with them."""

    references: IntArray  # (R,) platforms that have A, at most 4
    groups: tuple[int, ...]  # of A's origin
    rounds: tuple[IntArray, ...]  # at most two rounds of at most 16 workloads that no reference has
    reached: BoolArray  # (P,) whether a platform without A shares nothing with the references but has such a workload


@dataclass(frozen=True, eq=False)
class ConnectedDatabase:
    """The profiles of the references, those of the connecting workloads on all platforms, and predicted profiles of
    these workloads on the references."""

    database: Database
    half_width: FloatArray  # (W,) of ln t(n), of the predicted profiles of a workload, mean; NaN = none
    rows: IntArray  # rows of the whole database behind the predicted profiles
    names: tuple[str, ...]  # platforms of these rows that share a workload with a reference, without the references


def predict_in_two_steps(predict: Predict, database: Database, query: Query, settings: MpetSettings) -> Answer:
    """Return the answer of `predict`. If T shares no workload with a reference, return the answer from predicted
    profiles, with an interval wider by theirs:

        half width = sqrt(h^2 + mean over B of h_B^2)

    h is the half width of the answer and h_B the mean half width of the predicted profiles of a workload B of T, all of
    ln t. The errors of several B are not independent, so their number does not count.
    """
    try:
        return predict(database, query, settings)
    except NothingShared as refusal:
        connects = _connection_to_target(database, query, refusal)
    connected = connected_database(predict, database, connects, settings)
    answer = predict(connected.database, query, settings)
    on_target = connected.database.rows_of_platform(query.target)
    of_profiles = connected.half_width[np.unique(connected.database.workload_index[on_target])]
    half_width = np.hypot(log_half_widths(answer), np.sqrt(np.nanmean(of_profiles**2)))
    shown = [*connected.names[:NAMES_IN_WARNING], *(["..."] if len(connected.names) > NAMES_IN_WARNING else [])]
    warning = (
        "the target shares no workload with a reference machine: its workloads were predicted there first, from "
        f"machines that ran both ({', '.join(shown)})"
    )
    return replace(
        answer,
        low_s=answer.time_s * np.exp(-half_width),
        high_s=answer.time_s * np.exp(half_width),
        warnings=[warning, *answer.warnings],
        rows_of_first_step=connected.rows,
    )


def check_in_two_steps(database: Database, query: Query, settings: MpetSettings) -> None:
    """Raise the error of `predict_in_two_steps`, by which pairs were measured alone."""
    try:
        check_evidence(database, query, settings)
    except NothingShared as refusal:
        _connection_to_target(database, query, refusal)
        predicted_thread_counts(database, query.target, query.n)


def _connection_to_target(database: Database, query: Query, refusal: NothingShared) -> Connection:
    """Return the connection of A's references. Raise the refusal if it does not reach T, or if the query names its
    references, because no other platform may take part then."""
    if query.references is None:
        group = choose_group(database, query, reference_rows(database, query))
        connects = connection(database, query.workload, group)
        if connects.reached[query.target]:
            return connects
    raise refusal


def lacks_in_two_steps(database: Database, workload: int) -> tuple[str, ...]:
    """Return what is missing to predict A on each platform, like `lacks_by_target`, if two steps are allowed."""
    lacks = np.array(lacks_by_target(database, workload), dtype=object)
    for targets, _ in _reached(database, workload, np.flatnonzero(lacks == NothingShared.lacks)):
        lacks[targets] = ""
    return tuple(lacks.tolist())


def estimate_in_two_steps(
    predict: Predict, database: Database, workload: int, targets: IntArray, n: int | None = None
) -> Iterator[EstimatedTimes]:
    """Yield estimates like `estimate_targets`, also for targets that are predicted in two steps."""
    found = EstimatedTimes.unknown(len(targets))
    for found in estimate_targets(database, workload, targets, n):
        yield found
    for reached, connects in _reached(database, workload, targets[np.isnan(found.time_s)]):
        places = np.flatnonzero(np.isin(targets, reached))
        connected = connected_database(predict, database, connects, MpetSettings())
        for estimates in estimate_targets(connected.database, workload, targets[places], n):
            found.put(places, estimates)
            yield found


def _reached(database: Database, workload: int, targets: IntArray) -> Iterator[tuple[IntArray, Connection]]:
    """Yield those of the targets that are reached in two steps, for each group of A that reaches any."""
    groups = groups_of_targets(database, workload)[targets]
    for group in np.unique(groups[groups >= 0]).tolist():
        connects = connection(database, workload, group)
        reached = targets[(groups == group) & connects.reached[targets]]
        if len(reached):
            yield reached, connects


def connection(database: Database, workload: int, group: int) -> Connection:
    """Return how platforms are connected with A's references in the origin of this group.

    In each round, platforms are intermediate if they have a workload of the references, or one chosen before. Of their
    other workloads one after the other is chosen, each with the largest

        m / (1 + m) sum_T 2^-c_T

    m is the number of intermediate platforms that have the workload. The sum is over the platforms T that have the
    workload and are not reached before this round, and c_T is how many of the workloads chosen in it T has.
    """
    key = workload, group, np.sort(database.hidden_rows).tobytes()
    compute = partial(_connection, database, workload, group)
    return database.derive_one_of("connections", key, compute, KEPT_CONNECTIONS)


def _connection(database: Database, workload: int, group: int) -> Connection:
    groups = groups_of_same_origin(database, group)
    rows = np.flatnonzero(~database.hidden & (evaluated_curves(database).pattern[: len(database)] > 0))
    rows = rows[np.isin(database.group[rows], groups)]
    has = np.zeros((len(database.workloads), len(database.platforms)), dtype=bool)
    has[database.workload_index[rows], database.platform_index[rows]] = True
    having, lacks_a = np.flatnonzero(has[workload]), np.ones(len(database.platforms), dtype=bool)
    lacks_a[database.platform_index[database.rows_of_workload(workload)]] = False
    has[workload] = False
    # If more than four platforms have A, take those with the most workloads.
    having = np.sort(having[np.argsort(-has[:, having].sum(axis=0), kind="stable")[:MOST_FIRST_REFERENCES]])
    on_references: BoolArray = np.asarray(has[:, having].any(axis=1))
    far: BoolArray = np.asarray(~has[on_references].any(axis=0))
    left, rounds = far, list[IntArray]()
    while len(rounds) < MOST_ROUNDS:
        chosen = _connecting_workloads(has, on_references, left)
        if not len(chosen):
            break
        rounds.append(chosen)
        on_references[chosen] = True
        left = np.asarray(left & ~has[chosen].any(axis=0))
    return Connection(having, groups, tuple(rounds), far & ~left & lacks_a)


def _connecting_workloads(has: BoolArray, on_references: BoolArray, left: BoolArray) -> IntArray:
    """Return the workloads of one round of `connection`, ascending. `has` (W, P) are the measured pairs."""
    intermediate = has[on_references].any(axis=0)
    count = has[:, intermediate].sum(axis=1)
    count[on_references] = 0
    weight, value = np.asarray(count / (1.0 + count)), left.astype(np.float64)
    chosen: list[int] = []
    while len(chosen) < MOST_CONNECTING_WORKLOADS:
        gain = weight * (has @ value)
        if not gain.any():
            break
        chosen.append(int(gain.argmax()))
        weight[chosen[-1]] = 0.0
        value[has[chosen[-1]]] /= 2.0
    return np.array(sorted(chosen), dtype=np.int64)


def reached_through(database: Database, intermediate: IntArray) -> BoolArray:
    """Return the platforms (P,) that are reached by references that share workloads with these platforms, without the
    limits of `connection`.

    >>> from predictor.core.database import Group
    >>> database = Database.build(  # p has the kit and b, q has b
    ...     platforms=("p", "q", "r"), workloads=("b", "c", "kit"), platform_index=[0, 0, 1, 2],
    ...     workload_index=[0, 2, 0, 1], groups=[Group(False, "", "measured")], group=[0] * 4,
    ...     features=np.full((4, 84), np.nan), t1_s=[1.0] * 4, n_nu=[np.nan] * 3, n_ht=[np.nan] * 3, n_max=[4] * 3)
    >>> reached_through(database, np.array([0]))
    array([ True,  True, False])
    """
    reached = np.isin(np.arange(len(database.platforms)), intermediate)
    platforms, workloads = (index[~database.hidden] for index in (database.platform_index, database.workload_index))
    for _ in range(MOST_ROUNDS):
        known = np.unique(workloads[reached[platforms]])
        reached[platforms[np.isin(workloads, known)]] = True
    return reached


def connected_database(
    predict: Predict, database: Database, connects: Connection, settings: MpetSettings
) -> ConnectedDatabase:
    """Return the database of a connection, with the predictions of its workloads on the references."""
    indices = [array.tobytes() for array in (connects.references, *connects.rounds)]
    key = *indices, connects.groups, settings, np.sort(database.hidden_rows).tobytes()
    compute = partial(_connected_database, predict, database, connects, settings)
    return database.derive_one_of("connected databases", key, compute, KEPT_DATABASES)


def _connected_database(
    predict: Predict, database: Database, connects: Connection, settings: MpetSettings
) -> ConnectedDatabase:
    counts = {}
    for reference in connects.references.tolist():
        measured = [database.curve(row)[0] for row in database.rows_of_platform(reference).tolist()]
        counts[reference] = tuple(np.unique(np.concatenate([[1], *measured])).tolist())
    connected, predicted = database, dict[tuple[int, int], Answer]()
    half_width = np.full(len(database.workloads), np.nan)
    for workloads in connects.rounds:
        former = np.nanmean(half_width**2) if predicted else 0.0
        for workload in workloads.tolist():
            of_workload = {}
            for reference, n in counts.items():
                query = Query(workload, reference, connects.groups[0], None, n)
                try:
                    answer = predict(connected, query, settings)
                except PredictionError:
                    continue
                if np.isfinite(answer.time_s).any():
                    of_workload[reference, workload] = answer
            if of_workload:
                width = np.mean([np.nanmean(log_half_widths(answer)) for answer in of_workload.values()])
                half_width[workload] = np.hypot(width, np.sqrt(former))
            predicted |= of_workload
        connected = _with_predicted(database, connects, predicted)
    # Find the rows behind the predicted profiles: all of the named platforms that a prediction may have used.
    named = [candidate.platform for answer in predicted.values() for candidate in answer.candidates_scaling]
    platforms = np.flatnonzero(np.isin(database.platforms, named))
    known = np.unique(database.workload_index[np.isin(database.platform_index, connects.references) & ~database.hidden])
    rows = database.lookup(platforms[:, None], np.concatenate([known, *connects.rounds]), connects.groups).ravel()
    rows = np.unique(rows[rows >= 0])
    sharing = np.unique(database.platform_index[rows[np.isin(database.workload_index[rows], known)]])
    between = tuple(database.platforms[platform] for platform in np.setdiff1d(sharing, connects.references).tolist())
    return ConnectedDatabase(connected, half_width, rows, between)


def _with_predicted(database: Database, connects: Connection, predicted: dict[tuple[int, int], Answer]) -> Database:
    """Return the visible profiles of the references or of the connecting workloads, in A's origin, and the predicted
    ones, by reference and workload, in the group of a measured profile of the workload."""
    of_reference = np.isin(database.platform_index, connects.references)
    connecting = np.isin(database.workload_index, np.concatenate(connects.rounds))
    taken = (of_reference ^ connecting) & ~database.hidden & np.isin(database.group, connects.groups)
    part = database.part(np.flatnonzero(taken))  # a profile of both is without times
    group = dict(zip(part.workload_index.tolist(), part.group.tolist(), strict=True))
    return with_observations(part, [Observation(*pair, group[pair[1]], answer) for pair, answer in predicted.items()])
