import pytest

from tests.mpet_site.api_samples import client_of, make_user
from tests.predictor.conftest import rows_of_module, store
from tests.samples import sample_measurements


@pytest.fixture
def ada():
    """Return an API client with a token that may predict."""
    return client_of(make_user("ada"), scope="predict")


@pytest.fixture(scope="module")
def kit_rows(django_db_setup, django_db_blocker):
    with rows_of_module(django_db_blocker):
        store(sample_measurements(3, 6))
        yield


@pytest.fixture
def database(kit_rows, db) -> None:
    """Store three platforms with six workloads each."""
