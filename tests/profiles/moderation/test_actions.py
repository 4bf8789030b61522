"""What moderators hide, merge and mark: what is seen and predicted from afterwards, and that it is taken back."""

import pytest

from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from predictor.snapshot.cache import read_database
from profiles.ingest.service import IngestError, ingest
from profiles.models import Platform, Profile, Revision, Source, Workload
from profiles.moderation.actions import ModerationError, mark_outlier, merge_platforms, set_hidden
from tests.pages import store_private, store_public, user
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db


def deliver(label: str, *numbers: int, private_to=None, seed=1):
    """A delivery of the sample machines of these numbers, with two workloads."""
    measurements = sample_measurements(len(numbers), 2, seed=seed)
    measurements.platforms[:] = [sample_platform(number) for number in numbers]
    return ingest(
        measurements,
        kind="tarball",
        label=label,
        sha256=label.ljust(64, "0"),
        owner=private_to,
        private=private_to is not None,
    ).source


def seen(viewer=None) -> tuple[int, int, int, int]:
    models = (Source, Platform, Workload, Profile)
    return tuple(model.objects.visible_to(viewer).count() for model in models)


def test_a_hidden_delivery_is_seen_by_nobody_and_predicted_from_by_nobody():
    source, ada = store_public()[0].source, user("ada")
    source.owner = ada
    source.save()
    before = seen()
    set_hidden(source, True)
    assert seen() == seen(ada) == (0, 0, 0, 0)
    assert len(read_database()) == 0
    set_hidden(source, False)
    assert seen() == before
    assert len(read_database()) == before[3]


def test_what_another_delivery_measured_too_stays():
    first, second = deliver("first", 0, 1), deliver("second", 1, 2)
    set_hidden(first, True)
    assert set(Platform.objects.visible_to(None).values_list("name", flat=True)) == {"machine-1", "machine-2"}
    assert Workload.objects.visible_to(None).count() == 2
    assert set(Profile.objects.visible_to(None).values_list("source", flat=True)) == {second.pk}


def test_no_public_row_stays_for_a_private_profile_alone():
    ada, bob = user("ada"), user("bob")
    public = deliver("public", 0, 1)
    mine = deliver("mine", 1, private_to=ada, seed=2)
    assert set(mine.profiles.values_list("platform__private_to", flat=True)) == {None}
    set_hidden(public, True)
    assert seen() == seen(bob) == (0, 0, 0, 0)
    assert seen(ada) == (1, 1, 2, 2)
    assert set(mine.profiles.values_list("platform__private_to", "workload__private_to")) == {(ada.pk, ada.pk)}
    set_hidden(public, False)
    assert seen() == seen(bob) == (1, 2, 2, 4)
    assert set(mine.profiles.values_list("platform__private_to", "workload__private_to")) == {(None, None)}
    assert not Platform.objects.exclude(private_to=None).exists()


def test_a_new_delivery_shows_the_platforms_that_it_measured_again():
    set_hidden(deliver("first", 0, 1), True)
    deliver("second", 1)
    assert list(Platform.objects.visible_to(None).values_list("name", flat=True)) == ["machine-1"]
    assert Platform.objects.count() == 2


def test_a_private_delivery_neither_sees_nor_shows_what_is_hidden():
    ada = user("ada")
    set_hidden(deliver("first", 0), True)
    deliver("mine", 0, private_to=ada)
    assert seen() == (0, 0, 0, 0)
    assert seen(ada) == (1, 1, 2, 2)


def test_each_change_raises_the_revision_of_those_who_can_see_it():
    source, ada = store_public()[0].source, user("ada")
    private = store_private(ada)[0]
    public, own = Revision.current(ada)
    set_hidden(source, True)
    assert Revision.current(ada) == (public + 1, own)
    set_hidden(private.source, True)
    assert Revision.current(ada) == (public + 1, own + 1)
    mark_outlier(private, "noise")
    assert Revision.current(ada) == (public + 1, own + 2)


def test_merging_moves_the_profiles_and_keeps_the_old_row_out_of_sight():
    deliver("first", 0), deliver("second", 1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    number = Revision.current()[0]
    assert merge_platforms(duplicate, kept) == 2
    assert kept.profiles.count() == 4
    assert list(Platform.objects.visible_to(None)) == [kept]
    assert Revision.current()[0] == number + 1
    assert read_database().platforms == (kept.slug,)


def test_deliveries_to_a_merged_platform_go_to_the_one_that_stands():
    deliver("first", 0), deliver("second", 1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    merge_platforms(duplicate, kept)
    source = deliver("third", 1, seed=3)
    assert set(source.profiles.values_list("platform", flat=True)) == {kept.pk}
    with pytest.raises(IngestError, match="known here to be the same one"):
        deliver("both", 0, 1, seed=4)


def test_a_chain_of_merges_leads_to_its_end():
    for number in range(3):
        deliver(f"of {number}", number, seed=number)
    first, second, third = Platform.objects.order_by("name")
    merge_platforms(first, second)
    merge_platforms(second, third)
    assert set(Platform.objects.filter(hidden=True).values_list("merged_into", flat=True)) == {third.pk}
    assert third.profiles.count() == 6


@pytest.mark.parametrize("case", ["itself", "one delivery", "private", "other topology", "again"])
def test_what_cannot_be_one_machine_is_refused(case):
    ada = user("ada")
    deliver("both", 0, 1), deliver("alone", 2, seed=2)
    deliver("own", 3, private_to=ada)
    first, second, third, own = Platform.objects.order_by("name")
    if case == "other topology":
        Platform.objects.filter(pk=third.pk).update(n_ht=third.n_ht + 1)
        third.refresh_from_db()
    if case == "again":
        merge_platforms(third, second)
    pair = {"itself": (first, first), "one delivery": (first, second), "private": (own, first)}.get(
        case, (third, first)
    )
    with pytest.raises(ModerationError):
        merge_platforms(*pair)
    assert first.profiles.count() == 2


def test_an_outlier_is_shown_but_not_predicted_from():
    profiles = store_public()
    before = len(read_database())
    outlier = profiles[0]
    mark_outlier(outlier, " measured while a backup ran ")
    assert outlier in Profile.objects.visible_to(None)
    assert outlier not in Profile.objects.candidates_for(None)
    assert len(read_database()) == before - 1
    assert predict(PredictionRequest(outlier.workload.slug, outlier.platform.slug)).answer["measured"] is None
    mark_outlier(outlier, "")
    assert len(read_database()) == before
