"""trust 1: a counter of 1.8e308, 1e-310 or 5e-324 was accepted, and a ratio or a fit overflowed to infinity."""

import warnings

import numpy as np
import pytest

from profiles.measurements import CounterTable, RunTable
from profiles.scaling.features import evaluate_curves, feature_fits, fit_curves
from profiles.scaling.limits import limit_sentences
from profiles.scaling.losses import bottlenecks, loss_shares, pop_efficiencies
from profiles.scaling.names import GAUSSIAN_SUM, RELATIVE_MEASURES
from profiles.scaling.runs import scaling_curves
from tests.samples import runs_of

EXTREMES = (1.7976931348623157e308, 1e-310, 5e-324, 0.0, -1.0, 1.0, 1e19)
COUNTED = sorted({name for pair in RELATIVE_MEASURES.values() for name in pair})


@pytest.fixture(autouse=True)
def no_noise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def counters(rng: np.random.Generator, n: int, repeats: int) -> CounterTable:
    rows = [(count, repeat, name) for count in range(1, n + 1) for repeat in range(1, repeats + 1) for name in COUNTED]
    counts, repeated, names = zip(*rows, strict=True)
    values = rng.choice(EXTREMES, len(rows))
    return CounterTable(np.array(counts), np.array(repeated), names, values, ("ok",) * len(rows))


def check_fits(curves, n_nu, n_ht):
    fits = feature_fits(curves, n_nu, n_ht)
    for array in (fits.values, fits.rms, fits.fit_error):
        assert not np.isinf(array).any()


@pytest.mark.parametrize("seed", range(30))
def test_ratios_of_extreme_counters_are_finite_or_invalid(seed):
    rng = np.random.default_rng(seed)
    curves = scaling_curves(runs_of({1: [4.0], 2: [2.0], 3: [1.5], 4: [1.2]}), counters(rng, 4, 1 + seed % 3))
    assert not np.isinf(curves.values).any()
    check_fits([curves, curves], [2, None], [3, None])


@pytest.mark.parametrize(
    "times",
    [
        [1e-9, 2**59 / 1e9] * 4,  # trust 15
        [2**59 / 1e9, 1e-9] * 4,
        [1.7e308, 5e-324, 1.0, 1.7e308],
        [5e-324, 1.7e308],
    ],
)
def test_times_without_measure_are_finite_or_invalid(times):
    curves = scaling_curves(runs_of({n: [time_s] for n, time_s in enumerate(times, 1)}))
    assert not np.isinf(curves.values[1:]).any()
    check_fits([curves], [2], [4])


def test_where_no_thread_did_useful_work_nothing_is_divided_by_it():
    parts = np.array([[100, 0, 0, 0, 0, 0, 0], [0, 200, 0, 0, 0, 0, 0]])
    times = RunTable(
        np.array([1, 2]), np.ones(2, int), np.ones(2, bool), np.array([1e-7, 1e-7]), np.array([100, 100]), parts
    )
    curves = scaling_curves(times)
    assert curves.redundancy.tolist() == [1.0, 0.0]
    assert np.isnan(loss_shares(curves)[0, 1])
    assert np.isnan(pop_efficiencies(curves)[1][1])
    assert not any(np.isinf(lost.speedup_without) for lost in bottlenecks(curves))
    assert all("inf" not in sentence for sentence in limit_sentences(curves))


def test_stored_elements_that_are_infinite_are_no_elements():
    parameters = np.full((14, 6), np.inf)
    parameters[0] = 0.1, 0.9, -np.inf, 1e300, np.nan, np.nan
    values = evaluate_curves(parameters, [1, 2, 2**31 - 1], 1, 2, GAUSSIAN_SUM)
    assert np.isnan(values[1:]).all()
    assert values[0, 0] == 1.0
    assert np.isfinite(values[0]).all()


def test_infinite_values_are_not_measured():
    n = np.array([1, 2, 4])
    parameters, rms = fit_curves(n, np.array([[1.0, np.inf, 4.0], [1e300, 1.0, 1.0]]), None, None, np.zeros(2, bool))
    np.testing.assert_allclose(parameters[:, :2], [[1, 0], [0, 1]], atol=1e-12)
    assert np.isfinite(rms).all()
