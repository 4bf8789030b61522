"""Absurd profiles among the evidence: whatever is left, an answer is made of numbers."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.methods import METHODS, Query
from tests.predictor.core.curves import COUNTS, curve_arrays

ABSURD_SHARE, ABSURD_LOG_FACTOR = 0.15, 6.0


def with_absurd_profiles(rng):
    """A small database, dense or sparse, in which some profiles are off by some e^6, whole curves at once."""
    platforms, workloads = int(rng.integers(3, 30)), int(rng.integers(2, 14))
    arrays = curve_arrays(
        int(rng.integers(1000)), platforms, workloads, missing=float(rng.choice([0.0, 0.3, 0.6, 0.8]))
    )
    count = len(arrays["t1_s"])
    factors = np.where(rng.random(count) < ABSURD_SHARE, np.exp(rng.normal(0.0, ABSURD_LOG_FACTOR, count)), 1.0)
    arrays["curve_time_s"] = arrays["curve_time_s"] * np.repeat(factors, len(COUNTS))
    arrays["t1_s"] = arrays["t1_s"] * factors
    return Database.build(**arrays)


@pytest.mark.parametrize("name", ["mpet", "mpet-log"])
@given(st.integers(0, 2**32 - 1))
@example(2)  # a reference was left that shared nothing with the target
@example(39)
@settings(max_examples=25, deadline=None)
def test_an_answer_among_absurd_profiles_has_times(name, seed):
    rng = np.random.default_rng(seed)
    database, method = with_absurd_profiles(rng), METHODS[name]
    for n in (None, (1, 3, 40)):
        query = Query(int(rng.integers(len(database.workloads))), int(rng.integers(len(database.platforms))), n=n)
        try:
            answer = method.predict(database, query, method.settings())
        except PredictionError:
            continue
        for values in (answer.time_s, answer.low_s, answer.high_s, np.array(answer.t1_s)):
            assert np.isfinite(values).all()
