"""The estimator: scikit-learn's conventions, and the very answers of the methods."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score
from sklearn.utils import estimator_checks

from predictor.core.errors import SettingsError, UnknownMethod
from predictor.core.methods import Query, get_method
from predictor.core.regressor import MpetRegressor

SPEED, WORK = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0}, {"x": 8.0, "y": 16.0, "z": 32.0}
LEFT_OUT = ("d", "z")


def times(serial=0.1):
    rows = [
        (platform, workload, n, WORK[workload] / SPEED[platform] * (serial + (1 - serial) / n))
        for platform in SPEED
        for workload in WORK
        for n in (1, 2, 4, 8)
        if (platform, workload) != LEFT_OUT
    ]
    return pd.DataFrame(rows, columns=["platform", "workload", "n", "time_s"])


@pytest.fixture(scope="module")
def fitted():
    table = times()
    return MpetRegressor().fit(table[["platform", "workload", "n"]], table["time_s"])


ASKED = [(*LEFT_OUT, n) for n in (8, 1, 2)]


def test_a_pair_that_nobody_ran_is_predicted(fitted):
    expected = [WORK["z"] / SPEED["d"] * (0.1 + 0.9 / n) for n in (8, 1, 2)]
    np.testing.assert_allclose(fitted.predict(ASKED), expected, rtol=0.05)
    interval = fitted.predict_interval(ASKED)
    both = fitted.predict_with_interval(ASKED)
    np.testing.assert_array_equal(both, np.column_stack([fitted.predict(ASKED), interval]))
    assert ((interval[:, 0] <= expected) & (expected <= interval[:, 1])).all()


def test_it_is_the_method_and_nothing_else(fitted):
    database = fitted.database_
    query = Query(database.workloads.index("z"), database.platforms.index("d"), n=(1, 2, 8))
    method = get_method("mpet")
    answer = method.predict(database, query, method.settings())
    np.testing.assert_allclose(fitted.predict(ASKED), answer.time_s[[2, 0, 1]], rtol=1e-12)


def test_times_without_noise_have_an_interval_with_a_width_and_no_warning(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        time_s, (low, high) = fitted.predict(ASKED), fitted.predict_interval(ASKED).T
    assert (low <= 0.99 * time_s).all()
    assert (high >= 1.01 * time_s).all()


def test_what_is_not_known_is_nan_with_a_reason(fitted):
    assert np.isnan(fitted.predict([("e", "x", 1)])).all()
    assert "no time of this platform" in fitted.refusals_["e", "x"]


def test_repeats_and_the_order_of_rows_do_not_matter():
    table = times()
    twice = pd.concat([table, table]).sample(frac=1, random_state=1)
    one, other = (
        MpetRegressor(method="speed-ratio").fit(rows[["platform", "workload", "n"]].to_numpy(), rows["time_s"])
        for rows in (table, twice)
    )
    np.testing.assert_allclose(one.predict(ASKED), other.predict(ASKED), rtol=1e-12)


def test_facts_of_platforms_are_learned():
    table = times()
    platforms = {name: {"physical_cores": 8, "threads": 8, "base_mhz": 1000.0 * SPEED[name]} for name in SPEED}
    fitted = MpetRegressor("frequency-scaling", platforms=platforms).fit(table.iloc[:, :3], table["time_s"])
    np.testing.assert_allclose(fitted.predict([(*LEFT_OUT, 1)]), [WORK["z"] / SPEED["d"]], rtol=1e-6)
    with pytest.raises(ValueError, match="unknown fields of a platform: cores;"):
        MpetRegressor(platforms={"a": {"cores": 8}}).fit(table.iloc[:, :3], table["time_s"])


WRONG = {
    "n must be a whole number": ([("a", "x", 1.5)], [1.0]),
    "must contain numbers of threads": ([("a", "x", "many")], [1.0]),
    "not 4 columns": ([("a", "x", 1, 2)], [1.0]),
    "positive times in seconds": ([("a", "x", 1)], [0.0]),
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_is_no_table_of_times_is_refused(reason):
    X, y = WRONG[reason]
    with pytest.raises(ValueError, match=reason):
        MpetRegressor().fit(np.array(X, dtype=object), y)


def test_unknown_methods_and_settings_are_refused_when_it_learns():
    table = times()
    with pytest.raises(UnknownMethod):
        MpetRegressor("guess").fit(table.iloc[:, :3], table["time_s"])
    with pytest.raises(SettingsError):
        MpetRegressor(settings={"shoes": 8}).fit(table.iloc[:, :3], table["time_s"])


def test_it_takes_part_in_scikit_learns_tools(fitted):
    table = times()
    folds = KFold(3, shuffle=True, random_state=1)
    scores = cross_val_score(MpetRegressor("speed-ratio"), table.iloc[:, :3], table["time_s"], cv=folds)
    assert np.isfinite(scores).all()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(ASKED), fitted.predict(ASKED))
    assert clone(fitted).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        MpetRegressor().predict(ASKED)


# The checks that need no free choice of X: ours has a platform, a workload and a number of threads.
CHECKS = (
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_mixin_order,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_estimators_unfitted,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learns_own_checks(check):
    check("MpetRegressor", MpetRegressor())
