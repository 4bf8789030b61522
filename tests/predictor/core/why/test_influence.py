"""What carried an answer, beside what the method says when it is truly left out."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.methods import get_method
from predictor.core.why.influence import candidate_shares, influences_on_answer, mean_change, predicted_scaling
from profiles.scaling.names import CURVE_NAMES
from tests.predictor.core.curves import curve_database

METHODS = ("mpet", "mpet-log", "mpet2020")


@pytest.fixture(scope="module")
def database():
    return curve_database(3, 14, 9)


def asked(database, name):
    method = get_method(name)
    query = Query(2, 5, group=0)
    return query, method, method.settings(), method.predict(database, query, method.settings())


@pytest.mark.parametrize("name", METHODS)
def test_shares_make_one(database, name):
    *_, answer = asked(database, name)
    for kind in ("reference", "workload"):
        found = candidate_shares(answer, kind)
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("name", METHODS)
def test_the_change_is_what_the_method_answers_without_it(database, name):
    query, method, settings, answer = asked(database, name)
    found = influences_on_answer(database, query, method, settings, answer)
    for one in found:
        if one.kind == "reference":
            view = database.without(database.platforms.index(one.name), query.workload)
        elif one.kind == "workload":
            view = database.without(query.target, database.workloads.index(one.name))
        else:
            continue
        expected = mean_change(answer.time_s, method.predict(view, query, settings).time_s)
        assert one.change == pytest.approx(expected, abs=1e-12)
    assert {one.kind for one in found} >= {"reference", "workload"}
    assert [sum(one.kind == kind for one in found) for kind in ("reference", "workload")] == [3, 3]


def test_shares_alone_cost_no_prediction(database):
    query, method, settings, answer = asked(database, "mpet2020")

    def refuse(*_):
        raise AssertionError("asked")

    found = influences_on_answer(database, query, replace(method, predict=refuse), settings, answer, leave_out=False)
    assert {one.change for one in found if one.kind != "element"} == {None}


def test_a_reference_that_is_alone_leaves_nothing(database):
    query, method, settings, _ = asked(database, "mpet-log")
    query = replace(query, references=(7,))
    answer = method.predict(database, query, settings)
    alone = next(
        one for one in influences_on_answer(database, query, method, settings, answer) if one.kind == "reference"
    )
    assert (alone.name, alone.share, alone.change) == (database.platforms[7], pytest.approx(1), None)


def test_elements_are_those_that_change_the_last_time_most(database):
    query, method, settings, answer = asked(database, "mpet")
    named = [one for one in influences_on_answer(database, query, method, settings, answer) if one.kind == "element"]
    assert {one.name for one in named} <= {"redundancy.m", "redundancy.b"}
    changes = [abs(one.change) for one in named]
    assert changes == sorted(changes, reverse=True)
    # R(16) = 16 m + b, so that without m only b / (16 m + b) of the time remains (Eq. 3, U = 1)
    m, b = answer.features[:2]
    by_name = {one.name: one.change for one in named}
    if b > 0:
        assert by_name["redundancy.m"] == pytest.approx(b / (16 * m + b) - 1)


def test_mean_change_ignores_what_has_no_time():
    assert mean_change(np.array([1.0, np.nan]), np.array([1.1, 2.0])) == pytest.approx(0.1)
    assert mean_change(np.array([np.nan]), np.array([1.0])) is None


def test_a_prediction_reads_like_a_profile(database):
    *_, answer = asked(database, "mpet")
    curves = predicted_scaling(answer)
    assert np.array_equal(curves.time_s, answer.time_s)
    assert np.array_equal(curves.curve(CURVE_NAMES[0]), answer.curves[CURVE_NAMES[0]])
    assert predicted_scaling(replace(answer, time_s=np.full(len(answer.n), np.nan))) is None
