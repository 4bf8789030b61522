"""What pages of profiles/ say about likeness, and to whom."""

from dataclasses import replace

import pytest
from django.urls import reverse

from predictor.comparisons.selection import neighbours_of
from profiles.ingest.service import ingest
from tests.pages import store_private, store_public, text_of, user
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db


def test_neighbours_come_by_rising_distance_with_the_workloads_that_both_have():
    store_public()
    neighbours = neighbours_of(None, "platforms", "machine-0")
    assert {neighbour.row.slug for neighbour in neighbours} == {"machine-1", "machine-2"}
    assert [neighbour.distance for neighbour in neighbours] == sorted(neighbour.distance for neighbour in neighbours)
    assert [neighbour.count for neighbour in neighbours] == [4, 4]


def test_private_machines_are_nobody_elses_neighbours(client):
    store_public()
    ada = user("ada")
    own = replace(sample_measurements(1, 4, seed=5), platforms=[sample_platform(7, name="secret-machine")])
    ingest(own, kind="tarball", label="own.tar.gz", sha256="9" * 64, owner=ada, private=True)
    address = reverse("platform", args=["machine-0"])
    assert "secret" not in text_of(client.get(address))
    client.force_login(user("eve"))
    assert "secret" not in text_of(client.get(address))
    client.force_login(ada)
    assert "secret-machine" in text_of(client.get(address))


def test_a_machine_that_shares_nothing_has_no_neighbours(client):
    store_public()
    ada = user("ada")
    profile = store_private(ada)[0]
    client.force_login(ada)
    assert "no distance" in text_of(client.get(reverse("platform", args=[profile.platform.slug])))
    assert neighbours_of(ada, "platforms", "never-was") == []
