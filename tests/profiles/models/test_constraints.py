"""What the database refuses, whoever writes to it."""

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from profiles.models import CounterReading, Platform, Profile, Run, Source, Workload
from tests.profiles.deliveries import deliver, measured

pytestmark = pytest.mark.django_db


def platform(**fields) -> Platform:
    values = {"slug": "p", "identity": "p", "spelling": "p", "name": "p", "cpu_model": "cpu", "n_max": 4}
    return Platform(**(values | fields))


def workload(**fields) -> Workload:
    return Workload(**({"name": "x", "slug": "x", "identity": "x"} | fields))


def source(**fields) -> Source:
    return Source(**({"kind": "tarball", "origin": "measured", "label": "x", "sha256": "0"} | fields))


def run(profile, **fields) -> Run:
    return Run(**({"profile": profile, "n": 1, "repeat": 9, "pass_kind": "clean", "time_s": 1.0} | fields))


def copy_of(profile) -> Profile:
    names = ("platform", "workload", "source", "origin", "decomposed", "n_measured", "n_min", "n_largest")
    return Profile(**{name: getattr(profile, name) for name in names})


@pytest.mark.parametrize(
    "row",
    [
        copy_of,
        lambda profile: run(profile, n=0),
        lambda profile: run(profile, time_s=0.0),
        lambda profile: run(profile, repeat=1),
        lambda profile: CounterReading(profile=profile, n=1, repeat=1, counter="INSTR"),
        lambda profile: source(sha256=profile.source.sha256),
        lambda profile: source(origin="emulated"),
        lambda profile: platform(identity=profile.platform.identity),
        lambda profile: platform(sockets=0),
        lambda profile: platform(numa_nodes=0),
        lambda profile: platform(physical_cores=0),
        lambda profile: platform(n_max=0),
        lambda profile: platform(physical_cores=8, threads=4),
        lambda profile: platform(n_nu=8, n_ht=8),
        lambda profile: workload(identity=profile.workload.identity),
        lambda profile: workload(strategy="magic"),
        lambda profile: workload(slug=profile.workload.slug),
    ],
)
def test_an_impossible_row_is_refused(row):
    profile = deliver(measured()).profiles[0]
    with pytest.raises(IntegrityError), transaction.atomic():
        row(profile).save()


def test_one_public_row_an_identity_and_one_more_for_each_owner():
    alice = get_user_model().objects.create(username="alice")
    platform(slug="a").save()
    platform(slug="b", private_to=alice).save()
    for owner in (None, alice):
        with pytest.raises(IntegrityError), transaction.atomic():
            platform(slug="c", private_to=owner).save()
