"""Ranges that absurd values cannot stretch, and that are the paper's on data without any."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.mpet2020.candidates import find_neighbourhood
from predictor.core.normalise import FEWEST_VALUES_FOR_ROBUST_RANGE, normaliser_range, robust_range
from tests.predictor.core.curves import curve_arrays
from tests.predictor.core.databases import random_database

ORIGIN = "measured"


@given(st.integers(0, 2**32 - 1))
def test_on_data_without_absurd_values_it_is_the_range(seed):
    database = random_database(seed)
    for one, other in zip(
        normaliser_range(database, ORIGIN, "robust"), normaliser_range(database, ORIGIN, "range"), strict=True
    ):
        assert np.array_equal(one, other, equal_nan=True)


@given(st.floats(1e4, 1e12), st.sampled_from([-1.0, 1.0]))
def test_one_absurd_value_is_left_out_on_either_side(size, sign):
    values = np.concatenate([np.linspace(0, 1, 50), [sign * size]])
    ordered = np.sort(values)[:, None]
    low, high = robust_range(ordered[:2], ordered[::-1][:2])
    assert (low.item(), high.item()) == (0.0, 1.0)


def test_a_single_value_beside_equal_ones_keeps_its_element_alive():
    ordered = np.array([0.0] * 30 + [5.0])[:, None]
    low, high = robust_range(ordered[:2], ordered[::-1][:2])
    assert (low.item(), high.item()) == (0.0, 5.0)


def test_few_values_keep_the_range():
    arrays = curve_arrays(1, 4, 4, missing=0.0)
    assert len(arrays["t1_s"]) < FEWEST_VALUES_FOR_ROBUST_RANGE
    features = np.array(arrays["features"])
    features[3] *= 1e9
    database = Database.build(**arrays | {"features": features})
    assert np.array_equal(
        normaliser_range(database, ORIGIN, "robust")[1], database.element_range(ORIGIN)[1], equal_nan=True
    )


def test_an_absurd_profile_does_not_stretch_the_range():
    arrays = curve_arrays(1)
    features = np.array(arrays["features"])
    clean = Database.build(**arrays)
    features[7] *= 1e9
    database = Database.build(**arrays | {"features": features})
    low, high = normaliser_range(database, ORIGIN, "robust")
    row = _row_of(arrays, 7)
    others = clean.without(int(clean.platform_index[row]), int(clean.workload_index[row]))
    others_low, others_high = others.element_range(ORIGIN)
    spread = others_high - others_low
    assert np.nanmax((high - low)[spread > 0] / spread[spread > 0]) <= 10
    assert np.nanmax(database.element_range(ORIGIN)[1] / others_high) > 1e6


def _row_of(arrays, position):
    """Where Database.build puts the profile that was handed over at a position."""
    keys = np.asarray(arrays["platform_index"]) * len(arrays["workloads"]) + np.asarray(arrays["workload_index"])
    return int(np.argsort(np.argsort(keys))[position])


@pytest.mark.parametrize("hidden", [0, 3, 70])
def test_extremes_are_those_of_what_is_visible(hidden):
    database = random_database(5, 12, 12)
    rows = np.random.default_rng(1).choice(len(database), hidden, replace=False)
    view = database.without(database.platform_index[rows], database.workload_index[rows])
    low, high = view.element_extremes(ORIGIN, 4)
    values = np.sort(view.features[~view.hidden], axis=0)
    count = (~np.isnan(values)).sum(axis=0)
    for element in range(values.shape[1]):
        known = values[: count[element], element]
        assert np.array_equal(low[: len(known[:4]), element], known[:4])
        assert np.array_equal(high[: len(known[:4]), element], known[::-1][:4])
        assert np.isnan(low[len(known) :, element]).all()


def test_many_hidden_profiles_do_not_need_a_copy_of_all_features():
    """A database of 540,000 profiles has 364 MB of features, and 1,700 of its profiles are too noisy."""
    database = random_database(5, 60, 60)
    rows = np.random.default_rng(1).choice(len(database), 70, replace=False)
    view = database.without(database.platform_index[rows], database.workload_index[rows])
    view.element_extremes(ORIGIN, 1)  # cached for all views
    tracemalloc.start()
    view.element_extremes(ORIGIN, 4)
    view.element_range(ORIGIN)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < view.features.nbytes / 2


def test_distances_between_others_stay_as_they_are():
    """With the range of Eq. 10-11 one absurd profile makes all others look alike; with the robust one it does not."""
    arrays = curve_arrays(1, 15, 26, missing=0.0)
    features = np.array(arrays["features"])
    features[7] *= 1e6
    clean, spoilt = (Database.build(**arrays | {"features": values}) for values in (arrays["features"], features))
    query = Query(20, 3, group=0)
    before, robust, stretched = (
        find_neighbourhood(database, query, normalisation=how).workload_distance
        for database, how in ((clean, "robust"), (spoilt, "robust"), (spoilt, "range"))
    )
    others = np.arange(15) != arrays["platform_index"][7]
    others = others[find_neighbourhood(clean, query).platforms]
    assert np.nanmedian(robust[others] / before[others]) == pytest.approx(1, rel=0.1)
    assert np.nanmedian(stretched[others] / before[others]) < 0.01
