import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from profiles.identity.matching import RULES
from profiles.models import Platform, Profile, Revision, Workload
from tests.pages import store_private, store_public, text_of
from tests.profiles.test_moderation import deliver

pytestmark = pytest.mark.django_db


@pytest.fixture
def moderator(client) -> User:
    moderator = User.objects.create_superuser("moderator", password="x")
    client.force_login(moderator)
    return moderator


def merge(client, kept: str, *duplicates: Platform):
    fields = {"action": "merge", "kept": kept, "reason": "one machine"}
    fields |= {"_selected_action": [row.pk for row in duplicates]}
    return client.post(reverse("admin:profiles_platform_changelist"), fields, follow=True)


def test_two_platforms_are_merged_by_the_slug_of_the_one_to_keep_or_it_says_why_not(client, moderator):
    deliver(0, 1), deliver(2, seed=2)
    kept, second, duplicate = Platform.objects.order_by("name")
    assert "different machines" in text_of(merge(client, kept.slug, second))
    assert "no public machine with the slug &#x27;nowhere&#x27;" in text_of(merge(client, "nowhere", second))
    assert second.profiles.count() == 2
    assert f"2 profiles moved to {kept.slug}" in text_of(merge(client, kept.slug, duplicate))
    assert client.get(reverse("platform", args=[kept.slug])).status_code == 200


def test_an_outlier_is_marked_with_its_reason_and_shown_with_a_badge(client, moderator):
    profile = store_public()[0]
    before = Revision.current()[0]
    address = reverse("admin:profiles_profile_change", args=[profile.pk])
    assert client.post(address, {"outlier_reason": "a backup ran", "reason": "its owner said so"}).status_code == 302
    assert Revision.current()[0] == before + 1
    client.logout()
    page = client.get(reverse("profile", args=[profile.uid]))
    assert "Excluded from predictions: a backup ran" in page.content.decode()
    assert client.get(reverse("api-profile", args=[profile.uid])).json()["outlier_reason"] == "a backup ran"


def test_the_admin_shows_no_private_rows_makes_none_and_is_for_moderators(client, moderator, ada):
    private = store_private(ada)[0]
    for name in ("platform", "profile"):
        page = client.get(reverse(f"admin:profiles_{name}_changelist"))
        assert "secret" not in text_of(page)
        assert client.get(reverse(f"admin:profiles_{name}_add")).status_code == 403
    assert client.get(reverse("admin:profiles_profile_change", args=[private.pk])).status_code == 302
    assert Profile.objects.get().outlier_reason == ""
    client.force_login(ada)
    assert client.get(reverse("admin:profiles_platform_changelist")).url.startswith(reverse("admin:login"))


def facts_form(row, **changes) -> dict:
    """What a moderator's browser sends of a row's facts."""
    rules = RULES[type(row)]
    values = {name: getattr(row, name) for name in rules.fact_columns} | changes
    return {"reason": "a test"} | {
        name: "" if value is None else json.dumps(value) if isinstance(value, list) else value
        for name, value in values.items()
    }


def test_a_moderators_facts_stand_above_deliveries_until_left_to_them(client, moderator):
    """trust 11"""
    deliver(0)
    platform = Platform.objects.get()
    address = reverse("admin:profiles_platform_change", args=[platform.pk])
    before = Revision.current()[0]
    changes = {"vendor": "Maker", "max_mhz": "", "virtualised": "true", "placement": "[1, 0]"}
    assert client.post(address, facts_form(platform, **changes)).status_code == 302
    platform.refresh_from_db()
    assert platform.decided == {"vendor": "Maker", "max_mhz": None, "virtualised": True, "placement": [1, 0]}
    assert (platform.vendor, platform.max_mhz, platform.memory_bytes) == ("Maker", None, 32 << 30)
    assert Revision.current()[0] == before + 1
    page = text_of(client.get(address))
    assert "vendor: &#x27;Example&#x27; (uploads: 1)" in page
    fields = {"action": "leave", "reason": "mended", "_selected_action": [platform.pk]}
    answer = client.post(reverse("admin:profiles_platform_changelist"), fields, follow=True)
    assert "Facts of 1 rows were reset" in text_of(answer)
    platform.refresh_from_db()
    assert (platform.vendor, platform.max_mhz, platform.decided) == ("Example", 3000.0, {})


def test_a_moderator_decides_on_workloads_too(client, moderator):
    deliver(0)
    workload = Workload.objects.first()
    address = reverse("admin:profiles_workload_change", args=[workload.pk])
    changes = {"bound": "communication", "description": "Said better", "slug": "taken", "private_to": moderator.pk}
    assert client.post(address, facts_form(workload, **changes)).status_code == 302
    stored = Workload.objects.get(pk=workload.pk)
    assert (stored.bound, stored.description) == ("communication", "Said better")
    page = client.post(address, facts_form(workload, size=1e30, description="x" * 10_001))
    assert page.context["adminform"].form.errors.keys() == {"size", "description"}
    assert (stored.slug, stored.private_to) == (workload.slug, None)


def test_what_is_decided_in_the_admin_needs_a_reason(client, moderator):
    profile = deliver(0).profiles.first()
    platform = client.post(
        reverse("admin:profiles_platform_change", args=[profile.platform_id]),
        facts_form(profile.platform, vendor="Maker", reason=""),
    )
    judged = client.post(reverse("admin:profiles_profile_change", args=[profile.pk]), {"outlier_reason": "slow"})
    for page in (platform, judged):
        assert page.context["adminform"].form.errors.keys() == {"reason"}
    profile.refresh_from_db()
    assert (profile.platform.decided, profile.outlier_reason) == ({}, "")


WRONG_FACTS = [
    *({"n_max": number} for number in (0, "", 65_537)),
    *({"max_mhz": clock} for clock in (0.5, 1e9, "nan")),
    *({"memory_bytes": 2**61}, {"word_bits": 5000}, {"vendor": "x" * 101}, {"device_class": "toaster"}),
    *({"placement": text} for text in ('{"a": 1}', "[1.5]", "[true]", "[-1]", json.dumps([*range(17)]))),
]


def test_a_fact_that_cannot_be_is_refused(client, moderator):
    deliver(0)
    platform = Platform.objects.get()
    address = reverse("admin:profiles_platform_change", args=[platform.pk])
    for changes in WRONG_FACTS:
        page = client.post(address, facts_form(platform, **changes))
        assert page.status_code == 200
        assert page.context["adminform"].form.errors.keys() == changes.keys()
    assert Platform.objects.get().decided == {}


def test_a_clock_of_zero_is_unknown_and_no_is_not(client, moderator):
    deliver(0)
    platform = Platform.objects.get()
    address = reverse("admin:profiles_platform_change", args=[platform.pk])
    changes = {"base_mhz": 0, "l2_bytes": 0, "virtualised": "true"}
    assert client.post(address, facts_form(platform, **changes)).status_code == 302
    assert client.post(address, facts_form(Platform.objects.get(), virtualised="false")).status_code == 302
    assert Platform.objects.get().decided == {"base_mhz": None, "l2_bytes": None, "virtualised": False}
