"""What moderators do is noted with who and why, and taken back: everything answers as before."""

import pytest

from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import ModerationEntry, Platform, Profile, Source
from profiles.moderation.actions import ModerationError
from profiles.moderation.log import Decision, decide, handle, hide, judge, leave, merge, show, undo
from tests.pages import store_private, store_public, user
from tests.profiles.moderation.test_actions import deliver, seen

pytestmark = pytest.mark.django_db


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
    first, _ = deliver("first", 0, 1), deliver("second", 1, 2, seed=2)
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


def test_showing_is_taken_back(decision):
    source = deliver("first", 0)
    hide(source, decision)
    undo(show(source, decision), decision)
    assert seen() == (0, 0, 0, 0)


def test_what_is_so_already_and_what_is_private_is_refused(decision):
    source = deliver("first", 0)
    with pytest.raises(ModerationError, match="shown already"):
        show(source, decision)
    with pytest.raises(ModerationError, match="Private"):
        hide(store_private(user("ada"))[0].source, decision)
    assert not ModerationEntry.objects.exists()


def test_a_merge_is_taken_back(decision):
    deliver("first", 0, 1), deliver("second", 2, seed=2), deliver("third", 3, seed=3)
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


def test_what_was_delivered_since_a_merge_stays_where_it_went(decision):
    deliver("first", 0), deliver("second", 1, seed=2)
    kept, duplicate = Platform.objects.order_by("name")
    entry, _ = merge(duplicate, kept, decision)
    later = deliver("third", 1, seed=3)
    undo(entry, decision)
    assert set(later.profiles.values_list("platform", flat=True)) == {kept.pk}
    assert (kept.profiles.count(), duplicate.profiles.count()) == (4, 2)


def test_a_merge_that_was_merged_on_is_taken_back_from_its_end(decision):
    for number in range(3):
        deliver(f"of {number}", number, seed=number)
    before = state()
    first, second, third = Platform.objects.order_by("name")
    inner, _ = merge(first, second, decision)
    outer, _ = merge(Platform.objects.get(pk=second.pk), third, decision)
    with pytest.raises(ModerationError, match="not merged into that machine any more"):
        undo(inner, decision)
    undo(outer, decision)
    undo(inner, decision)
    assert state() == before


def test_predictions_are_validated_by_their_own_platform_again(decision, django_capture_on_commit_callbacks):
    deliver("first", 0, 1)
    asked = predict(PredictionRequest("app0-section0", "machine-1")).uid
    deliver("second", 2, seed=2)
    kept, duplicate = Platform.objects.get(slug="machine-2"), Platform.objects.get(slug="machine-1")
    assert Prediction.objects.get(uid=asked).settled_by is None
    with django_capture_on_commit_callbacks(execute=True):
        later = deliver("third", 2, seed=5)
        entry, _ = merge(duplicate, kept, decision)
    settled = Prediction.objects.get(uid=asked)
    assert settled.settled_by is not None
    assert settled.settled_by.platform == kept
    with django_capture_on_commit_callbacks(execute=True):
        undo(entry, decision)
    opened = Prediction.objects.get(uid=asked)
    assert (opened.settled_by, opened.settled_at, opened.error_full) == (None, None, None)
    assert later.profiles.count() == 2


def test_decisions_on_facts_are_taken_back_in_their_order(decision):
    deliver("first", 0)
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


def test_what_was_deleted_since_cannot_be_taken_back(decision):
    source = deliver("first", 0)
    entry = hide(source, decision)
    source.profiles.all().delete()
    source.delete()
    with pytest.raises(ModerationError, match="deleted it"):
        undo(entry, decision)


def test_what_was_taken_off_the_queue_is_put_back(decision):
    deliver("first", 0)
    entry = handle(Platform.objects.get(), "platforms", decision)
    standing = ModerationEntry.objects.standing().filter(action="handle", queue="platforms")
    assert standing.get() == entry
    back = undo(entry, decision)
    assert not standing.exists()
    again = undo(back, decision)
    assert standing.get() == again


def test_the_log_outlives_the_moderators_account(decision, moderator):
    hide(deliver("first", 0), decision)
    moderator.delete()
    assert ModerationEntry.objects.get().by is None
