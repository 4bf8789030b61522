"""Curves taken apart, and what the known workloads explain, against the plain sums they stand for."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.hyperparameters import DEFAULTS
from predictor.core.mpet.kriging import separate_parts
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
    parts = separate_parts(evidence)
    workload = (evidence.curves - parts.speed[:, :, None] - parts.rest)[:, evidence.is_known].T
    which = np.nonzero(evidence.is_known)[1]
    for b in range(len(evidence.workloads)):
        np.testing.assert_allclose(workload[which == b], workload[which == b][:1].repeat((which == b).sum(), axis=0))
    assert not parts.rest[:, ~evidence.is_known].any()


def test_the_parts_have_no_mean_left(evidence):
    rest = separate_parts(evidence).rest
    np.testing.assert_allclose(rest.sum(axis=2), 0.0, atol=1e-9)
    np.testing.assert_allclose(rest.sum(axis=1), 0.0, atol=1e-3)  # by alternating means


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
