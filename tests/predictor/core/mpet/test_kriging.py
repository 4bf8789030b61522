"""Kriging against the plain formulas: the bordered system, the parts of curves, covariances, and the nearest."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.metadata import platform_metadata
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.hyperparameters import DEFAULTS, Hyperparameters
from predictor.core.mpet.kriging import (
    behaviour_covariances,
    gaussian_transfer,
    mean_with_neighbours,
    metadata_covariance,
    nearness_weights,
    noise_of_outliers,
    ordinary_weights,
    separate_parts,
    unexplained_gain,
)
from predictor.core.mpet.method import MpetSettings, evidence_with_parts
from predictor.core.numerics import invert_definite, left_out_errors, noisy_inverses
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database, with_times

TRUSTING = Hyperparameters(clip=1e6)  # no error is too large
h = DEFAULTS


def covariances(rng, K, R):
    F = rng.normal(size=(K, R + 1, 3 * R))
    return F @ F.transpose(0, 2, 1) / (3 * R)


def bordered_weights(C, noise):
    R = len(C) - 1
    border = np.ones((R + 1, R + 1))
    border[:-1, :-1], border[-1, -1] = C[:-1, :-1] + np.diag(noise), 0.0
    return np.linalg.solve(border, np.append(C[:-1, -1], 1.0))[:-1]


@pytest.mark.parametrize("R", [9, 45])
def test_weights_solve_the_bordered_system(R):
    rng = np.random.default_rng(1)
    C, noise = covariances(rng, 3, R), 0.1 * rng.random((3, R))
    weights, _, projections = ordinary_weights(noisy_inverses(C, noise), C)
    np.testing.assert_allclose(weights, [bordered_weights(C[k], noise[k]) for k in range(3)], atol=1e-9)
    np.testing.assert_allclose(projections @ np.ones(R), 0.0, atol=1e-8)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("R", [1, 40, 356])
def test_inverses_keep_their_digits_however_many_references_there_are(R):
    """Platforms in families nearly alike, as in a real database: inverting by halves fails here."""
    rng = np.random.default_rng(R)
    F = np.repeat(rng.normal(size=(R + 1, 8)), 6, axis=0)[: R + 1] + 0.01 * rng.normal(size=(R + 1, 8))
    C, noise = F @ F.T, np.full(R, 0.02)
    weights, _, _ = ordinary_weights(noisy_inverses(C[None], noise), C[None])
    np.testing.assert_allclose(weights[0], bordered_weights(C, noise), atol=1e-8)


@pytest.mark.parametrize("R", [12, 45])
def test_an_outlying_reference_gets_the_noise_that_its_residual_has_beyond_the_usual(R):
    """Its left-out variance, less its own noise, is what the others alone give it."""
    rng = np.random.default_rng(2)
    C, y, noise = np.eye(R + 1)[None], 0.1 * rng.normal(size=(1, R)), np.full((1, R), 0.01)
    C[0, 3, -1] = C[0, -1, 3] = 0.9
    y[0, 3] = 50.0
    added = noise_of_outliers(noisy_inverses(C, noise), y)
    assert np.flatnonzero(added).tolist() == [3]
    (trusting, _, plain), (wary, _, inflated) = (
        ordinary_weights(noisy_inverses(C, noise + more), C) for more in (0.0, added)
    )
    assert abs(wary[0, 3]) < 0.5 * abs(trusting[0, 3])
    plain, inflated = (left_out_errors(Q, Q @ y[:, :, None], np.arange(R))[1] for Q in (plain, inflated))
    assert inflated[0, 3] > 2 * plain[0, 3]
    np.testing.assert_allclose(inflated[0, 3] - added[0, 3], plain[0, 3], rtol=1e-6)


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
    both = noise_of_outliers(noisy_inverses(C, noise), values)
    assert not both[0].any()
    assert both[1, 4] > 0
    alone = noise_of_outliers(noisy_inverses(C[1:], noise[1:]), values[1:])
    np.testing.assert_allclose(both[1:], alone, atol=1e-9)


# --- Curves taken apart, and what the known workloads explain ---


@pytest.fixture(scope="module")
def evidence():
    return gather_evidence(curve_database(8, 25, 12, missing=0.1, noise=0.02), Query(4, 6, group=0))


def test_correlations_are_those_of_the_deviations(evidence):
    parts = separate_parts(evidence)
    columns = np.append(parts.rest[:, :-1], parts.residual[:, :, None], axis=2)
    columns = (columns - columns.mean(axis=1, keepdims=True)).reshape(-1, columns.shape[2])
    expected = columns.T @ columns / np.outer(*[np.sqrt((columns**2).sum(axis=0))] * 2)
    np.testing.assert_allclose(parts.correlations(), expected[-1, :-1], atol=1e-6)


def test_the_parts_are_the_least_squares_fit(evidence):
    is_known = evidence.is_known & (np.random.default_rng(1).random(evidence.is_known.shape) < 0.3)
    is_known[:, 0] = is_known[0] = True
    half_empty = replace(evidence, is_known=is_known, curves=evidence.curves * is_known)
    p, b = np.nonzero(is_known)
    design = np.zeros((len(p), sum(is_known.shape)))
    design[np.arange(len(p)), p] = design[np.arange(len(p)), is_known.shape[0] + b] = 1.0
    expected = [z[p, b] - design @ np.linalg.lstsq(design, z[p, b], rcond=None)[0] for z in half_empty.curves]
    rest = separate_parts(half_empty).rest
    np.testing.assert_allclose(rest[:, p, b], expected, atol=1e-5)
    assert not rest[:, ~is_known].any()


def test_platforms_without_a_chain_of_common_workloads_are_separated_apart(evidence):
    """The first platforms know the first workloads, the others the rest: each half as if it were alone."""
    P, B = evidence.is_known.shape
    is_known = (np.arange(P) < 10)[:, None] == (np.arange(B) < 5)
    parts = separate_parts(replace(evidence, is_known=is_known, curves=evidence.curves * is_known))
    halves = [evidence.curves[:, :10, :5], evidence.curves[:, 10:, 5:]]
    for half, speed in zip(halves, (parts.speed[:, :10], parts.speed[:, 10:]), strict=True):
        np.testing.assert_allclose(np.diff(speed), np.diff(half.mean(axis=2)), atol=1e-4)
    assert np.abs(parts.speed).max() < 100.0


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


# --- Covariances of pairs, platform by platform ---


@pytest.fixture(scope="module", params=[True, False], ids=["with a twin", "without"])
def known(request):
    """Platforms 2 k and 2 k + 1 are twins; without 7 the target 6 has none."""
    database = curve_database(8, 25, 12, missing=0.1, noise=0.02)
    references = tuple(p for p in range(25) if request.param or p != 7)
    evidence = gather_evidence(database, Query(4, 6, group=0, references=references))
    return evidence, separate_parts(evidence), plain_on_paper(evidence, platform_metadata(database))


def plain_on_paper(evidence, metadata):
    index = [*evidence.platforms, evidence.target]
    alike = np.empty((len(index), len(index)))
    twin = metadata.cpu[evidence.target] in metadata.cpu[evidence.platforms]
    for i, p in enumerate(index):
        for j, q in enumerate(index):
            gap = ((metadata.vectors[p] - metadata.vectors[q]) ** 2).sum()
            same = metadata.cpu[p] == metadata.cpu[q]
            related = metadata.microarchitecture[p] == metadata.microarchitecture[q]
            alike[i, j] = h.metadata * np.exp(-gap / h.metadata_length)
            alike[i, j] += (h.twin_cpu_model if twin else h.cpu_model) * same
            alike[i, j] += h.twin_microarchitecture * (twin and related)
    return alike


def test_the_parts_of_the_covariance(known):
    evidence, parts, on_paper = known
    np.testing.assert_allclose(metadata_covariance(evidence), on_paper, atol=1e-12)
    weights = np.linspace(0.5, 1.5, len(evidence.workloads))
    knots = np.concatenate([np.full((1, len(evidence.n)), 1.0 / len(evidence.n)), nearness_weights(evidence.log_n)])
    matrices, distance = behaviour_covariances(parts, weights, metadata_covariance(evidence), knots)
    shape = (parts.speed - parts.speed.mean(axis=0)).T
    for k, near in enumerate(knots):
        vectors = parts.rest * weights * np.sqrt(near / len(weights))[:, None, None]
        vectors = vectors.transpose(1, 0, 2).reshape(len(shape), -1)
        gap = np.array([((vectors - one) ** 2).sum(axis=1) for one in vectors])
        gap += np.array([((shape - one) ** 2).mean(axis=1) for one in shape])
        gap /= np.median(gap[:-1, :-1][np.tri(len(gap) - 1, k=-1, dtype=bool)])
        linear = vectors @ vectors.T
        expected = h.linear * linear / np.diag(linear)[:-1].mean() + h.short * np.exp(-np.sqrt(gap / h.short_length))
        expected += h.smooth * np.exp(-gap / h.smooth_length) + on_paper
        np.testing.assert_allclose(matrices[k], expected, atol=1e-6)
        np.testing.assert_allclose(distance[k], gap[-1, :-1], rtol=1e-6)


# --- The process of the nearest references beside the one of all ---

A, T = 5, 3


def transfers(database, target=T):
    evidence, parts = evidence_with_parts(database, Query(A, target), MpetSettings())
    wide = gaussian_transfer(evidence, parts, 0.9)
    return wide, mean_with_neighbours(wide, evidence, parts, 0.9)


@pytest.mark.parametrize(("platforms", "one_process"), [(33, True), (34, False)])
def test_with_few_references_there_is_one_process(platforms, one_process):
    wide, both = transfers(curve_database(1, platforms, 9, missing=0.0))
    assert (both is wide) == one_process


@pytest.mark.parametrize("seed", [3, 4])
def test_the_answer_is_a_mean_of_both_and_the_interval_is_wider_as_they_differ(seed):
    wide, both = transfers(curve_database(seed, 90, 12, noise=0.05, missing=0.0))
    np.testing.assert_allclose(both.platform_weights.sum(axis=1), 1.0)
    beyond = np.argsort(wide.platform_distance)[3 * DEFAULTS.neighbours // 2 :]
    share = both.platform_weights[:, beyond] / wide.platform_weights[:, beyond]
    np.testing.assert_allclose(share, share[0, 0])  # of those not near only what they weigh among all
    assert 0.3 < share[0, 0] < 0.7
    for name in ("platform_distance", "workload_distance"):
        np.testing.assert_allclose(getattr(both, name), getattr(wide, name))
    departs = both.value - wide.value
    assert (np.abs(departs) > 1e-6).any()
    np.testing.assert_allclose(both.half_width, np.hypot(wide.half_width, departs), rtol=1e-9)


@pytest.mark.lab
def test_what_holds_among_the_nearest_alone_is_found():
    """A behaves like workload 0 on platforms of one kind, and like workload 1 on those of the other."""
    rng, platforms = np.random.default_rng(7), 96
    arrays = curve_arrays(7, platforms, 10, missing=0.0)
    own, kind = rng.normal(size=(platforms, 10)) * 0.2, np.arange(platforms) % 2
    own[:, 2:5] += 0.8 * kind[:, None]  # tells the kinds apart
    own[:, A] = own[np.arange(platforms), kind]
    level = own + rng.normal(size=platforms)[:, None] + rng.normal(size=10)
    time_s = np.exp(level)[:, :, None] / np.array(COUNTS) * (1 + 0.1 * np.log(COUNTS))
    database = Database.build(**with_times(arrays, time_s))
    errors = [[abs(one.value[0] - level[target, A]) for one in transfers(database, target)] for target in range(40)]
    wide, both = np.mean(errors, axis=0)
    assert both < 0.9 * wide
