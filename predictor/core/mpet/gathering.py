"""The evidence for a prediction of A on T: curves of A on the reference platforms, and of other workloads on the
references and on T, without outlying profiles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Query, predicted_thread_counts
from predictor.core.arrays import distinct_codes, evenly_spaced, sampled
from predictor.core.curves import EvaluatedCurves, evaluated_curves, interpolate_rows, risen, visible_table
from predictor.core.database import Database
from predictor.core.errors import NoReference, NothingShared
from predictor.core.metadata import PlatformMetadata, likeness_of_names, platform_metadata
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, MOST_COUNTS, SOME_COUNTS
from predictor.core.numerics import FEWEST, TINY, nearest_at_any
from predictor.core.references import check_query, evidence_groups, missing_benchmarks, reference_rows, usable_platforms
from predictor.core.screening import outlying_profiles
from profiles.arrays import BoolArray, FloatArray, IntArray

MOST_EXAMINED = 384  # maximum number of platforms that have A, and of workloads of T, that are examined closely


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean curve ln(n t(n)) of a workload, up to a constant, at ln n (G,); constant beyond `largest_n`.

    >>> curve = MeanCurve(np.log([1.0, 2.0]), np.array([0.0, 0.5]), least_n=1, largest_n=2)
    >>> curve.at(np.log([1.0, 1.5, 4.0])).round(3).tolist()
    [0.0, 0.292, 0.5]
    """

    log_n: FloatArray
    values: FloatArray
    least_n: int  # the least and the largest measured thread count
    largest_n: int

    def at(self, log_n: FloatArray) -> FloatArray:
        """Return the mean curve at `log_n`, an array of any shape."""
        return np.asarray(np.interp(log_n, self.log_n, self.values))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The curves ln(n t(n)) from which A is predicted on T, at J thread counts, the knots.

    `curves` has T's B workloads on R references and on T (last), and 0 where `is_known` is False; `of_workload` has A
    on the references. `outside` is the distance in ln n of a knot from (P,A)'s measured range. (T,A) is not included.

    If T lacks most of the workloads that the references have, `gather_evidence` adds these workloads as columns, and
    platforms similar to T that lack A as rows. `fill_in_workloads` then predicts the added workloads on T, or removes
    them, and removes the added platforms, so that every reference has A.
    """

    database: Database  # without (T,A)
    groups: tuple[int, ...]
    target: int
    workload: int
    usable_platforms: IntArray  # platforms that the query allows as references
    platforms: IntArray  # (R,)
    workloads: IntArray  # (B,)
    rows: IntArray  # (R + 1, B + 1) rows of the database, -1 = no profile; A is the last column
    n: IntArray  # (J,)
    log_n: FloatArray  # (J,)
    is_known: BoolArray  # (R + 1, B)
    curves: FloatArray  # (J, R + 1, B)
    of_workload: FloatArray  # (J, R)
    outside: FloatArray  # (J, R)
    measured: BoolArray  # (J, R): True where (P,A) was measured at the knot, False where it is interpolated
    below: FloatArray  # (2, J, R): change of (P,A) below its least n, and half its interval (`with_growth_below`)
    asked_n: IntArray  # thread counts of the query
    mean_curve: MeanCurve  # of A over the references
    measured_at_one: float  # share of references on which A was measured at n = 1
    least_on_target: int  # least and largest n at which any workload was measured on T
    largest_on_target: int
    outliers: int = 0  # number of profiles left out
    fill_errors: FloatArray | None = None  # (J, R, B): leave-one-out errors of the filled-in workloads

    @property
    def metadata(self) -> PlatformMetadata:
        """The metadata of all platforms of the database."""
        return platform_metadata(self.database)

    @property
    def measured_on_target(self) -> BoolArray:
        """Whether each workload was measured on T (True) or filled in (False), (B,)."""
        return self.rows[-1, :-1] >= 0

    @property
    def has_workload(self) -> BoolArray:
        """Whether A was measured on each reference, (R,)."""
        return self.rows[:-1, -1] >= 0

    def nearest(self, order: IntArray) -> Evidence:
        """Return the evidence with these references only, in this order."""
        with_target = np.append(order, len(self.platforms))
        names = ("platforms", "of_workload", "outside", "measured", "below")  # of which R is the last axis
        return replace(
            self,
            fill_errors=None if self.fill_errors is None else self.fill_errors.take(order, axis=1),
            rows=self.rows[with_target],
            is_known=self.is_known[with_target],
            curves=self.curves.take(with_target, axis=1),
            **{name: getattr(self, name)[..., order] for name in names},
        )

    def of_workloads(self, chosen: IntArray) -> Evidence:
        """Return the evidence with these workloads only, in this order."""
        return replace(
            self,
            fill_errors=None if self.fill_errors is None else self.fill_errors.take(chosen, axis=2),
            workloads=self.workloads[chosen],
            rows=self.rows.take(np.append(chosen, len(self.workloads)), axis=1),
            is_known=self.is_known.take(chosen, axis=1),
            curves=self.curves.take(chosen, axis=2),
        )


def check_evidence(database: Database, query: Query, _settings: object = None) -> None:
    """Raise the error that `gather_evidence` would raise with any settings, by which pairs were measured alone."""
    check_query(database, query)
    database = database.without(query.target, query.workload)
    groups = evidence_groups(database, query, reference_rows(database, query))
    connected_rows(database, query, groups)
    predicted_thread_counts(database, query.target, query.n)


def gather_evidence(database: Database, query: Query) -> Evidence:
    """Return the evidence for a query, from profiles of all runtimes and kinds. (T,A) is hidden first.

    Raises NoReference, TooFewCandidates, UnknownTarget, UnknownWorkload, InvalidThreadCounts.
    """
    check_query(database, query)
    database = database.without(query.target, query.workload)
    groups = evidence_groups(database, query, reference_rows(database, query))
    rows, platforms, workloads = _rows(database, query, groups)
    evaluated = evaluated_curves(database)
    of_a = evaluated.pattern[rows[:-1, -1]]
    on_target = evaluated.measured_in(evaluated.pattern[rows[-1, :-1]])
    columns = _knots(evaluated, evaluated.measured_in(of_a), on_target, int(database.n_max[query.target]))
    curves, mean_curve = curves_at(evaluated, rows, columns)
    return Evidence(
        database=database,
        groups=groups,
        target=query.target,
        workload=query.workload,
        usable_platforms=usable_platforms(database, query),
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
        below=np.zeros((2, len(columns), len(of_a))),
        asked_n=predicted_thread_counts(database, query.target, query.n),
        mean_curve=mean_curve,
        measured_at_one=float(np.count_nonzero(evaluated.inside[0].take(of_a)) / np.count_nonzero(rows[:-1, -1] >= 0)),
        least_on_target=int(evaluated.n[on_target[0]]),
        largest_on_target=int(evaluated.n[on_target[-1]]),
    )


def _rows(database: Database, query: Query, groups: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows (R + 1, B + 1) of the references and T for the workloads of T and A; references, and workloads.

    If T lacks many workloads that most references have, these are included, and platforms similar to T that lack A.
    """
    table, platforms, workloads = connected_rows(database, query, groups)
    often = 2 * np.count_nonzero(table[:-1] >= 0, axis=0) >= len(platforms)
    often[query.workload] = False
    missing = np.flatnonzero(often & (table[-1] < 0))
    if len(workloads) < MOST_EXAMINED and 2 * len(missing) > len(workloads):
        others = _platforms_like_target(database, query, platforms, workloads, groups)
        more = visible_table(database, others, groups)
        shares = (more[:, workloads] >= 0).any(axis=1) & (more[:, missing] >= 0).any(axis=1)
        if shares.any():
            platforms, workloads = np.append(platforms, others[shares]), np.append(workloads, missing)
            table = np.concatenate([table[:-1], more[shares], table[-1:]])
    if len(workloads) > MOST_EXAMINED:
        # Take the workloads measured on T first, then those with the largest sum of two numbers in 0..1: the share of
        # the platforms that have the workload, and the similarity of its name to A's.
        telling = (table[:-1, workloads] >= 0).mean(axis=0) + likeness_of_names(database, workloads, query.workload)
        workloads = np.sort(workloads[np.lexsort((-telling, table[-1, workloads] < 0))[:MOST_EXAMINED]])
    return table.take(np.append(workloads, query.workload), axis=1), platforms, workloads


def _platforms_like_target(
    database: Database, query: Query, platforms: IntArray, workloads: IntArray, groups: tuple[int, ...]
) -> IntArray:
    """Return platforms without A on which T's missing workloads may have been measured.

    These are the platforms with T's `cpu_model` or microarchitecture. If they and the references are fewer than 48,
    the platforms with the most similar metadata that share a workload with T are added up to that number.
    """
    metadata, target = platform_metadata(database), query.target
    taken = np.append(_reference_platforms(database, query, groups), target)
    possible = np.setdiff1d(usable_platforms(database, query), taken)
    is_twin = metadata.cpu[possible] == metadata.cpu[target]
    is_relative = is_twin | (metadata.microarchitecture[possible] == metadata.microarchitecture[target])
    relatives = np.append(possible[is_twin], possible[is_relative & ~is_twin])[:MOST_EXAMINED]
    lacking = ENOUGH - len(platforms) - len(relatives)
    if lacking <= 0:
        return relatives
    sharing = np.concatenate([database.rows_of_workload(workload) for workload in workloads.tolist()])
    others = np.intersect1d(possible[~is_relative], database.platform_index[sharing])
    on_paper = metadata.squared_distances(others, target)
    return np.append(relatives, others[np.argsort(on_paper, kind="stable")[:lacking]])


def connected_rows(database: Database, query: Query, groups: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows (R + 1, W) of the references that share a workload with T, and of T; references, and T's workloads.

    At most the 384 nearest are used. Raises NoReference, NoBenchmark, NothingComparable, NothingShared.
    """
    platforms = _reference_platforms(database, query, groups)
    table = visible_table(database, np.append(platforms, query.target), groups)
    has_workload = table[:-1, query.workload] >= 0
    if not has_workload.any():
        raise NoReference(database.workloads[query.workload], database.platforms[query.target], "")
    workloads = np.flatnonzero(table[-1] >= 0)
    if not len(workloads):
        raise missing_benchmarks(database, query, groups, database.rows_of_platform(query.target))
    shared = table[:-1].take(workloads, axis=1) >= 0
    chosen = np.flatnonzero(has_workload & shared.any(axis=1))
    if not len(chosen):
        having = platforms[has_workload]
        names = ", ".join(database.platforms[p] for p in having[:3]) + (", ..." if len(having) > 3 else "")
        raise NothingShared(f"the reference machines ({names}) share no workload with the target")
    if len(chosen) > MOST_EXAMINED:
        # Choose the nearest by the variance of the log ratios of T's times to theirs, relative to the median one, and
        # by metadata; at T's first and last thread count those on which A was measured there.
        evaluated, some = evaluated_curves(database), sampled(workloads[shared[chosen].any(axis=0)], ENOUGH)
        columns = evaluated.measured_in(evaluated.pattern[table[-1, workloads]])[[0, -1]]
        rows, of_a = table[chosen[:, None], some], table[chosen, query.workload]
        gap = (evaluated.at(table[-1, some], columns)[:, None] - evaluated.at(rows, columns)) * (rows >= 0)
        share = (rows >= 0).mean(axis=1)
        mean, square = (values.mean(axis=(0, 2)) / np.maximum(share, TINY) for values in (gap, gap**2))
        variance = square - mean**2
        behaviour = variance / (np.median(variance[share > 0]) + TINY) * share + 1.0 - share
        on_paper = platform_metadata(database).squared_distances(platforms[chosen], query.target)
        outside = evaluated.outside[columns].take(evaluated.pattern[of_a], axis=1)
        chosen = chosen[nearest_at_any(behaviour + DEFAULTS.paper_share * on_paper + outside, MOST_EXAMINED)]
    if len(chosen) < len(platforms):
        table, platforms = table[np.append(chosen, len(platforms))], platforms[chosen]
    return table, platforms, workloads


def _reference_platforms(database: Database, query: Query, groups: tuple[int, ...]) -> IntArray:
    """Return the allowed reference platforms that have A in these groups, ascending. Raises NoReference."""
    rows = reference_rows(database, query)
    in_groups = np.isin(database.group[rows], groups) if len(groups) < len(database.groups) else slice(None)
    return distinct_codes(database.platform_index[rows[in_groups]].astype(np.int64))


def _knots(evaluated: EvaluatedCurves, of_a: IntArray, on_target: IntArray, n_max: int) -> IntArray:
    """Return the grid columns of the knots: the thread counts at which T's workloads were measured, and outside that
    range, up to T's number of threads, those at which A was measured on the references.

    The thread counts of the query are not knots: the answer at one n must not depend on which other n are asked.
    """
    if 0 < of_a[-1] < on_target[-1]:  # if A was measured at n = 1 alone, use all counts of T's workloads
        on_target = np.append(on_target[on_target < of_a[-1]], of_a[-1])
    inside = on_target[evenly_spaced(evaluated.log_n[on_target], MOST_COUNTS)]
    last = min(int(np.searchsorted(evaluated.n, n_max)), int(of_a[-1]))
    outside = of_a[(of_a < on_target[0]) | ((of_a > on_target[-1]) & (of_a <= last))]
    outside = outside[evenly_spaced(evaluated.log_n[outside], SOME_COUNTS)]
    return np.union1d(inside, outside)


def curves_at(evaluated: EvaluatedCurves, rows: IntArray, knots: IntArray) -> tuple[FloatArray, MeanCurve]:
    """Return the curves (J, P, B) at the knots, 0 where there is no profile, and the mean curve of A (last workload).

        value = interpolated(values) + mean(n) - interpolated(mean)

    Measured values stay as they are. Outside the measured range the deviation from the mean curve is constant.
    """
    patterns = evaluated.pattern.take(rows)
    support = evaluated.measured_in(patterns)
    support = support[evenly_spaced(evaluated.log_n[support], MOST_COUNTS)]
    means = _means(evaluated, rows, patterns, support)
    values = evaluated.at(rows, knots)
    # Profiles with the same pattern were measured at the same thread counts. For each pattern, add the difference
    # between the mean curve and the mean curve interpolated between those counts.
    kinds = distinct_codes(patterns)
    place = np.zeros(evaluated.measured.shape[1], dtype=np.int64)
    place[kinds] = np.arange(len(kinds))
    flat = place.take(patterns) * means.shape[1] + np.arange(means.shape[1])
    for value, knot in zip(values, knots.tolist(), strict=True):
        left, right = evaluated.left[knot, kinds], evaluated.right[knot, kinds]
        between = np.flatnonzero((left != knot) & (kinds > 0))
        if len(between):
            left, right = left[between], right[between]
            counts = (evaluated.n[columns][:, None] for columns in (left, right, [knot]))
            bends = np.zeros((len(kinds), means.shape[1]))
            bends[between] = means[knot] - means[left] - risen(means[right] - means[left], *counts)
            np.add(value, bends.take(flat), out=value)
    of_a = evaluated.measured_in(patterns[:, -1])
    if not np.array_equal(of_a, support):
        means = _means(evaluated, rows[:, -1:], patterns[:, -1:], of_a)
    return values, MeanCurve(evaluated.log_n, means[:, -1], int(evaluated.n[of_a[0]]), int(evaluated.n[of_a[-1]]))


def _means(evaluated: EvaluatedCurves, rows: IntArray, patterns: IntArray, support: IntArray) -> FloatArray:
    """Return the mean shape of every workload's curve on the grid, (G, B), from mean steps between the supports.

    A step is averaged over the profiles measured across it and, as one more profile, the mean step of all workloads.
    """
    # The arrays are made contiguous, because `take` would copy them otherwise.
    rows, patterns = (np.ascontiguousarray(sampled(indices, ENOUGH)) for indices in (rows, patterns))
    inside = evaluated.inside[support]
    across = (inside[1:] & inside[:-1]).astype(np.float64).take(patterns, axis=1)
    values = evaluated.at(rows, support)
    steps, counts = np.einsum("gpb,gpb->gb", values[1:] - values[:-1], across), across.sum(axis=1)
    overall = steps.sum(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    steps = (steps + overall[:, None]) / (counts + 1.0)
    curve = np.cumsum(np.concatenate([np.zeros((1, rows.shape[1])), steps]), axis=0)
    return interpolate_rows(curve.T, evaluated.n[support], evaluated.n).T


def wider_table(evidence: Evidence) -> tuple[FloatArray, BoolArray]:
    """Return the curves (J, P, B) of the evidence, extended by further workloads of its platforms and by further
    platforms that have these workloads, and which of them are known (P, B).

    The platforms and workloads of the evidence come first. Of many further ones those with most profiles are used.
    """
    database, (J, P, B) = evidence.database, evidence.curves.shape
    platforms = np.append(evidence.platforms, evidence.target)
    platforms = np.append(platforms, np.setdiff1d(evidence.usable_platforms, platforms))
    table = visible_table(database, platforms, evidence.groups)
    measured = np.count_nonzero(table[:P] >= 0, axis=0)
    measured[np.append(evidence.workloads, evidence.workload)] = 0
    added = np.argsort(-measured, kind="stable")[: max(MOST_COUNTS * ENOUGH // J - B, 0)]
    workloads = np.append(evidence.workloads, added[measured[added] > 0])
    measured = np.count_nonzero(table[P:].take(workloads, axis=1) >= 0, axis=1)
    others = np.argsort(-measured, kind="stable")[: 4 * ENOUGH]
    chosen = np.append(np.arange(P), P + others[measured[others] > 0])
    rows = table[chosen].take(workloads, axis=1)
    evaluated = evaluated_curves(database)
    curves, is_known = curves_at(evaluated, rows, np.searchsorted(evaluated.n, evidence.n))[0], rows >= 0
    curves[:, :P, :B], is_known[:P, :B] = evidence.curves, evidence.is_known
    is_known &= ~outlying_profiles(curves, is_known, evidence.metadata.vectors[platforms[chosen]])
    return curves * is_known, is_known


def application_families(evidence: Evidence) -> IntArray:
    """Return the groups of workloads (B,) that are left out together when intervals are calibrated.

    Usually each workload is a group. If T has no workload of A's application but has several workloads of others,
    each application is a group, given at least two: leaving it out puts its workloads in A's position.
    """
    names = evidence.database.workload_table["application"]
    of_a = names[evidence.workload]
    of_workloads = np.array([names[b] or f"workload {b}" for b in evidence.workloads.tolist()], dtype=str)
    on_target = set(of_workloads[evidence.measured_on_target].tolist())
    if not of_a or of_a in on_target or len(on_target) in (1, np.count_nonzero(evidence.measured_on_target)):
        return np.arange(len(of_workloads))
    return np.unique(of_workloads, return_inverse=True)[1]


def without_outliers(evidence: Evidence) -> Evidence:
    """Return the evidence without its outlying profiles, with their number. T and one reference always remain.

    A workload whose profile on T is outlying is removed, and a reference that shares no other workload with T, too.
    """
    is_known = np.append(evidence.is_known, np.append(evidence.has_workload, False)[:, None], axis=1)
    of_workload = np.pad(evidence.of_workload[[0, -1]], ((0, 0), (0, 1)))[:, :, None]  # T's 0 is not used
    on_paper = evidence.metadata.vectors[[*evidence.platforms, evidence.target]]
    # A profile of A with a single thread count does not show how it scales.
    evaluated, displaced = evaluated_curves(evidence.database), np.zeros(is_known.shape)
    measured = evaluated.measured[:, evaluated.pattern[evidence.rows[:-1, -1]]] & evidence.has_workload
    largest = evaluated.log_n[len(measured) - 1 - measured[::-1].argmax(axis=0)]
    distance = np.abs(largest - np.median(largest[evidence.has_workload]))
    displaced[:-1, -1] = distance * (np.count_nonzero(measured, axis=0) == 1)
    curves = np.append(evidence.curves[[0, -1]], of_workload, axis=2)
    is_outlying = outlying_profiles(curves, is_known, on_paper, displaced)
    if is_known[-1].sum() < FEWEST:
        is_outlying[-1] = False  # with two workloads on T it cannot be decided which one is wrong
    if not is_outlying.any():
        return evidence
    remaining = evidence.is_known & ~is_outlying[:, :-1]
    remaining_platforms = np.flatnonzero(~is_outlying[:-1, -1] & (remaining[:-1] & remaining[-1]).any(axis=1))
    if not evidence.has_workload[remaining_platforms].any():  # only platforms without A would remain
        return evidence
    curves, outliers = np.where(is_outlying[:, :-1], 0.0, evidence.curves), int(np.count_nonzero(is_outlying))
    plausible = replace(evidence, is_known=remaining, curves=curves, outliers=outliers)
    on_target = evidence.is_known[-1] & is_outlying[-1, :-1]
    if on_target.any():
        plausible = plausible.of_workloads(np.flatnonzero(~on_target))
    return plausible.nearest(remaining_platforms) if len(remaining_platforms) < len(evidence.platforms) else plausible
