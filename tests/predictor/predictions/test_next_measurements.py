"""What to measure next for a stored prediction: API, command, privacy."""

import io
import json
from dataclasses import replace

import pytest
from django.core.cache import cache
from django.core.management import call_command
from rest_framework.test import APIClient

from predictor.core.why import next_measurement
from predictor.predictions import next_measurements
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from tests.mpet_site.api_samples import client_of
from tests.predictor.conftest import store, without_pair
from tests.samples import sample_measurements

QUESTION = PredictionRequest(workload="app1-section1", target="machine-2")


@pytest.fixture(autouse=True)
def nothing_kept():
    cache.clear()


@pytest.fixture
def gaps(db):
    """Seven platforms with six workloads: one is missing on the target, the workload is missing on another."""
    whole = sample_measurements(7, 6)
    for pair in ((2, 3), (2, 4), (5, 3)):
        whole = without_pair(whole, *pair)
    store(whole)


def command(*options):
    out = io.StringIO()
    asked = ("--workload", QUESTION.workload, "--target", QUESTION.target, "--measure-next")
    call_command("predict", *asked, *options, stdout=out)
    return out.getvalue()


def address(prediction):
    return f"/api/v1/predictions/{prediction.uid}/measure-next/"


def test_names_a_benchmark_and_a_platform(gaps):
    document = APIClient().get(address(predict(QUESTION))).json()
    places = {tuple(row[name] for name in ("kind", "workload", "platform")) for row in document["results"]}
    assert places == {("benchmark", "app2-section0", "machine-2"), ("platform", "app1-section1", "machine-5")}
    assert document["method"] == "mpet"
    for measurement in document["results"]:
        assert measurement["interval_now"] >= 1
        assert measurement["workload"] in measurement["sentence"]
        assert measurement["platform"] in measurement["sentence"]
    expected = [measurement["interval_expected"] for measurement in document["results"]]
    assert expected == sorted(expected)


def test_it_is_computed_once_and_again_when_something_new_is_known(gaps, monkeypatch):
    prediction = predict(QUESTION)
    calls = []

    def counted(*args, **options):
        calls.append(args)
        return next_measurement.try_measurements(*args, **options)

    monkeypatch.setattr(next_measurements, "try_measurements", counted)
    first = APIClient().get(address(prediction)).json()
    assert APIClient().get(address(prediction)).json() == first
    assert len(calls) == 1
    store(sample_measurements(1, 1, seed=5), label="more")
    APIClient().get(address(prediction))
    assert len(calls) == 2


def test_of_a_private_prediction_only_its_owner_may_ask(gaps, owner):
    store(sample_measurements(1, 1, seed=8), label="mine", owner=owner, private=True)
    prediction = predict(QUESTION, owner)
    assert prediction.private_to == owner
    assert APIClient().get(address(prediction)).status_code == 404
    assert client_of(owner).get(address(prediction)).json()["results"]


def test_of_a_public_prediction_private_profiles_say_nothing(gaps, owner):
    prediction = predict(QUESTION)
    nobody = APIClient().get(address(prediction)).json()
    store(sample_measurements(1, 1, seed=8), label="mine", owner=owner, private=True)
    assert client_of(owner).get(address(prediction)).json() == nobody


def test_the_command(gaps):
    assert "benchmark  app2-section0  machine-2" in command()
    assert len(json.loads(command("--json"))["results"]) == 2


def test_where_nothing_is_missing_the_command_says_so(measured):
    assert "No further measurement" in command()


@pytest.mark.parametrize(
    "changes", [{"scenario": "sequential"}, {"workload_changes": {"work": 2.0}}, {"method": "mpet2020"}]
)
def test_other_questions_and_methods_without_intervals_have_it_from_the_default(gaps, changes):
    response = APIClient().get(address(predict(replace(QUESTION, **changes))))
    assert (response.status_code, response.json()["method"]) == (200, "mpet")
