"""Speed of the paper's method: `pytest lab/performance --benchmark-enable`."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS, Query
from tests.predictor.core.databases import TIME_ONLY, random_arrays

MPET2020 = METHODS["mpet2020"]


@pytest.fixture(scope="module")
def small_database():
    """Return 15 platforms x 17 workloads with all 84 elements valid: the size of the paper's database."""
    arrays = random_arrays(1, 15, 17, missing=0.0, invalid=0.0, groups=(TIME_ONLY._replace(decomposed=True),))
    arrays["features"] = np.random.default_rng(1).random(arrays["features"].shape)
    arrays["t1_s"] = np.random.default_rng(2).random(len(arrays["t1_s"])) + 1
    return Database.build(**arrays, revision=1)


@pytest.fixture(scope="module")
def large_database():
    """Return 357 platforms x 84 workloads with six valid elements: the shape of the largest public dataset."""
    arrays = random_arrays(1, 357, 84, missing=0.0, invalid=0.0, groups=(TIME_ONLY,))
    arrays["features"] = np.random.default_rng(1).random(arrays["features"].shape)
    arrays["features"][:, 6:] = np.nan
    arrays["t1_s"] = np.random.default_rng(2).random(len(arrays["t1_s"])) + 1
    return Database.build(**arrays, revision=1)


def test_one_prediction(benchmark, small_database):
    answer = benchmark(MPET2020.predict, small_database, Query(3, 5), MPET2020.settings())
    assert len(answer.candidates_t1) == 25
    assert np.isfinite(answer.time_s).all()


def test_leave_one_out_of_255(benchmark, small_database):
    evaluation = benchmark.pedantic(evaluate, (small_database, [MPET2020]), rounds=3)
    assert evaluation.report().methods["mpet2020"].t1.count == 255


def test_one_prediction_among_30000_profiles(benchmark, large_database):
    large_database.prepare()
    answer = benchmark(MPET2020.predict, large_database, Query(3, 5), MPET2020.settings())
    assert len(answer.candidates_t1) == 25


def test_evaluation_of_100_among_30000_profiles(benchmark, large_database):
    protocol = Protocol(holdout="microarchitecture", sample=100)
    evaluation = benchmark.pedantic(evaluate, (large_database, [MPET2020], protocol), rounds=3)
    assert evaluation.report().methods["mpet2020"].t1.count == 100
