"""The scorer against numbers computed by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from mpet_bench.scoring import Answers, curve_errors, interval_scores, score_answers

QUESTIONS = pd.DataFrame(
    [("p", "a", 1), ("p", "a", 2), ("p", "b", 1), ("q", "a", 1)], columns=["platform", "workload", "n"]
)
MEASURED = np.array([10.0, 5.0, 4.0, 2.0])


def test_the_error_is_that_of_curves_and_not_of_points():
    predicted = np.array([8.0, 6.0, 5.0, 2.0])  # 20 % and 20 %, 25 %, 0 %
    assert curve_errors(QUESTIONS, MEASURED, predicted).tolist() == pytest.approx([0.2, 0.25, 0.0])
    score = score_answers([(QUESTIONS, MEASURED, Answers(predicted, None))])
    assert (score.mean, score.median) == (pytest.approx(15.0), pytest.approx(20.0))
    assert score.coverage is score.interval_score is None
    assert (score.questions, score.refused) == (3, 0)


def test_one_pair_in_two_folds_is_two_questions():
    fold = QUESTIONS.iloc[:2]
    answers = [Answers(np.array([10.0, 5.0]), None), Answers(np.array([11.0, 5.5]), None)]
    score = score_answers([(fold, MEASURED[:2], each) for each in answers])
    assert score.questions == 2
    assert score.mean == pytest.approx(5.0)


def test_intervals_are_scored_by_hand():
    intervals = np.array([[9.0, 12.0], [6.0, 8.0], [1.0, 2.0], [2.0, 2.0]])  # holds; 6/5 high; 4/2 low; a point, holds
    expected = [
        math.log(12 / 9),
        math.log(8 / 6) + 20 * math.log(6 / 5),
        math.log(2 / 1) + 20 * math.log(4 / 2),
        0.0,
    ]
    assert interval_scores(MEASURED, intervals).tolist() == pytest.approx(expected)
    score = score_answers([(QUESTIONS, MEASURED, Answers(MEASURED, intervals))])
    assert score.coverage == pytest.approx(0.5)
    assert score.interval_score == pytest.approx(np.mean(expected))


def test_a_refusal_never_pays():
    predicted = np.array([np.nan, 5.0, 4.0, 2.0])
    intervals = np.array([[np.nan, np.nan], [5.0, 5.0], [4.0, 4.0], [2.0, 2.0]])
    score = score_answers([(QUESTIONS, MEASURED, Answers(predicted, intervals))])
    assert score.refused == 1
    assert score.mean == pytest.approx(100 * 0.5 / 3)  # half of one curve of three
    assert score.coverage == pytest.approx(0.75)
    assert score.interval_score == pytest.approx(20.0 / 4)
