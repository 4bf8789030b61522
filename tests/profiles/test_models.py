import numpy as np
import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, transaction

from profiles.models import FeatureVector, Platform, Profile, Revision, Source, Workload

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


def test_emulated_sources_cannot_be_public():
    with pytest.raises(IntegrityError), transaction.atomic():
        Source.objects.create(kind="tarball", origin="emulated", label="x", sha256="0")


def test_arrays_come_back_as_they_were_with_their_invalid_elements():
    workload = Workload.objects.create(slug="w", identity="w", spelling="w", name="w")
    source = Source.objects.create(kind="tarball", origin="measured", label="x", sha256="0")
    profile = Profile.objects.create(
        platform=platform(), workload=workload, source=source, origin="measured", decomposed=False,
        n_measured=1, n_min=1, n_largest=1,
    )  # fmt: skip
    values = np.array([1.5, np.nan, -0.0, 1e-300])
    FeatureVector.objects.create(profile=profile, values=values, rms=values[:1], code_version="1")
    stored = FeatureVector.objects.get().values
    assert stored.tobytes() == values.tobytes()


def test_revisions_of_owners_and_of_the_public_rise_apart():
    alice = get_user_model().objects.create(username="alice")
    bob = get_user_model().objects.create(username="bob")
    assert Revision.current() == (0, 0)
    Revision.raise_for(None)
    Revision.raise_for(alice)
    assert Revision.raise_for(alice) == 2
    assert Revision.current() == (1, 0)
    assert Revision.current(alice) == (1, 2)
    assert Revision.current(bob) == (1, 0)


def test_sqlite_writes_ahead_and_waits_for_its_turn():
    if connection.vendor != "sqlite":
        pytest.skip("this is about SQLite")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] == 20000
