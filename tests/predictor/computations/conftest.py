"""Fixtures: a small database, and a ranking that waits to be computed."""

import pytest

from predictor.computations.asking import ask
from predictor.models import Computation
from predictor.predictions.rankings import RankingQuestion
from tests.mpet_site.api_samples import store
from tests.samples import sample_measurements

WORKLOAD = "app0-section0"


@pytest.fixture
def database():
    return store(sample_measurements(3, 6))


@pytest.fixture
def waiting(database, started):
    ask(RankingQuestion.of(WORKLOAD), None)
    return Computation.objects.get()
