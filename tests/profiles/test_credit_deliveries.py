"""Of rows that were stored before descriptions were kept, the earliest delivery that can be seen said it all."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model

from profiles.models import Platform, PlatformDescription, Source, Workload, WorkloadDescription
from profiles.moderation import set_hidden
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
credit_deliveries = import_module("profiles.migrations.0011_credit_deliveries").credit_deliveries


def credited() -> Platform:
    """The public platform after the migration of rows that know nothing of descriptions."""
    for model in (PlatformDescription, WorkloadDescription):
        model.objects.all().delete()
    for model in (Platform, Workload):
        model.objects.update(facts_by="")
    Source.objects.update(deliverer="")
    credit_deliveries(apps, None)
    return Platform.objects.get(private_to=None)


def test_the_earliest_delivery_said_what_is_known():
    alice, bob = (get_user_model().objects.create_user(name) for name in ("alice", "bob"))
    first = deliver(measured([sample_platform(vendor="Alice")]), owner=alice).source
    deliver(measured([sample_platform(vendor="Bob")]), owner=bob)
    deliver(measured([sample_platform(9, name="own")]), owner=bob, private=True)
    platform = credited()
    assert (platform.vendor, platform.facts_by) == ("Alice", f"user:{alice.pk}")
    assert set(Platform.objects.filter(private_to=bob).values_list("facts_by", flat=True)) == {f"user:{bob.pk}"}
    assert set(Source.objects.values_list("deliverer", flat=True)) == {f"user:{user.pk}" for user in (alice, bob)}
    deliver(measured([sample_platform(vendor="Bob")]), owner=bob)
    platform.refresh_from_db()
    assert platform.vendor == "Alice"
    set_hidden(first, True)
    platform.refresh_from_db()
    assert (platform.vendor, platform.facts_by) == ("Bob", f"user:{bob.pk}")
    set_hidden(first, False)
    platform.refresh_from_db()
    assert platform.vendor == "Alice"


def test_a_hidden_delivery_is_passed_over():
    alice = get_user_model().objects.create_user("alice")
    set_hidden(deliver(owner=alice).source, True)
    deliver()
    assert credited().facts_by == "operator"


def test_a_platform_without_profiles_came_in_a_dataset_of_the_operator():
    Platform.objects.create(slug="bare", identity="bare", spelling="bare", name="bare", n_max=4)
    assert credited().facts_by == "operator"
    assert not PlatformDescription.objects.exists()
