"""Predictions that their users delete, and those that go or stay when what they rest on is taken back."""

from dataclasses import replace

import pytest

from predictor.accuracy.outliers import judge_profiles
from predictor.models import AskedPrediction, Computation, Prediction
from predictor.predictions.removal import remove_predictions
from predictor.predictions.request import PredictionRequest
from predictor.predictions.service import predict
from profiles.ingest.withdrawal import withdraw
from profiles.models import Profile, Source
from tests.mpet_site.api_samples import API, client_of
from tests.predictor.conftest import store, without_pair
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
QUESTION = PredictionRequest("app1-section1", "machine-2")
PAIR = (2, 3)


def sample(**fields):
    return sample_measurements(3, 4, **fields)


def pair_alone():
    whole = sample()
    return replace(whole, profiles=[one for one in whole.profiles if (one.platform, one.workload) == PAIR])


def removed(user) -> int:
    return remove_predictions(Prediction.objects.all(), user)


def test_everybody_has_a_list_of_what_they_asked_for(alice, bob):
    store(sample())
    own = predict(QUESTION, alice)
    assert predict(QUESTION, bob) == predict(QUESTION, alice) == own
    assert [list(Prediction.objects.mine(user)) for user in (alice, bob)] == [[own], [own]]
    assert AskedPrediction.objects.count() == 2


def test_a_public_one_is_gone_when_nobody_else_asked_for_it(alice):
    store(sample())
    predict(QUESTION, alice)
    assert removed(alice) == 1
    assert not Prediction.objects.exists()
    assert removed(alice) == 0


@pytest.mark.parametrize("first", ["alice", "bob", None])
def test_a_public_one_of_somebody_else_too_leaves_the_list_only(alice, bob, first):
    store(sample())
    users = {"alice": alice, "bob": bob, None: None}
    for user in (users[first], alice, bob if first else None):
        predict(QUESTION, user)
    assert removed(alice) == 1
    assert Prediction.objects.count() == 1
    assert not Prediction.objects.mine(alice).exists()


def test_nobody_deletes_what_was_found_to_be_wrong_of_the_track_record(alice):
    store(without_pair(sample(), *PAIR))
    prediction = predict(QUESTION, alice)
    Prediction.objects.filter(pk=prediction.pk).update(settled_at=prediction.created_at, is_blind=True)
    assert removed(alice) == 1
    assert Prediction.objects.get() == prediction
    assert not AskedPrediction.objects.exists()


def test_private_ones_are_their_owners_alone(alice, bob):
    store(sample())
    store(sample(seed=5), label="mine", owner=alice, private=True)
    own = predict(QUESTION, alice)
    assert own.private_to == alice
    assert removed(bob) == 0
    assert removed(alice) == 1
    assert not Prediction.objects.exists()


def test_predictions_of_others_keep_their_numbers_and_say_that_a_source_was_withdrawn(alice, bob):
    store(without_pair(sample(), 0, 0), label="others")
    source = store(sample(seed=5), label="mine", owner=alice).source
    prediction = predict(QUESTION, bob)
    assert str(source.uid) in prediction.source_uids
    before = client_of().get(f"{API}predictions/{prediction.uid}/")
    assert before.json()["withdrawn"] is None
    withdraw(Source.objects.filter(pk=source.pk))
    after = client_of().get(f"{API}predictions/{prediction.uid}/", headers={"If-None-Match": before["ETag"]})
    assert after.status_code == 200
    assert after.json()["withdrawn"]["sources"] == 1
    assert after.json() | {"withdrawn": None} == before.json()
    page = client_of().get(f"/predictions/{prediction.uid}/").content.decode()
    assert 'id="withdrawn"' in page


def test_private_predictions_from_a_private_upload_go_with_it(alice, bob):
    """Those that rest on it alone: of another private upload they stay."""
    store(sample())
    source = store(sample(seed=5), label="mine", owner=alice, private=True).source
    resting = predict(QUESTION, alice)
    kept = Prediction.objects.create(private_to=alice, request_key="kept", revision=1, answer={}, source_uids=["other"])
    others = predict(QUESTION, bob)
    Computation.objects.create(kind="map", question={}, question_key="x", revision=1, private_to=alice)
    shared = Computation.objects.create(kind="map", question={}, question_key="y", revision=1)
    withdraw(Source.objects.filter(pk=source.pk))
    assert set(Prediction.objects.all()) == {kept, others}
    assert resting.pk not in {kept.pk, others.pk}
    assert list(Computation.objects.all()) == [shared]


def test_what_a_withdrawn_measurement_settled_is_settled_by_another_or_open_again(
    alice, bob, django_capture_on_commit_callbacks
):
    store(without_pair(sample(), *PAIR))
    prediction = predict(QUESTION, bob)
    with django_capture_on_commit_callbacks(execute=True):
        first = store(pair_alone(), label="first", owner=alice)
        second = store(pair_alone(), label="second", owner=bob)
    prediction.refresh_from_db()
    assert prediction.settled_by == first.profiles[0]
    for source, left in ((first.source, second.profiles[0]), (second.source, None)):
        with django_capture_on_commit_callbacks(execute=True):
            withdraw(Source.objects.filter(pk=source.pk))
        prediction.refresh_from_db()
        assert prediction.settled_by == left
        assert (prediction.error_full is None) == (left is None)
    assert not prediction.is_settled
    assert not prediction.is_blind


def test_what_it_contradicted_is_judged_again(alice, django_capture_on_commit_callbacks):
    kept = store(pair_alone(), label="kept").profiles[0]
    source = store(sample(seed=2), label="mine", owner=alice).source
    Profile.objects.filter(pk=kept.pk).update(outlier_reason="contradicted", outlier_judge="computed")
    with django_capture_on_commit_callbacks(execute=True):
        withdraw(Source.objects.filter(pk=source.pk))
    kept.refresh_from_db()
    assert (kept.outlier_reason, kept.outlier_judge) == ("", "")
    assert judge_profiles([kept.pk]) == 0
