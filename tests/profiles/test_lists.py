"""The pages that list platforms, workloads and profiles."""

import re

import pytest
from django.urls import reverse

from mpet_site.web.pages import page_of
from profiles import lists
from profiles.models import Platform, Profile
from profiles.moderation import mark_outlier
from tests.pages import store_public, text_of, twin_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def public():
    return store_public()


def test_platforms_lists_what_was_measured_with_the_number_of_profiles(client, public):
    page = client.get(reverse("platforms"))
    assert [row.profile_count for row in page.context["page"]] == [4, 4, 4]
    assert "3 platforms" in text_of(page)


def test_search_filter_and_order_are_those_of_the_json_twin(client, public):
    query = {"search": "example machine", "architecture": "x86_64", "ordering": "-base_mhz", "strange": "1"}
    page = client.get(reverse("platforms"), query)
    assert [row.base_mhz for row in page.context["page"]] == [2200, 2100, 2000]
    twin = client.get(twin_of(page))
    assert twin.status_code == 200
    assert [row["slug"] for row in twin.json()["results"]] == [row.slug for row in page.context["page"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"search": "machine-1"}, 1),
        ({"search": "machine nothing"}, 0),
        ({"vendor": "example"}, 3),
        ({"vendor": "x"}, 0),
    ],
)
def test_a_filtered_list_says_how_many_it_found(client, public, query, found):
    page = client.get(reverse("platforms"), query)
    assert len(page.context["page"]) == found
    assert f"{found} platform" in text_of(page)


def test_an_impossible_order_or_page_shows_the_nearest_possible(client, public):
    page = client.get(reverse("workloads"), {"ordering": "password", "page": "99"})
    assert len(page.context["page"]) == 4


def test_long_lists_have_pages(client):
    Platform.objects.bulk_create(
        Platform(slug=f"p{i:03}", name=f"p{i:03}", identity=str(i), spelling=str(i), n_max=1) for i in range(51)
    )
    second = client.get(reverse("platforms"), {"page": 2})
    assert [row.slug for row in second.context["page"]] == ["p050"]
    assert "Page 2 of 2" in text_of(second)
    assert client.get(twin_of(second)).json()["results"][0]["slug"] == "p050"


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


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"search": "machine-1 app0"}, 2),
        ({"search": "public.tar.gz"}, 12),
        ({"search": "machine-1 machine-2"}, 0),
        ({"workload": "app0-section0"}, 3),
        ({"origin": "simulated"}, 0),
        ({"outlier": "true"}, 1),
        ({"decomposed": "false"}, 0),
    ],
)
def test_profiles_can_be_searched_and_filtered(client, public, query, found):
    mark_outlier(public[0], "another program ran")
    page = client.get(reverse("profiles"), query)
    assert len(page.context["page"]) == found
    assert f"{found} profile" in text_of(page)


def test_where_platforms_are_many_a_slug_is_typed(client, public, monkeypatch):
    monkeypatch.setattr(lists, "MOST_CHOICES", 2)
    page = client.get(reverse("profiles"), {"platform": "machine-1"}).content.decode()
    assert re.search(r'<input id="platform"\s+name="platform"\s+value="machine-1"', page)


def test_far_pages_of_profiles_have_the_rows_that_counting_finds(client, public, monkeypatch):
    monkeypatch.setattr(page_of, "__defaults__", (5, *page_of.__defaults__[1:]))
    seen = []
    for number in (1, 2, 3):
        page = client.get(reverse("profiles"), {"page": number, "ordering": "platform"})
        seen += [row.pk for row in page.context["page"]]
    assert seen == list(Profile.objects.order_by("platform__slug", "pk").values_list("pk", flat=True))


def test_an_empty_database_says_what_to_do(client):
    assert "Upload results" in text_of(client.get(reverse("profiles")))
    assert "Upload results" in text_of(client.get(reverse("platforms")))
    assert "Upload results" in text_of(client.get(reverse("workloads")))


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
