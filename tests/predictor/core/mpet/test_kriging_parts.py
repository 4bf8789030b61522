"""Curves taken apart, and what the known workloads explain, against the plain sums they stand for."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.mpet import kriging
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.hyperparameters import DEFAULTS
from predictor.core.mpet.kriging import complete_curves, expected_rests, separate_parts, unexplained_gain
from tests.predictor.core.curves import curve_database

TRUSTING = replace(DEFAULTS, clip=1e6)  # no error is too large


@pytest.fixture(scope="module")
def evidence():
    return gather_evidence(curve_database(8, 25, 12, missing=0.1, noise=0.02), Query(4, 6, group=0))


def test_correlations_are_those_of_the_deviations(evidence):
    parts = separate_parts(evidence)
    columns = np.append(parts.rest[:, :-1], parts.residual[:, :, None], axis=2)
    columns = (columns - columns.mean(axis=1, keepdims=True)).reshape(-1, columns.shape[2])
    expected = columns.T @ columns / np.outer(*[np.sqrt((columns**2).sum(axis=0))] * 2)
    np.testing.assert_allclose(parts.correlations(), expected[-1, :-1], atol=1e-6)


def test_the_parts_make_up_the_curves(evidence):
    parts = separate_parts(evidence)
    workload = (evidence.curves - parts.speed[:, :, None] - parts.rest)[:, evidence.is_known].T
    which = np.nonzero(evidence.is_known)[1]
    for b in range(len(evidence.workloads)):
        np.testing.assert_allclose(workload[which == b], workload[which == b][:1].repeat((which == b).sum(), axis=0))
    assert not parts.rest[:, ~evidence.is_known].any()


def test_the_parts_have_no_mean_left(evidence):
    rest = separate_parts(evidence).rest
    np.testing.assert_allclose(rest.sum(axis=2), 0.0, atol=1e-9)
    np.testing.assert_allclose(rest.sum(axis=1), 0.0, atol=1e-5)


def test_the_parts_are_the_least_squares_fit(evidence):
    rng = np.random.default_rng(1)
    is_known = evidence.is_known & (rng.random(evidence.is_known.shape) < 0.3)
    is_known[:, 0] = is_known[0] = True
    half_empty = replace(evidence, is_known=is_known, curves=evidence.curves * is_known)
    p, b = np.nonzero(is_known)
    design = np.zeros((len(p), sum(is_known.shape)))
    design[np.arange(len(p)), p] = design[np.arange(len(p)), is_known.shape[0] + b] = 1.0
    expected = [z[p, b] - design @ np.linalg.lstsq(design, z[p, b], rcond=None)[0] for z in half_empty.curves]
    rest = separate_parts(half_empty).rest
    np.testing.assert_allclose(rest[:, p, b], expected, atol=1e-5)


def test_platforms_without_a_chain_of_common_workloads_are_separated_apart(evidence):
    """The first platforms know the first workloads, the others the rest: each half as if it were alone."""
    P, B = evidence.is_known.shape
    is_known = (np.arange(P) < 10)[:, None] == (np.arange(B) < 5)
    parts = separate_parts(replace(evidence, is_known=is_known, curves=evidence.curves * is_known))
    halves = [evidence.curves[:, :10, :5], evidence.curves[:, 10:, 5:]]
    for half, speed in zip(halves, (parts.speed[:, :10], parts.speed[:, 10:]), strict=True):
        expected = half.mean(axis=2)
        np.testing.assert_allclose(np.diff(speed), np.diff(expected), atol=1e-4)
    assert np.abs(parts.speed).max() < 100.0


def test_known_curves_stay_and_missing_ones_are_expected(evidence):
    completed = complete_curves(evidence)
    assert (~evidence.is_known).any()
    assert completed.is_known.all()
    np.testing.assert_array_equal(completed.curves[:, evidence.is_known], evidence.curves[:, evidence.is_known])
    assert completed.curves[:, ~evidence.is_known].all()


def half_empty_rests(rank, share, seed):
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 40)) + np.zeros((3, 1, 1))
    return rest, rng.random((20, 40)) >= share


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("counts", [3, 6])  # of many counts, some make the covariance
def test_missing_rests_are_the_conditional_mean_by_their_own_covariance(share, counts, monkeypatch):
    rest, is_known = half_empty_rests(2, share, seed=3)
    rest = rest[:1] * np.linspace(1.0, 2.0, counts)[:, None, None]
    monkeypatch.setattr(kriging, "GAP_TOLERANCE", 1e-9)
    filled = expected_rests(rest * is_known, is_known, rounds=3000, count=30)
    every = 1 if counts == 3 else 2
    whole = expected_rests((rest * is_known)[::every], is_known, rounds=3000, count=40)
    C = np.einsum("jpb,jqb->pq", whole, whole)
    K = C + np.eye(20) * C.trace() / 40
    assert filled.shape == (counts, 20, 30)
    for b in range(30):
        known, gaps = np.flatnonzero(is_known[:, b]), np.flatnonzero(~is_known[:, b])
        expected = C[np.ix_(gaps, known)] @ np.linalg.solve(K[np.ix_(known, known)], rest[:, known, b].T)
        np.testing.assert_allclose(filled[:, gaps, b], expected.T, atol=1e-4)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_rests_of_a_half_empty_table_come_back(seed):
    rest, is_known = half_empty_rests(2, 0.5, seed)
    errors = (expected_rests(rest * is_known, is_known, rounds=48, count=40) - rest)[:, ~is_known]
    assert (errors**2).mean() < 0.1 * (rest[:, ~is_known] ** 2).mean()


def test_no_rest_at_all_is_left_as_it_is():
    assert not expected_rests(np.zeros((2, 3, 4)), np.eye(3, 4, dtype=bool), rounds=48, count=4).any()


def test_what_the_workloads_explain_is_a_ridge_regression():
    rng = np.random.default_rng(5)
    J, R, B = 3, 8, 4
    X, on_target = rng.normal(size=(J, R, B)), rng.normal(size=(J, B))
    y = X @ rng.normal(size=B) + 0.1 * rng.normal(size=(J, R))
    prior = np.array([1.0, 17.0, 5.0, 1.0])
    gain = unexplained_gain(X, y, on_target, prior, TRUSTING)
    scale = np.sqrt((X**2).mean(axis=(0, 1)))
    A = (X / scale).reshape(-1, B)
    coefficients = np.linalg.solve(A.T @ A + TRUSTING.ridge * J * R * np.diag(1.0 / prior), A.T @ y.ravel())
    np.testing.assert_allclose(gain, on_target / scale @ coefficients)
