"""Why in stored answers: sentences with the numbers of the document."""

from dataclasses import replace

import pytest
from django.test import Client
from rest_framework.test import APIClient

from predictor.predictions.request import PredictionRequest
from predictor.predictions.service import predict, preview_answer
from profiles.models import Source
from tests.predictor.conftest import store
from tests.samples import sample_measurements

QUESTION = PredictionRequest(workload="app1-section1", target="machine-2")


@pytest.fixture
def why(measured):
    return predict(QUESTION).answer["why"]


def test_names_what_limits_it_with_numbers(why):
    assert why["bottlenecks"]
    worst = why["bottlenecks"][0]
    assert worst["speedup_without"] == pytest.approx(worst["speedup"] / (1 - worst["share"]))
    assert any(f"{worst['speedup_without']:.3g} at best" in sentence for sentence in why["sentences"])
    assert why["bound"]["by"] == "scaling"


def test_names_what_carried_it(why):
    carried = why["carried"]
    heaviest = next(influence for influence in carried if influence["kind"] == "reference")
    assert f"The reference {heaviest['name']} has {heaviest['share']:.0%}" in " ".join(why["sentences"])
    tried = [influence for influence in carried if influence["kind"] != "element"]
    assert all(influence["change_percent"] is not None for influence in tried)
    most = max(tried, key=lambda influence: abs(influence["change_percent"]))
    assert f"{abs(most['change_percent']):.3g} %" in " ".join(why["sentences"])


def test_by_the_roofline_where_it_was_measured(measured):
    roofline = {
        "peak_flops": [{"n": 1, "flop_per_s": 10e9}, {"n": 16, "flop_per_s": 160e9}],
        "bandwidth": [{"n": 1, "bytes_per_s": 10e9}, {"n": 16, "bytes_per_s": 10e9 * 6.4}],
    }
    before = preview_answer(QUESTION)["why"]["bound"]["by"]
    speedup = preview_answer(QUESTION)["curve"][-1]["speedup"]
    roofline["bandwidth"][1]["bytes_per_s"] = 10e9 * speedup
    Source.objects.update(environment={"roofline": roofline})
    after = preview_answer(QUESTION)["why"]
    assert before == "scaling"
    assert after["bound"] == {"kind": "memory", "by": "roofline"}
    assert "memory-bound, by the scaling of the roofline" in " ".join(after["sentences"])


@pytest.mark.parametrize(
    "changes",
    [{"scenario": "sequential"}, {"scenario": "scaling"}, {"workload_changes": {"lock_delay": 0.5}}, {"n": [1]}],
)
def test_every_question_has_one(measured, changes):
    why = preview_answer(replace(QUESTION, **changes))["why"]
    assert set(why) == {"sentences", "carried", "bottlenecks", "bound"}
    if "workload_changes" in changes:
        assert {influence["change_percent"] for influence in why["carried"] if influence["kind"] != "element"} <= {None}


@pytest.mark.parametrize("method", ["mpet-log", "mpet2020", "ridge"])
def test_of_every_method(measured, method):
    assert preview_answer(replace(QUESTION, method=method))["why"]["bottlenecks"]


def test_time_only_profiles_too(db):
    store(sample_measurements(5, 5, decomposed=False, counters=False))
    why = preview_answer(QUESTION)["why"]
    assert {bottleneck["part"] for bottleneck in why["bottlenecks"]} == {"redundancy"}


def test_the_api_and_the_page_show_it(measured):
    uid = predict(QUESTION).uid
    why = APIClient().get(f"/api/v1/predictions/{uid}/").json()["why"]
    page = Client().get(f"/predictions/{uid}/").content.decode()
    assert why["sentences"][0] in page
