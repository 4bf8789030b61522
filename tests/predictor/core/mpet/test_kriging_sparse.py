"""Sparse tables: what references lack is expected from platforms and workloads that take no other part."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.methods import METHODS, Query
from predictor.core.mpet.gathering import gather_evidence, wider_table
from predictor.core.mpet.kriging import complete_curves
from tests.predictor.core.curves import COUNTS, curve_arrays, without_rows

MPET = METHODS["mpet"]
PLATFORMS, WORKLOADS, A, T = 60, 30, 2, 0
REFERENCES = np.arange(1, 9)  # that have A


def sparse_arrays(seed, share=0.2):
    """T and eight references have A; these know a fifth of the workloads, the others all."""
    rng = np.random.default_rng(seed)
    arrays = curve_arrays(seed, PLATFORMS, WORKLOADS, missing=0.0)
    p, w = arrays["platform_index"], arrays["workload_index"]
    is_reference = np.isin(p, REFERENCES)
    lacking = is_reference & (w != A) & (rng.random(len(p)) >= share)
    return without_rows(arrays, lacking | ((w == A) & ~is_reference & (p != T)))


def times_changed(arrays, rows, factor):
    """The arguments with the curves of these profiles times a factor."""
    time_s = np.array(arrays["curve_time_s"]).reshape(len(rows), -1)
    time_s[rows] *= factor
    return arrays | {"curve_time_s": time_s.ravel()}


def errors_of_what_is_expected(seed, references=None):
    """Of what the references lack, in ln t, root mean square."""
    whole = curve_arrays(seed, PLATFORMS, WORKLOADS, missing=0.0)
    truth = np.log(np.array(whole["curve_time_s"]).reshape(PLATFORMS, WORKLOADS, len(COUNTS)) * COUNTS)
    evidence = gather_evidence(Database.build(**sparse_arrays(seed)), Query(A, T, references=references))
    expected = complete_curves(evidence)
    missing = expected.rows[:, :-1] < 0
    errors = expected.curves - truth[np.append(expected.platforms, T)][:, expected.workloads].transpose(2, 0, 1)
    return float(np.sqrt((errors[:, missing] ** 2).mean()))


def test_others_tell_most_of_what_references_lack():
    """In ln t, over ten databases: 0.25 where references alone leave 0.45."""
    alone = [errors_of_what_is_expected(seed, tuple(REFERENCES.tolist())) for seed in range(10)]
    with_others = [errors_of_what_is_expected(seed) for seed in range(10)]
    assert np.mean(with_others) < 0.6 * np.mean(alone)
    assert np.mean(with_others) < 0.27


def test_the_wider_table_begins_with_the_evidence():
    evidence = gather_evidence(Database.build(**sparse_arrays(1)), Query(A, T))
    curves, is_known = wider_table(evidence)
    J, P, B = evidence.curves.shape
    assert curves.shape == (J, PLATFORMS, B)  # no further workloads: T has all
    np.testing.assert_array_equal(curves[:, :P], evidence.curves)
    np.testing.assert_array_equal(is_known[:P], evidence.is_known)
    assert not curves[:, ~is_known].any()


def test_further_workloads_of_the_references_are_in_it_but_not_a():
    arrays = sparse_arrays(1, share=0.6)
    lacking = (arrays["platform_index"] == T) & (arrays["workload_index"] >= 18) & (arrays["workload_index"] != A)
    evidence = gather_evidence(Database.build(**without_rows(arrays, lacking)), Query(A, T))
    curves, _ = wider_table(evidence)
    assert curves.shape[2] == WORKLOADS - 1


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_what_is_expected_does_not_depend_on_a(share):
    """Or the references, each left out to calibrate the interval, would know what they are asked."""
    arrays = sparse_arrays(2, share)
    database, other = (
        Database.build(**times_changed(arrays, arrays["workload_index"] == A, factor)) for factor in (1.0, 7.0)
    )
    expected, changed = (complete_curves(gather_evidence(some, Query(A, T))).curves for some in (database, other))
    np.testing.assert_array_equal(expected, changed)


def test_platforms_that_may_not_be_used_are_not():
    arrays = sparse_arrays(3)
    chosen = tuple(range(20))
    query = Query(A, T, n=COUNTS, references=chosen)
    others = ~np.isin(arrays["platform_index"], chosen)
    answers = [
        MPET.predict(Database.build(**times_changed(arrays, others, factor)), query, MPET.settings())
        for factor in (1.0, np.exp(np.random.default_rng(1).normal(size=(others.sum(), 1))))
    ]
    assert answers[0].time_s.tolist() == answers[1].time_s.tolist()
    everyone = MPET.predict(Database.build(**arrays), replace(query, references=None), MPET.settings())
    assert answers[0].time_s.tolist() != everyone.time_s.tolist()


def test_candidates_were_measured():
    arrays = sparse_arrays(4)
    measured = {
        (arrays["platforms"][p], arrays["workloads"][w])
        for p, w in zip(arrays["platform_index"], arrays["workload_index"], strict=True)
    }
    answer = MPET.predict(Database.build(**arrays), Query(A, T, n=COUNTS), MPET.settings())
    candidates = answer.candidates_t1 + answer.candidates_scaling
    assert candidates
    assert {(one.platform, one.workload) for one in candidates} <= measured


def test_an_absurd_profile_of_another_platform_changes_little():
    arrays = sparse_arrays(5)
    absurd = (arrays["platform_index"] == 40) & (arrays["workload_index"] == 11)
    query = Query(A, T, n=COUNTS)
    right, wrong = (
        MPET.predict(Database.build(**times_changed(arrays, absurd, factor)), query, MPET.settings()).time_s
        for factor in (1.0, np.exp(9.0))
    )
    np.testing.assert_allclose(wrong, right, rtol=0.03)


def test_many_shared_workloads_need_no_wider_table(monkeypatch):
    arrays = curve_arrays(6, 12, 80, missing=0.1)
    monkeypatch.setattr("predictor.core.mpet.kriging.wider_table", None)  # a call would fail
    evidence = gather_evidence(Database.build(**arrays), Query(A, T))
    assert not evidence.is_known.all()
    assert complete_curves(evidence).is_known.all()


def test_a_reference_that_ran_few_workloads_needs_no_wider_table(monkeypatch):
    """One's own machine alone: T's other workloads take no part, and the few that are left have no gaps."""
    arrays = sparse_arrays(7)
    others = np.isin(arrays["platform_index"], REFERENCES[1:]) & (arrays["workload_index"] == A)
    evidence = gather_evidence(Database.build(**without_rows(arrays, others)), Query(A, T))
    assert not evidence.is_known.all()
    monkeypatch.setattr("predictor.core.mpet.kriging.wider_table", None)  # a call would fail
    assert complete_curves(evidence).is_known.all()
