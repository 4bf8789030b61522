"""A program as parts of a database, and its prediction on a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.programs.sums import SummedTimes, sum_times
from profiles.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class ProgramParts:
    """Positions of the workloads that are a program's regions, and of the one that is the rest; None: not known."""

    regions: tuple[int, ...]
    serial_rest: int | None = None

    @property
    def all(self) -> tuple[int, ...]:
        return self.regions if self.serial_rest is None else (*self.regions, self.serial_rest)


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """The predicted times of a program on a target: of the whole, and (K, J) of each of its parts.

    The parts are in the order of `ProgramParts.all`. A method without intervals gives NaN for these.
    """

    n: IntArray  # (J,)
    total: SummedTimes
    time_s: FloatArray  # (K, J)
    low_s: FloatArray  # (K, J)
    high_s: FloatArray  # (K, J)
    answers: tuple[Answer, ...]

    @property
    def credible_n(self) -> int | None:
        """The largest n whose gain is credible for every part; None: all were measured so far."""
        return min((answer.credible_n for answer in self.answers if answer.credible_n is not None), default=None)

    def widest_part(self, index: int) -> int:
        """The part whose interval adds most to that of the whole at n[index]; the longest one without intervals."""
        width = self.high_s[:, index] - self.low_s[:, index]
        return int((width if np.isfinite(width).all() else self.time_s[:, index]).argmax())


class PartNotPredicted(PredictionError):
    """The method refuses one of the parts, so there is no time of the whole."""

    def __init__(self, workload: str, refusal: PredictionError) -> None:
        self.workload = workload
        self.reason = str(refusal)
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
    """Predict all parts on the target as if the program had never run there, and add them.

    The serial rest runs on one thread whatever n is: its t(1) stands at every n. `n` None: as in `Query`. A program of
    one part has that part's answer, with its interval and its refusals. Raises PartNotPredicted, or a PredictionError
    of the only part.
    """
    if len(parts.all) == 1:
        answers = [method.predict(database, Query(parts.regions[0], target, n=n), settings)]
    else:
        unmeasured = database.without(target, parts.all)
        answers = [_predict_part(unmeasured, Query(region, target, n=n), method, settings) for region in parts.regions]
        if parts.serial_rest is not None:
            answers.append(_predict_part(unmeasured, Query(parts.serial_rest, target, n=(1,)), method, settings))
    counts = answers[0].n
    shape = (len(answers), len(counts))
    time_s = np.stack([np.broadcast_to(answer.time_s, shape[1:]) for answer in answers])
    low_s, high_s = np.full(shape, np.nan), np.full(shape, np.nan)
    for index, answer in enumerate(answers):
        if answer.low_s is not None and answer.high_s is not None:
            low_s[index], high_s[index] = answer.low_s, answer.high_s
    # An interval need not be symmetric in ln t, which the rule for sums assumes: that of one part stays as it is.
    one = len(answers) == 1
    total = SummedTimes(time_s[0], low_s[0], high_s[0]) if one else sum_times(time_s, low_s, high_s)
    return ProgramAnswer(counts, total, time_s, low_s, high_s, tuple(answers))


def _predict_part(database: Database, query: Query, method: Method[Any], settings: Any) -> Answer:
    try:
        return method.predict(database, query, settings)
    except PredictionError as error:
        raise PartNotPredicted(database.workloads[query.workload], error) from error
