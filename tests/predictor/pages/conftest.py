import pytest

from profiles.models import Profile
from tests.pages import store_public
from tests.predictor.conftest import module_rows, store
from tests.samples import sample_measurements

public_rows = module_rows(store_public)


@pytest.fixture
def public(public_rows, db) -> list[Profile]:
    """Store four public workloads on each of three platforms. Returns the profiles."""
    return list(Profile.objects.order_by("pk"))


kit_rows = module_rows(lambda: store(sample_measurements(3, 6), label="kit"))


@pytest.fixture
def kit(kit_rows, db) -> None:
    """Store three platforms with six workloads each, as the kit measures them."""
