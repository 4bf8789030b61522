"""Deliveries that are taken back: nothing of them is left, and what others measured is as if they had never come."""

import pytest

from profiles.identity.descriptions import differences_of
from profiles.ingest import withdrawal
from profiles.ingest.staging import sweep_abandoned
from profiles.ingest.withdrawal import withdraw, withdrawing
from profiles.models import Platform, Profile, Revision, Run, Source, StagedDelivery, WithdrawnSource, Workload
from profiles.moderation import merge_platforms, set_hidden
from tests.profiles.deliveries import deliver, let_lapse, measured, stored_counts
from tests.samples import sample_platform, sample_workload

pytestmark = pytest.mark.django_db


def take_back(result) -> None:
    withdraw(Source.objects.filter(pk=result.source.pk))


def names(model, viewer=None) -> list[str]:
    return sorted(model.objects.visible_to(viewer).values_list("name", flat=True))


@pytest.mark.parametrize("private", [False, True])
def test_nothing_is_left_of_a_delivery_that_stood_alone(alice, private):
    result = deliver(measured([sample_platform(0), sample_platform(1)]), owner=alice, private=private)
    number = Revision.current(alice)[private]
    take_back(result)
    assert set(stored_counts().values()) == {0}
    assert Revision.current(alice)[private] == number + 1
    assert WithdrawnSource.objects.filter(uid=result.source.uid).exists() is not private


def test_what_others_measured_stays_with_all_its_rows(alice, bob):
    mine = deliver(measured([sample_platform(0), sample_platform(1)]), owner=alice)
    before = stored_counts()
    take_back(deliver(measured([sample_platform(1), sample_platform(2)], [sample_workload(5)], seed=2), owner=bob))
    assert stored_counts() == before
    assert names(Platform) == ["machine-0", "machine-1"]
    assert set(Profile.objects.values_list("source", flat=True)) == {mine.source.pk}


def test_facts_are_told_anew_by_those_who_are_left(alice, bob):
    first = deliver(measured([sample_platform(vendor="Alice")]), owner=alice)
    deliver(measured([sample_platform(vendor="Bob")], seed=2), owner=bob)
    take_back(first)
    platform = Platform.objects.get()
    assert (platform.vendor, platform.facts_by) == ("Bob", f"user:{bob.pk}")
    assert differences_of(platform, None) == []


def test_a_public_row_that_only_private_profiles_are_left_of_becomes_their_owners(alice, bob):
    """Else the row itself would tell everybody that somebody has measured that machine."""
    public = deliver(measured([sample_platform(vendor="Alice")]), owner=alice)
    deliver(measured([sample_platform(vendor="Bob")], seed=2), owner=bob, private=True)
    assert Platform.objects.count() == 1
    slug = Platform.objects.get().slug
    take_back(public)
    assert names(Platform) == names(Workload) == names(Platform, alice) == []
    own = Platform.objects.visible_to(bob).get()
    assert (own.vendor, own.private_to, own.facts_by) == ("Bob", bob, f"user:{bob.pk}")
    assert own.slug != slug
    assert Profile.objects.visible_to(bob).get().platform == own
    assert own.descriptions.count() == 1


def test_a_row_that_has_only_hidden_profiles_left_is_hidden(alice, bob):
    mine = deliver(owner=alice)
    set_hidden(deliver(measured(seed=2), owner=bob).source, True)
    take_back(mine)
    assert names(Platform) == []
    assert Platform.objects.get().hidden


def test_a_platform_goes_with_those_that_were_merged_into_it(alice):
    first = deliver(measured([sample_platform(1, cpu_model="cpu")]), owner=alice)
    second = deliver(measured([sample_platform(2, cpu_model="cpu")], seed=2), owner=alice)
    merge_platforms(first.profiles[0].platform, second.profiles[0].platform)
    withdraw(Source.objects.all())
    assert Platform.objects.count() == 0


def test_a_listener_that_fails_keeps_everything_and_taking_nothing_back_changes_nothing(alice):
    deliver(owner=alice)
    before, number = stored_counts(), Revision.current()
    withdraw(Source.objects.none())
    assert Revision.current() == number

    def fail(sender, sources, **_):
        raise RuntimeError

    withdrawing.connect(fail)
    try:
        with pytest.raises(RuntimeError):
            withdraw(Source.objects.all())
    finally:
        withdrawing.disconnect(fail)
    assert stored_counts() == before


def test_what_a_killed_process_left_of_it_is_unseen_and_swept_by_another(alice, monkeypatch):
    kept = deliver(measured(seed=2), owner=alice)
    result = deliver(measured([sample_platform(3)]), owner=alice)

    def killed(work):
        raise KeyboardInterrupt

    monkeypatch.setattr(withdrawal, "held", killed)
    with pytest.raises(KeyboardInterrupt):
        take_back(result)
    assert Profile.objects.get().source == kept.source
    assert Run.objects.exclude(profile__in=Profile.objects.all()).exists()
    let_lapse(StagedDelivery.objects)
    assert sweep_abandoned() == 1
    assert set(Run.objects.values_list("profile", flat=True)) == {kept.profiles[0].pk}
