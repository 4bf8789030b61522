"""Predictions and rankings among thousands of platforms: `pytest lab/performance/test_fleet.py --benchmark-enable`.

docs/scale-goals.md has the results.
"""

import time

import numpy as np
import pytest

from lab.performance.conftest import sized
from predictor.core.estimates import estimate_targets
from predictor.core.methods import METHODS, Query
from predictor.core.steps import single_thread
from tests.predictor.core.curves import curve_database

WORKLOADS, TARGETS = 40, 15
SIZES = sized((350, 2_000, 20_000), (30, 60))
MOST_GROWTH = 3.0  # greatest growth of a prediction's time from the first size to the last
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
    asked = fleets[platforms], 3, np.arange(platforms)
    *_, found = benchmark.pedantic(lambda: list(estimate_targets(*asked)), rounds=2)
    assert np.isfinite(found.time_s).all()


def seconds_of(database, query):
    """Return the processor time of a prediction by `mpet`."""
    method, start = METHODS["mpet"], time.process_time()
    assert np.isfinite(method.predict(database, query, method.settings()).t1_s)
    return time.process_time() - start


def growth_of_a_prediction(fleets):
    """Return the ratio of a prediction's processor time among very many platforms to that among few.

    The times are medians over the same queries, where each query counts with its fastest of three runs.
    """
    few, many = (
        np.median([min(seconds_of(fleets[size], query) for _ in range(3)) for query in queries(SIZES[0])])
        for size in (SIZES[0], SIZES[-1])
    )
    return many / few


def test_a_prediction_hardly_grows_with_the_fleet(benchmark, fleets):
    growth = benchmark.extra_info["growth"] = benchmark.pedantic(growth_of_a_prediction, (fleets,))
    assert not benchmark.enabled or growth <= MOST_GROWTH
