"""Workloads of one name and other inputs: pages and reports tell them apart."""

import pytest
from django.urls import reverse

from profiles.models import Workload
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_workload

pytestmark = pytest.mark.django_db
LARGE, SMALL = "4096x4096", "256x256"


@pytest.fixture
def both():
    return [deliver(measured(workloads=[sample_workload(input=size)])) for size in (LARGE, SMALL)]


def text_of(client, address: str) -> str:
    return client.get(address, follow=True).content.decode()


def test_lists_and_forms_show_both_inputs(client, both):
    platform = both[0].profiles[0].platform
    for address in (
        reverse("workloads"),
        reverse("profiles"),
        reverse("platform", args=[platform.slug]),
        reverse("predict"),
        reverse("compare-workloads"),
    ):
        words = text_of(client, address)
        assert LARGE in words and SMALL in words, address


def test_the_page_of_a_profile_shows_its_own_input(client, both):
    for result, size in zip(both, (LARGE, SMALL), strict=True):
        heading = text_of(client, reverse("profile", args=[result.profiles[0].uid])).partition("<h1>")[2]
        assert f"<small>{size}</small>" in heading.partition("</h1>")[0]


def test_the_report_says_which_is_new(both):
    assert not [warning for warning in both[0].warnings if "of its own" in warning]
    (said,) = [warning for warning in both[1].warnings if "of its own" in warning]
    assert said.startswith("workload 'app0/section0' is known with another input") and SMALL in said
    assert Workload.objects.filter(name="app0/section0").count() == 2


def test_it_is_said_once_and_not_of_what_the_deliverer_does_not_see(django_user_model, both):
    again = deliver(measured(workloads=[sample_workload(input=SMALL)]))
    assert not [warning for warning in again.warnings if "of its own" in warning]
    owner = django_user_model.objects.create_user("owner")
    deliver(measured(workloads=[sample_workload(6, input=LARGE)]), owner=owner, private=True)
    other = deliver(measured(workloads=[sample_workload(6, input=SMALL)]))
    assert not [warning for warning in other.warnings if "of its own" in warning]
