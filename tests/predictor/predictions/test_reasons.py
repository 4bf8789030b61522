"""`why` is asked for by itself: not part of an answer, kept when first asked, and honest where the data has changed."""

import re
from dataclasses import replace

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from rest_framework.test import APIClient

from predictor.core.methods import METHODS
from predictor.core.why.influence import Influence
from predictor.models import Prediction
from predictor.predictions.explanation import WHY_VERSION, influence_documents, influence_sentences
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import OF_TODAY, predict, preview_answer, reasons_of_prediction
from profiles.models import Profile, Revision, Source
from tests.mpet_site.api_samples import API, client_of
from tests.pages import text_of
from tests.predictor.conftest import store
from tests.samples import sample_measurements

ADDRESS = f"{API}predictions/"
QUESTION = {"workload": "app1-section1", "target": "machine-2"}
REQUEST = PredictionRequest(**QUESTION)
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
    prediction = predict(REQUEST)
    page = client_of().get(f"/predictions/{prediction.uid}/").content.decode()
    assert f'hx-get="/predictions/{prediction.uid}/why/"' in page
    assert "why" not in client_of().get(f"{ADDRESS}{prediction.uid}/").json()


def test_it_is_kept_when_it_is_first_asked_for(measured, monkeypatch):
    prediction = predict(REQUEST)
    first = why_of(prediction).json()
    assert (first["revision"], first["note"]) == (prediction.revision, None)
    page = f"/predictions/{prediction.uid}/why/"
    assert first["sentences"][0] in text_of(client_of().get(page))
    part = client_of().get(page, headers={"HX-Request": "true"}).content.decode()
    assert first["sentences"][0] in part
    assert "<html" not in part
    Profile.objects.filter(workload__slug="app0-section0").delete()
    Revision.raise_for(None)
    monkeypatch.setattr("predictor.predictions.service.explain", lambda *_: pytest.fail("was explained again"))
    assert why_of(prediction).json() == first


def test_of_a_revision_that_is_gone_it_is_of_today_and_says_so(measured):
    prediction = predict(REQUEST)
    store(sample_measurements(5, 6, seed=3), label="more")
    why = why_of(prediction).json()
    assert why["revision"] == Revision.current()[0] > prediction.revision
    assert why["note"] == OF_TODAY
    assert why["sentences"]
    prediction.refresh_from_db()
    assert "why" not in prediction.answer
    assert OF_TODAY in client_of().get(f"/predictions/{prediction.uid}/why/").content.decode()


def test_where_nothing_can_be_predicted_today_it_says_so(measured):
    prediction = predict(REQUEST)
    Profile.objects.filter(workload__slug="app1-section1").exclude(platform__slug="machine-2").delete()
    Revision.raise_for(None)
    refused = why_of(prediction)
    assert refused.status_code == 422
    assert "no reference profile" in refused.json()["detail"]
    page = client_of().get(f"/predictions/{prediction.uid}/why/")
    assert "was measured on no other machine" in page.content.decode()


def test_of_a_private_prediction_its_owner_alone_reads_it(measured, owner):
    store(sample_measurements(3, 6, seed=9), label="own", owner=owner, private=True)
    prediction = predict(REQUEST, owner)
    assert prediction.private_to == owner
    assert why_of(prediction).status_code == 404
    own = why_of(prediction, owner).json()
    assert own["note"] is None
    assert own["sentences"]


def test_are_given_though_the_database_is_locked(measured, monkeypatch):
    def locked(*_args, **_options):
        raise OperationalError("database is locked")

    prediction = predict(REQUEST)
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


@pytest.fixture
def why(measured):
    return preview_answer(REQUEST, explained=True)["why"]


def test_names_what_limits_it_with_numbers(why):
    assert why["bottlenecks"]
    bounded = [bottleneck for bottleneck in why["bottlenecks"] if bottleneck["speedup_without"] is not None]
    for bottleneck in bounded:
        assert bottleneck["speedup_without"] == pytest.approx(bottleneck["speedup"] / (1 - bottleneck["share"]))
        assert bottleneck["speedup_without"] <= bottleneck["n"]
    assert [part["part"] for part in why["bottlenecks"] if part not in bounded] == ["redundancy"]  # beyond n_ht
    assert any(f"{bounded[0]['speedup_without']:.3g} at best" in sentence for sentence in why["sentences"])
    assert why["bound"]["by"] == "counters"


def test_names_what_carried_it(why):
    carried = why["carried"]
    heaviest = next(influence for influence in carried if influence["kind"] == "reference")
    assert f"The reference {heaviest['name']} has {100 * heaviest['share']:.0f} %" in " ".join(why["sentences"])
    tried = [one for one in carried if one["kind"] != "element" and one["change_percent"] is not None]
    assert {one["kind"] for one in tried} == {"reference", "workload"}
    most = max(tried, key=lambda influence: abs(influence["change_percent"]))
    assert f"{abs(most['change_percent']):.3g} %" in " ".join(why["sentences"])


def speedup_without_redundancy():
    parts = {part["part"]: part for part in preview_answer(REQUEST, explained=True)["why"]["bottlenecks"]}
    return parts["redundancy"]["speedup_without"]


def test_with_the_ceilings_where_they_were_measured(measured):
    """Beyond n_ht it is the arithmetic of the machine that bounds what less redundancy could give."""
    peaks = [{"n": 1, "flop_per_s": 10e9}, {"n": 16, "flop_per_s": 70e9}]
    bandwidths = [{"n": 1, "bytes_per_s": 10e9}, {"n": 16, "bytes_per_s": 60e9}]
    assert speedup_without_redundancy() is None
    Source.objects.update(environment={"roofline": {"peak_flops": peaks, "bandwidth": bandwidths}})
    assert speedup_without_redundancy() == pytest.approx(7)


@pytest.mark.parametrize(
    "changes",
    [
        *({"scenario": "sequential"}, {"scenario": "scaling"}, {"workload_changes": {"lock_delay": 0.5}}, {"n": [1]}),
        *({"method": "mpet2020"}, {"method": "ridge"}),
    ],
)
def test_every_question_and_method_has_one(measured, changes):
    why = preview_answer(replace(REQUEST, **changes), explained=True)["why"]
    assert set(why) == {"version", "sentences", "carried", "bottlenecks", "bound"}
    assert why["bottlenecks"] or "method" not in changes
    if "workload_changes" in changes:
        assert {influence["change_percent"] for influence in why["carried"] if influence["kind"] != "element"} <= {None}


def test_time_only_profiles_too(db):
    store(sample_measurements(5, 5, decomposed=False, counters=False))
    why = preview_answer(REQUEST, explained=True)["why"]
    assert {bottleneck["part"] for bottleneck in why["bottlenecks"]} == {"redundancy"}


ABSURD = 1668.091


def test_what_cannot_be_meant_is_not_told():
    """Of a reference without which nothing sensible is left: neither in a sentence nor as a number."""
    carried = [Influence("reference", "p", 0.5, ABSURD), Influence("reference", "q", 0.4, -0.05)]
    assert [row["change_percent"] for row in influence_documents(carried)] == [None, pytest.approx(-5)]
    told = " ".join(sentence for _, sentence in influence_sentences(carried))
    assert "Without the reference q the predicted times would be 5 % shorter." in told
    assert f"{1 + ABSURD:.3g}" not in told


def test_the_first_three_sentences_are_by_weight(why):
    first = why["sentences"][:3]
    weights = []
    for sentence in first:
        if share := re.search(r"has (\d+) % of the total weight", sentence):
            weights.append(int(share[1]) / 100)
        elif ideal := re.search(r"(\d+) % of the ideal speedup", sentence):
            weights.append(1 - int(ideal[1]) / 100)
        else:
            change = re.search(r"would be (?:([\d.]+) %|([\d.]+) times)", sentence)
            weights.append(float(change[1]) / 100 if change[1] else float(change[2]) - 1)
    assert len(first) == 3
    assert weights == sorted(weights, reverse=True)
    assert any("of the ideal speedup" in sentence for sentence in first)
