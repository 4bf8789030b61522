"""What the database says about A on T: curves of A on the references, and of the workloads both they and T have.

Profiles that cannot be right, so far from what the rest says that no platform could explain it, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from predictor.core.answers import Query, predicted_thread_counts
from predictor.core.arrays import distinct_codes, evenly_spaced, stretch_positions
from predictor.core.database import Database
from predictor.core.errors import NoReference, NothingShared
from predictor.core.mpet.curves import EvaluatedCurves, MeanCurve, curves_at, evaluated_curves
from predictor.core.mpet.platforms import (
    MOST_EXAMINED_REFERENCES,
    PlatformMetadata,
    nearest_platforms,
    platform_metadata,
)
from predictor.core.references import check_query, evidence_groups, missing_benchmarks, reference_rows
from predictor.core.robust import MEDIAN_TO_SIGMA
from profiles.arrays import BoolArray, FloatArray, IntArray

MOST_KNOTS, MOST_OUTSIDE_KNOTS = 16, 4  # thread counts at which A is predicted; more cost time and gain nothing
MISSING_WORKLOADS_RATIO = 0.5  # times as many workloads as T has: if it lacks more, they are filled in
MOST_RELATIVES = 128  # platforms like T that lack A, at most so many take part
DENSE_PAIRS_RATIO = 4  # times as many pairs as profiles: a table of all pairs is kept


@dataclass(frozen=True, eq=False)
class Evidence:
    """ln(n t(n)) of R references and T (last) for the B workloads known on T, and of A on the references.

    At J thread counts, the knots. `curves` is 0 where `is_known` is False. `outside` is how far in ln n a knot lies
    outside the measured range of (P,A). Everything of (T,A) is absent.

    Where T lacks most workloads that others have, `gather_evidence` adds them as columns, and T's relatives without A
    as rows; `fill_in_workloads` fills them in on T, or drops them: afterwards every reference has A.
    """

    database: Database  # as if (T,A) had never been measured
    groups: tuple[int, ...]
    target: int
    workload: int
    platforms: IntArray  # (R,)
    workloads: IntArray  # (B,)
    rows: IntArray  # (R + 1, B + 1) of the database, -1 = none; A is the last column
    n: IntArray  # (J,)
    log_n: FloatArray  # (J,)
    is_known: BoolArray  # (R + 1, B)
    curves: FloatArray  # (J, R + 1, B)
    of_workload: FloatArray  # (J, R)
    outside: FloatArray  # (J, R)
    measured: BoolArray  # (J, R): where (P,A) was measured, not interpolated
    asked_n: IntArray  # as the query asks
    mean_curve: MeanCurve  # of A over the references
    measured_at_one: float  # the share of references where A was measured at n = 1
    largest_on_target: int  # n
    outliers: int = 0  # profiles left out
    fill_errors: FloatArray | None = None  # (J, R, B): of the filled-in workloads, were the reference T

    @property
    def metadata(self) -> PlatformMetadata:
        """Of all platforms of the database."""
        return platform_metadata(self.database)

    @property
    def measured_on_target(self) -> BoolArray:
        """(B,): known on T by measurement, not filled in."""
        return self.rows[-1, :-1] >= 0

    @property
    def has_workload(self) -> BoolArray:
        """(R,): A was measured there."""
        return self.rows[:-1, -1] >= 0

    def nearest(self, order: IntArray) -> Evidence:
        """Only these references, in this order."""
        with_target = np.append(order, len(self.platforms))
        return replace(
            self,
            fill_errors=None if self.fill_errors is None else self.fill_errors.take(order, axis=1),
            platforms=self.platforms[order],
            rows=self.rows[with_target],
            is_known=self.is_known[with_target],
            curves=self.curves.take(with_target, axis=1),
            of_workload=self.of_workload[:, order],
            outside=self.outside[:, order],
            measured=self.measured[:, order],
        )

    def of_workloads(self, chosen: IntArray) -> Evidence:
        """Only these workloads, in this order."""
        return replace(
            self,
            workloads=self.workloads[chosen],
            rows=self.rows.take(np.append(chosen, len(self.workloads)), axis=1),
            is_known=self.is_known.take(chosen, axis=1),
            curves=self.curves.take(chosen, axis=2),
        )


def check_evidence(database: Database, query: Query) -> None:
    """Raise what `gather_evidence` raises, without gathering: a look at which pairs were measured."""
    check_query(database, query)
    database = database.without(query.target, query.workload)
    groups = evidence_groups(database, query, reference_rows(database, query))
    _connected_rows(database, query, groups)
    predicted_thread_counts(database, query.target, query.n)


def gather_evidence(database: Database, query: Query) -> Evidence:
    """Collect the evidence, of every runtime and kind. (T,A) is hidden here, whatever the caller hid before.

    Raises NoReference, TooFewCandidates, UnknownTarget, UnknownWorkload, InvalidThreadCounts.
    """
    check_query(database, query)
    database = database.without(query.target, query.workload)
    groups = evidence_groups(database, query, reference_rows(database, query))
    rows, platforms, workloads = _rows(database, query, groups)
    evaluated = evaluated_curves(database)
    patterns = evaluated.pattern.take(rows)
    of_a = patterns[:-1, -1]
    on_target = evaluated.measured_in(patterns[-1, :-1])
    columns = _knots(evaluated, evaluated.measured_in(of_a), on_target, int(database.n_max[query.target]))
    curves, mean_curve = curves_at(evaluated, rows, patterns, columns)
    has_workload = rows[:-1, -1] >= 0
    return Evidence(
        database=database,
        groups=groups,
        target=query.target,
        workload=query.workload,
        platforms=platforms,
        workloads=workloads,
        rows=rows,
        n=evaluated.n[columns],
        log_n=evaluated.log_n[columns],
        is_known=rows[:, :-1] >= 0,
        curves=curves[:, :, :-1],
        of_workload=curves[:, :-1, -1],
        outside=evaluated.outside[columns].take(of_a, axis=1),
        measured=evaluated.measured[columns].take(of_a, axis=1),
        asked_n=predicted_thread_counts(database, query.target, query.n),
        mean_curve=mean_curve,
        measured_at_one=float(np.count_nonzero(evaluated.inside[0].take(of_a)) / np.count_nonzero(has_workload)),
        largest_on_target=int(evaluated.n[on_target[-1]]),
    )


def _rows(database: Database, query: Query, groups: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Rows (R + 1, B + 1) of the references and T for the workloads of T and A, and both sets.

    Where T lacks many workloads that most references have: also these, and at most 128 relatives of T, platforms of
    its `cpu_model` or microarchitecture that lack A.
    """
    table, platforms, workloads = _connected_rows(database, query, groups)
    often = 2 * np.count_nonzero(table[:-1] >= 0, axis=0) >= len(platforms)
    often[query.workload] = False
    missing = np.flatnonzero(often & (table[-1] < 0))
    if len(missing) > MISSING_WORKLOADS_RATIO * len(workloads):
        metadata = platform_metadata(database)
        is_relative = metadata.microarchitecture == metadata.microarchitecture[query.target]
        is_relative |= metadata.cpu == metadata.cpu[query.target]
        is_relative[_reference_platforms(database, query, groups)] = False
        is_relative[query.target] = False
        others = np.flatnonzero(is_relative)
        if query.references is not None:
            others = others[np.isin(others, query.references)]
        others = others[np.argsort(metadata.cpu[others] != metadata.cpu[query.target], kind="stable")][:MOST_RELATIVES]
        more = visible_table(database, others, groups)
        shares = (more[:, workloads] >= 0).any(axis=1) & (more[:, missing] >= 0).any(axis=1)
        if shares.any():
            platforms, workloads = np.append(platforms, others[shares]), np.append(workloads, missing)
            table = np.concatenate([table[:-1], more[shares], table[-1:]])
    return table.take(np.append(workloads, query.workload), axis=1), platforms, workloads


def _connected_rows(database: Database, query: Query, groups: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Rows (R + 1, W) of the references that share a workload with T, and of T; these references, and T's workloads.

    Of very many references only the nearest. Raises NoReference, NoBenchmark, NothingComparable, NothingShared.
    """
    platforms = _reference_platforms(database, query, groups)
    if len(platforms) > MOST_EXAMINED_REFERENCES:
        platforms = nearest_platforms(database, query, groups, platforms, MOST_EXAMINED_REFERENCES)
    table = visible_table(database, np.append(platforms, query.target), groups)
    has_workload = table[:-1, query.workload] >= 0
    if not has_workload.any():
        raise NoReference(database.workloads[query.workload], database.platforms[query.target], "")
    workloads = np.flatnonzero(table[-1] >= 0)
    if not len(workloads):
        raise missing_benchmarks(database, query, groups, database.rows_of_platform(query.target))
    related = has_workload & (table[:-1].take(workloads, axis=1).max(axis=1) >= 0)
    if not related.any():
        having = platforms[has_workload]
        names = ", ".join(database.platforms[p] for p in having[:3]) + (", ..." if len(having) > 3 else "")
        raise NothingShared(f"the reference machines ({names}) share no workload with the target")
    if not related.all():
        table, platforms = table[np.append(related, True)], platforms[related]
    return table, platforms, workloads


def _reference_platforms(database: Database, query: Query, groups: tuple[int, ...]) -> IntArray:
    """Platforms but T that may be references and have A in these groups, ascending. Raises NoReference."""
    rows = reference_rows(database, query)
    in_groups = np.isin(database.group[rows], groups) if len(groups) < len(database.groups) else slice(None)
    platforms = distinct_codes(database.platform_index[rows[in_groups]].astype(np.int64))
    return np.asarray(platforms[platforms != query.target])


def visible_table(database: Database, platforms: IntArray, groups: tuple[int, ...]) -> IntArray:
    """Visible rows that have a curve, (platforms, W); -1 = none. Of several groups the first that has the pair."""
    every = np.arange(len(database.platforms))
    if len(every) * len(database.workloads) > DENSE_PAIRS_RATIO * len(database):
        table = _all_rows(database, platforms, groups)
    else:
        table = database.derive(("table", groups), lambda: _all_rows(database, every, groups))[platforms]
    hidden = database.hidden_rows  # of a pair that is hidden, in all groups
    table_rows = np.full(len(every), -1)
    table_rows[platforms] = np.arange(len(platforms))
    table_rows = table_rows[database.platform_index[hidden]]
    is_listed = table_rows >= 0
    table[table_rows[is_listed], database.workload_index[hidden[is_listed]]] = -1
    return table


def _all_rows(database: Database, platforms: IntArray, groups: tuple[int, ...]) -> IntArray:
    """As `visible_table`, with the hidden rows."""
    starts, stops = (np.searchsorted(database.platform_index, platforms, side=side) for side in ("left", "right"))
    table_rows = np.repeat(np.arange(len(platforms)), stops - starts)
    rows = stretch_positions(starts, stops - starts)
    table = np.full((len(platforms), len(database.workloads)), -1, dtype=np.int64)
    usable = evaluated_curves(database).pattern[rows] > 0
    for group in reversed(groups):
        of_group = usable & (database.group[rows] == group)
        table[table_rows[of_group], database.workload_index[rows[of_group]]] = rows[of_group]
    return table


def _knots(evaluated: EvaluatedCurves, of_a: IntArray, on_target: IntArray, n_max: int) -> IntArray:
    """Columns to predict at: where T's workloads were measured, and A on the references outside, up to T's threads.

    Not those that are asked for: what is said of one n would depend on which others are asked.
    """
    if 0 < of_a[-1] < on_target[-1]:  # where A was measured at n = 1 alone, T's workloads tell all there is
        on_target = np.append(on_target[on_target < of_a[-1]], of_a[-1])
    inside = on_target[evenly_spaced(evaluated.log_n[on_target], MOST_KNOTS)]
    last = min(int(np.searchsorted(evaluated.n, n_max)), int(of_a[-1]))
    outside = of_a[(of_a < on_target[0]) | ((of_a > on_target[-1]) & (of_a <= last))]
    outside = outside[evenly_spaced(evaluated.log_n[outside], MOST_OUTSIDE_KNOTS)]
    return np.union1d(inside, outside)


def application_families(evidence: Evidence) -> IntArray:
    """What is left out together to put T's workloads in A's place (B,).

    For a stranger, of a named application of which T has no workload, while T has several of others: whole
    applications, where there are two. Otherwise every workload by itself.
    """
    names = evidence.database.workload_table["application"]
    own = names[evidence.workload]
    of_workloads = np.array([names[b] or f"workload {b}" for b in evidence.workloads.tolist()], dtype=str)
    on_target = set(of_workloads[evidence.measured_on_target].tolist())
    if not own or own in on_target or len(on_target) in (1, np.count_nonzero(evidence.measured_on_target)):
        return np.arange(len(of_workloads))
    return np.unique(of_workloads, return_inverse=True)[1]


FEWEST_PLATFORMS_TO_JUDGE, FEWEST_WORKLOADS_OF_A_PLATFORM = 6, 3  # with fewer nobody can tell who is wrong
MEDIAN_ROUNDS = 2  # of taking medians off, of workloads and of platforms
OUTLYING_DEVIATIONS = 12.0  # robust standard deviations of the workload
MOST_JUDGING_PLATFORMS = 96  # platforms: more of them change a workload's median no more
FEWEST_ALIKE = 3  # platforms that are so far off on the same side: a kind of machine, such as those with a GPU
LEAST_OUTLYING_LOG_FACTOR = 3.0  # of ln t: and twenty times too fast or too slow


def without_outliers(evidence: Evidence) -> Evidence:
    """The evidence less its outlying profiles, which it counts. T and one reference always remain.

    A workload whose profile on T is outlying tells nothing about T, and is left out altogether; so is a reference
    that shares no other with T.
    """
    is_known = np.append(evidence.is_known, np.append(evidence.has_workload, False)[:, None], axis=1)
    if is_known.sum(axis=1).max() < FEWEST_WORKLOADS_OF_A_PLATFORM or len(is_known) < FEWEST_PLATFORMS_TO_JUDGE:
        return evidence
    of_workload = np.append(evidence.of_workload.mean(axis=0), 0.0)[:, None]
    is_outlying = outlying_values(np.append(evidence.curves.mean(axis=0), of_workload, axis=1), is_known)
    if not is_outlying.any():
        return evidence
    remaining = evidence.is_known & ~is_outlying[:, :-1]
    kept = np.flatnonzero(~is_outlying[:-1, -1] & (remaining[:-1] & remaining[-1]).any(axis=1))
    if not evidence.has_workload[kept].any():  # the others are relatives of T, from which workloads are filled in
        return evidence
    plausible = replace(
        evidence,
        is_known=remaining,
        curves=np.where(is_outlying[:, :-1], 0.0, evidence.curves),
        outliers=int(np.count_nonzero(is_outlying)),
    )
    on_target = evidence.is_known[-1] & is_outlying[-1, :-1]
    if on_target.any():
        plausible = plausible.of_workloads(np.flatnonzero(~on_target))
    return plausible.nearest(kept) if len(kept) < len(evidence.platforms) else plausible


def outlying_values(level: FloatArray, is_known: BoolArray) -> BoolArray:
    """Which values of platforms by workloads (P, B) contradict a platform and a workload part by medians.

    Outlying is more than 12 robust standard deviations of its workload and more than e^3 = 20 times off, unless three
    platforms are so far off on the same side: then they are of a kind, such as machines with a GPU.

    >>> level = np.add.outer(np.arange(6.0), np.arange(4.0))
    >>> level[2, 1] += 7
    >>> np.argwhere(outlying_values(level, np.ones(level.shape, dtype=bool))).tolist()
    [[2, 1]]
    """
    rest = np.where(is_known, level, np.inf).astype(np.float32)  # digits enough to tell what is twenty times off
    some = slice(None, None, -(-len(rest) // MOST_JUDGING_PLATFORMS))
    per_platform, per_workload = is_known.sum(axis=1), is_known[some].sum(axis=0)
    for _ in range(MEDIAN_ROUNDS):
        rest -= _medians(rest[some].T, per_workload)
        rest -= _medians(rest, per_platform)[:, None]
    rest -= _medians(rest[some].T, per_workload)
    spread = MEDIAN_TO_SIGMA * _medians(np.abs(rest[some]).T, per_workload)
    limit = np.maximum(OUTLYING_DEVIATIONS * spread, LEAST_OUTLYING_LOG_FACTOR)
    is_outlying = np.zeros(is_known.shape, dtype=bool)
    for side in (-1.0, 1.0):
        is_far = is_known & (side * rest > limit)
        is_outlying |= is_far & (is_far.sum(axis=0) < FEWEST_ALIKE)
    return is_outlying


def _medians(rows: NDArray[np.float32], counts: IntArray) -> NDArray[np.float32]:
    """The lower median of each row's `counts` finite values, the others being infinite; 0 where there are none."""
    ascending = np.sort(rows, axis=1)
    middle = ascending[np.arange(len(rows)), np.maximum(counts - 1, 0) // 2]
    return np.where(counts > 0, middle, np.float32(0.0))
