"""With how many threads to run: the answer of the API, and what it rests on."""

import numpy as np
import pytest

from predictor.predictions.thread_advice import advice_from_answer
from profiles.models import Platform, Workload
from tests.mpet_site.api_samples import API, client_of, strict_json
from tests.mpet_site.web.test_problems import problem_in

pytestmark = pytest.mark.django_db
ADDRESS = API + "advice/"
ASKED = {"workload": "app0-section0", "target": "machine-0"}


def answer_of(curve, measured=None, changes=()):
    rows = [{"n": n, "time_s": t, "low_s": t / 1.02, "high_s": t * 1.02} for n, t in curve]
    known = None if measured is None else {"curve": [{"n": n, "time_s": t} for n, t in measured]}
    return {"curve": rows, "measured": known, "changes": list(changes), "workload": "w", "target": "t", "revision": 1}


def test_the_advice_has_what_formats_promise(kit):
    response = client_of().get(ADDRESS, ASKED)
    assert response.status_code == 200, response.content
    advice = strict_json(response.content)
    assert {"workload", "target", "n", "time_s", "low_s", "high_s", "all_threads", "probability", "environment",
            "reasons"} <= set(advice)  # fmt: skip
    assert advice["workload"] == ASKED["workload"] and advice["target"] == ASKED["target"]
    assert set(advice["all_threads"]) == {"n", "time_s", "loss"}
    assert advice["all_threads"]["loss"] == pytest.approx(advice["all_threads"]["time_s"] / advice["time_s"] - 1)
    assert 0 < advice["probability"] <= 1
    assert advice["environment"]["OMP_NUM_THREADS"] == str(advice["n"])
    assert advice["reasons"] and all(reason.endswith(".") for reason in advice["reasons"])


def test_names_are_found_as_for_a_prediction_and_refusals_are_its_refusals(kit):
    platform, workload = Platform.objects.get(slug="machine-0"), Workload.objects.get(slug="app0-section0")
    by_name = client_of().get(ADDRESS, {"workload": workload.name, "target": platform.name})
    assert by_name.json() == client_of().get(ADDRESS, ASKED).json()
    for asked in (ASKED | {"target": "nowhere"}, {"target": "machine-0"}, ASKED | {"method": "guess"}):
        mine, theirs = client_of().get(ADDRESS, asked), client_of().get(API + "predictions/preview/", asked)
        assert mine.status_code == theirs.status_code >= 400
        assert problem_in(mine, mine.status_code)["type"] == problem_in(theirs, theirs.status_code)["type"]


def test_what_was_measured_there_counts_before_what_is_predicted():
    target = Platform(n_max=8, n_ht=None, n_nu=None)
    predicted = [(1, 8.0), (2, 4.0), (4, 2.0), (8, 1.0)]
    assert advice_from_answer(answer_of(predicted), target)["n"] == 8
    advice = advice_from_answer(answer_of(predicted, measured=[(1, 8.0), (4, 3.0), (8, 4.5)]), target)
    assert (advice["n"], advice["measured"]) == (4, True)
    assert advice["all_threads"] == {"n": 8, "time_s": 4.5, "loss": pytest.approx(0.5)}
    assert advice["reasons"][:2] == [
        "It was measured there, with 3 thread counts.",
        "All 8 threads take 50 % longer.",
    ]
    # One measured n says nothing about the others, and a what-if is about a machine where nothing was measured.
    assert advice_from_answer(answer_of(predicted, measured=[(1, 8.0)]), target)["n"] == 8
    changed = answer_of(predicted, measured=[(1, 8.0), (4, 3.0), (8, 4.5)], changes=["half the lock delay"])
    assert advice_from_answer(changed, target)["n"] == 8


def test_threads_are_placed_as_they_were_measured():
    target = Platform(n_max=16, n_nu=5, n_ht=9)
    few = advice_from_answer(answer_of([(1, 8.0), (4, 2.0), (8, 3.0), (16, 4.0)]), target)
    assert few["environment"] == {"OMP_NUM_THREADS": "4", "OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
    assert few["smt"] is False
    assert few["reasons"][2:] == [
        "From 5 threads on, a second NUMA node is used.",
        "From 9 threads on, cores run two threads each.",
    ]
    every = advice_from_answer(answer_of([(1, 8.0), (16, 1.0)]), target)
    assert every["environment"]["OMP_PLACES"] == "threads" and every["smt"] is True
    assert advice_from_answer(answer_of([]), target) is None


def test_a_program_that_loses_from_one_thread_to_two_is_advised_one():
    times = 8 * (1 + 0.3 * np.log2([1, 2, 4, 8]))
    advice = advice_from_answer(answer_of(zip([1, 2, 4, 8], times, strict=True)), Platform(n_max=8))
    assert advice["n"] == 1 and advice["probability"] > 0.95


def test_the_answer_page_says_it_too(kit):
    text = client_of().get("/predictions/answer/", ASKED).content.decode()
    advice = client_of().get(ADDRESS, ASKED).json()
    assert f"{advice['n']}" in text.split('id="thread-advice"')[1].split("</p>")[0]
