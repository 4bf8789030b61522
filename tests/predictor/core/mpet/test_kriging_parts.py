"""Curves taken apart, and what the known workloads explain, against the plain sums they stand for."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.mpet import kriging
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.hyperparameters import DEFAULTS
from predictor.core.mpet.kriging import expected_rests, separate_parts
from predictor.core.mpet.process import unexplained_gain
from tests.predictor.core.curves import curve_database

TRUSTING = replace(DEFAULTS, clip=1e6)  # no error is too large


@pytest.fixture(scope="module")
def evidence():
    return gather_evidence(curve_database(8, 25, 12, missing=0.1, noise=0.02), Query(4, 6, group=0))


def test_correlations_are_those_of_the_deviations(evidence):
    parts = separate_parts(evidence)
    columns = np.append(parts.rest[:, :-1], parts.own[:, :, None], axis=2)
    columns = (columns - columns.mean(axis=1, keepdims=True)).reshape(-1, columns.shape[2])
    expected = columns.T @ columns / np.outer(*[np.sqrt((columns**2).sum(axis=0))] * 2)
    np.testing.assert_allclose(parts.correlations(), expected[-1, :-1], atol=1e-6)


def test_the_parts_make_up_the_curves(evidence):
    parts = separate_parts(evidence, fill_gaps=False)
    workload = (evidence.curves - parts.speed[:, :, None] - parts.rest)[:, evidence.is_known].T
    which = np.nonzero(evidence.is_known)[1]
    for b in range(len(evidence.workloads)):
        np.testing.assert_allclose(workload[which == b], workload[which == b][:1].repeat((which == b).sum(), axis=0))
    assert not parts.rest[:, ~evidence.is_known].any()


def test_the_parts_have_no_mean_left(evidence):
    rest = separate_parts(evidence, fill_gaps=False).rest
    np.testing.assert_allclose(rest.sum(axis=2), 0.0, atol=1e-9)
    np.testing.assert_allclose(rest.sum(axis=1), 0.0, atol=1e-3)  # by alternating means


def test_known_rests_stay_and_missing_ones_are_expected(evidence):
    measured, filled = separate_parts(evidence, fill_gaps=False).rest, separate_parts(evidence).rest
    assert (~evidence.is_known).any()
    np.testing.assert_array_equal(filled[:, evidence.is_known], measured[:, evidence.is_known])
    assert filled[:, ~evidence.is_known].all()


def half_empty_rests(rank, share, seed):
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 40)) + np.zeros((3, 1, 1))
    return rest, rng.random((20, 40)) >= share


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_missing_rests_are_the_conditional_mean_by_their_own_covariance(share, monkeypatch):
    rest, is_known = half_empty_rests(2, share, seed=3)
    monkeypatch.setattr(kriging, "GAP_ROUNDS", 2000)
    monkeypatch.setattr(kriging, "GAP_TOLERANCE", 1e-9)
    filled = expected_rests(rest * is_known, is_known)
    C = np.einsum("jpb,jqb->pq", filled, filled)
    K = C + np.eye(20) * C.trace() / 20
    for b in range(40):
        known, gaps = np.flatnonzero(is_known[:, b]), np.flatnonzero(~is_known[:, b])
        expected = C[np.ix_(gaps, known)] @ np.linalg.solve(K[np.ix_(known, known)], rest[:, known, b].T)
        np.testing.assert_allclose(filled[:, gaps, b], expected.T, atol=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_rests_of_a_half_empty_table_come_back(seed):
    rest, is_known = half_empty_rests(2, 0.5, seed)
    errors = (expected_rests(rest * is_known, is_known) - rest)[:, ~is_known]
    assert (errors**2).mean() < 0.2 * (rest[:, ~is_known] ** 2).mean()


def test_no_rest_at_all_is_left_as_it_is():
    assert not expected_rests(np.zeros((2, 3, 4)), np.eye(3, 4, dtype=bool)).any()


def test_what_the_workloads_explain_is_a_ridge_regression():
    rng = np.random.default_rng(5)
    J, R, B = 3, 8, 4
    X, on_target = rng.normal(size=(J, R, B)), rng.normal(size=(J, B))
    y = X @ rng.normal(size=B) + 0.1 * rng.normal(size=(J, R))
    gain = unexplained_gain(X, y, on_target, TRUSTING)
    scale = np.sqrt((X**2).mean(axis=(0, 1)))
    A = (X / scale).reshape(-1, B)
    coefficients = np.linalg.solve(A.T @ A + TRUSTING.ridge * J * R * np.eye(B), A.T @ y.ravel())
    np.testing.assert_allclose(gain, on_target / scale @ coefficients)
