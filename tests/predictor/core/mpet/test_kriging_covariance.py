"""Covariances of pairs against the plain formula, platform by platform."""

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.metadata import platform_metadata
from predictor.core.mpet.gathering import gather_evidence
from predictor.core.mpet.hyperparameters import DEFAULTS
from predictor.core.mpet.kriging import (
    behaviour_covariances,
    metadata_covariance,
    nearness_weights,
    separate_parts,
)
from tests.predictor.core.curves import curve_database

h = DEFAULTS


@pytest.fixture(scope="module", params=[True, False], ids=["with a twin", "without"])
def known(request):
    """Platforms 2 k and 2 k + 1 are twins; without 7 the target 6 has none."""
    database = curve_database(8, 25, 12, missing=0.1, noise=0.02)
    references = tuple(p for p in range(25) if request.param or p != 7)
    evidence = gather_evidence(database, Query(4, 6, group=0, references=references))
    return evidence, platform_metadata(database), separate_parts(evidence)


def plain_on_paper(evidence, metadata):
    index = [*evidence.platforms, evidence.target]
    alike = np.empty((len(index), len(index)))
    twin = metadata.cpu[evidence.target] in metadata.cpu[evidence.platforms]
    for i, p in enumerate(index):
        for j, q in enumerate(index):
            alike[i, j] = h.metadata * np.exp(
                -((metadata.vectors[p] - metadata.vectors[q]) ** 2).sum() / h.metadata_length
            )
            same, related = (
                metadata.cpu[p] == metadata.cpu[q],
                metadata.microarchitecture[p] == metadata.microarchitecture[q],
            )
            alike[i, j] += (h.twin_cpu_model if twin else h.cpu_model) * same + h.twin_microarchitecture * (
                twin and related
            )
    return alike


def test_metadata_and_names(known):
    evidence, metadata, _ = known
    square = metadata_covariance(evidence)
    np.testing.assert_allclose(square, plain_on_paper(evidence, metadata), atol=1e-12)


def test_the_parts_of_the_covariance(known):
    evidence, metadata, parts = known
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
        expected += h.smooth * np.exp(-gap / h.smooth_length)
        expected += plain_on_paper(evidence, metadata)
        np.testing.assert_allclose(matrices[k], expected, atol=1e-6)
        np.testing.assert_allclose(distance[k], gap[-1, :-1], rtol=1e-6)
