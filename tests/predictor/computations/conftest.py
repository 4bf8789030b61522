"""Fixtures: a small database, and a ranking that waits to be computed."""

from dataclasses import replace

import pytest

from predictor.computations.asking import ask
from predictor.models import Computation
from predictor.predictions.rankings import RankingQuestion
from tests.mpet_site.api_samples import store
from tests.samples import sample_measurements, sample_platform

WORKLOAD = "app0-section0"


@pytest.fixture
def database():
    return store(sample_measurements(3, 6))


def store_more():
    """Store another platform, which is a new revision."""
    return store(replace(sample_measurements(1, 6, seed=4), platforms=[sample_platform(9)]), label="more")


@pytest.fixture
def waiting(database, started):
    ask(RankingQuestion.of(WORKLOAD), None)
    return Computation.objects.get()
