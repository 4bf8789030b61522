"""Absurd profiles among the evidence: whatever is left, an answer is made of numbers."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import METHODS, Query
from predictor.core.mpet.gathering import gather_evidence, without_outliers
from tests.predictor.core.curves import COUNTS, curve_arrays, without_rows

ABSURD_SHARE, ABSURD_LOG_FACTOR = 0.15, 6.0
FEW = 2

MPET = METHODS["mpet"]


def with_absurd_profiles(rng):
    """A small database, dense or sparse, in which some profiles are off by some e^6, whole curves at once; and a query,
    in half the cases for a workload that few have on a platform that has few."""
    platforms, workloads = int(rng.integers(3, 30)), int(rng.integers(2, 14))
    missing = float(rng.choice([0.0, 0.3, 0.6, 0.8]))
    arrays = curve_arrays(int(rng.integers(1000)), platforms, workloads, missing=missing)
    count = len(arrays["t1_s"])
    factors = np.where(rng.random(count) < ABSURD_SHARE, np.exp(rng.normal(0.0, ABSURD_LOG_FACTOR, count)), 1.0)
    arrays["curve_time_s"] = arrays["curve_time_s"] * np.repeat(factors, len(COUNTS))
    arrays["t1_s"] = arrays["t1_s"] * factors
    query = Query(int(rng.integers(workloads)), int(rng.integers(platforms)))
    if count and rng.random() < 0.5:
        rare = (arrays["workload_index"] == query.workload) & (arrays["platform_index"] != query.target)
        dropped = rng.permutation(np.flatnonzero(rare))[FEW:]
        own = rng.permutation(np.flatnonzero(arrays["platform_index"] == query.target))[FEW:]
        arrays = without_rows(arrays, np.isin(np.arange(count), np.append(dropped, own)))
    return Database.build(**arrays), query


@given(st.integers(0, 2**32 - 1))
@example(50)  # a reference was left that shared nothing with the target
@example(245)
@example(1311)  # none was left that had the workload
@example(28403)  # nothing was measured at all
@settings(max_examples=50, deadline=None)
def test_an_answer_among_absurd_profiles_has_times(seed):
    database, query = with_absurd_profiles(np.random.default_rng(seed))
    try:
        answer = MPET.predict(database, query, MPET.settings())
    except PredictionError:
        return
    for values in (answer.time_s, answer.low_s, answer.high_s, np.array(answer.t1_s)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_one_absurd_upload_among_three_references_is_left_out(factor):
    """Where the workload is alike on the others: a spread of one in ln t among three would explain much."""
    arrays = curve_arrays(3, 4, 10, missing=0)
    query = Query(2, 3, n=(1, 4, 16))
    clean = MPET.predict(Database.build(**arrays), query, MPET.settings())
    absurd = (arrays["workload_index"] == 2) & (arrays["platform_index"] == 1)
    arrays["t1_s"] = np.where(absurd, factor, 1.0) * arrays["t1_s"]
    arrays["curve_time_s"] = np.repeat(np.where(absurd, factor, 1.0), len(COUNTS)) * arrays["curve_time_s"]
    answer = MPET.predict(Database.build(**arrays), query, MPET.settings())
    np.testing.assert_allclose(answer.time_s, clean.time_s, rtol=0.25)


def test_nothing_tells_which_of_two_workloads_on_the_target_is_wrong():
    arrays = curve_arrays(3, 12, 6)
    on_target = arrays["platform_index"] == 5
    arrays = without_rows(arrays, on_target & ~np.isin(arrays["workload_index"], [0, 1]))
    absurd = (arrays["workload_index"] == 1) & (arrays["platform_index"] == 5)
    arrays["curve_time_s"] = np.repeat(np.where(absurd, 1e3, 1.0), len(COUNTS)) * arrays["curve_time_s"]
    arrays["t1_s"] = np.where(absurd, 1e3, 1.0) * arrays["t1_s"]
    evidence = gather_evidence(Database.build(**arrays), Query(4, 5))
    assert without_outliers(evidence).measured_on_target.sum() == 2
