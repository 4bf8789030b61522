"""The pages that list platforms, workloads and profiles."""

import re

import pytest
from django.urls import reverse

from mpet_site.web.pages import page_of
from profiles.models import Platform, Price, Profile
from profiles.moderation import mark_outlier
from profiles.pages import lists
from tests.pages import store_public, text_of, twin_of
from tests.profiles.deliveries import deliver
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.fixture
def public():
    return store_public()


def test_search_filter_and_order_are_those_of_the_json_twin(client, public):
    page = client.get(reverse("platforms"))
    assert [row.profile_count for row in page.context["page"]] == [4, 4, 4]
    Platform.objects.filter(slug="machine-2").update(threads=8)
    query = {"search": "example machine", "architecture": "x86_64", "strange": "1"}
    for ordering, slugs in (
        ("-base_mhz", ["machine-2", "machine-1", "machine-0"]),
        ("threads,name", ["machine-2", "machine-0", "machine-1"]),
    ):
        page = client.get(reverse("platforms"), query | {"ordering": ordering})
        assert [row.slug for row in page.context["page"]] == slugs
        assert [row["slug"] for row in client.get(twin_of(page)).json()["results"]] == slugs


def test_a_filtered_list_says_how_many_it_found(client, public):
    for query, found in (
        ({}, 3),
        ({"search": "machine-1"}, 1),
        ({"search": "machine nothing"}, 0),
        ({"vendor": "example"}, 3),
        ({"vendor": "x"}, 0),
    ):
        page = client.get(reverse("platforms"), query)
        assert len(page.context["page"]) == found, query
        assert f"{found} machine{'s' * (found != 1)}" in text_of(page)


def test_an_impossible_order_or_page_shows_the_nearest_possible_and_says_so(client, public):
    page = client.get(reverse("workloads"), {"ordering": "password", "page": "99"})
    assert len(page.context["page"]) == 4
    assert "The value of ordering was not used. &#x27;password&#x27; is not one of: slug, name" in text_of(page)
    assert client.get(twin_of(page)).status_code == 200
    assert 'name="ordering"' not in page.content.decode()
    assert "was not used" not in text_of(client.get(reverse("workloads"), {"ordering": "-name"}))
    track_record = client.get(reverse("settled"), {"ordering": "password"})
    assert "The value of ordering was not used." in text_of(track_record)


WRONG = {"min_threads": "many", "max_threads": "-1", "min_memory_gib": "64 GB"}
WRONG |= {"max_memory_gib": "1e99", "device_class": "toaster"}


@pytest.mark.parametrize(("name", "value"), WRONG.items())
def test_a_value_that_is_none_of_a_filter_is_not_used_and_the_page_says_so(client, public, name, value):
    page = client.get(reverse("platforms"), {name: value, "search": "machine"})
    assert len(page.context["page"]) == 3
    assert f"The value of {name} was not used." in text_of(page)
    assert client.get(twin_of(page)).status_code == 200
    refused = client.get(reverse("api-platforms"), {name: value})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["name"] == name


@pytest.fixture
def cloud():
    """aws/a.small, aws/a.large, gcp/b.large and home/x, of 2, 16, 16 and unknown threads; two have a price."""
    sizes = {"aws/a.small": (2, 4), "aws/a.large": (16, 64), "gcp/b.large": (16, 32), "home": (None, None)}
    for place, (name, (threads, memory)) in enumerate(sizes.items()):
        Platform.objects.create(
            slug=name.replace("/", "-").replace(".", "-"),
            name=name,
            identity=str(place),
            spelling=str(place),
            n_max=threads or 1,
            threads=threads,
            memory_bytes=memory and memory << 30,
            architecture="aarch64" if "small" in name else "x86_64",
        )
    for slug, region in (("aws-a-small", "us-east-1"), ("aws-a-large", "eu-west-1"), ("aws-a-large", "us-east-1")):
        Price.objects.create(
            platform=Platform.objects.get(slug=slug),
            **{"amount": 1, "currency": "USD", "per": "hour", "kind": "on-demand", "region": region},
            **{"source": "test", "date": "2026-11-01"},
        )


CLOUD_FILTERS = [
    ({"provider": "aws"}, ["aws/a.large", "aws/a.small"]),
    ({"provider": "AWS", "architecture": "aarch64"}, ["aws/a.small"]),
    ({"provider": "aw"}, []),
    ({"provider": "home"}, []),
    ({"region": "us-east-1"}, ["aws/a.large", "aws/a.small"]),
    ({"region": "EU-west-1"}, ["aws/a.large"]),
    ({"min_threads": "3"}, ["aws/a.large", "gcp/b.large"]),
    ({"max_threads": "2"}, ["aws/a.small"]),
    ({"min_threads": "2", "max_threads": "16", "provider": "gcp"}, ["gcp/b.large"]),
    ({"min_memory_gib": "32"}, ["aws/a.large", "gcp/b.large"]),
    ({"max_memory_gib": "4.5"}, ["aws/a.small"]),
    ({"min_memory_bytes": str(32 << 30), "max_memory_bytes": str((64 << 30) - 1)}, ["gcp/b.large"]),
    ({"search": "large", "min_memory_gib": "33"}, ["aws/a.large"]),
]


@pytest.mark.parametrize(("query", "found"), CLOUD_FILTERS, ids=str)
def test_platforms_are_filtered_by_provider_region_size_and_architecture(client, cloud, query, found):
    page = client.get(reverse("platforms"), query)
    assert [row.name for row in page.context["page"]] == found
    twin = client.get(twin_of(page)).json()["results"]
    assert [(row["name"], row["provider"]) for row in twin] == [(name, name.split("/")[0]) for name in found]
    csv = client.get(page.context["csv"]).getvalue().decode().splitlines()
    assert [line.split(",")[1] for line in csv[1:]] == found


def test_the_form_of_platforms_keeps_and_offers_what_there_is(client, cloud):
    query = {"provider": "aws", "region": "eu-west-1", "min_threads": "4", "max_memory_gib": "128", "ordering": "-name"}
    page = client.get(reverse("platforms"), query)
    text = page.content.decode()
    for value in ("aws", "eu-west-1"):
        assert f'<option value="{value}" selected>{value}</option>' in text
    assert '<option value="gcp">gcp</option>' in text and 'value="home"' not in text
    assert re.search(r'name="min_threads"\s+value="4"', text) and re.search(
        r'name="max_memory_gib"\s+value="128"', text
    )
    assert '<input type="hidden" name="ordering" value="-name">' in text
    for label in ("Provider", "Region with a price", "vCPUs, from", "Memory in GiB, to", "64 GiB"):
        assert label in text_of(page)


def test_long_lists_have_pages_which_keep_the_filter(client):
    Platform.objects.bulk_create(
        Platform(
            slug=f"p{i:03}", name=f"{'aws' if i % 2 else 'gcp'}/p{i:03}", identity=str(i), spelling=str(i), n_max=1
        )
        for i in range(102)
    )
    page = client.get(reverse("platforms"), {"provider": "aws", "page": "2"})
    assert [row.slug for row in page.context["page"]] == ["p101"]
    assert "Page 2 of 2" in text_of(page)
    assert "provider=aws&amp;page=1" in page.content.decode()
    assert [row["slug"] for row in client.get(twin_of(page)).json()["results"]] == ["p101"]
    assert client.get(page.context["csv"]).getvalue().decode().count("aws/") == 51


def test_profiles_lists_them_all_and_filters_as_its_twin(client, public):
    page = client.get(reverse("profiles"))
    assert "12 profiles" in text_of(page)
    query = {"platform": "machine-1", "ordering": "-t1_s", "origin": "measured", "outlier": "false"}
    page = client.get(reverse("profiles"), query)
    rows = list(page.context["page"])
    assert len(rows) == 4
    assert {row.platform.slug for row in rows} == {"machine-1"}
    assert [row.t1_s for row in rows] == sorted((row.t1_s for row in rows), reverse=True)
    twin = client.get(twin_of(page)).json()["results"]
    assert [row["id"] for row in twin] == [str(row.uid) for row in rows]
    assert '<option value="machine-1" selected>machine-1</option>' in page.content.decode()


def test_profiles_can_be_searched_and_filtered(client, public):
    mark_outlier(public[0], "another program ran")
    simulated = sample_measurements(1, 1, origin="simulated", decomposed=False, counters=False)
    deliver(simulated, label="simulated", kind="simulator")
    for query, found in (
        ({"search": "machine-1 app0"}, 2),
        ({"search": "public.tar.gz"}, 12),
        ({"search": "simulated"}, 1),
        ({"search": "machine-1 machine-2"}, 0),
        ({"workload": "app0-section0"}, 4),
        ({"workload": "app0-section0", "platform": "machine-1"}, 1),
        ({"workload": "", "platform": ""}, 13),
        ({"platform": "no-such-platform"}, 0),
        ({"origin": "simulated"}, 1),
        ({"outlier": "true"}, 1),
        ({"outlier": "false"}, 12),
        ({"decomposed": "false"}, 1),
    ):
        page = client.get(reverse("profiles"), query)
        assert len(page.context["page"]) == found, query
        assert f"{found} profile" in text_of(page)
        assert client.get(twin_of(page)).json()["count"] == found


def test_where_platforms_are_many_a_slug_or_name_is_typed(client, public, monkeypatch):
    assert "Region" not in text_of(client.get(reverse("platforms"))), "no price is known"
    monkeypatch.setattr(lists, "MOST_CHOICES", 2)
    page = client.get(reverse("profiles"), {"workload": "app0/section0", "platform": "machine-1"})
    assert [profile.workload.slug for profile in page.context["page"]] == ["app0-section0"]
    text = page.content.decode()
    assert re.search(r'<input id="platform"\s+name="platform"\s+value="machine-1"', text)
    assert re.search(r'<label for="platform">\s*Machine\s*</label>', text)


def test_far_pages_of_profiles_have_the_rows_that_counting_finds(client, public, monkeypatch):
    monkeypatch.setattr(page_of, "__defaults__", (5, *page_of.__defaults__[1:]))
    seen = []
    for number in (1, 2, 3):
        page = client.get(reverse("profiles"), {"page": number, "ordering": "platform"})
        seen += [row.pk for row in page.context["page"]]
    assert seen == list(Profile.objects.order_by("platform__slug", "pk").values_list("pk", flat=True))


@pytest.mark.parametrize("name", ["profiles", "platforms", "workloads"])
def test_an_empty_database_says_what_to_do_and_has_no_filters(client, name):
    page = client.get(reverse(name))
    assert "upload the results" in text_of(page)
    assert 'name="search"' not in page.content.decode().split("<main")[1]


@pytest.mark.parametrize("name", ["platforms", "workloads", "profiles"])
@pytest.mark.parametrize("search", ["a " * 11, "a," * 1_900, "x" * 201])
def test_trust_4_a_search_of_too_many_words_says_so_and_asks_nothing(client, public, name, search):
    page = client.get(reverse(name), {"search": search})
    assert page.status_code == 400
    assert "A search has at most" in text_of(page)
    assert 'role="search"' in page.content.decode()
    assert not list(page.context["page"])
    assert len(client.get(reverse(name), {"search": "machine-1 " * 10}).context["page"]) == (name != "workloads") * (
        4 if name == "profiles" else 1
    )
