import pytest

from profiles.models import Profile
from tests.pages import store_public
from tests.predictor.conftest import module_rows

public_rows = module_rows(store_public)


@pytest.fixture
def public(public_rows, db) -> list[Profile]:
    """Store four public workloads on each of three platforms. Returns the profiles."""
    return list(Profile.objects.order_by("pk"))
