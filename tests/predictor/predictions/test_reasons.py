"""`why` is asked for by itself: not part of an answer, kept when first asked, and honest where the data has changed."""

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from rest_framework.test import APIClient

from predictor.core.methods import METHODS
from predictor.models import Prediction
from predictor.predictions.explanation import WHY_VERSION
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import OF_TODAY, predict, reasons_of_prediction
from profiles.models import Profile, Revision
from tests.mpet_site.api_samples import API, client_of
from tests.pages import text_of
from tests.predictor.conftest import store
from tests.samples import sample_measurements

ADDRESS = f"{API}predictions/"
QUESTION = {"workload": "app1-section1", "target": "machine-2"}
pytestmark = pytest.mark.django_db


def why_of(prediction, user=None):
    return client_of(user, "predict").get(f"{ADDRESS}{prediction.uid}/why/")


def test_an_answer_has_it_where_it_is_asked_for(measured, owner):
    signed_in = APIClient()
    signed_in.force_authenticate(owner)
    for client in (signed_in, APIClient()):
        plain = client.post(ADDRESS, QUESTION, format="json").json()
        explained = client.post(ADDRESS, QUESTION | {"explain": True}, format="json").json()
        assert "why" not in plain
        assert explained["why"]["sentences"]
        assert {name: explained[name] for name in plain} == plain
    stored = Prediction.objects.get()
    assert why_of(stored).json() == explained["why"] | {"revision": stored.revision, "note": None}
    assert "why" not in APIClient().get(f"{ADDRESS}preview/", QUESTION).json()
    assert APIClient().get(f"{ADDRESS}preview/", QUESTION | {"explain": "true"}).json()["why"]["sentences"]


def test_it_is_not_worked_out_before_it_is_asked_for(measured, monkeypatch):
    monkeypatch.setattr("predictor.predictions.document.explain", lambda *_: pytest.fail("was explained"))
    monkeypatch.setattr("predictor.predictions.service.explain", lambda *_: pytest.fail("was explained"))
    prediction = predict(PredictionRequest(**QUESTION))
    assert client_of().get(f"/predictions/{prediction.uid}/").status_code == 200
    assert "why" not in client_of().get(f"{ADDRESS}{prediction.uid}/").json()


def test_it_is_kept_when_it_is_first_asked_for(measured, monkeypatch):
    prediction = predict(PredictionRequest(**QUESTION))
    first = why_of(prediction).json()
    assert (first["revision"], first["note"]) == (prediction.revision, None)
    Profile.objects.filter(workload__slug="app0-section0").delete()
    Revision.raise_for(None)
    monkeypatch.setattr("predictor.predictions.service.explain", lambda *_: pytest.fail("was explained again"))
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


def test_are_given_though_the_database_is_locked(measured, monkeypatch):
    def locked(*_args, **_options):
        raise OperationalError("database is locked")

    prediction = predict(PredictionRequest(**QUESTION))
    with monkeypatch.context() as patched:
        patched.setattr(QuerySet, "update", locked)
        given = why_of(prediction)
    prediction.refresh_from_db()
    assert given.status_code == 200
    assert "why" not in prediction.answer
    assert why_of(prediction).json() == given.json()
    prediction.refresh_from_db()
    assert "why" in prediction.answer


def test_of_an_answer_that_is_not_kept(measured):
    address = "/predictions/answer/why/?workload=app1-section1&target=machine-2"
    assert "has" in client_of().get(address).content.decode()
    assert 'hx-get="/predictions/answer/why/' in client_of().get(address.replace("why/", "")).content.decode()


@pytest.fixture
def prediction():
    store(sample_measurements(3, 5))
    stored = predict(PredictionRequest("app0-section0", "machine-1"))
    reasons_of_prediction(stored, None)
    stored.refresh_from_db()
    return stored


def document_of(prediction):
    return client_of().get(f"{API}predictions/{prediction.uid}/").json()


def page_of(prediction):
    return client_of().get(f"/predictions/{prediction.uid}/")


def test_an_answer_of_today_has_nothing_to_say(prediction):
    assert prediction.answer["why"]["version"] == WHY_VERSION
    assert document_of(prediction)["outdated"] == []
    assert 'id="outdated"' not in page_of(prediction).content.decode()


def with_why(prediction, **why):
    """The answer with other reasons; without their version if it is None."""
    merged = {**prediction.answer["why"], **why}
    return {**prediction.answer, "why": {name: value for name, value in merged.items() if value is not None}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: {"answer": with_why(row, version="1")}, "outdated rules"),
        (lambda row: {"answer": with_why(row, version=None)}, "outdated rules"),
        (lambda row: {"source_uids": None}, "whether one of them was withdrawn is unknown"),
        (lambda row: {"method_version": "2"}, f"2 of mpet; the current version is {METHODS['mpet'].version}"),
        (lambda row: {"method": "mpet1999"}, "the method mpet1999 is no longer available"),
    ],
    ids=["why", "why without a version", "sources", "version", "method"],
)
def test_what_is_from_before_is_said_on_page_and_api(prediction, change, words):
    before = document_of(prediction)
    Prediction.objects.filter(pk=prediction.pk).update(**change(prediction))
    after = document_of(prediction)
    (note,) = after["outdated"]
    assert words in note
    assert after["curve"] == before["curve"]
    page = text_of(page_of(prediction))
    assert words in page
    assert "Predict again with current data" in page


def test_an_answer_without_reasons_has_none_from_before(prediction):
    Prediction.objects.filter(pk=prediction.pk).update(answer={**prediction.answer, "why": {}})
    assert document_of(prediction)["outdated"] == []
    assert page_of(prediction).status_code == 200


def test_what_was_stored_before_the_rules_had_a_version_is_no_answer_to_a_new_question(prediction, monkeypatch):
    monkeypatch.setattr("predictor.predictions.service.ANSWER_VERSION", "4")
    older = predict(PredictionRequest("app0-section0", "machine-1"))
    monkeypatch.undo()
    assert older.pk != prediction.pk
    assert predict(PredictionRequest("app0-section0", "machine-1")).pk == prediction.pk
