"""Programs as sets of workloads, and their prediction on a target from the times and intervals of their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from profiles.arrays import FloatArray, IntArray

ERRORS_CORRELATION = 0.75  # between the errors of two parts of one program on one target (docs/accuracy/programs.md)


class SummedTimes(NamedTuple):
    """t(n) of the whole program and its interval, (J,), in the unit of the parts; NaN where a part is unknown."""

    time_s: FloatArray
    low_s: FloatArray
    high_s: FloatArray


def sum_times(
    time_s: FloatArray, low_s: FloatArray, high_s: FloatArray, correlation: float = ERRORS_CORRELATION
) -> SummedTimes:
    """Return the sum of the times of K parts at J thread counts, and its interval for partly correlated errors.

        t = sum t_k,    w_k = t_k / t,    h_k = ln(high_k / low_k) / 2
        h = sqrt(c (sum w_k h_k)^2 + (1 - c) sum (w_k h_k)^2),    low = t e^-h,    high = t e^h

    The error of the target's speed is part of every error, so that errors do not cancel like independent ones (c = 0),
    but they are not identical either (c = 1).

    Example: two parts of 1 s, each with an interval of a factor of 1.2 to either side. The sum has a factor of 1.2 for
    c = 1, and exp(ln 1.2 / sqrt 2) = 1.138 for c = 0.

    Parameters: `time_s`, `low_s`, `high_s` (K, J) in one unit, NaN = unknown; 0 <= `correlation` <= 1.
    Returns three arrays (J,): NaN where a part is NaN.

    >>> one = np.array([[1.0], [1.0]])
    >>> [round(float(sum_times(one, one / 1.2, one * 1.2, c).high_s[0]) / 2, 3) for c in (1.0, 0.0)]
    [1.2, 1.138]
    """
    total = time_s.sum(axis=0)
    weighted = time_s / total * np.log(high_s / low_s) / 2
    half_width = np.sqrt(correlation * weighted.sum(axis=0) ** 2 + (1 - correlation) * (weighted**2).sum(axis=0))
    return SummedTimes(total, total * np.exp(-half_width), total * np.exp(half_width))


@dataclass(frozen=True)
class ProgramParts:
    """The positions of the workloads that are regions of a program, and of its serial rest; None if that is unknown."""

    regions: tuple[int, ...]
    serial_rest: int | None = None

    @property
    def all(self) -> tuple[int, ...]:
        return self.regions if self.serial_rest is None else (*self.regions, self.serial_rest)


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """The predicted times of a program on a target: those of the whole, and (K, J) those of its parts.

    The parts are in the order of `ProgramParts.all`. Intervals are NaN if the method has none.
    """

    n: IntArray  # (J,)
    total: SummedTimes
    time_s: FloatArray  # (K, J)
    low_s: FloatArray  # (K, J)
    high_s: FloatArray  # (K, J)
    answers: tuple[Answer, ...]
    credible_n: int | None  # the largest n with a credible gain for every part; None = no limit

    def widest_part(self, index: int) -> int:
        """Return the part with the widest interval at n[index]; without intervals the longest part."""
        width = self.high_s[:, index] - self.low_s[:, index]
        return int((width if np.isfinite(width).all() else self.time_s[:, index]).argmax())


class PartNotPredicted(PredictionError):
    """The method refuses one of the parts, so that the program has no time."""

    def __init__(self, workload: str, refusal: PredictionError) -> None:
        self.lacks = refusal.lacks
        super().__init__(f"{workload}: {refusal}")


def predict_program(
    database: Database,
    parts: ProgramParts,
    target: int,
    method: Method[Any],
    settings: Any,
    *,
    n: tuple[int, ...] | None = None,
) -> ProgramAnswer:
    """Predict all parts on the target as if the program had never been measured there, and add them.

    The serial rest runs on one thread: its t(1) is used at every n. If a region begins at n > 1, the rest on fewer
    threads includes the region's work: then the rest has a curve of its own, and the region takes no time on fewer
    threads than its first measured n. `n` None: as in `Query`. A program of one part has that part's answer, with its
    interval and its refusals. Raise PartNotPredicted, or the PredictionError of the only part.
    """
    if len(parts.all) == 1:
        answers = [method.predict(database, Query(parts.regions[0], target, n=n), settings)]
    else:
        unmeasured = database.without(target, parts.all)
        answers = [_predict_part(unmeasured, Query(region, target, n=n), method, settings) for region in parts.regions]
    # A program of one part has that part's answer, even if its curves begin at n > 1.
    begins = [first_thread_count(database, region) for region in parts.regions] if len(parts.all) > 1 else [1]
    has_late = max(begins) > 1
    limits = [answer.credible_n for answer in answers]
    if parts.serial_rest is not None:
        rest_query = Query(parts.serial_rest, target, n=n if has_late else (1,))
        answers.append(_predict_part(unmeasured, rest_query, method, settings))
        limits.append(None if has_late else answers[-1].credible_n)
    counts = answers[0].n
    shape = (len(answers), len(counts))
    time_s = np.stack([np.broadcast_to(answer.time_s, shape[1:]) for answer in answers])
    low_s, high_s = np.full(shape, np.nan), np.full(shape, np.nan)
    for index, answer in enumerate(answers):
        if answer.low_s is not None and answer.high_s is not None:
            low_s[index], high_s[index] = answer.low_s, answer.high_s
    # The rule for sums assumes intervals that are symmetric in ln t. The interval of a single part need not be, and is
    # not changed.
    one = len(answers) == 1
    for index, begin in enumerate(begins if has_late else ()):
        time_s[index, counts < begin] = 0.0  # also sets its weight in the interval of the sum to 0
    total = SummedTimes(time_s[0], low_s[0], high_s[0]) if one else sum_times(time_s, low_s, high_s)
    low_s[time_s == 0], high_s[time_s == 0] = 0.0, 0.0
    credible_n = min((limit for limit in limits if limit is not None), default=None)
    return ProgramAnswer(counts, total, time_s, low_s, high_s, tuple(answers), credible_n)


def first_thread_count(database: Database, workload: int) -> int:
    """Return the least n at which any platform has the workload. It is above 1 for a region that is not executed on
    fewer threads."""
    rows = database.rows_of_workload(workload)
    starts, ends = database.curve_offsets[rows], database.curve_offsets[rows + 1]
    first = database.curve_n[starts[starts < ends]]
    return int(first.min()) if len(first) else 1


def _predict_part(database: Database, query: Query, method: Method[Any], settings: Any) -> Answer:
    try:
        return method.predict(database, query, settings)
    except PredictionError as error:
        raise PartNotPredicted(database.workloads[query.workload], error) from error
