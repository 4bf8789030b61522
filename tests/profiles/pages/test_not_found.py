import pytest
from django.urls import reverse

from profiles.models import Platform
from profiles.moderation import merge_platforms
from tests.pages import store_private, store_public, text_of
from tests.profiles.test_moderation import deliver

pytestmark = pytest.mark.django_db


def test_a_mistyped_address_leads_to_those_that_look_alike(client):
    store_public()
    for path, suggested in (
        ("/platforms/machin-1/", 'href="/platforms/machine-1/"'),
        ("/workloads/app0-secton0/", "app0/section0"),
        ("/platform/", 'href="/platforms/"'),
    ):
        page = client.get(path)
        assert page.status_code == 404
        assert suggested in page.content.decode().partition("<main")[2]
    assert "There is no such machine" in text_of(client.get("/platforms/machin-1/"))
    for path in ("/platforms/zzzzzzzzzz/", "/xyzzy-plugh/", "/a/b/c/d/e/f/"):
        assert "Did you mean" not in text_of(client.get(path))


def test_private_rows_are_suggested_to_their_owner_alone(client, ada):
    private = store_private(ada)[0].platform
    address = f"/platforms/{private.slug[:-1]}/"
    assert "secret" not in text_of(client.get(address))
    client.force_login(ada)
    assert "secret-machine" in text_of(client.get(address))


def test_the_address_of_a_merged_platform_leads_to_the_one_that_stands(client):
    deliver(0), deliver(1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    merge_platforms(duplicate, kept)
    for view in ("platform", "api-platform"):
        answer = client.get(f"{reverse(view, args=[duplicate.slug])}?format=json")
        assert (answer.status_code, answer["Location"].split("?")[0]) == (301, reverse(view, args=[kept.slug]))
    assert answer["Location"].endswith("?format=json"), "the API keeps the query"
    Platform.objects.filter(pk=kept.pk).update(hidden=True)
    assert client.get(reverse("api-platform", args=[duplicate.slug])).status_code == 404


def test_suggestions_take_a_fixed_number_of_queries(client, django_assert_num_queries):
    store_public()
    # the platform, whether it was merged or published under another slug, names to compare, the rows that look alike
    with django_assert_num_queries(5):
        client.get("/platforms/machin-1/")
