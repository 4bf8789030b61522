"""What the database says about A on T: curves of A on the references, and of the workloads both they and T have,
less the profiles that cannot be right."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import Query, predicted_thread_counts
from predictor.core.arrays import distinct_codes, evenly_spaced
from predictor.core.curves import EvaluatedCurves, evaluated_curves, interpolate_rows, risen, visible_table
from predictor.core.database import Database
from predictor.core.errors import NoReference, NothingShared
from predictor.core.metadata import PlatformMetadata, likeness_of_names, platform_metadata
from predictor.core.mpet.hyperparameters import ENOUGH, MOST_COUNTS, SOME_COUNTS, USUAL_COUNT
from predictor.core.mpet.platforms import MOST_EXAMINED, nearest_platforms
from predictor.core.numerics import FEWEST
from predictor.core.references import check_query, evidence_groups, missing_benchmarks, reference_rows, usable_platforms
from predictor.core.screening import outlying_profiles
from profiles.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean ln(n t(n)) of a workload, up to a constant, at ln n (G,), held beyond `largest_n`.

    >>> curve = MeanCurve(np.log([1.0, 2.0]), np.array([0.0, 0.5]), least_n=1, largest_n=2)
    >>> curve.at(np.log([1.0, 1.5, 4.0])).round(3).tolist()
    [0.0, 0.292, 0.5]
    """

    log_n: FloatArray
    values: FloatArray
    least_n: int  # at which it was measured
    largest_n: int

    def at(self, log_n: FloatArray) -> FloatArray:
        """The mean curve at any ln n, of any shape."""
        return np.asarray(np.interp(log_n, self.log_n, self.values))


@dataclass(frozen=True, eq=False)
class Evidence:
    """ln(n t(n)) of R references and T (last) for the B workloads known on T, and of A on the references.

    At J thread counts, the knots. `curves` is 0 where `is_known` is False. `outside` is how far in ln n a knot lies
    outside the measured range of (P,A). Everything of (T,A) is absent.

    Where T lacks most workloads that others have, `gather_evidence` adds them as columns, and platforms like T without
    A as rows; `fill_in_workloads` fills them in on T, or drops them: afterwards every reference has A.
    """

    database: Database  # as if (T,A) had never been measured
    groups: tuple[int, ...]
    target: int
    workload: int
    usable_platforms: IntArray  # that may take part
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
    below: FloatArray  # (2, J, R): how (P,A) goes on below its least n, half the interval (`with_growth_below`)
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
            below=self.below[:, :, order],
        )

    def of_workloads(self, chosen: IntArray) -> Evidence:
        """Only these workloads, in this order."""
        return replace(
            self,
            fill_errors=None if self.fill_errors is None else self.fill_errors.take(chosen, axis=2),
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
        largest_on_target=int(evaluated.n[on_target[-1]]),
    )


def _rows(database: Database, query: Query, groups: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Rows (R + 1, B + 1) of the references and T for the workloads of T and A, and both sets.

    Where T lacks many workloads that most references have: also these, and platforms like T that lack A.
    """
    table, platforms, workloads = _connected_rows(database, query, groups)
    often = 2 * np.count_nonzero(table[:-1] >= 0, axis=0) >= len(platforms)
    often[query.workload] = False
    missing = np.flatnonzero(often & (table[-1] < 0))
    if 2 * len(missing) > len(workloads):
        others = _platforms_like_target(database, query, platforms, workloads, groups)
        more = visible_table(database, others, groups)
        shares = (more[:, workloads] >= 0).any(axis=1) & (more[:, missing] >= 0).any(axis=1)
        if shares.any():
            platforms, workloads = np.append(platforms, others[shares]), np.append(workloads, missing)
            table = np.concatenate([table[:-1], more[shares], table[-1:]])
    if len(workloads) > MOST_EXAMINED:
        # Known on T, then by how many of the platforms have them, 0 to 1, plus how alike names are to A's, 0 to 1.
        telling = (table[:-1, workloads] >= 0).mean(axis=0) + likeness_of_names(database, workloads, query.workload)
        workloads = np.sort(workloads[np.lexsort((-telling, table[-1, workloads] < 0))[:MOST_EXAMINED]])
    return table.take(np.append(workloads, query.workload), axis=1), platforms, workloads


def _platforms_like_target(
    database: Database, query: Query, platforms: IntArray, workloads: IntArray, groups: tuple[int, ...]
) -> IntArray:
    """Platforms without A that know T's missing workloads: its relatives, of its `cpu_model` or microarchitecture; and
    of those that share a workload with T the most like it on paper, as many as the references and these lack to 48."""
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


def _connected_rows(database: Database, query: Query, groups: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Rows (R + 1, W) of the references that share a workload with T, and of T; these references, and T's workloads.

    Of very many references only the nearest. Raises NoReference, NoBenchmark, NothingComparable, NothingShared.
    """
    platforms = _reference_platforms(database, query, groups)
    if len(platforms) > MOST_EXAMINED:
        platforms = nearest_platforms(database, query, groups, platforms, MOST_EXAMINED)
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


def _knots(evaluated: EvaluatedCurves, of_a: IntArray, on_target: IntArray, n_max: int) -> IntArray:
    """Columns to predict at: where T's workloads were measured, and A on the references outside, up to T's threads.

    Not those that are asked for: what is said of one n would depend on which others are asked.
    """
    if 0 < of_a[-1] < on_target[-1]:  # where A was measured at n = 1 alone, T's workloads tell all there is
        on_target = np.append(on_target[on_target < of_a[-1]], of_a[-1])
    inside = on_target[evenly_spaced(evaluated.log_n[on_target], MOST_COUNTS)]
    last = min(int(np.searchsorted(evaluated.n, n_max)), int(of_a[-1]))
    outside = of_a[(of_a < on_target[0]) | ((of_a > on_target[-1]) & (of_a <= last))]
    outside = outside[evenly_spaced(evaluated.log_n[outside], SOME_COUNTS)]
    return np.union1d(inside, outside)


def curves_at(
    evaluated: EvaluatedCurves, rows: IntArray, patterns: IntArray, knots: IntArray
) -> tuple[FloatArray, MeanCurve]:
    """Curves (J, P, B) at the knots, 0 where there is no profile, and the mean curve of A, the last of the workloads.

        value = interpolated(values) + mean(n) - interpolated(mean)

    so that nothing changes where it was measured, and the deviation from the mean curve is held outside.
    """
    support = evaluated.measured_in(patterns)
    support = support[evenly_spaced(evaluated.log_n[support], MOST_COUNTS)]
    means = _means(evaluated, rows, patterns, support)
    values = evaluated.at(rows, knots)
    # Add what the mean curves are above what would be interpolated between where a pattern was measured.
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
    own = evaluated.measured_in(patterns[:, -1])
    if not np.array_equal(own, support):
        means = _means(evaluated, rows[:, -1:], patterns[:, -1:], own)
    return values, MeanCurve(evaluated.log_n, means[:, -1], int(evaluated.n[own[0]]), int(evaluated.n[own[-1]]))


def _means(evaluated: EvaluatedCurves, rows: IntArray, patterns: IntArray, support: IntArray) -> FloatArray:
    """The mean shape of every workload's curve on the grid, (G, B), from mean steps between supports.

    A step counts where a profile was measured across it, so platforms of any size can be averaged.
    """
    step = -(-len(rows) // ENOUGH)
    rows, patterns = (np.ascontiguousarray(some[::step]) for some in (rows, patterns))  # or every `take` copies them
    inside = evaluated.inside[support]
    across = (inside[1:] & inside[:-1]).astype(np.float64).take(patterns, axis=1)
    values = evaluated.at(rows, support)
    steps, counts = np.einsum("gpb,gpb->gb", values[1:] - values[:-1], across), across.sum(axis=1)
    overall = steps.sum(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    steps = (steps + USUAL_COUNT * overall[:, None]) / (counts + USUAL_COUNT)
    curve = np.cumsum(np.concatenate([np.zeros((1, rows.shape[1])), steps]), axis=0)
    return interpolate_rows(curve.T, evaluated.n[support], evaluated.n).T


def wider_table(evidence: Evidence) -> tuple[FloatArray, BoolArray]:
    """The curves of the evidence, its own first, with further workloads of its platforms, and platforms that share
    them, (J, P, B); and what is known, (P, B). Of many the most measured ones."""
    database, (J, own, B) = evidence.database, evidence.curves.shape
    platforms = np.append(evidence.platforms, evidence.target)
    platforms = np.append(platforms, np.setdiff1d(evidence.usable_platforms, platforms))
    table = visible_table(database, platforms, evidence.groups)
    measured = np.count_nonzero(table[:own] >= 0, axis=0)
    measured[np.append(evidence.workloads, evidence.workload)] = 0
    further = np.argsort(-measured, kind="stable")[: max(MOST_COUNTS * ENOUGH // J - B, 0)]
    workloads = np.append(evidence.workloads, further[measured[further] > 0])
    measured = np.count_nonzero(table[own:].take(workloads, axis=1) >= 0, axis=1)
    others = np.argsort(-measured, kind="stable")[: 4 * ENOUGH]
    chosen = np.append(np.arange(own), own + others[measured[others] > 0])
    rows = table[chosen].take(workloads, axis=1)
    evaluated = evaluated_curves(database)
    curves, _ = curves_at(evaluated, rows, evaluated.pattern.take(rows), np.searchsorted(evaluated.n, evidence.n))
    is_known = rows >= 0
    curves[:, :own, :B], is_known[:own, :B] = evidence.curves, evidence.is_known
    is_known &= ~outlying_profiles(curves, is_known, evidence.metadata.vectors[platforms[chosen]])
    return curves * is_known, is_known


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


def without_outliers(evidence: Evidence) -> Evidence:
    """The evidence less its outlying profiles, which it counts. T and one reference always remain.

    A workload whose profile on T is outlying tells nothing about T, and is left out altogether; so is a reference
    that shares no other with T.
    """
    is_known = np.append(evidence.is_known, np.append(evidence.has_workload, False)[:, None], axis=1)
    of_workload = np.pad(evidence.of_workload[[0, -1]], ((0, 0), (0, 1)))[:, :, None]  # T is unknown, its 0 unused
    on_paper = evidence.metadata.vectors[[*evidence.platforms, evidence.target]]
    is_outlying = outlying_profiles(np.append(evidence.curves[[0, -1]], of_workload, axis=2), is_known, on_paper)
    if is_known[-1].sum() < FEWEST:
        is_outlying[-1] = False  # nothing tells which of T's two is wrong
    if not is_outlying.any():
        return evidence
    remaining = evidence.is_known & ~is_outlying[:, :-1]
    kept = np.flatnonzero(~is_outlying[:-1, -1] & (remaining[:-1] & remaining[-1]).any(axis=1))
    if not evidence.has_workload[kept].any():  # the others are like T, and workloads are filled in from them
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
