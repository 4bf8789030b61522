"""Kriging against the bordered system it stands for."""

import numpy as np
import pytest

from predictor.core.mpet.hyperparameters import Hyperparameters
from predictor.core.mpet.kriging import krige, ordinary_weights
from predictor.core.mpet.transfer import downward_shift
from predictor.core.numerics import invert_definite, left_out_errors, noisy_inverses

TRUSTING = Hyperparameters(robust=1e6)  # no value is an outlier


def covariances(rng, K, R):
    F = rng.normal(size=(K, R + 1, 3 * R))
    return F @ F.transpose(0, 2, 1) / (3 * R)


@pytest.mark.parametrize("R", [9, 45])
def test_weights_solve_the_bordered_system(R):
    rng = np.random.default_rng(1)
    C, y, noise = covariances(rng, 3, R), rng.normal(size=(3, R)), 0.1 * rng.random((3, R))
    kriged = krige(C, y, noise, TRUSTING)
    for k in range(3):
        border = np.ones((R + 1, R + 1))
        border[:-1, :-1], border[-1, -1] = C[k, :-1, :-1] + np.diag(noise[k]), 0.0
        expected = np.linalg.solve(border, np.append(C[k, :-1, -1], 1.0))[:-1]
        np.testing.assert_allclose(kriged.weights[k], expected, atol=1e-9)
        np.testing.assert_allclose(kriged.weights[k] @ y[k], expected @ y[k], atol=1e-9)
        np.testing.assert_allclose(kriged.projections[k] @ np.ones(R), 0.0, atol=1e-8)
    np.testing.assert_allclose(kriged.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("R", [12, 45])
def test_an_outlying_reference_counts_less(R):
    rng = np.random.default_rng(2)
    C, y, noise = np.eye(R + 1)[None], 0.1 * rng.normal(size=(1, R)), np.full((1, R), 0.01)
    C[0, 3, -1] = C[0, -1, 3] = 0.9
    y[0, 3] = 50.0
    weight = [abs(krige(C, y, noise, h).weights[0, 3]) for h in (TRUSTING, Hyperparameters())]
    assert weight[1] < 0.5 * weight[0]


def test_noise_for_being_outlying_can_be_told_from_the_variance_it_adds():
    """An outlier's left-out variance, less its own noise, is what the others alone give it."""
    rng = np.random.default_rng(2)
    C, y, noise = np.eye(13)[None], 0.1 * rng.normal(size=(1, 12)), np.full((1, 12), 0.01)
    y[0, 3] = 50.0
    trusting, wary = (krige(C, y, noise, h) for h in (TRUSTING, Hyperparameters()))
    assert not trusting.added.any()
    assert np.flatnonzero(wary.added).tolist() == [3]
    plain, inflated = (
        left_out_errors(one.projections, one.projections @ y[:, :, None], np.arange(12))[1] for one in (trusting, wary)
    )
    assert inflated[0, 3] > 2 * plain[0, 3]
    np.testing.assert_allclose(inflated[0, 3] - wary.added[0, 3], plain[0, 3], rtol=1e-6)


@pytest.mark.parametrize("R", [1, 40, 356])
def test_inverses_keep_their_digits_however_many_references_there_are(R):
    """Platforms in families nearly alike, as in a real database: inverting by halves fails here."""
    rng = np.random.default_rng(R)
    F = np.repeat(rng.normal(size=(R + 1, 8)), 6, axis=0)[: R + 1] + 0.01 * rng.normal(size=(R + 1, 8))
    C, y = (F @ F.T)[None], rng.normal(size=(1, R))
    weights = krige(C, y, np.full((1, R), 0.02), TRUSTING).weights[0]
    border = np.ones((R + 1, R + 1))
    border[:-1, :-1], border[-1, -1] = C[0, :-1, :-1] + 0.02 * np.eye(R), 0.0
    np.testing.assert_allclose(weights, np.linalg.solve(border, np.append(C[0, :-1, -1], 1.0))[:-1], atol=1e-8)


def test_the_answer_is_lower_by_a_share_of_the_variance():
    lower = downward_shift(np.array([0.01, 0.25, 100.0]), Hyperparameters(shift=0.7, most_shift=0.35))
    np.testing.assert_allclose(lower, [0.007, 0.175, 0.35])


def test_a_matrix_that_is_not_definite_is_inverted_all_the_same():
    rng = np.random.default_rng(3)
    C = covariances(rng, 1, 45)
    C[0, 0, 0] = -1.0
    assert np.isfinite(ordinary_weights(noisy_inverses(C, 0.02), C)[0]).all()


@pytest.mark.parametrize("last", [4.0, -4.0])
def test_what_is_not_definite_is_inverted_in_the_usual_way(last):
    matrix = np.diag([2.0, last])
    invert_definite(matrix)
    np.testing.assert_allclose(matrix, [[0.5, 0.0], [0.0, 1 / last]])


def test_each_covariance_has_its_own_values():
    """Several at once, as each by itself."""
    rng = np.random.default_rng(6)
    C, values, noise = covariances(rng, 2, 15), rng.normal(size=(2, 15)), np.full((2, 15), 0.05)
    values[1, 4] = 40.0
    both = krige(C, values, noise)
    each = [krige(C[j : j + 1], values[j : j + 1], noise[j : j + 1]) for j in range(2)]
    for name in ("weights", "variance", "projections", "scale", "added"):
        np.testing.assert_allclose(getattr(both, name), np.concatenate([getattr(one, name) for one in each]), atol=1e-9)
    assert both.added[1, 4] > 0
