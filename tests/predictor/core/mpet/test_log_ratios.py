"""Intervals of transfers by ratios: known workloads, asked for as if T lacked them, tell how wrong an answer may be."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.core.mpet import ratios
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.parts import separate_parts
from predictor.core.mpet.ratios import MOST_CHECKED_WORKLOADS, AskedWorkloads, log_transfer, small_transfer
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database

WORKLOAD, TARGET = 2, 4


def evidence_of(database):
    return gather_evidence(database, Query(WORKLOAD, TARGET, n=COUNTS))


@pytest.fixture(scope="module")
def database():
    return curve_database(8, 14, 10, missing=0.0, noise=0.03)


@pytest.fixture
def seen(monkeypatch):
    """What every transfer made of A and of the workloads it was checked with."""
    found = []
    carried = ratios._carried_values

    def noted(asked, u, of_speed):
        found.append((asked, *carried(asked, u, of_speed)))
        return found[-1][1:]

    monkeypatch.setattr(ratios, "_carried_values", noted)
    return found


def transferred(kind, database, evidence, level=0.9, parts=None):
    if kind == "small":
        return small_transfer(evidence, level)
    return log_transfer(evidence, parts or separate_parts(evidence), level)


BOTH = pytest.mark.parametrize("kind", ["log", "small"])


@BOTH
def test_a_checked_workload_is_predicted_without_what_is_known_of_it_on_the_target(kind, database, seen):
    """Its curve on T, however absurd, does not move its own prediction; it moves those of the others."""
    evidence = evidence_of(database)
    parts = separate_parts(evidence)
    curves = evidence.curves.copy()
    curves[:, -1, 3] += 2.0
    for one in (evidence, replace(evidence, curves=curves)):
        transferred(kind, database, one, parts=parts)
    (asked, value, _), (_, moved, _) = seen
    at = 1 + asked.checked.tolist().index(3)
    np.testing.assert_allclose(moved[at], value[at], rtol=1e-9)
    assert (np.abs(np.delete(moved - value, at, axis=0)).max(axis=1) > 1e-6).all()


@BOTH
def test_a_checked_workload_is_predicted_like_one_that_is_asked_for(kind, database, seen):
    """As if (T,A) and (T,b) had never been measured and b were asked for. Only what tells workloads from
    platforms is a little different, for b was known when that was learned."""
    evidence = evidence_of(database)
    transferred(kind, database, evidence)
    asked, value, _ = seen[0]
    checked = [evidence.workloads[at] for at in asked.checked]
    for at, workload in enumerate(checked, start=1):
        view = database.without(TARGET, WORKLOAD)
        alone = gather_evidence(view, Query(int(workload), TARGET, n=COUNTS))
        expected = transferred(kind, view, alone).value
        measured = np.log(np.array(COUNTS) * database.curve(database.lookup(TARGET, workload, 0))[1])
        assert np.abs(value[at] - expected).max() < 0.1 * np.abs(expected - measured).max() + 0.01


@BOTH
def test_the_interval_is_the_quantile_of_the_checked_errors(kind, database, seen):
    evidence = evidence_of(database)
    found = transferred(kind, database, evidence, level=0.7)
    asked, value, deviation = seen[0]
    assert len(asked.checked) == 9
    scores = np.abs(value[1:] - evidence.curves[:, -1].T[asked.checked]) / deviation[1:]
    factor = np.sort(scores.ravel())[int(np.ceil(46 * 0.7)) - 1]
    np.testing.assert_allclose(found.half_width, factor * deviation[0])


def test_workloads_are_checked_where_a_reference_has_them_and_another_of_the_targets():
    """w0 is on T alone, w1 on a reference that shares nothing else: neither can be asked for."""
    arrays = curve_arrays(8, 6, 7, missing=0.0)
    p, w = (np.array(arrays[name]) for name in ("platform_index", "workload_index"))
    there = ((w != 0) | (p == TARGET)) & ((w != 1) | np.isin(p, (0, TARGET))) & ((p != 0) | np.isin(w, (1, WORKLOAD)))
    rows = np.flatnonzero(there)
    for name in ("platform_index", "workload_index", "group", "t1_s", "features"):
        arrays[name] = np.asarray(arrays[name])[rows]
    arrays["curve_time_s"] = arrays["curve_time_s"].reshape(-1, len(COUNTS))[rows].ravel()
    arrays["curve_n"], arrays["curve_offsets"] = np.tile(COUNTS, len(rows)), len(COUNTS) * np.arange(len(rows) + 1)
    evidence = evidence_of(Database.build(**arrays))
    asked = AskedWorkloads.choose(evidence)
    assert evidence.workloads[asked.checked].tolist() == [3, 4, 5, 6]
    assert asked.is_measured.tolist() == [[True] * 5, *[[False] + [True] * 4] * 4]


def test_many_workloads_are_checked_by_some_of_them():
    evidence = evidence_of(curve_database(8, 6, 60, missing=0.0))
    asked = AskedWorkloads.choose(evidence)
    assert MOST_CHECKED_WORKLOADS // 2 < len(asked.checked) <= MOST_CHECKED_WORKLOADS
    assert asked.checked[-1] - asked.checked[0] > 40


def test_correlations_of_known_workloads_are_those_of_their_deviations(database):
    evidence = evidence_of(database)
    parts = separate_parts(evidence, far_off=np.inf)
    rest = parts.rest[:, :-1]
    rest = (rest - rest.mean(axis=1, keepdims=True)).reshape(-1, rest.shape[2])
    expected = rest.T @ rest / np.outer(*[np.sqrt((rest**2).sum(axis=0))] * 2)
    np.testing.assert_allclose(parts.correlations(np.array([5, 1]))[1:], expected[[5, 1]], atol=1e-6)


@pytest.mark.parametrize("method", ["mpet", "mpet-log"])
@pytest.mark.parametrize("known", [1, 2, 3])
def test_with_hardly_a_known_workload_there_is_still_an_interval(method, known):
    database = curve_database(8, 9, 6, missing=0.0)
    view = database.without(TARGET, np.setdiff1d(np.arange(6), [0, 1, 3][:known]))
    answer = METHODS[method].predict(view, Query(WORKLOAD, TARGET, n=COUNTS), METHODS[method].settings())
    assert (answer.low_s < answer.time_s).all()
    assert np.isfinite(answer.high_s).all()
