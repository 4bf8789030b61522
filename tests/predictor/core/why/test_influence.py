"""What carried an answer, beside what the method says when it is truly left out."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Answer, Query
from predictor.core.database import Database
from predictor.core.methods import get_method
from predictor.core.why.influence import (
    candidate_shares,
    element_influences,
    influences_on_answer,
    mean_change,
    predicted_scaling,
)
from profiles.scaling.names import CURVE_NAMES, FEATURE_NAMES, FRACTIONS
from tests.predictor.core.curves import curve_database

BOTH_METHODS = pytest.mark.parametrize("name", ["mpet", "mpet2020"])


@pytest.fixture(scope="module")
def database():
    return curve_database(3, 14, 9)


def asked(database, name, references=None):
    method, query = get_method(name), Query(2, 5, group=0, references=references)
    return query, method, method.settings(), method.predict(database, query, method.settings())


def of_kind(influences, *kinds):
    return [one for one in influences if one.kind in kinds]


@BOTH_METHODS
def test_shares_make_one(database, name):
    *_, answer = asked(database, name)
    for kind in ("reference", "workload"):
        found = candidate_shares(answer, kind)
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == sorted(found.values(), reverse=True)


@BOTH_METHODS
def test_the_change_is_what_the_method_answers_without_it(database, name):
    """It takes two predictions more: without the heaviest reference, and without the heaviest workload."""
    query, method, settings, answer = asked(database, name)
    questions = []

    def counted(*question):
        questions.append(question)
        return method.predict(*question)

    found = influences_on_answer(database, query, replace(method, predict=counted), settings, answer)
    assert len(questions) == 2
    references, workloads = of_kind(found, "reference"), of_kind(found, "workload")
    assert [one.change is None for one in references + workloads] == [False, True, True, False, True, True]
    views = (
        database.without(database.platforms.index(references[0].name), query.workload),
        database.without(query.target, database.workloads.index(workloads[0].name)),
    )
    for heaviest, view in zip((references[0], workloads[0]), views, strict=True):
        expected = mean_change(answer.time_s, method.predict(view, query, settings).time_s)
        assert heaviest.change == pytest.approx(expected, abs=1e-12)


def test_shares_alone_cost_no_prediction(database):
    query, method, settings, answer = asked(database, "mpet2020")
    without = replace(method, predict=None)  # a call would fail
    found = influences_on_answer(database, query, without, settings, answer, leave_out=False)
    assert {one.change for one in of_kind(found, "reference", "workload")} == {None}


def test_a_reference_that_is_alone_leaves_nothing(database):
    query, method, settings, answer = asked(database, "mpet", references=(7,))
    alone = of_kind(influences_on_answer(database, query, method, settings, answer), "reference")[0]
    assert (alone.name, alone.share, alone.change) == (database.platforms[7], pytest.approx(1), None)


def test_elements_are_those_that_change_the_last_time_most(database):
    query, method, settings, answer = asked(database, "mpet")
    named = of_kind(influences_on_answer(database, query, method, settings, answer), "element")
    assert {one.name for one in named} == {"redundancy.m"}
    # R(16) = 16 m + b, and m + b of it if it did not grow (Eq. 3, U = 1)
    m, b = answer.features[:2]
    assert named[0].change == pytest.approx((m + b) / (16 * m + b) - 1)


ONE_PLATFORM = {"platforms": ["p"], "workloads": [], "platform_index": [], "workload_index": [], "groups": ()} | {
    "group": [],
    "features": np.ones((0, 84)),
    "t1_s": [],
}


def elements_without(elements, n_ht):
    """What could be removed of a workload with these elements, on 16 threads of two nodes of four cores."""
    machine = Database.build(**ONE_PLATFORM, n_nu=[4.0], n_ht=[n_ht], n_max=[16])
    features = np.full(84, np.nan)
    for name in FRACTIONS:
        features[FEATURE_NAMES.index(f"{name}.m")] = features[FEATURE_NAMES.index(f"{name}.b")] = 0.0
    for name, value in elements.items():
        features[FEATURE_NAMES.index(name)] = value
    answer = Answer(8.0, np.array([16]), np.ones(1), features, dict.fromkeys(CURVE_NAMES, np.zeros(1)), [], [])
    return {one.name: one.change for one in element_influences(machine, 0, answer)}


FLAT = {"redundancy.m": 0.0, "redundancy.b": 1.0}


GROWING = {"redundancy.m": 0.05, "redundancy.b": 0.95}


@pytest.mark.parametrize(
    ("elements", "n_ht", "expected"),
    [
        (GROWING, 8.0, {}),  # growth beyond the cores is nobody's to remove
        (GROWING, np.nan, {"redundancy.m": 1 / 1.75 - 1}),
        # A second node adds 0.5 to R = 1; of a growing lock delay of 0.3 at n = 16 nothing is left.
        (
            FLAT | {"redundancy.m_nu": 0.0, "redundancy.b_nu": 0.5, "lock_delay.m": 0.02, "lock_delay.b": -0.02},
            8.0,
            {"redundancy.m_nu": 1 / 1.5 - 1, "lock_delay.m": 0.7 - 1},
        ),
        (FLAT | {"redundancy.b": 1.2}, 8.0, {}),  # the work itself
        (FLAT | {"redundancy.m_ht": 0.1, "redundancy.b_ht": 0.2}, 8.0, {}),  # SMT threads share a core
        (FLAT | {"lock_delay.m": -0.01, "lock_delay.b": 0.3}, 8.0, {}),  # more threads wait less: no loss
        # Without it 16 threads were more than 16 times as fast.
        (FLAT | {"redundancy.b": 0.7, "redundancy.b_nu": 0.2}, 8.0, {}),
        (FLAT | {"lock_delay.b": 0.2}, 8.0, {}),  # what one thread has, too
    ],
)
def test_what_the_program_could_be_rid_of(elements, n_ht, expected):
    assert elements_without(elements, n_ht) == pytest.approx(expected)


def test_mean_change_ignores_what_has_no_time():
    assert mean_change(np.array([1.0, np.nan]), np.array([1.1, 2.0])) == pytest.approx(0.1)
    assert mean_change(np.array([np.nan]), np.array([1.0])) is None


def test_a_prediction_reads_like_a_profile(database):
    *_, answer = asked(database, "mpet")
    curves = predicted_scaling(answer)
    assert np.array_equal(curves.time_s, answer.time_s)
    assert np.array_equal(curves.curve(CURVE_NAMES[0]), answer.curves[CURVE_NAMES[0]])
    assert predicted_scaling(replace(answer, time_s=np.full(len(answer.n), np.nan))) is None
