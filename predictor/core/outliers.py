"""Detection of profiles that contradict all others, by leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from predictor.core.answers import Answer, Query, log_half_widths
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import DEFAULT_METHOD, METHODS
from predictor.core.mpet.answer import MpetConfidence
from predictor.core.steps import single_thread
from profiles.arrays import FloatArray, IntArray
from profiles.jobs.executors import Executor, batches_of
from profiles.scaling.wording import whole_percent

JUDGED_PER_BATCH = 25
FEWEST_JUDGING_REFERENCES = 3  # with fewer it cannot be decided which profile is wrong
FACTOR_OF_WRONG_LEVEL = 4.0  # error of the whole curve
FACTOR_OF_BENT_CURVE = 6.0  # error of one thread count relative to the rest of the curve
LEAST_HALF_WIDTH = 1e-9  # least half width, for the interval of platforms that agree to the last bit
HALF_WIDTHS_BEYOND = 2.0  # error in half widths of the 90 % interval
WRONG_UTILISATION = 0.5  # error of the utilisation, as a share of the thread time
LARGEST_SHOWN_LOGARITHM = 600.0  # prevents overflow, e^710 is infinite


@dataclass(frozen=True, eq=False)
class MeasuredProfile:
    """A measured profile of a workload on a platform, both given by their positions in a database that may or may not
    contain the profile.

    `fractions` (6, N) of the thread time are None for a time-only profile. `references` are the platforms on which
    users other than its owner measured the workload; None if the owner is unknown.
    """

    workload: int
    platform: int
    group: int
    n: IntArray
    time_s: FloatArray
    fractions: FloatArray | None = None
    references: tuple[int, ...] | None = None

    @classmethod
    def row(cls, database: Database, row: int, fractions: FloatArray | None = None) -> MeasuredProfile:
        n, time_s = database.curve(row)
        return cls(
            workload=int(database.workload_index[row]),
            platform=int(database.platform_index[row]),
            group=int(database.group[row]),
            n=n.astype(np.int64),
            time_s=time_s,
            fractions=fractions,
        )


@dataclass(frozen=True, eq=False)
class Suspicion:
    """A profile that contradicts the others: its position among the given profiles, a score (1 = just enough), and the
    reason."""

    position: int
    score: float
    reason: str


def find_outliers(
    database: Database,
    measured: Sequence[MeasuredProfile],
    *,
    progress: Callable[[int], object] | None = None,
    executor: Executor | None = None,
) -> list[Suspicion]:
    """Return the profiles that the rest of the database contradicts, the worst first.

    Each profile is predicted from all others (`mpet`, with its own pair hidden). Suspicious profiles are then judged
    again without the worse ones, so that one absurd profile does not make others suspicious. The first pass runs on the
    `executor`, by default in this process; `progress` is called with the number of profiles of each batch.
    """
    executor = executor or Executor()
    suspicions: list[Suspicion] = []
    batches = batches_of(list(enumerate(measured)), executor, JUDGED_PER_BATCH)
    for batch, found in zip(batches, executor.map(_judge_batch, database, batches), strict=True):
        suspicions += found
        if progress is not None:
            progress(len(batch))
    confirmed: list[Suspicion] = []
    for suspicion in sorted(suspicions, key=lambda suspicion: -suspicion.score):
        position = suspicion.position
        pairs = [measured[worse.position] for worse in confirmed]
        view = database.without([pair.platform for pair in pairs], [pair.workload for pair in pairs])
        again = judge_profile(view, measured[position], position) if confirmed else suspicion
        if again is not None:
            confirmed.append(again)
    return confirmed


def _judge_batch(database: Database, batch: Sequence[tuple[int, MeasuredProfile]]) -> list[Suspicion]:
    with single_thread():
        judged = (judge_profile(database, profile, position) for position, profile in batch)
        return [suspicion for suspicion in judged if suspicion is not None]


def judge_profile(database: Database, profile: MeasuredProfile, position: int = 0) -> Suspicion | None:
    """Return the suspicion if the rest of the database contradicts the profile; None if it does not, or cannot predict
    it."""
    if not len(profile.n):
        return None
    method = METHODS[DEFAULT_METHOD]
    counts = tuple(profile.n.tolist())
    query = Query(profile.workload, profile.platform, group=profile.group, references=profile.references, n=counts)
    try:
        answer = method.predict(database, query, method.settings())
    except PredictionError:
        return None
    if not _can_judge(answer):
        return None
    score, reason = max(
        _judge_level(answer, profile.time_s),
        _judge_bend(answer, profile.time_s),
        _judge_utilisation(answer, profile.fractions),
        key=lambda verdict: verdict[0],
    )
    return Suspicion(position, score, reason) if score >= 1 else None


def _can_judge(answer: Answer) -> bool:
    """Return whether the answer has an interval and is based on enough references."""
    confidence = answer.confidence
    return (
        answer.low_s is not None
        and answer.high_s is not None
        and isinstance(confidence, MpetConfidence)
        and confidence.references >= FEWEST_JUDGING_REFERENCES
    )


Verdict: TypeAlias = tuple[float, str]  # score, reason
NO_CONTRADICTION: Verdict = (0.0, "")


def _log_gap(answer: Answer, time_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ln(measured / predicted), and the half width of the interval in ln t, where there is a prediction."""
    half = np.maximum(log_half_widths(answer), LEAST_HALF_WIDTH)
    gap = np.log(time_s / answer.time_s)
    is_predicted = np.isfinite(gap) & np.isfinite(half)
    return gap[is_predicted], half[is_predicted]


def _judge_level(answer: Answer, time_s: FloatArray) -> Verdict:
    """Return the score of the whole curve, at least 1 if its median is off by a factor of four and by two half
    widths."""
    gap, half = _log_gap(answer, time_s)
    if not len(gap):
        return NO_CONTRADICTION
    level, width = float(np.median(gap)), float(np.median(half))
    word = "slower" if level > 0 else "faster"
    score = min(abs(level) / np.log(FACTOR_OF_WRONG_LEVEL), abs(level) / (HALF_WIDTHS_BEYOND * width))
    return score, f"{_factor(level)} times {word} than predicted from all other profiles"


def _judge_bend(answer: Answer, time_s: FloatArray) -> Verdict:
    """Return the score of the worst thread count, at least 1 if it is off from the rest of the curve by a factor of six
    and by two half widths."""
    gap, half = _log_gap(answer, time_s)
    if len(gap) < 2:
        return NO_CONTRADICTION
    bend = gap - np.median(gap)
    scores = np.minimum(np.abs(bend) / np.log(FACTOR_OF_BENT_CURVE), np.abs(bend) / (HALF_WIDTHS_BEYOND * half))
    worst = int(scores.argmax())
    n = answer.n[np.isfinite(answer.time_s)][worst]
    reason = f"at n = {n} off by a factor of {_factor(bend[worst])} from the curve predicted from all other profiles"
    return float(scores[worst]), reason


def _judge_utilisation(answer: Answer, fractions: FloatArray | None) -> Verdict:
    """Return the score of the utilisation, at least 1 if its median is off by half the thread time."""
    if fractions is None:
        return NO_CONTRADICTION
    used: FloatArray = 1.0 - fractions.sum(axis=0)
    gap = used - answer.curves["utilisation"]
    gap = gap[np.isfinite(gap)]
    if not len(gap):
        return NO_CONTRADICTION
    off = float(np.median(gap))
    word = "more" if off > 0 else "less"
    reason = (
        f"useful work takes {whole_percent(abs(off))} of the thread time {word} than predicted from all other profiles"
    )
    return abs(off) / WRONG_UTILISATION, reason


def _factor(logarithm: float) -> str:
    """Return the factor with this logarithm, inverted if it is below 1, as a text of three digits."""
    return f"{np.exp(min(abs(float(logarithm)), LARGEST_SHOWN_LOGARITHM)):.3g}"
