"""Baselines that use one reference platform, the one with times most similar to the target's."""

from __future__ import annotations

import numpy as np

from predictor.core.baselines.answers import Estimate, NoSettings
from predictor.core.baselines.log_times import LogTimes, log_times_at, valid_mean
from predictor.core.database import Database
from predictor.core.errors import UnknownClock
from profiles.arrays import BoolArray, FloatArray, IntArray

DOUBT_IN_WORKLOADS = 2  # distances over b shared workloads are multiplied by sqrt(1 + 2/b)
DIGITS_OF_A_TIE = 12  # distances that are equal to this number of digits are ties


def time_distance(logs: LogTimes) -> FloatArray:
    """Return the root mean square of log(t_T / t_P) over the shared workloads and all n, (R,): 0 means the same times.

    >>> logs = LogTimes(
    ...     groups=(0,), workload=0, target=2, n=np.array([1, 2]), platforms=np.array([0, 1]), workloads=np.array([1]),
    ...     of_references=np.log([[[8.0, 8.0]], [[4.0, 8.0]]]), of_target=np.log([[4.0, 4.0]]),
    ...     of_workload=np.log([[2.0, 2.0], [3.0, 3.0]]))
    >>> time_distance(logs).round(3)  # the target is twice as fast as the first, and as the second from n = 2 on
    array([0.693, 0.49 ])
    """
    return np.sqrt(valid_mean(logs.difference**2, axis=(1, 2)))


def shape_distance(logs: LogTimes) -> FloatArray:
    """Return `time_distance` after the best single speed ratio, (R,): 0 means that the platforms differ by a constant
    factor.

    >>> logs = LogTimes(
    ...     groups=(0,), workload=0, target=2, n=np.array([1, 2]), platforms=np.array([0, 1]), workloads=np.array([1]),
    ...     of_references=np.log([[[8.0, 8.0]], [[4.0, 8.0]]]), of_target=np.log([[4.0, 4.0]]),
    ...     of_workload=np.log([[2.0, 2.0], [3.0, 3.0]]))
    >>> shape_distance(logs).round(3)
    array([0.   , 0.347])
    """
    ratio = valid_mean(logs.difference, axis=(1, 2))
    return np.sqrt(valid_mean((logs.difference - ratio[:, None, None]) ** 2, axis=(1, 2)))


def nearest_reference(distance: FloatArray, logs: LogTimes, among: BoolArray | None = None) -> int:
    """Return the position of the nearest reference. Few shared workloads increase the distance, and ties go by slug.

    distance' = distance sqrt((b + 2) / b),    b workloads that the reference shares with the target
    """
    shared = (~np.isnan(logs.difference)).any(axis=2).sum(axis=1)
    far = distance * np.sqrt((shared + DOUBT_IN_WORKLOADS) / shared)
    return int(np.argmin(np.round(far if among is None else np.where(among, far, np.inf), DIGITS_OF_A_TIE)))


def speed_ratio(logs: LogTimes, reference: int) -> float:
    """Return the mean of log(t_T / t_P) over shared workloads and n, the logarithm of a geometric mean of ratios.

    >>> logs = LogTimes(
    ...     groups=(0,), workload=0, target=2, n=np.array([1, 2]), platforms=np.array([0, 1]), workloads=np.array([1]),
    ...     of_references=np.log([[[8.0, 8.0]], [[4.0, 8.0]]]), of_target=np.log([[4.0, 4.0]]),
    ...     of_workload=np.log([[2.0, 2.0], [3.0, 3.0]]))
    >>> round(float(np.exp(speed_ratio(logs, 0))), 9)  # the target takes half the time of the first
    0.5
    """
    return float(valid_mean(logs.difference[reference], axis=(0, 1)))


def _of_reference(database: Database, logs: LogTimes, p: int, log_ratio: float | FloatArray) -> Estimate:
    """Return A on the reference at position p, times a ratio: one for all n, or one for each of `logs.n`."""
    row = database.lookup(logs.platforms[[p]], logs.workload, logs.groups)
    values = np.broadcast_to(log_ratio, logs.n.shape)
    return Estimate(values, {p: 1.0}, lambda n: log_times_at(database, row, n)[0])


def estimate_copy(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by its times on the reference with the most similar times."""
    p = nearest_reference(time_distance(logs), logs)
    return _of_reference(database, logs, p, 0.0)


def check_clocks(database: Database, platforms: IntArray, target: int) -> None:
    """Raise UnknownClock unless the clocks of the target and of one of these platforms are known."""
    mhz = np.asarray(database.platform_table["base_mhz"], dtype=np.float64)
    if np.isnan(mhz[target]) or np.isnan(mhz[platforms]).all():
        machine = database.platforms[target] if np.isnan(mhz[target]) else "any reference machine"
        raise UnknownClock(f"the clock of {machine} is unknown")


def estimate_by_frequency(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by its times on the nearest reference with a known clock, times the reference's clock divided by
    T's."""
    check_clocks(database, logs.platforms, logs.target)
    mhz = np.asarray(database.platform_table["base_mhz"], dtype=np.float64)
    of_references, of_target = mhz[logs.platforms], mhz[logs.target]
    p = nearest_reference(time_distance(logs), logs, ~np.isnan(of_references))
    return _of_reference(database, logs, p, np.log(of_references[p] / of_target))


def estimate_by_speed_ratio(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by its times on the reference with the most similar shape, times one speed ratio."""
    p = nearest_reference(shape_distance(logs), logs)
    return _of_reference(database, logs, p, speed_ratio(logs, p))


def estimate_by_speed_ratio_per_n(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by its times on the reference with the most similar shape, times a speed ratio for each n."""
    p = nearest_reference(shape_distance(logs), logs)
    return _of_reference(database, logs, p, valid_mean(logs.difference[p], axis=0))


def estimate_ideal(database: Database, logs: LogTimes, settings: NoSettings) -> Estimate:
    """Estimate A on T by n t(n) = t(1), with t(1) by the speed ratio."""
    p = nearest_reference(shape_distance(logs), logs)
    return Estimate(np.full(len(logs.n), logs.of_workload[p, 0] + speed_ratio(logs, p)), {p: 1.0})
