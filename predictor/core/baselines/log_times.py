"""The logarithms that baselines use: log(n t(n)) of the benchmarks on the references and the target, and of A."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.errors import NothingShared
from predictor.core.reconstruct import knots
from predictor.core.references import check_query, connecting_rows, evidence_groups, reference_rows
from profiles.arrays import BoolArray, FloatArray, IntArray

ADDITIVE_ROUNDS = 2
VALUES_AT_ONCE = 1 << 17  # values per block, which fits into the caches
KEY_STRIDE = int(np.iinfo(np.int32).max)  # difference of the keys of two rows, at least the largest n


@dataclass(frozen=True, eq=False)
class LogTimes:
    """log(n t(n)) at common thread counts, NaN where a pair was not measured.

    Natural logarithms of seconds. The R reference platforms have A and at least one of the B workloads known on the
    target; `n` are 1 and the `knots`, independent of the requested thread counts.
    """

    groups: tuple[int, ...]  # A's first
    workload: int  # A
    target: int  # T
    n: IntArray  # (J,)
    platforms: IntArray  # (R,)
    workloads: IntArray  # (B,)
    of_references: FloatArray  # (R, B, J)
    of_target: FloatArray  # (B, J)
    of_workload: FloatArray  # (R, J) A on the references

    @cached_property
    def difference(self) -> FloatArray:
        """Target minus reference, (R, B, J): the logarithm of the ratio of their times."""
        return self.of_target - self.of_references

    @cached_property
    def all_platforms(self) -> FloatArray:
        """The values of the references, and last of the target, (R + 1, B, J)."""
        return np.concatenate([self.of_references, self.of_target[None]])

    @cached_property
    def speed(self) -> FloatArray:
        """The platform part s(p, n) of the additive model, (R + 1, J)."""
        return additive_parts(self.all_platforms)[1]

    @cached_property
    def completed(self) -> FloatArray:
        """The values of all platforms, (R + 1, B, J), with those of the additive model for pairs that were not
        measured."""
        of_workload, of_platform = additive_parts(self.all_platforms)
        model = of_workload[None] + of_platform[:, None]
        return np.where(np.isnan(self.all_platforms), model, self.all_platforms)

    def with_nearest_references(self, most: int) -> LogTimes:
        """Return the log times with at most `most` references: those with the least mean square difference from the
        target over benchmarks and n, after subtracting the platforms' speeds."""
        if len(self.platforms) <= most:
            return self
        residuals = (self.completed - self.speed[:, None]).reshape(len(self.platforms) + 1, -1)
        distance = ((residuals[:-1] - residuals[-1]) ** 2).mean(axis=1)
        nearest = np.sort(np.argsort(distance, kind="stable")[:most])
        is_shared = ~np.isnan(self.of_references[nearest, :, 0]).all(axis=0)
        return replace(
            self,
            platforms=self.platforms[nearest],
            workloads=self.workloads[is_shared],
            of_references=self.of_references[nearest][:, is_shared],
            of_target=self.of_target[is_shared],
            of_workload=self.of_workload[nearest],
        )


def log_times_at(database: Database, rows: IntArray, n: IntArray) -> FloatArray:
    """Return log(n t(n)) of measured curves, linear in ln n between their points and constant outside.

    Parameters: `rows` of any shape, -1 = none; `n` (J,). Returns (*rows.shape, J), NaN for no row or no curve.

    Example: t(1) = 8 s and t(4) = 3 s, so n t(n) is 8 and 12: at n = 2 it is their geometric mean, at n = 9 still 12.

    >>> from predictor.core.database import Group
    >>> database = Database.build(
    ...     platforms=("p",), workloads=("w",), platform_index=[0], workload_index=[0], groups=(Group(False, "", ""),),
    ...     group=[0], features=np.ones((1, 84)), t1_s=[8.0], n_nu=[np.nan], n_ht=[np.nan], n_max=[4],
    ...     curve_offsets=[0, 2], curve_n=[1, 4], curve_time_s=[8.0, 3.0])
    >>> np.exp(log_times_at(database, np.array([0, -1]), np.array([1, 2, 9]))).round(3).tolist()
    [[8.0, 9.798, 12.0], [nan, nan, nan]]
    """
    if not len(database.curve_n):
        return np.full((*rows.shape, len(n)), np.nan)
    flat, values = rows.ravel(), np.empty((rows.size, len(n)))
    at_once = max(1, VALUES_AT_ONCE // len(n)) if len(n) else rows.size
    for first in range(0, rows.size, at_once):
        part = slice(first, first + at_once)
        values[part] = _log_times_of_rows(database, flat[part], n)
    return values.reshape(*rows.shape, len(n))


def _log_times_of_rows(database: Database, rows: IntArray, n: IntArray) -> FloatArray:
    """Return `log_times_at` for a block of rows (R,). It needs about ten temporary arrays (R, J)."""
    start, stop = database.curve_offsets[rows], database.curve_offsets[rows + 1]
    is_measured = (rows >= 0) & (stop > start)
    start, last = np.where(is_measured, start, 0)[..., None], np.where(is_measured, stop - 1, 0)[..., None]
    keys, log_n, log_time = database.derive("measured_logs", lambda: _measured_logs(database))
    above = np.searchsorted(keys, rows[..., None] * KEY_STRIDE + n).clip(start, last)
    below = (above - 1).clip(start, last)
    wanted = np.log(n)
    gap = log_n[above] - log_n[below]
    share = np.where(gap > 0, (wanted - log_n[below]) / np.where(gap > 0, gap, 1.0), 0.0).clip(0.0, 1.0)
    values = log_time[below] + share * (log_time[above] - log_time[below])
    return np.where(is_measured[..., None], values, np.nan)


def _measured_logs(database: Database) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the key, ln n and ln(n t(n)) of every measured point. The key is the row number times KEY_STRIDE plus n,
    which ascends over the concatenated curves."""
    row = np.repeat(np.arange(len(database)), np.diff(database.curve_offsets))
    log_n = np.log(database.curve_n.astype(np.float64))
    return row * KEY_STRIDE + database.curve_n, log_n, log_n + np.log(database.curve_time_s)


def additive_parts(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the workload part c (B, J) and the platform part s (P, J) of z = c + s + rest, by two rounds of
    alternating means.

    `values` (P, B, J), NaN = not measured; a part without any value is 0.

    >>> of_workload, of_platform = additive_parts(np.array([[[1.0], [2.0]], [[3.0], [4.0]]]))
    >>> of_workload.ravel().tolist(), of_platform.ravel().tolist()
    ([2.0, 3.0], [-1.0, 1.0])
    """
    of_workload = valid_mean(values, axis=0)
    of_platform = valid_mean(values - of_workload[None], axis=1)
    for _ in range(ADDITIVE_ROUNDS):
        of_workload = of_workload + valid_mean(values - of_workload[None] - of_platform[:, None], axis=0)
        of_platform = of_platform + valid_mean(values - of_workload[None] - of_platform[:, None], axis=1)
    return of_workload, of_platform


def valid_mean(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Return the mean over values that are not NaN, 0 if there are none.

    >>> valid_mean(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]]), axis=1)
    array([2., 0.])
    """
    valid = ~np.isnan(values)
    count = valid.sum(axis=axis)
    return np.asarray(np.where(valid, values, 0.0).sum(axis=axis) / np.maximum(count, 1))


# Several methods may use the same query and view. An entry is removed together with its view.
_log_times_of_views: WeakKeyDictionary[Database, tuple[Query, LogTimes]] = WeakKeyDictionary()


def log_times(database: Database, query: Query) -> LogTimes:
    """Return everything that a baseline may use for the query, with (T,A) hidden.

    Raise NoReference, TooFewCandidates, UnknownTarget, UnknownWorkload, InvalidThreadCounts.
    """
    check_query(database, query)
    view = database.without(query.target, query.workload)
    last_query, logs = _log_times_of_views.get(view, (None, None))
    if logs is None or last_query != query:
        logs = _read_log_times(view, query)
        _log_times_of_views[view] = query, logs
    return logs


class ConnectedRows(NamedTuple):
    """The rows of R references with A, and of T, for the B workloads of T, -1 = none; A is the last column of the
    references' rows. `shared` (R, B): both have a curve; `usable` (R,): at least one workload is shared, and A has a
    curve."""

    groups: tuple[int, ...]
    platforms: IntArray
    workloads: IntArray
    rows: IntArray
    rows_of_target: IntArray
    shared: BoolArray
    usable: BoolArray


def connect_rows(view: Database, query: Query) -> ConnectedRows:
    """Return the rows that connect A with T, in a view that hides (T,A). Raise NoReference, NoBenchmark,
    NothingComparable, NothingShared."""
    rows_a = reference_rows(view, query)
    groups = evidence_groups(view, query, rows_a)
    platforms, workloads, rows, rows_of_target = connecting_rows(view, query, rows_a, groups)
    has_curve = _have_curves(view, rows)
    shared = has_curve[:, :-1] & _have_curves(view, rows_of_target)
    usable = shared.any(axis=1) & has_curve[:, -1]
    if not usable.any():
        workload, target = view.workloads[query.workload], view.platforms[query.target]
        raise NothingShared(f"no machine with {workload} shares another workload with {target}")
    return ConnectedRows(groups, platforms, workloads, rows, rows_of_target, shared, usable)


def _have_curves(view: Database, rows: IntArray) -> BoolArray:
    return (rows >= 0) & (view.curve_offsets[rows + 1] > view.curve_offsets[rows])


def _read_log_times(view: Database, query: Query) -> LogTimes:
    row_table = connect_rows(view, query)
    on_target = _measured_counts(view, row_table.rows_of_target)
    of_workload = _measured_counts(view, row_table.rows[row_table.usable, -1])
    n = np.union1d([1], knots(on_target, of_workload, int(view.n_max[query.target])))
    values = log_times_at(view, row_table.rows, n)[row_table.usable]
    is_shared = row_table.shared[row_table.usable].any(axis=0)
    return LogTimes(
        groups=row_table.groups,
        workload=query.workload,
        target=query.target,
        n=n,
        platforms=row_table.platforms[row_table.usable],
        workloads=row_table.workloads[is_shared],
        of_references=values[:, :-1][:, is_shared],
        of_target=log_times_at(view, row_table.rows_of_target, n)[is_shared],
        of_workload=values[:, -1],
    )


def _measured_counts(view: Database, rows: IntArray) -> IntArray:
    """Return the thread counts of the curves of these rows (-1 = none)."""
    return np.unique(np.concatenate([view.curve(row)[0] for row in rows[rows >= 0].tolist()]))
