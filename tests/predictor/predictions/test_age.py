"""What a stored answer says of itself that is from before; its numbers stay."""

import pytest

from predictor.core.methods import METHODS
from predictor.models import Prediction
from predictor.predictions.explanation import WHY_VERSION
from predictor.predictions.reasons import reasons_of_prediction
from predictor.predictions.request import PredictionRequest
from predictor.predictions.service import predict
from tests.mpet_site.api_samples import API, client_of
from tests.pages import text_of
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


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


def without_version(prediction):
    return {**prediction.answer, "why": {**prediction.answer["why"], "version": "1"}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: {"answer": without_version(row)}, "rules that were corrected since"),
        (lambda row: {"source_uids": None}, "cannot say whether one of them was withdrawn"),
        (lambda row: {"method_version": "2"}, f"by version 2 of mpet, which is at version {METHODS['mpet'].version}"),
        (lambda row: {"method": "mpet1999"}, "the method mpet1999 is no longer available"),
    ],
    ids=["why", "sources", "version", "method"],
)
def test_what_is_from_before_is_said_on_page_and_api(prediction, change, words):
    before = document_of(prediction)
    Prediction.objects.filter(pk=prediction.pk).update(**change(prediction))
    after = document_of(prediction)
    (note,) = after["outdated"]
    assert words in note
    assert after["curve"] == before["curve"]
    page = page_of(prediction)
    assert words in text_of(page)
    assert "Predict again with the data of today" in text_of(page)


def test_reasons_of_which_no_rules_were_noted_are_from_before(prediction):
    why = {name: value for name, value in prediction.answer["why"].items() if name != "version"}
    Prediction.objects.filter(pk=prediction.pk).update(answer={**prediction.answer, "why": why})
    assert "rules that were corrected since" in document_of(prediction)["outdated"][0]


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
