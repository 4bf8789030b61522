"""Cost of curves and feature vectors, in batches and one by one. Compare ratios within a run, not seconds.

pytest lab/performance/test_scaling.py --benchmark-enable
"""

import numpy as np
import pytest

from lab.performance.conftest import sized
from profiles.scaling.features import feature_fit, feature_fits
from profiles.scaling.runs import scaling_curves
from tests.profiles.scaling.datasets import read_tables
from tests.samples import sample_counters, sample_runs

PROFILES = sized(300, 30)
ROWS = sized(None, 400)  # rows of a public dataset (None: all)
COUNTS = ((1, 2, 4, 8, 16), (1, 2, 4, 8, 12, 16, 24, 32), (1, 4, 16, 64))


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(1)
    return [
        sample_runs(rng, counts=COUNTS[index % len(COUNTS)], repeats=1, decomposed=False) for index in range(PROFILES)
    ]


@pytest.fixture(scope="module")
def profiles(tables):
    return [scaling_curves(table) for table in tables]


@pytest.mark.benchmark(group="curves")
def test_curves_of_time_only_profiles(benchmark, tables):
    curves = benchmark(lambda: [scaling_curves(table) for table in tables])
    assert len(curves) == PROFILES


@pytest.mark.benchmark(group="curves")
def test_curves_of_decomposed_profiles_with_counters(benchmark):
    rng = np.random.default_rng(2)
    measured = [(sample_runs(rng), sample_counters(rng)) for _ in range(PROFILES)]
    curves = benchmark(lambda: [scaling_curves(runs, counters) for runs, counters in measured])
    assert all(profile.decomposed for profile in curves)


@pytest.mark.benchmark(group="features")
def test_features_in_one_batch(benchmark, profiles):
    fits = benchmark(feature_fits, profiles, [4] * PROFILES, [8] * PROFILES)
    assert len(fits.values) == PROFILES


@pytest.mark.benchmark(group="features")
def test_features_one_by_one(benchmark, profiles):
    fits = benchmark(lambda: [feature_fit(profile, 4, 8) for profile in profiles])
    assert len(fits) == PROFILES


@pytest.mark.shared_data
@pytest.mark.benchmark(group="public measurements")
@pytest.mark.parametrize("folder", ["sparecores-gb6", "sparecores-stressng"])
def test_curves_and_features_of_a_public_dataset(benchmark, shared_data, folder):
    tables, n_nu, n_ht = (column[:ROWS] for column in read_tables(shared_data / folder))
    fits = benchmark(lambda: feature_fits([scaling_curves(table) for table in tables], n_nu, n_ht))
    assert len(fits.values) == len(tables)
