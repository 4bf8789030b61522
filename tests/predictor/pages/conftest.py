import pytest

from profiles.models import Profile
from tests.pages import store_public
from tests.predictor.conftest import rows_of_module, store
from tests.samples import sample_measurements


@pytest.fixture(scope="module")
def public_rows(django_db_setup, django_db_blocker):
    with rows_of_module(django_db_blocker):
        store_public()
        yield


@pytest.fixture
def public(public_rows, db) -> list[Profile]:
    """Store four public workloads on each of three platforms. Returns the profiles."""
    return list(Profile.objects.order_by("pk"))


@pytest.fixture(scope="module")
def kit_rows(django_db_setup, django_db_blocker):
    with rows_of_module(django_db_blocker):
        store(sample_measurements(3, 6), label="kit")
        yield


@pytest.fixture
def kit(kit_rows, db) -> None:
    """Store three platforms with six workloads each, as the kit measures them."""
