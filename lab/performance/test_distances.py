"""Speed of distances of many vectors: `pytest lab/performance/test_distances.py --benchmark-enable` on one core.

They are compared with the matrix product that they need, with one pass over the memory, and with scikit-learn.
"""

import numpy as np
import pytest
from sklearn.metrics.pairwise import nan_euclidean_distances
from threadpoolctl import threadpool_limits

from lab.performance.conftest import sized
from predictor.core.comparisons.mean_distances import map_by_landmarks
from predictor.core.distance import MaskedRows

ELEMENTS = 84
PAIRS, MANY, MAPPED = sized(5_000, 300), sized(500_000, 2_000), sized(2_000, 200)


def vectors(count):
    rng = np.random.default_rng(1)
    rows = rng.random((count, ELEMENTS))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    return rows


@pytest.fixture(scope="module")
def rows():
    return vectors(PAIRS)


@pytest.fixture(scope="module")
def many():
    return vectors(MANY)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.mark.benchmark(group="all pairs")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_pairs(benchmark, rows, dtype):
    ready = MaskedRows.of(rows, dtype)
    found = benchmark(ready.distances_to, ready)
    few = nan_euclidean_distances(rows[:5], rows) / np.sqrt(ELEMENTS)
    np.testing.assert_allclose(found[:5], few, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-7)


@pytest.mark.benchmark(group="all pairs")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_product_alone(benchmark, rows, dtype):
    factors = MaskedRows.of(rows, dtype).factors

    def multiply():
        for top in range(0, len(factors), 256):
            part = factors[top : top + 256]
            part @ factors.T, part[:, :ELEMENTS] @ factors[:, :ELEMENTS].T

    benchmark(multiply)


@pytest.mark.benchmark(group="all pairs")
def test_all_pairs_by_scikit_learn(benchmark, rows):
    assert benchmark.pedantic(nan_euclidean_distances, (rows,), rounds=2).shape == (PAIRS, PAIRS)


@pytest.mark.benchmark(group="one to all")
def test_one_to_all(benchmark, many):
    ready = MaskedRows.of(many, np.float32)
    one = MaskedRows.of(many[:1], np.float32, ready.centre)
    assert benchmark(one.distances_to, ready).shape == (1, MANY)


@pytest.mark.benchmark(group="one to all")
def test_one_pass_over_the_memory(benchmark, many):
    benchmark(np.sum, many)


@pytest.mark.benchmark(group="one to all")
def test_one_to_all_by_scikit_learn(benchmark, many):
    assert benchmark.pedantic(nan_euclidean_distances, (many[:1], many), rounds=2).shape == (1, MANY)


def test_a_map_by_landmarks(benchmark):
    points = np.random.default_rng(2).random((MAPPED, 2))
    landmarks = np.arange(0, MAPPED, 10)
    distances = np.hypot(*(points[:, None] - points[landmarks]).transpose(2, 0, 1))
    _, stress = benchmark.pedantic(map_by_landmarks, (distances, landmarks), rounds=2)
    assert stress < 0.01
