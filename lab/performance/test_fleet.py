"""Predictions and rankings among thousands of platforms: `pytest lab/performance/test_fleet.py --benchmark-enable`.

docs/scale.md has what it measured."""

import time

import numpy as np
import pytest

from lab.performance.conftest import sized
from predictor.core.methods import METHODS, Query
from predictor.core.steps import single_thread
from tests.predictor.core.curves import curve_database

WORKLOADS, TARGETS = 40, 15
SIZES = sized((350, 2_000, 20_000), (30, 60))
MOST_GROWTH = 3.5  # of a prediction, from the first size to the last
EACH_SIZE = pytest.mark.parametrize("platforms", SIZES)


@pytest.fixture(scope="module")
def fleets():
    return {size: curve_database(1, size, WORKLOADS, counts=(1, 16)) for size in SIZES}


@pytest.fixture(autouse=True)
def one_thread():
    with single_thread():
        yield


def queries(platforms):
    rng = np.random.default_rng(1)
    return [Query(int(rng.integers(WORKLOADS)), int(rng.integers(platforms))) for _ in range(TARGETS)]


@EACH_SIZE
@pytest.mark.parametrize("name", ["mpet", "mpet2020"])
def test_one_prediction(benchmark, fleets, platforms, name):
    method = METHODS[name]
    asked = iter(queries(platforms) * 1000)
    answer = benchmark(lambda: method.predict(fleets[platforms], next(asked), method.settings()))
    assert np.isfinite(answer.t1_s)


@EACH_SIZE
def test_estimates_of_all_platforms(benchmark, fleets, platforms):
    found = benchmark.pedantic(METHODS["mpet"].estimate, (fleets[platforms], 3, np.arange(platforms), None), rounds=2)
    assert np.isfinite(found.time_s).all()


def test_a_prediction_hardly_grows_with_the_fleet(benchmark, fleets):
    """Processor time of the same questions among few and among very many platforms, in one run."""
    method, seconds = METHODS["mpet"], {}
    for platforms in (SIZES[0], SIZES[-1]):
        taken = []
        for query in queries(SIZES[0]):
            start = time.process_time()
            assert np.isfinite(method.predict(fleets[platforms], query, method.settings()).t1_s)
            taken.append(time.process_time() - start)
        seconds[platforms] = np.median(taken[1:])
    growth = benchmark.extra_info["growth"] = seconds[SIZES[-1]] / seconds[SIZES[0]]
    benchmark(lambda: None)  # --benchmark-only takes only tests that call it
    assert not benchmark.enabled or growth <= MOST_GROWTH
