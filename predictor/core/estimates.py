"""Quick estimates of one workload on many targets, by which a long ranking is ordered before it is computed.

Data that do not depend on the target are shared. Each target uses its nearest references only. Measurements of A on a
target are not used for that target's estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import EstimatedTimes, answered_thread_counts
from predictor.core.arrays import distinct_codes, evenly_spaced, sampled
from predictor.core.availability import groups_of_targets
from predictor.core.curves import EvaluatedCurves, evaluated_curves, interpolate_rows, visible_table
from predictor.core.database import Database
from predictor.core.metadata import PlatformMetadata, platform_metadata
from predictor.core.mpet.beyond import Agreement, agreements_inside, growth_below, growth_counts, growth_on_platform
from predictor.core.mpet.gathering import MeanCurve, curves_at
from predictor.core.mpet.hyperparameters import DEFAULTS, ENOUGH, LEAST_LOG_ERROR, SOME_COUNTS
from predictor.core.mpet.ratios import SLOPE_DEVIATION
from predictor.core.numerics import FEWEST, MEAN_TO_SIGMA, TINY, known_median, lower_medians
from predictor.core.references import groups_of_same_origin
from predictor.core.screening import FEWEST_JUDGING, LEAST_FACTOR, asked_times, outlying_profiles
from profiles.arrays import BoolArray, FloatArray, IntArray

ESTIMATE_COLUMNS = 6  # thread counts at which A is estimated
NEAREST_REFERENCES = 16  # number of references from which one target is estimated
MOST_PAIRS = 1 << 21  # largest number of pairs (platform, workload); limits the memory
MOST_WORKLOADS, FEWEST_WORKLOADS = 192, 16  # limits of the number of workloads, chosen by how many platforms have them
MOST_COMPARED_WORKLOADS = 64  # number of these workloads in the distances between platforms
MOST_ESTIMATE_REFERENCES = 4096  # number of references among which the nearest ones are found
TYPICAL_PAIRS_PLATFORMS = 128  # number of platforms from which the typical distance is computed
TARGETS_AT_ONCE = 128  # limits the memory


def estimate_targets(
    database: Database, workload: int, targets: IntArray, n: int | None = None
) -> Iterator[EstimatedTimes]:
    """Yield estimates of the time of A on each target, at its fastest n or at the given n; NaN if there is no evidence.

        t = sum_p u_p (z(p,A) + median_b (z(T,b) - z(p,b))),    sum u = 1

    z is ln(n t(n)) at six thread counts, and u are the weights of `guess_by_medians`, for the 16 references nearest by
    the variance of z(T,b) - z(p,b) over the workloads and by metadata. Outlying profiles of other workloads count as
    unknown, and u_p is 0 if the estimate from p is far from the median of the nearest references.

    The same arrays are yielded after each part of the targets, so that a request can stop in between. The last ones are
    complete. On 3,404 machines the estimates have a median difference of 8 % from the method's answers.
    """
    found = EstimatedTimes.unknown(len(targets))
    group_of_target = groups_of_targets(database, workload)[targets]
    for group in np.unique(group_of_target[group_of_target >= 0]).tolist():
        chosen = np.flatnonzero(group_of_target == group)
        shared = SharedCurves.of(database, workload, groups_of_same_origin(database, group))
        if shared is not None:
            for estimates in _least_times(database, shared, targets[chosen], n):
                found.put(chosen, estimates)
                yield found
    yield found


@dataclass(frozen=True, eq=False)
class SharedCurves:
    """The data shared by all targets: z (C, P, B), 0 where unknown, of all platforms and of B workloads without A, at C
    columns of the grid; A on the references, and its mean curve."""

    evaluated: EvaluatedCurves
    metadata: PlatformMetadata
    columns: IntArray  # (C,) of the grid
    workloads: IntArray  # (B,)
    rows: IntArray  # (P, B), -1 = none
    is_known: FloatArray  # (P, B), 0 or 1
    levels: FloatArray  # (C, P, B) minus the workload's mean
    references: IntArray  # (R,) ascending
    rows_of_a: IntArray  # (R,)
    of_a: FloatArray  # (C, R)
    mean: MeanCurve
    asked: float  # least error of an excluded reference, relative to the usual error
    typical: float = 1.0  # median variance of the differences between two references

    @property
    def compared(self) -> slice:
        """The workloads by which platforms are compared."""
        return slice(None, None, -(-self.is_known.shape[1] // MOST_COMPARED_WORKLOADS))

    @classmethod
    def of(cls, database: Database, workload: int, groups: tuple[int, ...]) -> SharedCurves | None:
        """Return the shared data; None if no platform has A, or none has another workload."""
        evaluated, metadata = evaluated_curves(database), platform_metadata(database)
        table = visible_table(database, np.arange(len(database.platforms)), groups)
        references = np.flatnonzero(table[:, workload] >= 0)
        if not len(references):
            return None
        if len(references) > MOST_ESTIMATE_REFERENCES:  # an equal share of each cpu_model
            by_model = references[np.argsort(metadata.cpu[references], kind="stable")]
            references = np.sort(sampled(by_model, MOST_ESTIMATE_REFERENCES))
        rows_of_a = table[references, workload]
        columns = evaluated.measured_in(evaluated.pattern[rows_of_a])
        lower = evaluated.measured_in(evaluated.pattern[table])
        lower = lower[lower < columns[0]]
        columns = columns[evenly_spaced(evaluated.log_n[columns], ESTIMATE_COLUMNS)]
        columns = np.append(lower[evenly_spaced(evaluated.log_n[lower], SOME_COUNTS)], columns)
        known = (table >= 0).sum(axis=0)
        known[workload] = 0
        most = min(max(MOST_PAIRS // len(table), FEWEST_WORKLOADS), MOST_WORKLOADS)
        workloads = np.argsort(-known, kind="stable")[:most]
        workloads = np.sort(workloads[known[workloads] > 0])
        if not len(workloads):
            return None
        rows = table[:, workloads]
        values, _ = curves_at(evaluated, rows, columns)
        has_profile = rows >= 0
        is_outlying = outlying_profiles(values, has_profile, metadata.vectors)
        is_outlying[has_profile.sum(axis=1) < FEWEST] = False  # of two profiles it is unknown which one is wrong
        outlier_times = asked_times(np.count_nonzero(is_outlying) / np.count_nonzero(has_profile))
        rows = np.where(is_outlying, -1, rows)
        is_known = (rows >= 0).astype(np.float64)
        values *= is_known
        values -= (values.sum(axis=1) / np.maximum(is_known.sum(axis=0), 1.0))[:, None]
        values *= is_known
        of_a, mean = _curves_of_a(
            database, np.append(rows[references], rows_of_a[:, None], axis=1), references, workloads, columns
        )
        shared = cls(
            evaluated,
            metadata,
            columns,
            workloads,
            rows,
            is_known,
            levels=values,
            references=references,
            rows_of_a=rows_of_a,
            of_a=of_a,
            mean=mean,
            asked=outlier_times,
        )
        sample = sampled(references, TYPICAL_PAIRS_PLATFORMS)
        variances = _variances(shared, sample, sample)[np.triu_indices(len(sample), 1)]
        variances = variances[np.isfinite(variances)]
        return replace(shared, typical=float(np.median(variances)) + TINY) if len(variances) else shared

    def without(self, database: Database, target: int) -> SharedCurves:
        """Return the data as if A had not been measured on the target, one of several references. A's curves and their
        mean are computed from the others, and the target's own curve is 0."""
        others = self.references != target
        of_a = np.zeros(self.of_a.shape)
        platforms = self.references[others]
        of_a[:, others], mean = _curves_of_a(
            database,
            np.append(self.rows[platforms], self.rows_of_a[others, None], axis=1),
            platforms,
            self.workloads,
            self.columns,
        )
        return replace(self, of_a=of_a, mean=mean, rows_of_a=np.where(others, self.rows_of_a, -1))

    def agreements(self, database: Database) -> tuple[Agreement, ...]:
        """Return the agreements of A with the workloads, on the references with a known profile of A."""
        known = self.rows_of_a >= 0
        platforms = self.references[known]
        rows = np.append(self.rows[platforms], self.rows_of_a[known, None], axis=1)
        return agreements_inside(database, rows, platforms, self.workloads)

    def times(self, values: FloatArray, n: IntArray) -> FloatArray:
        """Return t(n) in seconds (T, N) from ln(n t(n)) at the columns (T, C), by interpolating the difference from A's
        mean curve."""
        gap = values - self.mean.at(self.evaluated.log_n[self.columns])
        with np.errstate(over="ignore"):
            log_thread_time = interpolate_rows(gap, self.evaluated.n[self.columns], n) + self.mean.at(np.log(n))
            time_s = np.exp(log_thread_time) / n
        return np.where((n > 1) & (self.mean.largest_n == 1), np.nan, time_s)


def _curves_of_a(
    database: Database, rows: IntArray, platforms: IntArray, workloads: IntArray, columns: IntArray
) -> tuple[FloatArray, MeanCurve]:
    """Return A, the last of the `rows` (R, B + 1), on the platforms at the columns, (C, R), and its mean curve."""
    evaluated = evaluated_curves(database)
    values, mean = curves_at(evaluated, rows[:, -1:], columns)
    known, below, _ = growth_below(database, rows, platforms, workloads, columns)
    values = values[:, :, 0]
    return values + known * (evaluated.at(rows[:, -1], columns) + below - values), mean


def _least_times(
    database: Database, shared: SharedCurves, targets: IntArray, n: int | None
) -> Iterator[EstimatedTimes]:
    """Find the n with the least time, among the n with a credible gain, and that time for each target. Yield the
    estimates so far before each part of the targets, and the complete ones."""
    # If A's mean curve includes a target, or only that target has A's largest n, its own data are left out for it.
    references, evaluated = shared.references, shared.evaluated
    influential = sampled(references, ENOUGH)
    measured = evaluated.measured[:, evaluated.pattern[shared.rows_of_a]]
    farthest = measured[np.flatnonzero(measured.any(axis=1))[-1]]
    if np.count_nonzero(farthest) == 1:
        influential = np.append(influential, references[farthest])
    alone = np.isin(targets, influential) & (len(references) > 1)
    together = np.flatnonzero(~alone)
    parts = [(shared, together[start : start + TARGETS_AT_ONCE]) for start in range(0, len(together), TARGETS_AT_ONCE)]
    parts += [(shared.without(database, int(targets[place])), np.array([place])) for place in np.flatnonzero(alone)]
    found = EstimatedTimes.unknown(len(targets))
    agreements: tuple[Agreement, ...] | None = None
    most = np.asarray(database.n_max)[targets].astype(np.int64)
    for known, places in parts:
        yield found
        last = known.mean.largest_n
        if known is not shared:
            agreements = None
        values = _carried_values(known, targets[places]).T
        for n_max in distinct_codes(most[places]).tolist():  # targets with the same n_max have the same thread counts
            of_size = np.flatnonzero(most[places] == n_max)
            counts = answered_thread_counts(n_max) if n is None else np.array([n])
            inside = np.minimum(counts, last) if last > 1 else counts
            times = known.times(values[of_size], inside) * inside / counts
            at_columns = np.log(known.times(values[of_size], evaluated.n[known.columns]))
            for row, place in enumerate(places[of_size].tolist()):
                time_s = times[row]
                if not np.isfinite(time_s).any():
                    continue
                if counts[-1] > last > 1:  # multiply the time at the last measured n by the growth beyond it
                    target = int(targets[place])
                    agreements, rows = agreements or known.agreements(database), known.rows[target]
                    further = growth_counts(database, target, rows, last)
                    at_last = evaluated.at(rows, np.searchsorted(evaluated.n, further[:1]))[0]
                    growth = growth_on_platform(database, target, rows, further, at_last, agreements=agreements)
                    time_s *= np.exp(growth.at(growth.value, counts))
                    credible = counts <= growth.credible_n(float(at_columns[row].min() - at_columns[row, -1]))
                    if n is None:
                        found.is_limited[place] = not credible[-1]
                        time_s[~credible] = np.nan
                found.n[place], found.time_s[place] = counts[np.nanargmin(time_s)], np.nanmin(time_s)
    yield found


def _carried_values(shared: SharedCurves, targets: IntArray) -> FloatArray:
    """Return ln(n t(n)) of A at the columns on some targets, (C, T); NaN where no reference shares a workload."""
    # Find the references nearest to each target. Only other platforms that share a workload with it are used.
    distances = _distances(shared, targets, shared.references)
    distances[np.isnan(distances) | (targets[:, None] == shared.references)] = np.inf
    K = min(NEAREST_REFERENCES, len(shared.references))
    nearest = np.sort(np.argpartition(distances, K - 1, axis=1)[:, :K], axis=1)
    is_usable = np.isfinite(np.take_along_axis(distances, nearest, axis=1))
    weights, estimates = _ratio_guesses(shared, targets, nearest, is_usable)
    # Exclude references with estimates that deviate by a factor of 2 and by `asked` times the usual error.
    level, counts = np.where(is_usable, estimates.mean(axis=0), np.inf), is_usable.sum(axis=1)
    deviation = np.abs(level - lower_medians(level, counts)[:, None])
    limit = np.maximum(np.log(LEAST_FACTOR), shared.asked * lower_medians(deviation, counts))
    limit[counts < FEWEST_JUDGING] = np.inf
    counting = weights * (deviation <= limit[:, None])
    total = counting.sum(axis=2, keepdims=True)
    weights = np.where(total > TINY, counting / np.maximum(total, TINY), weights)  # keep all if all are excluded
    values: FloatArray = (weights * estimates).sum(axis=2)
    values[:, ~is_usable.any(axis=1)] = np.nan
    return values


def _ratio_guesses(
    shared: SharedCurves, targets: IntArray, nearest: IntArray, is_usable: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the guesses of A by median ratios, (C, T, K) both, as `guess_by_medians` does, but with
    mean deviations in place of medians."""
    platforms, compared = shared.references[nearest], shared.compared
    both = (shared.is_known[targets, None, compared] * shared.is_known[platforms, compared]) > 0
    guesses, spread = shared.of_a[:, nearest], np.zeros(nearest.shape)
    for column, levels in enumerate(shared.levels):
        gap = np.where(both, levels[targets, None, compared] - levels[platforms, compared], np.nan)
        centre = known_median(gap.reshape(-1, gap.shape[-1])).reshape(nearest.shape)
        off = np.nan_to_num(np.abs(gap - centre[..., None])).sum(axis=-1) / np.maximum(both.sum(axis=-1), 1)
        guesses[column] += np.nan_to_num(centre)
        spread += off * MEAN_TO_SIGMA / len(shared.columns)
    outside = shared.evaluated.outside[shared.columns].take(shared.evaluated.pattern[shared.rows_of_a], axis=1)
    weights = is_usable / ((LEAST_LOG_ERROR + spread) ** 2 + (SLOPE_DEVIATION * outside[:, nearest]) ** 2)
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), TINY), guesses


def _variances(shared: SharedCurves, first: IntArray, second: IntArray) -> FloatArray:
    """Return the variances of the differences of levels between the platforms `first` (K,) and `second` (M,), (K, M),
    over some workloads and the first and last column; NaN where no workload is shared.

        var = (sum x^2 m_y + sum m_x y^2 - 2 sum x y) / c - ((sum x m_y - sum m_x y) / c)^2,    c = sum m_x m_y
    """
    compared = shared.compared
    ends = sorted({0, len(shared.columns) - 1})
    x, y = (np.concatenate([shared.levels[c][of, compared] for c in ends], axis=1) for of in (first, second))
    x_known, y_known = (np.concatenate([shared.is_known[of, compared]] * len(ends), axis=1) for of in (first, second))
    count = x_known @ y_known.T
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = ((x * x) @ y_known.T + x_known @ (y * y).T - 2.0 * (x @ y.T)) / count
        return np.asarray(np.maximum(squares - ((x @ y_known.T - x_known @ y.T) / count) ** 2, 0.0))


def _distances(shared: SharedCurves, first: IntArray, second: IntArray) -> FloatArray:
    """Return the distances between the platforms `first` (K,) and `second` (M,) in behaviour and metadata, (K, M); NaN
    where they share no workload."""
    behaviour = _variances(shared, first, second) / shared.typical
    x, y = shared.metadata.vectors[first], shared.metadata.vectors[second]
    paper = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2.0 * x @ y.T
    return np.asarray(behaviour + DEFAULTS.paper_share * np.maximum(paper, 0.0))
