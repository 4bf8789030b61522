import pytest

from tests.mpet_site.api_samples import client_of, make_user
from tests.predictor.conftest import store
from tests.samples import sample_measurements


@pytest.fixture
def ada():
    """Return an API client with a token that may predict."""
    return client_of(make_user("ada"), scope="predict")


@pytest.fixture
def database():
    """Store three platforms with six workloads each."""
    return store(sample_measurements(3, 6))
