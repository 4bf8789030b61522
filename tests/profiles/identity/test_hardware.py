"""Machines by the fingerprint of their hardware: one owner's are one whatever they are called, others' are not."""

import hashlib
import io
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.archive import ArchiveError, read_archive
from profiles.ingest.service import ingest
from profiles.models import Platform, Source
from tests.benchmarks.tarballs import good_files, pack, with_manifest
from tests.pages import user
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db
LAPTOP, SERVER = ("a" * 64, "b" * 64)


@pytest.fixture
def ada():
    return user("ada")


def delivered(owner, name: str, fingerprint: str, *, private: bool = True, seed: int = 1):
    measurements = replace(
        sample_measurements(1, 1, seed=seed), platforms=[sample_platform(1, name=name)], fingerprint=fingerprint
    )
    digest = hashlib.sha256(f"{name} {fingerprint} {owner} {private} {seed}".encode()).hexdigest()
    return ingest(measurements, kind="tarball", label="t.tar.gz", sha256=digest, owner=owner, private=private)


@pytest.mark.parametrize("private", [True, False])
def test_the_same_hardware_of_an_owner_is_one_machine_whatever_it_is_called(ada, private):
    delivered(ada, "J3 laptop", LAPTOP, private=private)
    Source.objects.update(created_at=timezone.now() - timedelta(minutes=5, seconds=10))
    second = delivered(ada, "host-17", LAPTOP, private=private)
    assert Platform.objects.get() == second.profiles[0].platform
    assert "The same machine as J3 laptop, measured 5 minutes ago" in second.warnings


def test_other_hardware_of_the_same_name_is_another_machine(ada):
    one, other = (delivered(ada, "host", fingerprint) for fingerprint in (LAPTOP, SERVER))
    assert one.profiles[0].platform != other.profiles[0].platform
    again = [delivered(ada, "host", fingerprint, seed=2).profiles[0].platform for fingerprint in (LAPTOP, SERVER)]
    assert again == [one.profiles[0].platform, other.profiles[0].platform]


def test_between_owners_the_name_decides_as_before(ada):
    first = delivered(ada, "aws/c7a.large", LAPTOP, private=False)
    bob = user("bob")
    assert delivered(bob, "aws/c7a.large", SERVER, private=False).profiles[0].platform == first.profiles[0].platform
    other = delivered(bob, "another", LAPTOP, private=False)
    assert other.profiles[0].platform != first.profiles[0].platform
    assert not [warning for warning in other.warnings if "The same machine" in warning]


def test_a_public_delivery_is_not_of_a_private_machine(ada):
    hidden = delivered(ada, "secret", LAPTOP)
    shown = delivered(ada, "shown", LAPTOP, private=False)
    assert shown.profiles[0].platform != hidden.profiles[0].platform
    assert "secret" not in str(shown.warnings)


def test_old_tarballs_have_none_and_are_matched_by_name(ada):
    names = [delivered(ada, "host", fingerprint).profiles[0].platform.pk for fingerprint in ("", LAPTOP, "")]
    assert len(set(names)) == 1


def test_only_the_owner_finds_a_machine_by_its_fingerprint(ada, client):
    machine = delivered(ada, "host", LAPTOP, private=False).profiles[0].platform
    address = f"/api/v1/platforms/?fingerprint={LAPTOP}"
    assert client.get(address).json()["results"] == []
    client.force_login(user("bob"))
    assert client.get(address).json()["results"] == []
    client.force_login(ada)
    assert [row["slug"] for row in client.get(address).json()["results"]] == [machine.slug]
    assert client.get(f"/api/v1/platforms/?fingerprint={SERVER}").json()["results"] == []


def test_a_tarball_may_have_one():
    files = good_files()
    assert read_archive(io.BytesIO(pack(with_manifest(files)))).fingerprint == ""
    assert not [text for text in read_archive(io.BytesIO(pack(with_manifest(files)))).warnings if "fingerprint" in text]
    files["platform.json"] = files["platform.json"].replace(b"{", b'{"fingerprint": "%s",' % LAPTOP.encode(), 1)
    assert read_archive(io.BytesIO(pack(with_manifest(files)))).fingerprint == LAPTOP
    files["platform.json"] = files["platform.json"].replace(LAPTOP.encode(), b"my machine")
    with pytest.raises(ArchiveError, match="fingerprint"):
        read_archive(io.BytesIO(pack(with_manifest(files))))
