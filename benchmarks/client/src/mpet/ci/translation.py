"""Translation of a benchmark's time to another machine, learned from the repository's own history.

The logarithm of benchmark b's time in run r, on a machine with covariates x_r, is

    log t_br = level_b(segment of r) + walk_b(r) + a_r + cpu_b(model of r) + w_b . (x_r - a_r) + noise

a_r, the common factor of the machine, is the median of its covariates. cpu_b is the specific effect of the CPU model on
this benchmark, and w_b the effect of single covariates. All terms but a_r are Gaussian with mean 0, so that a run's
time given all others is a Gaussian process over runs with the covariance

    K = LEVEL^2 [same segment] + WALK^2 min(r, r') + CPU^2 [same model] + FOLLOW^2 d_r . d_r' / mean |d|^2 + I

where d_r = x_r - a_r, and all standard deviations are relative to the noise. The data determine how much the effects
are shrunk: the effect of a CPU model that was seen once is almost zero. The scale f_b of the noise is the root mean
square of the leave-one-out residuals, e_i = alpha_i / sqrt(K^-1_ii) with alpha = K^-1 z, shrunk towards that
of all benchmarks.

Covariates are the logarithms of the calibration's kernels, which no commit changes. Without a calibration, they are the
other benchmarks of the same run. A slowdown of all benchmarks by the same factor is then attributed to the machine.

Levels are piecewise constant over commits. Change points are found by binary segmentation of the translated times. A
segment is split where the means of both sides differ beyond noise, at the 5 % level for all possible places together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import mul
from statistics import fmean, median
from typing import Optional

from mpet.changes import LEAST_CHANGE, LEVEL, quantile_of_student
from mpet.ci.history import Run

# Standard deviations relative to the noise, chosen on public histories (research/ci_histories.py).
LEVEL_SD, WALK_SD, CPU_SD, FOLLOW_SD = 50.0, 0.1, 4.0, 1.5
PRIOR_DF = 4  # weight of the scale of all benchmarks in the scale of one
OUTLIER = 4.5  # in medians of the absolute residuals: three standard deviations
LEAST_RUNS = 5
NEWEST_RUNS = 100
LEAST_SEGMENT = 2
LEAST_SCALE = 1e-3

Matrix = list[list[float]]


@dataclass(frozen=True)
class Translation:
    """The time that a benchmark of the base takes on the head's machine: log seconds, and their standard deviation."""

    log_s: float
    sd: float
    df: int


def inverse(matrix: Matrix) -> Matrix:
    """Return the inverse of a symmetric positive definite matrix, by its Cholesky factor L: K^-1 = L^-T L^-1.

    >>> inverse([[4.0, 2.0], [2.0, 2.0]])
    [[0.5, -0.5], [-0.5, 1.0]]
    """
    n = len(matrix)
    L: Matrix = []
    for i in range(n):
        row: list[float] = []
        for j in range(i):
            row.append((matrix[i][j] - sum(map(mul, row, L[j]))) / L[j][j])
        row.append(math.sqrt(matrix[i][i] - sum(map(mul, row, row))))
        L.append(row)
    columns: Matrix = []  # columns of L^-1, without the zeros above its diagonal
    for j in range(n):
        column = [1.0 / L[j][j]]
        for i in range(j + 1, n):
            column.append(-sum(map(mul, L[i][j:i], column)) / L[i][i])
        columns.append(column)
    return [
        [sum(map(mul, columns[i][max(j - i, 0) :], columns[j][max(i - j, 0) :])) for j in range(n)] for i in range(n)
    ]


def covariates_of(runs: Sequence[Run], left_out: Collection[str]) -> tuple[list[float], Matrix]:
    """Return the common factor a of each run, and d, its covariates less a (0 where one is missing). The covariates are
    the calibration if the last run and enough others have it, else the run's benchmarks that are not left out."""
    if is_calibrated(runs):
        table = [{name: math.log(seconds) for name, seconds in run.calibration.items()} for run in runs]
    else:
        table = [{name: math.log(v.seconds) for name, v in run.values.items() if name not in left_out} for run in runs]
    centres = {
        name: median(row[name] for row in table if name in row) for name in {key for row in table for key in row}
    }
    names = sorted(name for name in centres if sum(name in row for row in table) > len(runs) / 2 and name in table[-1])
    centred = [{name: row[name] - centres[name] for name in names if name in row} for row in table]
    common = [median(row.values()) if row else 0.0 for row in centred]
    deviations = [[row.get(name, a) - a for name in names] for row, a in zip(centred, common)]
    return common, deviations


def is_calibrated(runs: Sequence[Run]) -> bool:
    """Return whether calibrations describe the machines: the last run shares a kernel with at least LEAST_RUNS runs
    before it."""
    kernels = runs[-1].calibration.keys()
    return sum(bool(kernels & run.calibration.keys()) for run in runs[:-1]) >= LEAST_RUNS


def kernel(runs: Sequence[Run], d: Matrix, segments: Sequence[int]) -> tuple[Matrix, Matrix]:
    """Return the covariance K of the runs, and the part of K that comes from the machine."""
    squares = [sum(map(mul, row, row)) for row in d]
    follow = FOLLOW_SD**2 / max(fmean(squares), 1e-4)
    n = len(runs)
    machine = [[follow * sum(map(mul, d[i], d[j])) for j in range(n)] for i in range(n)]
    whole = []
    for i in range(n):
        for j in range(n):
            if i == j or (runs[i].cpu and runs[i].cpu == runs[j].cpu):
                machine[i][j] += CPU_SD**2
        level = [
            (LEVEL_SD**2 if segments[i] == segments[j] else 0.0) + WALK_SD**2 * (min(i, j) + 1) + (i == j)
            for j in range(n)
        ]
        whole.append([part + base for part, base in zip(machine[i], level)])
    return whole, machine


@dataclass(frozen=True)
class Fit:
    """The effects of one benchmark. `translated` has log seconds on a machine with common factor 0 and no effects of
    its own."""

    runs: list[Run]
    segments: list[int]
    residuals: list[float]  # leave-one-out residuals e_i, as the module docstring defines them
    translated: list[float]
    head: Optional[tuple[float, float]]  # predicted log seconds of the head, and their sd relative to the noise


def fit_benchmark(
    runs: Sequence[Run], benchmark: str, head: Optional[Run] = None, changed: Collection[str] = ()
) -> Fit:
    """Fit the levels, change points and machine effects of one benchmark, and predict the time of the head if it is
    given. The benchmarks in `changed` are no covariates."""
    used = [run for run in runs if benchmark in run.values]
    together = [*used, head] if head is not None else used
    if head is not None and is_calibrated(together):
        used = [run for run in used if run.calibration.keys() & head.calibration.keys()]
        together = [*used, head]
    used, together = used[-NEWEST_RUNS:], together[-NEWEST_RUNS - (head is not None) :]
    common, d = covariates_of(together, {benchmark, *changed})
    y = [math.log(run.values[benchmark].seconds) - a for run, a in zip(used, common)]
    centre = median(y)
    segments = [0] * len(together)
    n = len(used)
    while True:
        K, machine = kernel(together, d, segments)
        inverse_of_K = inverse([row[:n] for row in K[:n]])
        z = [value - centre for value in y]
        alpha = [sum(map(mul, row, z)) for row in inverse_of_K]
        translated = [value - sum(map(mul, row, alpha)) for value, row in zip(y, machine)]
        found = segments_of(translated)
        found += [found[-1]] * (len(together) - n)
        if max(found) <= max(segments):  # each pass must find a further change point, so that the loop ends
            break
        segments = found
    residuals = [a / math.sqrt(inverse_of_K[i][i]) for i, a in enumerate(alpha)]
    # A single outlier, such as the run before the first change, must not hide the changes after it.
    limit = OUTLIER * median(map(abs, residuals))
    residuals = [max(-limit, min(limit, one)) for one in residuals]
    predicted = None
    if head is not None:
        k = K[n][:n]
        solved = [sum(map(mul, row, k)) for row in inverse_of_K]
        variance = max(K[n][n] - sum(map(mul, k, solved)), 1.0)
        predicted = (centre + common[n] + sum(map(mul, k, alpha)), math.sqrt(variance))
    return Fit(used, segments[:n], residuals, translated, predicted)


def segments_of(values: Sequence[float]) -> list[int]:
    """Return the segment number of each value, by binary segmentation. The noise is estimated from the differences of
    neighbours.

    >>> segments_of([1.0, 1.01, 0.99, 1.0, 1.5, 1.51, 1.49])
    [0, 0, 0, 0, 1, 1, 1]
    """
    n = len(values)
    if n < 2 * LEAST_SEGMENT:
        return [0] * n
    # The jumps do not move the median of absolute differences. Divided by 0.954, it is the deviation of one value.
    noise = max(median(abs(b - a) for a, b in zip(values, values[1:])) / 0.954, LEAST_SCALE)
    critical = quantile_of_student(LEVEL / n, n - 1) * noise
    splits: list[int] = []
    todo = [(0, n)]
    while todo:
        start, end = todo.pop()
        best, place = 1.0, 0
        for split in range(start + LEAST_SEGMENT, end - LEAST_SEGMENT + 1):
            difference = abs(fmean(values[start:split]) - fmean(values[split:end]))
            needed = max(critical * math.sqrt(1 / (split - start) + 1 / (end - split)), LEAST_CHANGE)
            if difference / needed > best:
                best, place = difference / needed, split
        if place:
            splits.append(place)
            todo += [(start, place), (place, end)]
    return [sum(split <= i for split in splits) for i in range(n)]


def translate(history: Sequence[Run], head: Run, changed: Collection[str] = ()) -> dict[str, Translation]:
    """Return the time that each benchmark of the head would take on its machine with the code of the history. Leave out
    benchmarks with fewer than LEAST_RUNS runs in the history. The benchmarks in `changed` are no covariates."""
    counts = {name: sum(name in run.values for run in history) for name in head.values}
    fits = {name: fit_benchmark(history, name, head, changed) for name, count in counts.items() if count >= LEAST_RUNS}
    squares = [one**2 for fit in fits.values() for one in fit.residuals]
    pooled = fmean(squares) if squares else 0.0
    found = {}
    for name, fit in fits.items():
        if fit.head is None:
            continue
        df = PRIOR_DF + len(fit.residuals)
        scale = math.sqrt((PRIOR_DF * pooled + sum(one**2 for one in fit.residuals)) / df)
        found[name] = Translation(fit.head[0], fit.head[1] * max(scale, LEAST_SCALE), df)
    return found
