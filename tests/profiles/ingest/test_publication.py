"""Private deliveries that their owners publish: matched with what is public; nothing else of the owner's is told."""

import pytest
from django.urls import reverse

from profiles.ingest.publication import PublicationError, publish_source
from profiles.ingest.service import delivered
from profiles.ingest.withdrawal import withdraw
from profiles.models import Platform, Profile, Revision, Workload
from tests.profiles.deliveries import deliver, measured, stored_counts
from tests.samples import sample_platform, sample_workload

pytestmark = pytest.mark.django_db


def private(owner, platform=None, workload=None, **fields):
    machines = [sample_platform(**(platform or {}))]
    return deliver(measured(machines, [sample_workload(**(workload or {}))], **fields), owner=owner, private=True)


def counted(viewer=None) -> list[int]:
    return [model.objects.visible_to(viewer).count() for model in (Platform, Workload, Profile)]


def test_it_is_public_where_it_stands_and_the_addresses_from_before_lead_there(alice, client):
    """They were 404."""
    result = private(alice)
    before, uid, slug = Revision.current(alice), result.profiles[0].uid, Platform.objects.get().slug
    slugs = {"platform": slug, "workload": Workload.objects.get().slug}
    former = [reverse(noun, args=[slug]) for noun, slug in slugs.items()]
    assert [client.get(address).status_code for address in former] == [404, 404]
    assert counted() == [0, 0, 0]
    assert publish_source(result.source) == []
    assert counted() == [1, 1, 1]
    assert Profile.objects.get().uid == uid
    platform = Platform.objects.get()
    assert (platform.slug, platform.facts_by) == ("machine-0", f"user:{alice.pk}")
    assert platform.slug != slug
    assert Revision.current(alice) == (before[0] + 1, before[1] + 1)
    assert platform.descriptions.get().differs is False
    public = [reverse("platform", args=["machine-0"]), reverse("workload", args=[Workload.objects.get().slug])]
    answers = [client.get(address) for address in former]
    assert [(answer.status_code, answer.url) for answer in answers] == [(301, address) for address in public]


def test_it_joins_what_is_public_already_and_takes_no_say_from_it(alice, bob):
    result = private(alice, {"name": "MACHINE 0", "vendor": "Alice"})
    deliver(measured([sample_platform(vendor="Bob")], seed=2), owner=bob)
    warnings = publish_source(result.source)
    platform = Platform.objects.get()
    assert (platform.vendor, platform.facts_by, platform.profiles.count()) == ("Bob", f"user:{bob.pk}", 2)
    assert any("matched to the existing platform" in warning for warning in warnings)
    assert counted() == counted(alice) == [1, 1, 2]


def test_only_what_it_says_itself_becomes_public(alice):
    """Of the owner's other private deliveries of the same machine nothing is told, and they stay private."""
    first = private(alice, {"vendor": None, "memory_bytes": None})
    private(alice, {"vendor": "Secret", "memory_bytes": 1 << 40}, seed=2)
    assert Platform.objects.get().vendor == "Secret"
    publish_source(first.source)
    platform = Platform.objects.visible_to(None).get()
    assert (platform.vendor, platform.memory_bytes) == (None, None)
    assert counted() == [1, 1, 1]
    assert counted(alice) == [1, 1, 2]


def test_everything_tells_the_same_as_if_it_had_come_publicly(alice, bob):
    told = []
    for publish_later in (True, False):
        deliver(measured([sample_platform(vendor=None)], seed=2), owner=bob)
        result = deliver(measured([sample_platform(1)], [sample_workload(3)]), owner=alice, private=publish_later)
        if publish_later:
            publish_source(result.source)
        values = [field.name for field in Platform._meta.fields if field.name not in ("id", "created_at")]
        told.append((stored_counts(), list(Platform.objects.order_by("slug").values(*values))))
        withdraw(type(result.source).objects.all())
    assert told[0] == told[1]


def test_emulated_measurements_stay_private(alice):
    result = private(alice, origin="emulated")
    with pytest.raises(PublicationError, match="cannot be made public"):
        publish_source(result.source)
    assert counted() == [0, 0, 0]


def test_what_is_at_odds_with_the_public_is_refused_whole(alice, bob):
    result = private(alice, workload={"size": 4.0})
    deliver(measured(workloads=[sample_workload(size=8.0)], seed=2), owner=bob)
    own = Workload.objects.visible_to(alice).order_by("-pk").first()
    assert own.size == 8.0
    with pytest.raises(PublicationError, match="has size 8"):
        publish_source(result.source)
    result.source.refresh_from_db()
    assert result.source.private_to == alice
    assert counted() == [1, 1, 1]


def test_others_are_told_of_it_as_of_a_delivery(alice, monkeypatch, django_capture_on_commit_callbacks):
    heard = []
    monkeypatch.setattr(delivered, "send_robust", lambda sender, source, **_: heard.append(source))
    result = private(alice)
    with django_capture_on_commit_callbacks(execute=True):
        publish_source(result.source)
    assert heard == [result.source]
