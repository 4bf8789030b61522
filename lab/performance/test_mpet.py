"""Speed of `mpet`: `pytest lab/performance/test_mpet.py --benchmark-enable` on one core."""

from dataclasses import fields

import numpy as np
import pytest

from predictor.core.answers import Answer
from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS, Query
from tests.predictor.core.curves import curve_database, decomposed_arrays

MPET = METHODS["mpet"]


@pytest.fixture(scope="module")
def small_database():
    """Return 15 platforms x 17 workloads at five thread counts: the size of the paper's database."""
    return curve_database(1, 15, 17, missing=0.0)


@pytest.fixture(scope="module")
def large_database():
    """Return 350 platforms x 84 workloads at two thread counts: the shape of the largest public dataset."""
    return curve_database(1, 350, 84, missing=0.05, counts=(1, 16))


@pytest.fixture(scope="module")
def long_database():
    """Return 350 platforms x 16 workloads at twelve thread counts."""
    return curve_database(1, 350, 16, missing=0.05, counts=tuple(2**k for k in range(12)))


def answers_with_an_interval(answer):
    return np.isfinite(answer.time_s).all() and (answer.low_s < answer.high_s).all()


def test_one_prediction_among_15_platforms(benchmark, small_database):
    answer = benchmark(MPET.predict, small_database, Query(3, 5, n=(1, 2, 4, 8, 16)), MPET.settings())
    assert answers_with_an_interval(answer)


@pytest.mark.parametrize("read", ["times", "everything"])
def test_one_decomposed_prediction_among_15_platforms(benchmark, read):
    """Compare reading the times with reading everything: overheads, elements and candidates are computed lazily."""
    database = Database.build(**decomposed_arrays(1, 15, 26))

    def predict():
        answer = MPET.predict(database, Query(3, 5, n=(1, 2, 4, 8)), MPET.settings())
        return [getattr(answer, one.name) for one in fields(answer)] if read == "everything" else answer.time_s

    assert len(benchmark(predict)) in (4, len(fields(Answer)))


def test_one_prediction_among_350_platforms(benchmark, large_database):
    answer = benchmark(MPET.predict, large_database, Query(3, 5, n=(1, 16)), MPET.settings())
    assert answers_with_an_interval(answer)


def test_one_whole_curve_among_350_platforms(benchmark, long_database):
    answer = benchmark(MPET.predict, long_database, Query(3, 5), MPET.settings())
    assert len(answer.n) > 400
    assert answers_with_an_interval(answer)


def test_one_prediction_for_a_target_of_five_workloads_among_350_platforms(benchmark, large_database):
    """The workloads of related platforms are imputed first, and A is hidden on these platforms."""
    few = large_database.without(5, np.setdiff1d(np.arange(84), [7, 19, 31, 43, 55])).without([4, 6, 7], 3)
    answer = benchmark(MPET.predict, few, Query(3, 5, n=(1, 16)), MPET.settings())
    assert answers_with_an_interval(answer)


def test_the_first_prediction_evaluates_all_curves(benchmark, large_database):
    def predict(database):
        return MPET.predict(database, Query(3, 5, n=(1, 16)), MPET.settings())

    def forgetful():
        return (curve_database(1, 350, 84, missing=0.05, counts=(1, 16)),), {}

    assert answers_with_an_interval(benchmark.pedantic(predict, setup=forgetful, rounds=3))


def test_evaluation_of_60_among_28000_profiles(benchmark, large_database):
    protocol = Protocol(holdout="microarchitecture", sample=60)
    evaluation = benchmark.pedantic(evaluate, (large_database, [MPET], protocol), rounds=3)
    assert evaluation.report().methods["mpet"].full.count == 60
