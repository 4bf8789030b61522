"""Two profiles of one pair, and two workloads of one name, can be told apart wherever they are listed."""

import re

import pytest
from django.urls import reverse

from profiles.ingest import ingest
from profiles.models import Platform, Source, Workload
from tests.pages import text_of
from tests.samples import sample_measurements, sample_workload

pytestmark = pytest.mark.django_db
FROM_PROFILES = re.compile(r'^SELECT (?!1 ).*"profiles_source"."label".* FROM "profiles_profile" ')


def store_measured(label, seed, **workload):
    measurements = sample_measurements(1, 1, seed=seed)
    measurements.workloads[:] = [sample_workload(0, **workload)]
    ingest(measurements, kind="tarball", label=label, sha256=str(seed) * 64, owner=None, private=False)


@pytest.fixture
def pages():
    store_measured("first.tar.gz", 1)
    store_measured("again.tar.gz", 2)
    workload, platform = Workload.objects.get(), Platform.objects.get()
    return [
        reverse("profiles"),
        reverse("platform", args=[platform.slug]),
        reverse("workload", args=[workload.slug]),
    ]


def test_a_pair_that_was_measured_twice_names_both_deliveries(client, pages):
    days = {f"{source.created_at:%Y-%m-%d}" for source in Source.objects.all()}
    for address in pages:
        words = text_of(client.get(address))
        assert "first.tar.gz" in words, address
        assert "again.tar.gz" in words, address
        assert all(day in words for day in days), address


def test_the_delivery_is_read_with_its_row_and_without_its_long_texts(client, pages, django_assert_max_num_queries):
    store_measured("third.tar.gz", 3)
    for address in pages:
        with django_assert_max_num_queries(20) as captured:
            client.get(address)
        rows = [query["sql"] for query in captured.captured_queries if FROM_PROFILES.search(query["sql"])]
        assert rows, address
        assert not any('"profiles_source"."log"' in sql for sql in rows), address


def test_workloads_of_one_name_say_their_input(client):
    store_measured("full.tar.gz", 1, input="4096 x 4096")
    store_measured("quick.tar.gz", 2, input="256 x 256")
    platform = Platform.objects.get()
    for address in (reverse("workloads"), reverse("profiles"), reverse("platform", args=[platform.slug])):
        words = text_of(client.get(address))
        assert "4096 x 4096" in words, address
        assert "256 x 256" in words, address
