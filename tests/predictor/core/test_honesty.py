"""Every registered method, baselines included: what a protocol hides reaches no answer."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.evaluate import HOLDOUTS, Protocol, chosen_rows, hidden_pairs
from predictor.core.methods import METHODS, Query
from tests.predictor.core.databases import permuted, random_arrays

ABSURD = 1e150
PLATFORMS, WORKLOADS = 8, 7
PREDICTED = 4


@pytest.fixture(scope="module")
def arrays():
    found = random_arrays(11, PLATFORMS, WORKLOADS, missing=0.1)
    clocks = np.linspace(1000.0, 3000.0, PLATFORMS)
    return found | {"platform_table": found["platform_table"] | {"base_mhz": clocks}}


def planted(arrays, platforms, workloads):
    """The same with absurd features, t(1) and curves at these pairs, in every group."""
    pairs = np.asarray(platforms) * WORKLOADS + np.asarray(workloads)
    hit = np.isin(arrays["platform_index"] * WORKLOADS + arrays["workload_index"], pairs)
    assert hit.any()
    return arrays | {
        "features": np.where(hit[:, None], ABSURD, arrays["features"]),
        "t1_s": np.where(hit, ABSURD, arrays["t1_s"]),
        "curve_time_s": np.where(np.repeat(hit, 3), ABSURD, arrays["curve_time_s"]),
    }


def told(method, view, query):
    """Everything that an answer or a refusal says."""
    try:
        answer = method.predict(view, query, method.settings())
    except PredictionError as error:
        return type(error), str(error)
    numbers = [answer.t1_s, *answer.time_s, *answer.features]
    numbers += [] if answer.low_s is None else [*answer.low_s, *answer.high_s]
    return [None if np.isnan(x) else float(x) for x in numbers], answer.candidates_t1, answer.candidates_scaling


@pytest.mark.parametrize("holdout", HOLDOUTS)
@pytest.mark.parametrize("name", METHODS)
def test_absurd_values_where_the_protocol_hides_change_no_answer(arrays, name, holdout):
    database = Database.build(**arrays)
    protocol = Protocol(holdout=holdout, probes=4, sample=PREDICTED, seed=5)
    answered = 0
    for row in chosen_rows(database, protocol).tolist():
        hidden = hidden_pairs(database, row, protocol)
        other = Database.build(**planted(arrays, *hidden))
        query = Query(
            int(database.workload_index[row]), int(database.platform_index[row]), int(database.group[row]), n=(1, 3)
        )
        expected = told(METHODS[name], database.without(*hidden), query)
        assert told(METHODS[name], other.without(*hidden), query) == expected
        answered += isinstance(expected[0], list)
    assert answered


@pytest.mark.parametrize("name", METHODS)
def test_a_method_hides_the_pair_itself_whoever_asks(arrays, name):
    for target, workload in ((1, 2), (5, 0)):
        query = Query(workload, target, n=(1, 2, 4))
        expected = told(METHODS[name], Database.build(**arrays), query)
        assert told(METHODS[name], Database.build(**planted(arrays, [target], [workload])), query) == expected


@pytest.mark.parametrize("name", METHODS)
def test_the_order_in_which_profiles_came_changes_no_answer(arrays, name):
    query = Query(3, 2, n=(1, 4))
    first = told(METHODS[name], Database.build(**arrays), query)
    assert told(METHODS[name], Database.build(**permuted(arrays, 3)), query) == first


def test_the_noise_floor_is_no_method():
    """It reads what evaluations hide, so nobody may be able to ask it for a prediction."""
    assert not any("noise" in name for name in METHODS)
