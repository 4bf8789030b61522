"""What the database refuses of platforms."""

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from profiles.models import Platform

pytestmark = pytest.mark.django_db


def platform(**fields) -> Platform:
    values = {"slug": "p", "identity": "p", "spelling": "p", "name": "p", "cpu_model": "cpu", "n_max": 4}
    return Platform.objects.create(**(values | fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"sockets": 0},
        {"numa_nodes": 0},
        {"physical_cores": 0},
        {"n_max": 0},
        {"physical_cores": 8, "threads": 4},
        {"n_nu": 8, "n_ht": 8},
    ],
)
def test_the_database_refuses_an_impossible_topology(fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        platform(**fields)


def test_one_public_row_an_identity_and_one_more_for_each_owner():
    alice = get_user_model().objects.create(username="alice")
    platform(slug="a")
    platform(slug="b", private_to=alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        platform(slug="c")
    with pytest.raises(IntegrityError), transaction.atomic():
        platform(slug="d", private_to=alice)
