import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from profiles.models import Platform, Profile, Revision
from tests.pages import store_private, store_public, text_of, user
from tests.profiles.test_moderation import deliver

pytestmark = pytest.mark.django_db


@pytest.fixture
def moderator(client) -> User:
    moderator = User.objects.create_superuser("moderator", password="x")
    client.force_login(moderator)
    return moderator


def merge(client, kept: str, *duplicates: Platform):
    fields = {"action": "merge", "kept": kept, "_selected_action": [row.pk for row in duplicates]}
    return client.post(reverse("admin:profiles_platform_changelist"), fields, follow=True)


def test_two_platforms_are_merged_by_the_slug_of_the_one_to_keep(client, moderator):
    deliver("first", 0), deliver("second", 1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    assert f"2 profiles moved to {kept.slug}" in text_of(merge(client, kept.slug, duplicate))
    assert client.get(reverse("platform", args=[kept.slug])).status_code == 200


def test_a_merge_that_cannot_be_says_why(client, moderator):
    deliver("both", 0, 1)
    first, second = Platform.objects.order_by("name")
    assert "not one machine" in text_of(merge(client, first.slug, second))
    assert "no public platform &#x27;nowhere&#x27;" in text_of(merge(client, "nowhere", second))
    assert second.profiles.count() == 2


def test_an_outlier_is_marked_with_its_reason_and_shown_with_a_badge(client, moderator):
    profile = store_public()[0]
    before = Revision.current()[0]
    address = reverse("admin:profiles_profile_change", args=[profile.pk])
    assert client.post(address, {"outlier_reason": "a backup ran"}).status_code == 302
    assert Revision.current()[0] == before + 1
    client.logout()
    page = client.get(reverse("profile", args=[profile.uid]))
    assert "Kept out of predictions: a backup ran" in page.content.decode()
    assert client.get(reverse("api-profile", args=[profile.uid])).json()["outlier_reason"] == "a backup ran"


def test_the_admin_shows_no_private_rows_and_makes_none(client, moderator):
    private = store_private(user("ada"))[0]
    for name in ("platform", "profile"):
        page = client.get(reverse(f"admin:profiles_{name}_changelist"))
        assert "secret" not in text_of(page)
        assert client.get(reverse(f"admin:profiles_{name}_add")).status_code == 403
    assert client.get(reverse("admin:profiles_profile_change", args=[private.pk])).status_code == 302
    assert Profile.objects.get().outlier_reason == ""


def test_the_admin_is_for_moderators(client):
    client.force_login(user("ada"))
    assert client.get(reverse("admin:profiles_platform_changelist")).url.startswith(reverse("admin:login"))
