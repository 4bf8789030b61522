import pytest

from tests.mpet_site.api_samples import client_of, make_user
from tests.predictor.conftest import module_rows, store
from tests.samples import sample_measurements


@pytest.fixture
def ada():
    """Return an API client with a token that may predict."""
    return client_of(make_user("ada"), scope="predict")


kit_rows = module_rows(lambda: store(sample_measurements(3, 6)))


@pytest.fixture
def database(kit_rows, db) -> None:
    """Store three platforms with six workloads each."""
