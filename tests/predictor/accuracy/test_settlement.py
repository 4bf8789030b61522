"""Predictions beside what was measured later: errors, intervals, the score, and who may see them."""

from dataclasses import replace

import numpy as np
import pytest
from django.test import Client
from rest_framework.test import APIClient

from predictor.accuracy.settlement import compare_with_measured, scores, settle_delivery, settle_merged
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Platform, Profile
from profiles.moderation import mark_outlier, merge_platforms, set_hidden
from tests.mpet_site.api_samples import client_of
from tests.predictor.conftest import only_pair, store, without_pair
from tests.samples import sample_measurements

QUESTION = PredictionRequest(workload="app1-section1", target="machine-2")
PAIR = (2, 3)
API = "/api/v1/predictions/"


def before(**fields):
    """The sample without the pair."""
    return without_pair(sample_measurements(4, 6, **fields), *PAIR)


def measurement(**fields):
    """The pair alone, as it is measured later."""
    return only_pair(sample_measurements(4, 6, **fields), *PAIR)


def delivered(measurements, label="later", **how):
    source = store(measurements, label=label, **how).source
    return settle_delivery(source)


@pytest.fixture
def prediction(db):
    store(before())
    return predict(QUESTION)


def answer(t=(10.0, 5.0), low=(9.0, 4.0), high=(11.0, 6.0)):
    points = zip((1, 2), t, low, high, strict=True)
    return {
        "t1_s": t[0],
        "curve": [
            {"n": n, "time_s": time, "low_s": lo, "high_s": hi, "speedup": t[0] / time} for n, time, lo, hi in points
        ],
    }


def scaling_answer():
    whole = answer()
    return {"t1_s": None, "curve": [row | dict.fromkeys(("time_s", "low_s", "high_s")) for row in whole["curve"]]}


@pytest.mark.parametrize(
    ("given", "measured", "errors", "points"),
    [
        # 10 for 8: 25 %. 5 for 5: 0 %. Scaling: 0.5 for 5/8: 20 % at n = 2, none at n = 1.
        (answer(), {1: 8.0, 2: 5.0}, (0.125, 0.25, 0.1), (2, 1)),
        (answer(), {2: 4.0, 64: 1.0}, (0.25, None, None), (1, 1)),
        (answer(), {64: 1.0}, (None, None, None), (0, 0)),
        (scaling_answer(), {1: 8.0, 2: 5.0}, (None, None, 0.1), (0, 0)),
    ],
    ids=["times, t1 and scaling", "only common n", "nothing in common", "a scaling answer has no times"],
)
def test_errors_and_points_inside(given, measured, errors, points):
    found = compare_with_measured(given, np.array(list(measured)), np.array(list(measured.values())))
    assert tuple(found.values()) == pytest.approx((*errors, *points))


def test_a_later_measurement_settles_what_was_predicted(prediction):
    answer = prediction.answer
    assert delivered(measurement()) == 1
    settled = Prediction.objects.get()
    assert settled.answer == answer
    curve = Profile.objects.get(source__label="later").curves
    expected = compare_with_measured(answer, curve.n, curve.values[: len(curve.n)])
    assert {name: getattr(settled, name) for name in expected} == expected
    assert (settled.is_blind, settled.settled_origin, settled.points) == (True, "measured", 11)


def test_the_first_measurement_settles_for_good(prediction):
    delivered(measurement())
    first = Prediction.objects.values().get()
    assert delivered(measurement(seed=5), label="again") == 0
    assert Prediction.objects.values().get() == first


def doubt(profile, by, on=True):
    if by == "outlier":
        mark_outlier(profile, "ran beside another program" if on else "")
    else:
        set_hidden(profile.source, on)


@pytest.mark.parametrize("by", ["outlier", "hidden"])
def test_what_was_doubted_later_settles_no_more_and_may_be_settled_again(prediction, by):
    address = f"{API}{prediction.uid}/"
    first = APIClient().get(address)
    delivered(measurement())
    profile = Profile.objects.get(source__label="later")
    settled = APIClient().get(address, HTTP_IF_NONE_MATCH=first["ETag"])
    error = settled.json()["settlement"]["error_percent"]
    assert error == pytest.approx(100 * Prediction.objects.get().error_full)
    assert settled.json() | {"settlement": None} == first.json()
    doubt(profile, by)
    open_again = APIClient().get(address, HTTP_IF_NONE_MATCH=settled["ETag"])
    assert open_again.json()["settlement"] is None
    assert APIClient().get(f"{API}?settled=true").json()["count"] == 0
    assert scores(None, "measured") == []
    assert "settled-error" not in Client().get(f"/predictions/{prediction.uid}/").content.decode()
    doubt(profile, by, False)
    assert APIClient().get(address).json() == settled.json()
    doubt(profile, by)
    assert delivered(measurement(seed=5), label="again") == 1
    assert Prediction.objects.get().settled_by == Profile.objects.get(source__label="again")
    assert scores(None, "measured")[0].count == 1


def test_a_removed_measurement_leaves_its_settlement(prediction):
    delivered(measurement())
    Profile.objects.get(source__label="later").delete()
    assert delivered(measurement(seed=5), label="again") == 0
    assert scores(None, "measured")[0].count == 1


def test_other_pairs_settle_nothing(prediction):
    whole = sample_measurements(4, 6, seed=3)
    others = [profile for profile in whole.profiles if (profile.platform, profile.workload) in {(2, 2), (1, 3)}]
    assert delivered(replace(whole, profiles=others)) == 0


def test_of_a_delivery_only_what_somebody_predicted_is_read(db, django_assert_max_num_queries):
    delivery = store(sample_measurements(4, 6)).source
    with django_assert_max_num_queries(1):
        assert settle_delivery(delivery) == 0


def test_what_was_known_before_is_leave_one_out_and_does_not_count(measured):
    predict(QUESTION)
    assert delivered(measurement(seed=5)) == 1
    assert Prediction.objects.get().is_blind is False
    assert scores(None, "measured") == []
    assert APIClient().get(f"{API}?settled=true").json()["results"][0]["settlement"]["blind"] is False


def test_a_changed_workload_is_never_settled(db):
    store(before())
    predict(replace(QUESTION, workload_changes={"work": 2.0}))
    assert delivered(measurement()) == 0


@pytest.mark.parametrize(
    ("origin", "how"),
    [
        ("simulated", {"kind": "simulator"}),
        ("emulated", {"owned": True}),
        ("measured", {"owned": True, "private": True}),
    ],
)
def test_simulated_emulated_and_private_measurements_settle_no_public_answer(prediction, owner, origin, how):
    how = {name: value for name, value in how.items() if name != "owned"} | {"owner": owner if "owned" in how else None}
    assert delivered(measurement(origin=origin), **how) == 0


class TestMerged:
    """machine-2 and machine-two turn out to be one: what was predicted of either is settled by what both measured."""

    TWO = replace(QUESTION, target="machine-two")

    @pytest.fixture
    def two(self, db):
        store(before())
        whole = sample_measurements(4, 6, seed=3)
        whole.platforms[2] = replace(whole.platforms[2], name="machine-two", kernel="Linux 6.12")
        store(only_pair(whole, 2, 0), label="two")
        return Platform.objects.get(slug="machine-two")

    def merge(self, duplicate):
        merge_platforms(duplicate, Platform.objects.get(slug="machine-2"))

    def test_a_measurement_after_the_merge_settles(self, two):
        predict(self.TWO)
        self.merge(two)
        assert delivered(measurement()) == 1
        assert (Prediction.objects.get().target, scores(None, "measured")[0].count) == ("machine-two", 1)

    def test_the_merge_settles_by_what_was_measured_before_it(self, two, django_capture_on_commit_callbacks):
        predict(self.TWO)
        assert delivered(measurement()) == 0
        with django_capture_on_commit_callbacks(execute=True):
            self.merge(two)
        assert Prediction.objects.get().settled_by.source.label == "later"

    def test_the_first_of_several_settles(self, two):
        predict(self.TWO)
        for label, seed in (("later", 1), ("again", 5)):
            delivered(measurement(seed=seed), label=label)
        self.merge(two)
        assert settle_merged(Platform.objects.get(slug="machine-2")) == 1
        assert Prediction.objects.get().settled_by.source.label == "later"

    def test_what_others_measured_in_private_does_not_show_in_the_score(self, two, owner):
        delivered(measurement(), label="private", owner=owner, private=True)
        predict(self.TWO)
        self.merge(two)
        assert delivered(measurement(seed=5), label="again") == 1
        assert Prediction.objects.get().is_blind is True

    def test_it_does_not_count_where_the_machine_was_measured_before(self, two):
        delivered(measurement())
        predict(self.TWO)
        self.merge(two)
        assert delivered(measurement(seed=5), label="again") == 1
        assert Prediction.objects.get().is_blind is False


def test_a_private_measurement_settles_its_owners_private_predictions(db, owner, django_user_model):
    store(before())
    store(sample_measurements(1, 1, seed=8), label="mine", owner=owner, private=True)
    mine, public = predict(QUESTION, owner), predict(QUESTION)
    assert mine.private_to == owner
    assert delivered(measurement(), owner=owner, private=True) == 1
    assert list(Prediction.objects.filter(settled_at=None)) == [public]
    stranger = django_user_model.objects.create_user("stranger")
    listed = [
        [result["id"] for result in client.get(f"{API}?settled=true").json()["results"]]
        for client in (APIClient(), client_of(stranger), client_of(owner))
    ]
    assert listed == [[], [], [str(mine.uid)]]
    assert scores(None, "measured") == []
    assert scores(owner, "measured")[0].count == 1


class TestApi:
    def test_lists_settled_ones_only(self, prediction):
        predict(replace(QUESTION, method="mpet2020"))
        predict(replace(QUESTION, target="machine-1"))
        assert APIClient().get(f"{API}?settled=true").json()["count"] == 0
        delivered(measurement())
        results = APIClient().get(f"{API}?settled=true&ordering=-error").json()["results"]
        assert [result["target"] for result in results] == ["machine-2", "machine-2"]
        errors = [result["settlement"]["error_percent"] for result in results]
        assert errors == sorted(errors, reverse=True)
        assert APIClient().get(f"{API}?settled=false").status_code == 400
        assert "curve" not in results[0]
        csv = b"".join(APIClient().get(f"{API}?settled=true&format=csv").streaming_content).decode().splitlines()
        assert "error_percent" in csv[0]
        assert any(str(prediction.uid) in line for line in csv[1:])

    def test_the_score(self, prediction):
        predict(replace(QUESTION, method="mpet2020"))
        delivered(measurement())
        document = APIClient().get(f"{API}score/").json()
        assert document["origin"] == "measured"
        by_method = {score["method"]: score for score in document["results"]}
        assert set(by_method) == {"mpet", "mpet2020"}
        row = Prediction.objects.get(method="mpet")
        assert by_method["mpet"]["mean_error_percent"] == pytest.approx(100 * row.error_full)
        assert by_method["mpet"]["coverage"] == pytest.approx(row.points_inside / row.points)
        assert by_method["mpet2020"]["coverage"] is None
        assert APIClient().get(f"{API}score/?origin=nothing").status_code == 400


def test_pages_show_score_table_and_error_once_something_is_settled(prediction):
    address = f"/predictions/{prediction.uid}/"
    assert "No prediction has been validated yet" in Client().get("/settled/").content.decode()
    assert "settled-error" not in Client().get(address).content.decode()
    delivered(measurement())
    assert "settled-error" in Client().get(address).content.decode()
    response = Client().get("/settled/?ordering=-error")
    page = response.content.decode()
    assert "Track record by method" in page
    assert address in page
    assert f"/profiles/{Profile.objects.get(source__label='later').uid}/" in page
    twin = APIClient().get(response.context["twin"]).json()["results"]
    assert [result["id"] for result in twin] == [str(prediction.uid)]
    assert 'href="/settled/"' in Client().get("/accuracy/").content.decode()


def test_only_runs_that_were_delivered_after_the_prediction_settle_it(measured):
    """What is already there when the question is asked settles nothing, even if it is judged again."""
    predict(QUESTION)
    source = Profile.objects.first().source
    assert settle_delivery(source) == 0
