"""Quality of measured times: the agreement of repeats, and warnings about suspicious values.

Nothing here rejects a measurement. Noise, unexpected growth, costly profiling, few repeats and virtual machines cause
warnings. There is one line per workload and kind with the worst case, so that a report remains readable with any number
of workloads, platforms and thread counts. No Django.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.measurements import Measurements, RunTable
from profiles.scaling.runs import timed_runs

MEDIAN_OF_MANY = math.pi / 2  # variance of a median over that of a mean; with one or two values, they are equal
QUARTILES = (25, 75)  # %
FEWEST_REPEATED = 1.5  # average runs per n needed to estimate a deviation
MAX_VARIATION = 0.10  # coefficient of variation of the repeats at one n
MAX_GROWTH = 0.10  # growth of t(n) from one measured n to the next
MAX_PROFILE_OVERHEAD = 1.2  # ratio of the median times of profile pass and clean pass
MIN_REPEATS = 3
CONFIDENCE = 1.645  # half-width of a 90 % interval in standard errors
MEASURED_ONCE = (
    "everything was measured once: the noise of its times is estimated from repeated measurements, here or elsewhere"
)
FAULT_SENTENCES = (  # one for each kind
    "the coefficient of variation is {percent:.1f} % at n = {n}",
    "t(n) grows by {percent:.1f} % to n = {n}",
    "the profile pass takes {value:.2f} times as long as the clean pass at n = {n}",
    f"fewer than {MIN_REPEATS} repeats: {{value:.0f}} at n = {{n}}",
)
FEW_REPEATS = 3  # index into FAULT_SENTENCES


@dataclass(frozen=True)
class RepeatSummary:
    """Summary of the runs of one profile.

    `disturbed_count` is None if it is unknown for all runs. `standard_error` is that of ln t(n), NaN if nothing was
    repeated.
    """

    run_count: int
    disturbed_count: int | None
    standard_error: float


@dataclass(frozen=True, eq=False)
class RepeatSpread:
    """The number and the spread of the runs from which t(n) is computed, over N thread counts; all arrays are (N,).

    `disturbed_count` is -1 if it is unknown. `deviation_s` is the sample standard deviation, NaN for a single run.
    """

    n: IntArray
    count: IntArray
    disturbed_count: IntArray
    deviation_s: FloatArray
    low_quartile_s: FloatArray
    high_quartile_s: FloatArray


def repeat_summary(runs: RunTable) -> RepeatSummary:
    """Return the number of runs, the number of disturbed runs, and the standard error e of ln t(n).

        s^2 = sum over n and r of (ln t_r(n) - mean of ln t(n))^2 / sum over n of (k_n - 1)
        e^2 = mean over n of s^2 c_n / k_n

    t(n) is the median of k_n runs. c is 1 for up to two runs, and pi / 2 for more, the variance of a median relative to
    that of a mean. s is one value for all n, because two or three runs do not determine a deviation.

    Example: Two runs at each n that differ by 0.02 in ln t give s = 0.02 / sqrt(2) and e = 0.01.

    Parameters: the runs of a profile. Variations are ignored; all other runs are counted.
    Returns: RepeatSummary; e without unit.

    >>> t = np.exp([0.0, 0.02, 1.0, 1.02])
    >>> repeat_summary(RunTable(np.array([1, 1, 2, 2]), np.array([1, 2, 1, 2]), np.zeros(4, bool), t))
    RepeatSummary(run_count=4, disturbed_count=None, standard_error=0.01)
    """
    own_runs = runs.own
    if len(np.unique(own_runs.n)) == len(own_runs):
        return RepeatSummary(len(own_runs), disturbed_among(own_runs), math.nan)
    timed = timed_runs(own_runs)
    _, starts, count = np.unique(timed.n, return_index=True, return_counts=True)
    logs = np.log(timed.time_s)
    squares = ((logs - np.repeat(np.add.reduceat(logs, starts) / count, count)) ** 2).sum()
    freedom = int((count - 1).sum())
    error = math.nan
    if freedom:
        error = math.sqrt(squares / freedom * _variance_of_middle(count).mean())
    return RepeatSummary(len(own_runs), disturbed_among(own_runs), round(error, 12))


def deviation_of_one(standard_error: FloatArray, count: FloatArray) -> FloatArray:
    """Return the standard deviation of ln t of a single run, s = e / sqrt(c / k), the inverse of `repeat_summary`.

    Example: If the median of three runs has the standard error 0.01, one of them has 0.01 / sqrt(pi / 2 / 3) = 0.0138.

    Parameters: e (N,), NaN if nothing was repeated; `count` (N,), the average number k of runs at each n.
    Returns: (N,) without unit. NaN if e is NaN, or with fewer than 1.5 runs per n on average, because the number of
    repeats at each n is unknown then.

    >>> deviation_of_one(np.array([0.01, 0.01, np.nan]), np.array([3.0, 2.0, 1.0])).round(4).tolist()
    [0.0138, 0.0141, nan]
    """
    few = np.where(count >= FEWEST_REPEATED, count, np.nan)
    return np.asarray(standard_error / np.sqrt(_variance_of_middle(few)))


def _variance_of_middle(count: IntArray | FloatArray) -> FloatArray:
    """Return c / k, the variance of t(n) from k runs over that of one of them."""
    return np.asarray(np.where(count > 2, MEDIAN_OF_MANY, 1.0) / count)


def disturbed_among(runs: RunTable) -> int | None:
    """Return the number of disturbed runs, None if it is unknown."""
    if runs.disturbed is None or np.isnan(runs.disturbed).all():
        return None
    return int(np.nansum(runs.disturbed))


def repeat_spread(runs: RunTable) -> RepeatSpread:
    """Return the number and the spread of the runs from which t(n) is computed, at each n.

    The spread consists of the sample standard deviation and the quartiles.

    >>> runs = RunTable(np.array([1, 1, 1]), np.array([1, 2, 3]), np.zeros(3, bool), np.array([1.0, 3.0, 2.0]))
    >>> spread = repeat_spread(runs)
    >>> spread.count.tolist(), spread.deviation_s.tolist(), spread.low_quartile_s.tolist()
    ([3], [1.0], [1.5])
    """
    timed = timed_runs(runs)
    n, starts, count = np.unique(timed.n, return_index=True, return_counts=True)
    _, deviation_s = _means_and_deviations(timed.time_s, starts, count)
    times = np.split(timed.time_s, starts[1:])
    quartiles = np.array([np.percentile(of_n, QUARTILES) for of_n in times]).T
    flags = np.full(len(timed), np.nan) if timed.disturbed is None else timed.disturbed
    is_known = np.add.reduceat(~np.isnan(flags), starts, dtype=np.int64) > 0
    disturbed = np.where(is_known, np.add.reduceat(np.nan_to_num(flags), starts), -1).astype(np.int64)
    return RepeatSpread(n, count, disturbed, deviation_s, *quartiles)


def _means_and_deviations(values: FloatArray, starts: IntArray, count: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the sample standard deviation (NaN for a single value) of groups that follow each other."""
    mean = np.add.reduceat(values, starts) / count
    squares = np.add.reduceat((values - np.repeat(mean, count)) ** 2, starts)
    return mean, np.sqrt(np.divide(squares, count - 1, out=np.full(len(count), np.nan), where=count > 1))


class SuspiciousValue(NamedTuple):
    """A suspicious value of one profile at one n. `kind` is an index into FAULT_SENTENCES."""

    kind: int
    profile: int
    n: int
    value: float

    @property
    def badness(self) -> float:
        return -self.value if self.kind == FEW_REPEATS else self.value

    @property
    def sentence(self) -> str:
        return FAULT_SENTENCES[self.kind].format(percent=100 * self.value, value=self.value, n=self.n)


def quality_warnings(measurements: Measurements) -> list[str]:
    """Return one line per workload and kind of fault, with the worst case.

    Further lines are about disturbed repeats, the precision of times with few repeats, and virtual machines.

    >>> from profiles.measurements import PlatformRecord, ProfileRecord, WorkloadRecord
    >>> n, one = np.array([1, 2]), np.ones(2, dtype=np.int64)
    >>> runs = RunTable(n, one, np.zeros(2, dtype=bool), np.array([1.0, 1.5]))
    >>> for line in quality_warnings(
    ...     Measurements(
    ...         "measured", {}, [PlatformRecord("a", "A")], [WorkloadRecord("fft")], [ProfileRecord(0, 0, runs)]
    ...     )
    ... ):
    ...     print(line)
    fft: t(n) grows by 50.0 % to n = 2
    fft: fewer than 3 repeats: 1 at n = 1, and at 1 more thread count
    everything was measured once: the noise of its times is estimated from repeated measurements, here or elsewhere
    """
    profiles = measurements.profiles
    grouped: dict[tuple[int, int], list[SuspiciousValue]] = {}
    for fault in find_faults([profile.runs for profile in profiles]):
        grouped.setdefault((profiles[fault.profile].workload, fault.kind), []).append(fault)
    lines = []
    for (workload, _), group in sorted(grouped.items(), key=lambda item: item[0]):
        worst = max(group, key=lambda fault: fault.badness)
        platform = measurements.platforms[profiles[worst.profile].platform].name
        where = f" on {platform}" if len(measurements.platforms) > 1 else ""
        more = _describe_further(len(group) - 1, len({fault.profile for fault in group}) - 1)
        lines.append(f"{measurements.workloads[workload].name}: {worst.sentence}{where}{more}")
    doubts = [*_trust_warnings(measurements), *_virtual_warnings(measurements)]
    return [*_disturbance_warnings(measurements), *lines, *doubts]


def find_faults(tables: Sequence[RunTable]) -> list[SuspiciousValue]:
    """Return the suspicious values in the runs of many profiles, by kind, profile and n.

    t(n) is the median over the clean runs at n, or over the profile runs if there is no clean run. The coefficient of
    variation (sample standard deviation / mean) and the number of repeats refer to the same runs.
    """
    own_runs = [table.own for table in tables]
    sizes = [len(table) for table in own_runs]
    if not sum(sizes):
        return []
    profile, n, count, median_s, variation = _statistics_of_repeats(own_runs, sizes)
    same_n = (np.diff(profile) == 0) & (np.diff(n) == 0)
    overhead = median_s[1:] / median_s[:-1]
    slow = np.flatnonzero(same_n & (overhead > MAX_PROFILE_OVERHEAD))
    # t(n) comes from the first pass at each (profile, n), because the clean pass sorts before the profile pass.
    first = np.append(True, ~same_n)
    profile_of_t, n_of_t, time_s = profile[first], n[first], median_s[first]
    growth = time_s[1:] / time_s[:-1] - 1
    grows = np.flatnonzero((np.diff(profile_of_t) == 0) & (growth > MAX_GROWTH))
    varied = first & (variation > MAX_VARIATION)
    few = first & (count < MIN_REPEATS)
    faults: tuple[tuple[IntArray, IntArray, FloatArray | IntArray], ...] = (  # in the order of FAULT_SENTENCES
        (profile[varied], n[varied], variation[varied]),
        (profile_of_t[grows + 1], n_of_t[grows + 1], growth[grows]),
        (profile[slow + 1], n[slow + 1], overhead[slow]),
        (profile[few], n[few], count[few]),
    )
    return [
        SuspiciousValue(kind, *row)
        for kind, columns in enumerate(faults)
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _statistics_of_repeats(
    tables: Sequence[RunTable], sizes: list[int]
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Return profile, n, number, median and coefficient of variation of the repeats of each (profile, n, pass).

    They are sorted by these three. The variation of a single repeat is NaN.
    """
    profile = np.repeat(np.arange(len(tables)), sizes)
    n = np.concatenate([table.n for table in tables])
    is_profile = np.concatenate([table.is_profile_pass for table in tables])
    time_s = np.concatenate([table.time_s for table in tables])
    order = np.lexsort((time_s, is_profile, n, profile))
    profile, n, is_profile, time_s = profile[order], n[order], is_profile[order], time_s[order]
    new = (np.diff(profile) != 0) | (np.diff(n) != 0) | (np.diff(is_profile.astype(np.int8)) != 0)
    start = np.flatnonzero(np.append(True, new))
    count = np.diff(np.append(start, len(n)))
    mean, deviation = _means_and_deviations(time_s, start, count)
    median_s = (time_s[start + (count - 1) // 2] + time_s[start + count // 2]) / 2
    return profile[start], n[start], count, median_s, deviation / mean


def _describe_further(counts: int, profiles: int) -> str:
    if not counts:
        return ""
    places = f"{counts} more thread count{'s' if counts > 1 else ''}"
    return f", and at {places}" + (f" of {profiles + 1} machines" if profiles else "")


def _disturbance_warnings(measurements: Measurements) -> list[str]:
    """Return a warning about disturbed repeats.

    A repeat executes all sections of an application at once, so that it counts once for all workloads that it measures.
    """
    repeats: dict[tuple[Any, ...], bool] = {}
    for record in measurements.profiles:
        workload = measurements.workloads[record.workload]
        for key, disturbed in _judged_repeats(record.runs):
            repeat = (record.platform, workload.application or workload.name, *key)
            repeats[repeat] = repeats.get(repeat, False) or disturbed
    disturbed_count = sum(repeats.values())
    if not disturbed_count:
        return []
    return [
        f"{disturbed_count} of {len(repeats)} repeats were disturbed by other programs: predictions from these "
        "measurements have wider intervals; measure again on an idle machine for better ones"
    ]


def _judged_repeats(runs: RunTable) -> Iterator[tuple[tuple[float, ...], bool]]:
    """Yield the key of each run within its workload and whether the run was disturbed, if that is known."""
    if runs.disturbed is None:
        return
    nothing = np.zeros(len(runs))
    variation = (nothing if column is None else np.nan_to_num(column) for column in (runs.size, runs.clock_mhz))
    keys = zip(*(column.tolist() for column in (runs.n, runs.repeat, runs.is_profile_pass, *variation)), strict=True)
    for key, flag in zip(keys, runs.disturbed.tolist(), strict=True):
        if not np.isnan(flag):
            yield key, bool(flag)


def _trust_warnings(measurements: Measurements) -> list[str]:
    """Return a warning about the precision of times with few repeats, which `make quick` produces."""
    tables = [record.runs for record in measurements.profiles]
    errors = np.array([repeat_summary(table).standard_error for table in tables])
    if not np.isfinite(errors).any():
        return [MEASURED_ONCE] if tables else []
    most = max(int(repeat_spread(table).count.max()) for table in tables)
    half = 100 * CONFIDENCE * float(np.nanmedian(errors))
    text = f"with {most} repeats, 90 % intervals of times are about ±{half:.2g} % (median of the workloads)"
    return [text] if most < MIN_REPEATS else []


def _virtual_warnings(measurements: Measurements) -> list[str]:
    names = [platform.name for platform in measurements.platforms if platform.virtualised]
    if not names:
        return []
    if len(names) == 1:
        return [f"machine {names[0]} is virtualised: other virtual machines on its host may affect its times"]
    of = f"{len(names)} of {len(measurements.platforms)} machines are"
    return [f"{of} virtualised ({names[0]} and others): other virtual machines on their hosts may affect their times"]
