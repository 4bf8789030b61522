import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse

from benchmarks.public_data.sparecores import stress_ng_workload
from benchmarks.stress_ng import stress_ng_versions
from tests.pages import text_of, twin_of
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


def of_version(version, *names, **options):
    deliver(measured([sample_platform(name=name) for name in names], [stress_ng_workload("cpu", version)]), **options)


def test_versions_are_counted_by_platforms_on_the_page_and_its_twin(client):
    of_version("0.15.06", "a")
    of_version("0.20.01", "b", "c")
    expected = [{"version": "0.20.01", "platforms": 2}, {"version": "0.15.06", "platforms": 1}]
    assert stress_ng_versions(NOBODY) == expected
    page = client.get(reverse("measure"))
    assert "Results here: version 0.20.01 on 2 machines, version 0.15.06 on 1 machine " in text_of(page)
    assert client.get(twin_of(page)).json()["stress_ng_versions"] == expected


def test_private_results_count_for_their_owner_alone():
    alice = get_user_model().objects.create_user("alice")
    of_version("0.99.99", "secret", owner=alice, private=True)
    assert stress_ng_versions(NOBODY) == []
    assert stress_ng_versions(alice) == [{"version": "0.99.99", "platforms": 1}]
