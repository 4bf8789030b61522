"""Which profiles cannot be right: far from what all others say of them (leave-one-out)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from predictor.core.answers import Answer, Query
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.mpet.method import MpetSettings, predict_mpet
from profiles.arrays import FloatArray, IntArray

FEWEST_JUDGING_REFERENCES = 3  # with fewer nobody can tell who is wrong
FACTOR_OF_WRONG_LEVEL = 4.0  # of the whole curve
FACTOR_OF_BENT_CURVE = 6.0  # of one thread count beside the rest of the curve
HALF_WIDTHS_BEYOND = 2.0  # half widths of the interval that holds 90 %
WRONG_UTILISATION = 0.5  # of the thread time


@dataclass(frozen=True, eq=False)
class MeasuredProfile:
    """What was measured of a workload on a platform, by position in the database; in which it may be a row, or not.

    `fractions` (6, N) of the thread time; None for a time-only profile.
    """

    workload: int
    platform: int
    group: int
    n: IntArray
    time_s: FloatArray
    fractions: FloatArray | None = None

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
    """A profile that contradicts the rest: its position in what was asked, how much (1 = just enough), and why."""

    at: int
    score: float
    reason: str


def find_outliers(
    database: Database, measured: Sequence[MeasuredProfile], *, progress: Callable[[int], object] | None = None
) -> list[Suspicion]:
    """Which profiles the rest of the database contradicts, the worst first.

    Each is predicted from all others (`mpet`; its own pair is hidden). What is found is then judged again without
    those that are worse: one absurd profile must not accuse its neighbours.
    """
    found = []
    for at, one in enumerate(measured):
        suspicion = judge_profile(database, one, at)
        if suspicion is not None:
            found.append(suspicion)
        if progress is not None:
            progress(1)
    confirmed: list[Suspicion] = []
    for suspicion in sorted(found, key=lambda one: -one.score):
        view = database_without(database, [measured[other.at] for other in confirmed])
        again = judge_profile(view, measured[suspicion.at], suspicion.at) if confirmed else suspicion
        if again is not None:
            confirmed.append(again)
    return confirmed


def database_without(database: Database, measured: Sequence[MeasuredProfile]) -> Database:
    """The database as if these pairs had not been measured."""
    platforms = np.array([one.platform for one in measured], dtype=np.int64)
    return database.without(platforms, np.array([one.workload for one in measured], dtype=np.int64))


def judge_profile(database: Database, one: MeasuredProfile, at: int = 0) -> Suspicion | None:
    """Whether the rest of the database contradicts it; None where it does not, or says nothing."""
    if not len(one.n):
        return None
    query = Query(one.workload, one.platform, group=one.group, n=tuple(one.n.tolist()))
    try:
        answer = predict_mpet(database, query, MpetSettings())
    except PredictionError:
        return None
    if answer.low_s is None or answer.high_s is None or answer.confidence["references"] < FEWEST_JUDGING_REFERENCES:
        return None
    found = [_times_off(answer, one.time_s), _bent(answer, one.time_s), _shares_off(answer, one.fractions)]
    score, reason = max(found, key=lambda verdict: verdict[0])
    return Suspicion(at, score, reason) if score >= 1 else None


Verdict: TypeAlias = tuple[float, str]  # score, reason
NO_CONTRADICTION: Verdict = (0.0, "")


def _gap(answer: Answer, time_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ln measured / predicted, and the half width of the interval in logs, where there is a prediction."""
    half = np.log(np.asarray(answer.high_s) / np.asarray(answer.low_s)) / 2
    gap = np.log(time_s / answer.time_s)
    known = np.isfinite(gap) & np.isfinite(half)
    return gap[known], half[known]


def _times_off(answer: Answer, time_s: FloatArray) -> Verdict:
    """More than four times off at the median n, and more than twice as far as the interval reaches."""
    gap, half = _gap(answer, time_s)
    if not len(gap):
        return NO_CONTRADICTION
    level, width = float(np.median(gap)), float(np.median(half))
    word = "slower" if level > 0 else "faster"
    score = min(abs(level) / np.log(FACTOR_OF_WRONG_LEVEL), abs(level) / (HALF_WIDTHS_BEYOND * width))
    return score, f"{_factor(level)} times {word} than all other profiles say"


def _bent(answer: Answer, time_s: FloatArray) -> Verdict:
    """One thread count more than six times off beside the others, and more than twice as far as the interval."""
    gap, half = _gap(answer, time_s)
    if len(gap) < 2:
        return NO_CONTRADICTION
    bend = gap - np.median(gap)
    scores = np.minimum(np.abs(bend) / np.log(FACTOR_OF_BENT_CURVE), np.abs(bend) / (HALF_WIDTHS_BEYOND * half))
    worst = int(scores.argmax())
    n = answer.n[np.isfinite(answer.time_s)][worst]
    return float(scores[worst]), f"at n = {n} {_factor(bend[worst])} times off the curve that all other profiles say"


def _shares_off(answer: Answer, fractions: FloatArray | None) -> Verdict:
    """The utilisation off by more than half the thread time, at the median n."""
    if fractions is None:
        return NO_CONTRADICTION
    used: FloatArray = 1.0 - fractions.sum(axis=0)
    gap = used - answer.curves["utilisation"]
    gap = gap[np.isfinite(gap)]
    if not len(gap):
        return NO_CONTRADICTION
    off = float(np.median(gap))
    word = "more" if off > 0 else "less"
    return abs(
        off
    ) / WRONG_UTILISATION, f"useful work takes {abs(off):.0%} of the thread time {word} than all other profiles say"


def _factor(logarithm: float) -> str:
    return f"{np.exp(min(abs(float(logarithm)), 600.0)):.3g}"
