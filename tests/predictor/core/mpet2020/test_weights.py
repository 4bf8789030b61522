"""The weights that the paper leaves to future work: of candidates by fit and dimensions, of elements in a distance."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.distance import distance
from predictor.core.methods import METHODS, Query
from predictor.core.mpet2020.weights import candidate_certainty, element_weights, fit_errors_of_rows
from profiles.scaling.features import feature_fits
from profiles.scaling.names import SCALING_PARTS
from profiles.scaling.runs import CurveTable
from research.mpet2020_weights import CHANGED_WEIGHTS, weighted_methods
from tests.predictor.core.curves import curve_arrays, curve_database, scaled
from tests.predictor.core.databases import random_database

MPET2020 = METHODS["mpet2020"]
QUERY = Query(workload=2, target=3)
CHANGES = pytest.mark.parametrize("changes", CHANGED_WEIGHTS.values(), ids=CHANGED_WEIGHTS)


@pytest.fixture
def database():
    return curve_database(5, 8, 9, missing=0.1)


def numbers(answer):
    return [answer.t1_s, *answer.features, *answer.time_s]


def predict(database, **changes):
    return MPET2020.predict(database, QUERY, MPET2020.settings_from(changes))


@CHANGES
def test_each_change_gives_another_answer(changes):
    database = random_database(3, platforms=9, workloads=9)
    indices = zip(database.workload_index, database.platform_index, database.group, strict=True)
    pairs = [
        [numbers(MPET2020.predict(database, query, MPET2020.settings_from(values))) for values in ({}, changes)]
        for query in [Query(int(w), int(p), group=int(g)) for w, p, g in indices][:20]
    ]
    assert not all(np.array_equal(default, other, equal_nan=True) for default, other in pairs)


@CHANGES
def test_what_is_hidden_moves_no_answer(changes):
    arrays = curve_arrays(5, 8, 9, missing=0.0)
    own = (arrays["platform_index"] == QUERY.target) & (arrays["workload_index"] == QUERY.workload)
    first, second = (
        numbers(predict(Database.build(**each).without(QUERY.target, QUERY.workload), **changes))
        for each in (arrays, scaled(arrays, own, 1e9))
    )
    np.testing.assert_array_equal(first, second)


def test_the_fit_error_is_that_of_the_fit(database):
    rows = np.arange(len(database))
    tables = []
    for row in rows:
        n, time_s = database.curve(row)
        values = np.full((15, len(n)), np.nan)
        values[:2] = time_s, n * time_s / time_s[0]
        tables.append(CurveTable(n, values, False, False, float(time_s[0])))
    expected = feature_fits(tables, [None] * len(rows), [None] * len(rows)).fit_error
    np.testing.assert_allclose(fit_errors_of_rows(database, rows), expected, rtol=1e-9)
    assert fit_errors_of_rows(database, rows[:4].reshape(2, 2)).shape == (2, 2)


def test_candidates_whose_curves_fit_badly_count_less(database):
    errors = fit_errors_of_rows(database, np.arange(len(database)))
    order = np.argsort(errors)
    best, worst = np.repeat(order[[0, -1]], 3).reshape(2, 3)
    certainty = candidate_certainty(database, np.array([best, worst]), "fit_error")
    np.testing.assert_allclose(certainty, 1 / (1 + (errors[order[[0, -1]]] / 0.1) ** 2))
    assert certainty[0] > certainty[1]


def test_a_fit_error_of_a_tenth_halves_and_an_unknown_one_too():
    arrays = curve_arrays(5, 4, 4, missing=0.0)
    arrays["features"] = np.where(np.arange(len(arrays["t1_s"]))[:, None] == 0, np.nan, arrays["features"])
    database = Database.build(**arrays)
    assert candidate_certainty(database, np.zeros((1, 3), dtype=int), "fit_error").tolist() == [0.5]


def test_candidates_that_compare_few_elements_count_less():
    arrays = curve_arrays(5, 4, 4, missing=0.0)
    arrays["features"][3:, 1] = np.nan
    database = Database.build(**arrays)
    shared = np.isfinite(database.features).sum(axis=1)
    rows = np.array([[0, 1, 2], [3, 4, 5], [0, 1, 3]])
    whole, part = shared[0], shared[3]
    expected = [1.0, part / whole, np.sqrt(part / whole)]
    np.testing.assert_allclose(candidate_certainty(database, rows, "dimensions"), expected)
    both = candidate_certainty(database, rows, "fit_error_and_dimensions")
    np.testing.assert_allclose(both, candidate_certainty(database, rows, "fit_error") * expected)


def test_elements_of_noise_count_least():
    random = np.random.default_rng(1)
    own = random.random((1, 6, 1))
    values = np.concatenate([own + np.zeros((5, 6, 1)), random.random((5, 6, 1)), np.full((5, 6, 1), np.nan)], axis=2)
    values[0, :3] = np.nan
    weights = element_weights(values, np.arange(3), "repeatable")
    assert weights[0] == pytest.approx(1.0)
    assert 0.05 <= weights[1] < 0.6
    assert element_weights(values[1:2], np.arange(3), "repeatable").tolist() == [1, 1, 1]  # one platform tells nothing
    assert element_weights(values, np.arange(3), "equal").tolist() == [1, 1, 1]


def test_what_times_are_rebuilt_from_counts_more_than_relative_measures():
    last = 6 * len(SCALING_PARTS) - 1
    assert element_weights(np.zeros((1, 1, 2)), np.array([last, last + 1]), "scaling_parts").tolist() == [1.0, 0.05]


def test_equal_weights_are_the_plain_distance():
    random = np.random.default_rng(2)
    a, b = random.random((2, 7, 84))
    a[0, 3] = np.nan
    np.testing.assert_allclose(distance(a, b, np.full(84, 0.3)), distance(a, b))
    assert np.isnan(distance(np.array([0.1, np.nan]), np.array([0.2, 0.4]), np.array([0.0, 1.0])))


def test_the_methods_of_a_comparison_are_mpet2020_with_these_settings(database):
    for method, changes in zip(weighted_methods(), CHANGED_WEIGHTS.values(), strict=True):
        np.testing.assert_array_equal(
            numbers(method.predict(database, QUERY, method.settings())), numbers(predict(database, **changes))
        )
