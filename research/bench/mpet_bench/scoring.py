"""The scorer of all tasks and entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpet_bench.datasets import KEY

Floats = NDArray[np.float64]

# Level of the intervals.
LEVEL = 0.9
# Error of a question without a prediction, as if 0 s had been predicted.
REFUSED_ERROR = 1.0
# Distance of the interval of such a question, as if the interval were a point that is e times too high.
REFUSED_LOG_ERROR = 1.0


@dataclass(frozen=True)
class Answers:
    """The answers of an entry to the questions of a fold.

    `time_s` is (K,), with NaN for a refusal. `interval_s` is (K, 2) or None.
    """

    time_s: Floats
    interval_s: Floats | None


@dataclass(frozen=True)
class Score:
    """The score of an entry in a task.

    `mean` and `median` are errors in percent. `coverage`, a share, and `interval_score` are None without intervals.
    `refused` is the number of times that were not predicted.
    """

    mean: float
    median: float
    coverage: float | None
    interval_score: float | None
    questions: int
    refused: int


def curve_errors(questions: pd.DataFrame, measured_s: Floats, predicted_s: Floats) -> Floats:
    """Return the error of each curve: the mean over its asked n of |predicted - measured| / measured.

    A curve is a pair of platform and workload. A refused time has the error REFUSED_ERROR.

    >>> asked = pd.DataFrame({"platform": "p", "workload": ["a", "a", "b"], "n": [1, 2, 1]})
    >>> curve_errors(asked, np.array([10.0, 5.0, 4.0]), np.array([8.0, 6.0, np.nan])).round(9)
    array([0.2, 1. ])
    """
    errors = np.abs(predicted_s - measured_s) / measured_s
    errors[np.isnan(predicted_s)] = REFUSED_ERROR
    return pd.Series(errors).groupby([questions[name] for name in KEY[:2]], sort=False).mean().to_numpy()


def interval_scores(measured_s: Floats, interval_s: Floats, level: float = LEVEL) -> Floats:
    """Return the score of each interval in logarithms of time; lower is better (Gneiting and Raftery 2007, Eq. 43).

    The score is the width plus 2 / (1 - level) times the distance from the measured time to the interval. An interval
    of NaN is a refusal.

    >>> interval_scores(np.array([1.0, 1.0]), np.exp([[-0.1, 0.3], [0.1, 0.3]])).round(9)
    array([0.4, 2.2])
    """
    low, high = np.log(interval_s / measured_s[:, None]).T
    fine = 2.0 / (1.0 - level)
    scores = high - low + fine * (np.maximum(low, 0.0) + np.maximum(-high, 0.0))
    return np.where(np.isnan(scores), fine * REFUSED_LOG_ERROR, scores)


def score_answers(folds: list[tuple[pd.DataFrame, Floats, Answers]]) -> Score:
    """Return the score over all folds, each with its questions, the measured times and the answers."""
    errors = 100.0 * np.concatenate([curve_errors(asked, times, answers.time_s) for asked, times, answers in folds])
    measured = np.concatenate([times for _, times, _ in folds])
    refused = np.concatenate([np.isnan(answers.time_s) for _, _, answers in folds])
    given = [answers.interval_s for _, _, answers in folds if answers.interval_s is not None]
    coverage = interval_score = None
    if len(given) == len(folds):
        intervals = np.concatenate(given)
        coverage = float(((intervals[:, 0] <= measured) & (measured <= intervals[:, 1])).mean())
        interval_score = float(interval_scores(measured, intervals).mean())
    return Score(
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        coverage=coverage,
        interval_score=interval_score,
        questions=len(errors),
        refused=int(refused.sum()),
    )
