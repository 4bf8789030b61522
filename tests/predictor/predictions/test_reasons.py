"""`why` is asked for by itself: not part of an answer, kept when first asked, and honest where the data has changed."""

import pytest
from rest_framework.test import APIClient

from predictor.models import Prediction
from predictor.predictions.reasons import OF_TODAY
from predictor.predictions.request import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Profile, Revision
from tests.mpet_site.api_samples import API, client_of
from tests.predictor.conftest import store
from tests.samples import sample_measurements

ADDRESS = f"{API}predictions/"
QUESTION = {"workload": "app1-section1", "target": "machine-2"}


def why_of(prediction, user=None):
    return client_of(user, "predict").get(f"{ADDRESS}{prediction.uid}/why/")


@pytest.fixture
def asked(owner):
    client = APIClient()
    client.force_authenticate(owner)
    return client


def test_an_answer_has_it_where_it_is_asked_for(measured, asked):
    for client in (asked, APIClient()):
        plain = client.post(ADDRESS, QUESTION, format="json").json()
        explained = client.post(ADDRESS, QUESTION | {"explain": True}, format="json").json()
        assert "why" not in plain
        assert explained["why"]["sentences"]
        assert {name: explained[name] for name in plain} == plain
    stored = Prediction.objects.get()
    assert why_of(stored).json() == explained["why"] | {"revision": stored.revision, "note": None}


def test_previews_have_it_where_it_is_asked_for(measured):
    assert "why" not in APIClient().get(f"{ADDRESS}preview/", QUESTION).json()
    assert APIClient().get(f"{ADDRESS}preview/", QUESTION | {"explain": "true"}).json()["why"]["sentences"]


def test_it_is_not_worked_out_before_it_is_asked_for(measured, monkeypatch):
    monkeypatch.setattr("predictor.predictions.document.explain", lambda *_: pytest.fail("was explained"))
    monkeypatch.setattr("predictor.predictions.reasons.explain", lambda *_: pytest.fail("was explained"))
    prediction = predict(PredictionRequest(**QUESTION))
    assert client_of().get(f"/predictions/{prediction.uid}/").status_code == 200
    assert "why" not in client_of().get(f"{ADDRESS}{prediction.uid}/").json()


def test_it_is_kept_when_it_is_first_asked_for(measured, monkeypatch):
    prediction = predict(PredictionRequest(**QUESTION))
    first = why_of(prediction).json()
    assert (first["revision"], first["note"]) == (prediction.revision, None)
    Profile.objects.filter(workload__slug="app0-section0").delete()
    Revision.raise_for(None)
    monkeypatch.setattr("predictor.predictions.reasons.explain", lambda *_: pytest.fail("was explained again"))
    assert why_of(prediction).json() == first


def test_of_a_revision_that_is_gone_it_is_of_today_and_says_so(measured):
    prediction = predict(PredictionRequest(**QUESTION))
    store(sample_measurements(5, 6, seed=3), label="more")
    why = why_of(prediction).json()
    assert why["revision"] == Revision.current()[0] > prediction.revision
    assert why["note"] == OF_TODAY
    assert why["sentences"]
    prediction.refresh_from_db()
    assert "why" not in prediction.answer
    assert OF_TODAY in client_of().get(f"/predictions/{prediction.uid}/why/").content.decode()


def test_where_nothing_can_be_predicted_today_it_says_so(measured):
    prediction = predict(PredictionRequest(**QUESTION))
    Profile.objects.filter(workload__slug="app1-section1").exclude(platform__slug="machine-2").delete()
    Revision.raise_for(None)
    refused = why_of(prediction)
    assert refused.status_code == 422
    assert "no reference profile" in refused.json()["detail"]
    page = client_of().get(f"/predictions/{prediction.uid}/why/")
    assert "was measured on no other machine" in page.content.decode()


def test_of_a_private_prediction_its_owner_alone_reads_it(measured, owner):
    store(sample_measurements(3, 6, seed=9), label="own", owner=owner, private=True)
    prediction = predict(PredictionRequest(**QUESTION), owner)
    assert prediction.private_to == owner
    assert why_of(prediction).status_code == 404
    own = why_of(prediction, owner).json()
    assert own["note"] is None
    assert own["sentences"]


def test_of_an_answer_that_is_not_kept(measured):
    address = "/predictions/answer/why/?workload=app1-section1&target=machine-2"
    assert "has" in client_of().get(address).content.decode()
    assert 'hx-get="/predictions/answer/why/' in client_of().get(address.replace("why/", "")).content.decode()
