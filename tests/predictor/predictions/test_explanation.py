"""Why in stored answers: sentences with the numbers of the document."""

import re
from dataclasses import replace

import pytest
from django.test import Client
from rest_framework.test import APIClient

from predictor.core.why.influence import Influence
from predictor.predictions.explanation import influence_documents, influence_sentences
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict, preview_answer
from profiles.models import Source
from tests.pages import text_of
from tests.predictor.conftest import store
from tests.samples import sample_measurements

QUESTION = PredictionRequest(workload="app1-section1", target="machine-2")


@pytest.fixture
def why(measured):
    return preview_answer(QUESTION, explained=True)["why"]


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
    parts = {part["part"]: part for part in preview_answer(QUESTION, explained=True)["why"]["bottlenecks"]}
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
    why = preview_answer(replace(QUESTION, **changes), explained=True)["why"]
    assert set(why) == {"version", "sentences", "carried", "bottlenecks", "bound"}
    assert why["bottlenecks"] or "method" not in changes
    if "workload_changes" in changes:
        assert {influence["change_percent"] for influence in why["carried"] if influence["kind"] != "element"} <= {None}


def test_time_only_profiles_too(db):
    store(sample_measurements(5, 5, decomposed=False, counters=False))
    why = preview_answer(QUESTION, explained=True)["why"]
    assert {bottleneck["part"] for bottleneck in why["bottlenecks"]} == {"redundancy"}


def test_the_api_and_the_page_show_it(measured):
    uid = predict(QUESTION).uid
    why = APIClient().get(f"/api/v1/predictions/{uid}/why/").json()
    page = Client().get(f"/predictions/{uid}/").content.decode()
    assert why["sentences"][0] not in page
    assert f'hx-get="/predictions/{uid}/why/"' in page
    assert why["sentences"][0] in text_of(Client().get(f"/predictions/{uid}/why/"))
    part = Client().get(f"/predictions/{uid}/why/", headers={"HX-Request": "true"}).content.decode()
    assert why["sentences"][0] in part
    assert "<html" not in part


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
