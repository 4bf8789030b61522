import pytest

from tests.pages import store_public
from tests.predictor.conftest import store
from tests.samples import sample_measurements


@pytest.fixture
def public(db):
    """Store four public workloads on each of three platforms. Returns the profiles."""
    return store_public()


@pytest.fixture
def kit(db):
    """Store three platforms with six workloads each, as the kit measures them."""
    store(sample_measurements(3, 6), label="kit")
