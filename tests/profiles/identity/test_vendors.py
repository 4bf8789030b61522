"""Vendors have one name each: at the way in, for what was stored before, and in filters."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse

from profiles.identity.vendors import SPELLINGS, canonical_vendor
from profiles.models import Platform, PlatformDescription, Revision
from profiles.moderation.actions import decide_facts
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

BEFORE = ("profiles", "0017_measured_under_load")


def test_no_spelling_is_two_vendors_and_every_name_stands_for_itself():
    spellings = [spelling for several in SPELLINGS.values() for spelling in several]
    assert len(spellings) == len(set(spellings))
    assert [canonical_vendor(name) for name in SPELLINGS] == list(SPELLINGS)


@pytest.mark.django_db
def test_another_spelling_is_the_same_machine_and_no_difference():
    deliver(measured([sample_platform(vendor="GenuineIntel")]))
    result = deliver(measured([sample_platform(vendor="Intel(R) Corporation")]))
    assert Platform.objects.get().vendor == "Intel"
    assert result.warnings == []
    assert not PlatformDescription.objects.filter(differs=True).exists()


@pytest.mark.django_db
def test_what_a_moderator_decides_is_written_alike():
    deliver(measured([sample_platform()]))
    decide_facts(Platform.objects.get(), {"vendor": "AuthenticAMD"})
    assert Platform.objects.values_list("vendor", "decided").get() == ("AMD", {"vendor": "AMD"})


@pytest.mark.django_db
@pytest.mark.parametrize("spelling", ["Intel", "intel", "GenuineIntel"])
def test_filters_take_every_spelling(client, spelling):
    deliver(measured([sample_platform(vendor="GenuineIntel"), sample_platform(1, vendor="AMD")]))
    rows = client.get(reverse("api-platforms"), {"vendor": spelling}).json()["results"]
    assert [row["slug"] for row in rows] == ["machine-0"]
    page = client.get(reverse("platforms"), {"vendor": spelling})
    assert [row.slug for row in page.context["page"]] == ["machine-0"]
    assert '<option value="Intel" selected>' in page.content.decode()


def migrate(*targets) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())


def store_old_spellings() -> None:
    deliver(measured([sample_platform(), sample_platform(1)]))
    deliver(measured([sample_platform(vendor="Other")]), owner=None)
    Platform.objects.filter(slug="machine-0").update(vendor="GenuineIntel", decided={"vendor": "GenuineIntel"})
    first, last = PlatformDescription.objects.filter(platform__slug="machine-0").order_by("pk")
    facts = {"vendor": "GenuineIntel", "base_mhz": 1.0}
    PlatformDescription.objects.filter(pk=first.pk).update(facts=facts)
    differences = [["vendor", "Intel"], ["base_mhz", 2.0]]
    PlatformDescription.objects.filter(pk=last.pk).update(differs=True, differences=differences)


@pytest.mark.django_db(transaction=True)
def test_what_was_stored_before_gets_its_name_and_keeps_its_identity():
    store_old_spellings()
    identity = Platform.objects.get(slug="machine-0").identity
    public, _ = Revision.current()
    try:
        migrate(BEFORE)
    finally:
        migrate()
    platform = Platform.objects.get(slug="machine-0")
    assert (platform.vendor, platform.decided, platform.identity) == ("Intel", {"vendor": "Intel"}, identity)
    assert Platform.objects.get(slug="machine-1").vendor == "Example"
    first, last = PlatformDescription.objects.filter(platform=platform).order_by("pk")
    assert first.facts == {"vendor": "Intel", "base_mhz": 1.0}
    assert (last.differs, last.differences) == (True, [["base_mhz", 2.0]])
    assert Revision.current()[0] == public + 1
