"""What moderators hide, merge, decide and mark: what is seen and predicted from afterwards, that it is noted with who
and why, and that it is taken back so that everything answers as before."""

import pytest

from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from predictor.snapshot.cache import read_database
from profiles.ingest.service import IngestError
from profiles.models import ModerationEntry, Platform, Profile, Revision, Source, Workload
from profiles.moderation import (
    Decision,
    ModerationError,
    decide,
    handle,
    hide,
    judge,
    leave,
    mark_outlier,
    merge,
    merge_platforms,
    set_hidden,
    show,
    undo,
)
from tests.pages import store_private, store_public, user
from tests.profiles import deliveries
from tests.profiles.deliveries import measured
from tests.samples import sample_platform, sample_workload

pytestmark = pytest.mark.django_db


def deliver(*numbers: int, private_to=None, seed=1, **how):
    """Return the source of a delivery of the sample machines of these numbers, with two workloads."""
    machines, workloads = [sample_platform(number) for number in numbers], [sample_workload(0), sample_workload(1)]
    measurements = measured(machines, workloads, seed=seed)
    return deliveries.deliver(measurements, owner=private_to, private=private_to is not None, **how).source


def seen(viewer=None) -> tuple[int, int, int, int]:
    models = (Source, Platform, Workload, Profile)
    return tuple(model.objects.visible_to(viewer).count() for model in models)


def test_a_hidden_delivery_is_seen_by_nobody_and_predicted_from_by_nobody(ada):
    source = store_public()[0].source
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
    first, second = deliver(0, 1), deliver(1, 2)
    set_hidden(first, True)
    assert set(Platform.objects.visible_to(None).values_list("name", flat=True)) == {"machine-1", "machine-2"}
    assert Workload.objects.visible_to(None).count() == 2
    assert set(Profile.objects.visible_to(None).values_list("source", flat=True)) == {second.pk}


def test_no_public_row_stays_for_a_private_profile_alone(ada, bob):
    public = deliver(0, 1)
    mine = deliver(1, private_to=ada, seed=2)
    assert set(mine.profiles.values_list("platform__private_to", flat=True)) == {None}
    set_hidden(public, True)
    assert seen() == seen(bob) == (0, 0, 0, 0)
    assert seen(ada) == (1, 1, 2, 2)
    assert set(mine.profiles.values_list("platform__private_to", "workload__private_to")) == {(ada.pk, ada.pk)}
    set_hidden(public, False)
    assert seen() == seen(bob) == (1, 2, 2, 4)
    assert set(mine.profiles.values_list("platform__private_to", "workload__private_to")) == {(None, None)}
    assert not Platform.objects.exclude(private_to=None).exists()


def test_a_new_delivery_shows_what_it_measured_again_and_a_private_one_shows_it_to_its_owner_alone(ada):
    set_hidden(deliver(0, 1), True)
    deliver(0, private_to=ada)
    assert seen() == (0, 0, 0, 0)
    assert seen(ada) == (1, 1, 2, 2)
    deliver(1)
    assert list(Platform.objects.visible_to(None).values_list("name", flat=True)) == ["machine-1"]
    assert Platform.objects.filter(private_to=None).count() == 2


def test_each_change_raises_the_revision_of_those_who_can_see_it(ada):
    source = store_public()[0].source
    private = store_private(ada)[0]
    public, own = Revision.current(ada)
    set_hidden(source, True)
    assert Revision.current(ada) == (public + 1, own)
    set_hidden(private.source, True)
    assert Revision.current(ada) == (public + 1, own + 1)
    mark_outlier(private, "noise")
    assert Revision.current(ada) == (public + 1, own + 2)


@pytest.mark.parametrize("case", ["itself", "one delivery", "private", "other topology", "again"])
def test_what_cannot_be_one_machine_is_refused(case, ada):
    deliver(0, 1), deliver(2, seed=2), deliver(3, private_to=ada)
    first, second, third, own = Platform.objects.order_by("name")
    if case == "other topology":
        Platform.objects.filter(pk=third.pk).update(n_ht=third.n_ht + 1)
        third.refresh_from_db()
    if case == "again":
        merge_platforms(third, second)
    pairs = {"itself": (first, first), "one delivery": (first, second), "private": (own, first)}
    with pytest.raises(ModerationError):
        merge_platforms(*pairs.get(case, (third, first)))
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


@pytest.fixture
def moderator():
    return user("moderator")


@pytest.fixture
def decision(moderator):
    return Decision(moderator, "  found in a test ")


def state() -> list[dict]:
    """What is known and seen of all rows."""
    return [
        row
        for model in (Source, Platform, Profile)
        for row in model.objects.order_by("pk").values()
        if row.pop("outlier_checked_at", True) or True
    ]


def answer(target: str = "machine-1") -> dict:
    document = predict(PredictionRequest("app0-section0", target)).answer
    return {name: document[name] for name in ("curve", "t1_s", "candidates", "confidence", "warnings")}


def test_a_reason_is_needed_and_bounded(moderator):
    for reason in ("", "   ", "x" * 501):
        with pytest.raises(ModerationError):
            Decision(moderator, reason)


def test_hiding_is_noted_and_taken_back(decision, moderator):
    first, _ = deliver(0, 1), deliver(1, 2, seed=2)
    before, answered = state(), answer()
    entry = hide(first, decision)
    assert (entry.by, entry.reason, entry.subject_key) == (moderator, "found in a test", first.pk)
    assert state() != before
    back = undo(entry, Decision(moderator, "it was right"))
    assert (back.action, back.undoes, back.reason) == ("show", entry, "it was right")
    assert state() == before
    assert answer() == answered
    with pytest.raises(ModerationError, match="already"):
        undo(entry, decision)
    undo(back, decision)
    assert Source.objects.get(pk=first.pk).hidden


def test_what_is_so_already_and_what_is_private_is_refused_and_showing_is_taken_back(decision, ada):
    source = deliver(0)
    with pytest.raises(ModerationError, match="already shown"):
        show(source, decision)
    with pytest.raises(ModerationError, match="Private"):
        hide(store_private(ada)[0].source, decision)
    assert not ModerationEntry.objects.exists()
    hide(source, decision)
    undo(show(source, decision), decision)
    assert seen() == (0, 0, 0, 0)


def test_a_merge_is_taken_back(decision):
    deliver(0, 1), deliver(2, seed=2), deliver(3, seed=3)
    kept, duplicate, former = (Platform.objects.get(slug=f"machine-{number}") for number in (1, 2, 3))
    decide(duplicate, {"vendor": "Maker"}, decision)
    merge(former, duplicate, decision)
    before, answered = state(), answer("machine-0")
    entry, moved = merge(Platform.objects.get(pk=duplicate.pk), kept, decision)
    assert moved == 4
    assert Platform.objects.get(pk=kept.pk).vendor == "Maker"
    assert answer("machine-0") != answered
    undo(entry, decision)
    assert state() == before
    assert answer("machine-0") == answered


def test_merging_moves_the_profiles_and_later_deliveries_which_stay_when_it_is_taken_back(decision):
    deliver(0), deliver(1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    number = Revision.current()[0]
    entry, moved = merge(duplicate, kept, decision)
    assert (moved, kept.profiles.count()) == (2, 4)
    assert list(Platform.objects.visible_to(None)) == [kept]
    assert Revision.current()[0] == number + 1
    assert read_database().platforms == (kept.slug,)
    later = deliver(1, seed=3)
    assert set(later.profiles.values_list("platform", flat=True)) == {kept.pk}
    with pytest.raises(IngestError, match="match the same stored platform"):
        deliver(0, 1, seed=4)
    undo(entry, decision)
    assert set(later.profiles.values_list("platform", flat=True)) == {kept.pk}
    assert (kept.profiles.count(), duplicate.profiles.count()) == (4, 2)


def test_a_chain_of_merges_leads_to_its_end_and_is_taken_back_from_there(decision):
    for number in range(3):
        deliver(number, seed=number)
    before, (first, second, third) = state(), Platform.objects.order_by("name")
    inner, _ = merge(first, second, decision)
    outer, _ = merge(second, third, decision)
    assert set(Platform.objects.filter(hidden=True).values_list("merged_into", flat=True)) == {third.pk}
    assert third.profiles.count() == 6
    with pytest.raises(ModerationError, match="no longer merged into that machine"):
        undo(inner, decision)
    undo(outer, decision)
    undo(inner, decision)
    assert state() == before


def test_predictions_are_validated_by_their_own_platform_again(decision, django_capture_on_commit_callbacks):
    deliver(0, 1)
    asked = predict(PredictionRequest("app0-section0", "machine-1")).uid
    deliver(2, seed=2)
    kept, duplicate = Platform.objects.get(slug="machine-2"), Platform.objects.get(slug="machine-1")
    assert Prediction.objects.get(uid=asked).settled_by is None
    with django_capture_on_commit_callbacks(execute=True):
        later = deliver(2, seed=5)
        entry, _ = merge(duplicate, kept, decision)
    assert Prediction.objects.get(uid=asked).settled_by.platform == kept
    with django_capture_on_commit_callbacks(execute=True):
        undo(entry, decision)
    opened = Prediction.objects.get(uid=asked)
    assert (opened.settled_by, opened.settled_at, opened.error_full) == (None, None, None)
    assert later.profiles.count() == 2


def test_decisions_on_facts_are_taken_back_in_their_order(decision):
    deliver(0)
    before, platform = state(), Platform.objects.get()
    first = decide(platform, {"vendor": "Maker"}, decision)
    second = decide(platform, {"max_mhz": None}, decision)
    with pytest.raises(ModerationError, match="A later decision exists"):
        undo(first, decision)
    third = leave(platform, decision)
    for entry in (third, second, first):
        undo(entry, decision)
    assert state() == before


def test_a_judgement_is_taken_back_to_the_one_before(decision):
    profile = store_public()[0]
    Profile.objects.filter(pk=profile.pk).update(outlier_reason="10 times too slow", outlier_judge="computed")
    before = state()
    entry = judge(profile, "", decision)
    assert Profile.objects.get(pk=profile.pk).outlier_judge == "moderator"
    undo(entry, decision)
    assert state() == before


def test_what_was_deleted_since_cannot_be_taken_back_and_the_log_outlives_the_moderator(decision, moderator):
    source = deliver(0)
    entry = hide(source, decision)
    source.profiles.all().delete()
    source.delete()
    with pytest.raises(ModerationError, match="deleted by the owner"):
        undo(entry, decision)
    moderator.delete()
    assert ModerationEntry.objects.get().by is None


def test_what_was_taken_off_the_queue_is_put_back(decision):
    deliver(0)
    entry = handle(Platform.objects.get(), "platforms", decision)
    standing = ModerationEntry.objects.standing().filter(action="handle", queue="platforms")
    assert standing.get() == entry
    back = undo(entry, decision)
    assert not standing.exists()
    again = undo(back, decision)
    assert standing.get() == again
