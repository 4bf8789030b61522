import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from django.db import connection

from predictor.accuracy.outliers import judge_profiles
from predictor.core.methods import Query, get_method
from predictor.models import AskedPrediction, Computation, Prediction
from predictor.predictions import service
from predictor.predictions.question import (
    InvalidSettings,
    NoPrediction,
    PredictionRequest,
    UnknownName,
)
from predictor.predictions.service import predict, remove_predictions
from predictor.snapshot.cache import read_database
from profiles.ingest.withdrawal import withdraw
from profiles.models import Profile, Source, Workload
from tests.mpet_site.api_samples import API, client_of
from tests.predictor.conftest import only_pair, store, without_pair
from tests.samples import sample_measurements, sample_platform, sample_workload

REQUEST = PredictionRequest(workload="app0-section0", target="machine-1")
pytestmark = pytest.mark.django_db
QUESTION = PredictionRequest("app1-section1", "machine-2")
PAIR = (2, 3)
MEASURED_N = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16]


def types_at_any_depth(value):
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return set().union(*map(types_at_any_depth, items))
    return {type(value)}


def platforms_of(answer):
    return {candidate["platform"] for part in answer["candidates"].values() for candidate in part}


class TestAnswer:
    def test_is_stored_as_plain_json(self, measured):
        stored = Prediction.objects.get(pk=predict(REQUEST).pk).answer
        answer = predict(REQUEST).answer
        for point in answer["curve"]:
            assert point["speedup"] == pytest.approx(answer["t1_s"] / point["time_s"])
            assert point["efficiency"] == pytest.approx(point["speedup"] / point["n"])
        assert answer["sources"] == [{"label": "sample", "licence": "CC0", "citation": "made up"}]
        assert [row["platform"] for row in answer["reference_curves"]] == sorted(platforms_of(answer))
        assert [point["n"] for point in answer["reference_curves"][0]["curve"]] == MEASURED_N
        assert json.loads(json.dumps(stored, allow_nan=False)) == stored == answer
        assert None in stored["features"]["values"] or all(np.isfinite(stored["features"]["values"]))
        assert types_at_any_depth(stored) <= {int, float, str, bool, type(None)}

    def test_is_the_methods_answer(self, measured):
        database, method = read_database(), get_method("mpet")
        query = Query(database.workloads.index("app0-section0"), database.platforms.index("machine-1"))
        expected = method.predict(database, query, method.settings())
        answer = predict(REQUEST).answer
        assert answer["t1_s"] == expected.t1_s
        assert [point["time_s"] for point in answer["curve"]] == expected.time_s.tolist()
        assert len(answer["candidates"]["scaling"]) == len(expected.candidates_scaling)

    def test_relative_times_are_marked(self, db):
        store(sample_measurements(4, 6, time_kinds=dict.fromkeys(range(6), "relative")))
        answer = predict(REQUEST).answer
        assert answer["time_kind"] == "relative"
        assert any("relative" in reason for reason in answer["confidence"]["reasons"])


class TestMeasured:
    def test_error_over_the_measured_n(self, measured):
        answer = predict(REQUEST).answer
        of_pair = answer["measured"]
        assert [point["n"] for point in of_pair["curve"]] == MEASURED_N
        predicted = {point["n"]: point["time_s"] for point in answer["curve"]}
        errors = [abs(predicted[p["n"]] - p["time_s"]) / p["time_s"] for p in of_pair["curve"]]
        assert of_pair["error_percent"] == pytest.approx(100 * sum(errors) / len(errors))
        assert predict(replace(REQUEST, n=[10, 11])).answer["measured"]["error_percent"] is None

    def test_does_not_change_the_prediction(self, db):
        complete = sample_measurements(4, 6)
        store(without_pair(complete, 1, 0), "without")
        before = predict(REQUEST).answer
        assert before["measured"] is None
        store(only_pair(complete, 1, 0))
        after = predict(REQUEST).answer
        assert after["measured"] is not None
        assert after | {name: before[name] for name in ("measured", "revision", "sources")} == before


class TestIdempotence:
    """docs/decisions/prediction-idempotence.md"""

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({}, {}),
            ({}, {"workload": "app0/section0"}),
            ({}, {"settings": {"references": 128}}),
            ({}, {"references": None}),
            (
                {"references": ["machine-2", "machine-0"], "n": [4, 1]},
                {"references": ["machine-0", "machine-2"], "n": [1, 4, 4]},
            ),
        ],
    )
    def test_the_same_request_in_any_spelling_is_the_same_row(self, measured, one, other):
        assert predict(replace(REQUEST, **other)).pk == predict(replace(REQUEST, **one)).pk

    @pytest.mark.parametrize(
        "other",
        [
            {"n": [1, 2]},
            {"settings": {"references": 4}},
            {"references": ["machine-0", "machine-2", "machine-3"]},
            {"target": "machine-2"},
            {"include_simulated": True},
        ],
    )
    def test_another_request_is_another_row(self, measured, other):
        assert predict(replace(REQUEST, **other)).pk != predict(REQUEST).pk

    def test_a_new_answer_costs_ten_queries(self, measured, django_assert_num_queries):
        predict(REQUEST)
        # revision, newest profile, stored? (no), the target and its ceilings, virtualised, sources,
        # get_or_create: get, savepoint, insert, release; the uids of the sources
        with django_assert_num_queries(10):
            predict(replace(REQUEST, target="machine-2"))

    def test_who_comes_second_gets_the_first_ones_row(self, measured, monkeypatch):
        """The other request stores its answer after ours looked for one and before ours is stored."""
        document_of, first = service.answer_document, []

        def overtaken(basis, canonical, **options):
            monkeypatch.setattr(service, "answer_document", document_of)
            first.append(predict(REQUEST))
            return document_of(basis, canonical, **options)

        monkeypatch.setattr(service, "answer_document", overtaken)
        assert predict(REQUEST).pk == first[0].pk
        assert Prediction.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_time_share_one_row():
    store(sample_measurements(4, 6))
    barrier, stored = threading.Barrier(4), []

    def ask():
        barrier.wait()
        try:
            stored.append(predict(REQUEST).uid)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(stored), len(set(stored)), Prediction.objects.count()) == (4, 1, 1)


INVALID_SETTINGS = [("colour", 1), ("level", 2.0), ("references", "x")]
INVALID_N = [[], [0], [-1], [2**21], [True], [1.5], list(range(1, 5000))]


class TestRefusals:
    @pytest.mark.parametrize(
        ("field", "name", "suggestion"),
        [
            ("workload", "app0-section9", "app0-section0"),
            ("target", "machin-1", "machine-1"),
            ("references", "machin-1", "machine-1"),
            ("method", "guess", "mpet2020"),
        ],
    )
    def test_unknown_names_suggest_near_ones(self, measured, field, name, suggestion):
        with pytest.raises(UnknownName, match=suggestion) as caught:
            predict(replace(REQUEST, **{field: ["machine-0", name] if field == "references" else name}))
        assert suggestion in caught.value.suggestions
        assert (caught.value.request_field, caught.value.name) == (field, name)

    def test_suggestions_are_visible_rows_only(self, measured, owner, django_user_model):
        secret = replace(sample_measurements(1, 1), workloads=[sample_workload(0, name="secret/one")])
        store(secret, "secret", owner, private=True)
        for user, is_seen in ((django_user_model.objects.create_user("other"), False), (owner, True)):
            with pytest.raises(UnknownName) as caught:
                predict(replace(REQUEST, workload="secret/oen"), user)
            assert any("secret" in suggestion for suggestion in caught.value.suggestions) == is_seen

    def test_a_name_that_several_rows_have_is_ambiguous(self, db):
        records = [sample_workload(index, name="same/one", version=str(index)) for index in range(6)]
        store(replace(sample_measurements(3, 6), workloads=records))
        with pytest.raises(UnknownName) as caught:
            predict(replace(REQUEST, workload="same/one"))
        assert len(caught.value.suggestions) == 5
        assert predict(replace(REQUEST, workload=caught.value.suggestions[1])).workload == caught.value.suggestions[1]

    @pytest.mark.parametrize(
        ("changes", "name"),
        [
            *(({"settings": {name: value}}, name) for name, value in INVALID_SETTINGS),
            *(({"n": n}, "n") for n in INVALID_N),
            ({"references": []}, "references"),
        ],
    )
    def test_invalid_fields_are_named(self, measured, changes, name):
        with pytest.raises(InvalidSettings) as caught:
            predict(replace(REQUEST, **changes))
        assert caught.value.name == name

    def test_too_few_candidates(self, db):
        store(sample_measurements(2, 1))
        with pytest.raises(NoPrediction) as caught:
            predict(REQUEST)
        assert caught.value.found < caught.value.needed
        assert Prediction.objects.count() == 0


class TestReferences:
    def test_those_that_took_no_part_are_named(self, db):
        store(without_pair(sample_measurements(4, 6), 3, 0))
        request_made = replace(REQUEST, references=["machine-0", "machine-1", "machine-3"])
        warnings = predict(request_made).answer["warnings"]
        assert any("machine-1" in text and "target" in text for text in warnings)
        assert any("machine-3" in text and "no comparable profile" in text for text in warnings)


class TestSimulated:
    def test_is_marked_when_asked(self, measured):
        simulated = replace(sample_measurements(1, 6, seed=5, origin="simulated"), platforms=[sample_platform(8)])
        store(simulated, "simulated", kind="simulator")
        answer = predict(replace(REQUEST, target="machine-8", include_simulated=True)).answer
        assert answer["simulated"] is True
        assert answer["confidence"]["level"] == "low"
        assert "simulated profiles were used, mixed with measured ones" in answer["warnings"]

    def test_a_workload_that_is_only_simulated_needs_no_asking(self, measured):
        records = [sample_workload(index, runtime="simulated") for index in range(6)]
        store(replace(sample_measurements(3, 6, origin="simulated"), workloads=records), "demo", kind="simulator")
        request = replace(REQUEST, workload=Workload.objects.filter(runtime="simulated").first().slug)
        prediction = predict(request)
        assert prediction.answer["simulated"] is True
        for said in (prediction.answer["confidence"]["reasons"], prediction.answer["warnings"]):
            assert "simulated profiles were used" in said
        by_hand = predict(replace(request, include_simulated=True)).answer
        assert by_hand["simulated"] is True
        assert (prediction.answer["include_simulated"], by_hand["include_simulated"]) == (False, True)

    def test_one_measurement_of_the_workload_ends_that(self, measured):
        """Also where it does not lead to an answer: measured and simulated data are mixed on request alone."""
        store(sample_measurements(3, 7, origin="simulated"), "demo", kind="simulator")
        request = replace(REQUEST, workload="app3-section0")
        assert predict(request).answer["simulated"] is True
        on_target = replace(sample_measurements(1, 7, seed=6), platforms=[sample_platform(1)])
        store(on_target, "more")
        with pytest.raises(NoPrediction):
            predict(request)


class TestMixedRuntimes:
    def test_the_rows_of_all_runtimes_count(self, db):
        records = [sample_workload(index, runtime="openmp" if index else "mpal") for index in range(6)]
        store(replace(sample_measurements(4, 6), workloads=records))
        for method in ("mpet", "mpet2020"):
            answer = predict(replace(REQUEST, method=method)).answer
            assert answer["sources"]
            assert len(answer["reference_curves"]) == 3
        with pytest.raises(NoPrediction, match="runtime"):
            predict(replace(REQUEST, method="mpet2020", settings={"mix_runtimes": "never"}))


def sample(**fields):
    return sample_measurements(3, 4, **fields)


def removed(user) -> int:
    return remove_predictions(Prediction.objects.all(), user)


@pytest.mark.parametrize("first", ["alice", "bob", None])
def test_a_public_one_is_gone_unless_somebody_else_asked_for_it(alice, bob, first):
    store(sample())
    users = {"alice": alice, "bob": bob, None: None}
    for user in (users[first], alice, bob if first else None):
        predict(QUESTION, user)
    assert [removed(alice), removed(alice)] == [1, 0]
    assert Prediction.objects.count() == 1
    assert not Prediction.objects.mine(alice).exists()
    predict(replace(QUESTION, n=[1]), alice)
    assert removed(alice) == 1
    assert Prediction.objects.count() == 1


def test_nobody_deletes_what_was_found_to_be_wrong_of_the_track_record(alice):
    store(without_pair(sample(), *PAIR))
    prediction = predict(QUESTION, alice)
    Prediction.objects.filter(pk=prediction.pk).update(settled_at=prediction.created_at, is_blind=True)
    assert removed(alice) == 1
    assert Prediction.objects.get() == prediction
    assert not AskedPrediction.objects.exists()


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
        first = store(only_pair(sample(), *PAIR), label="first", owner=alice)
        second = store(only_pair(sample(), *PAIR), label="second", owner=bob)
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
    kept = store(only_pair(sample(), *PAIR), label="kept").profiles[0]
    source = store(sample(seed=2), label="mine", owner=alice).source
    Profile.objects.filter(pk=kept.pk).update(outlier_reason="contradicted", outlier_judge="computed")
    with django_capture_on_commit_callbacks(execute=True):
        withdraw(Source.objects.filter(pk=source.pk))
    kept.refresh_from_db()
    assert (kept.outlier_reason, kept.outlier_judge) == ("", "")
    assert judge_profiles([kept.pk]) == 0
