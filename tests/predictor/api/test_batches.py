"""POST predictions/batch/: a line of JSON for each pair, with the numbers of single predictions; one line sums up."""

import json

import pytest

from predictor.models import Prediction
from predictor.predictions.rankings import rank_platforms
from tests.mpet_site.api_samples import API, client_of, make_user, store
from tests.pages import store_private
from tests.predictor.conftest import module_rows
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
WORKLOADS = ["app0-section0", "app0-section1"]
TARGETS = ["machine-1", "machine-3"]


fleet_rows = module_rows(lambda: store(sample_measurements(5, 6)))


@pytest.fixture
def user(fleet_rows, db):
    return make_user("ada")


def posted(user, **body):
    return client_of(user).post(f"{API}predictions/batch/", {"workloads": WORKLOADS} | body, format="json")


def lines(response):
    assert response.status_code == 200
    assert response["Content-Type"] == "application/jsonl"
    return [json.loads(line) for line in response.getvalue().decode().splitlines()]


def test_each_pair_has_a_line_with_the_numbers_of_a_single_prediction(user):
    *rows, last = lines(posted(user, targets=TARGETS))
    assert [(row["workload"], row["target"]) for row in rows] == [(w, t) for w in WORKLOADS for t in TARGETS]
    assert (last["pairs"], last["answered"], last["next"]) == (4, 4, None)
    for row in rows:
        body = {"workload": row["workload"], "target": row["target"]}
        single = client_of(user).post(f"{API}predictions/", body, format="json").json()
        best = min(single["curve"], key=lambda point: point["time_s"])
        assert row["n_best"] == best["n"]
        for name in ("time_s", "low_s", "high_s"):
            assert row[name] == pytest.approx(best[name], rel=1e-9)
    assert Prediction.objects.count() == 4, "the single ones: nothing of the batch is stored"


def test_without_targets_every_platform_is_one(user):
    *rows, last = lines(posted(user, workloads=WORKLOADS[:1]))
    ranked = {row["platform"]: row for row in rank_platforms(WORKLOADS[0]).results}
    assert {row["target"]: row["time_s"] for row in rows} == {slug: row["time_s"] for slug, row in ranked.items()}
    assert last["pairs"] == 5


def test_a_pair_without_a_prediction_has_the_reason(user):
    *rows, _ = lines(posted(user, targets=TARGETS, n=10_000))
    assert all("it has only" in row["reason"] for row in rows)


def test_estimates_come_in_one_pass_for_each_workload(user, monkeypatch):
    monkeypatch.setattr("predictor.predictions.ranking_rows.ranking_row", None)
    *rows, _ = lines(posted(user, estimate=True))
    assert [(row["estimated"], row["low_s"]) for row in rows] == [(True, None)] * 10


def test_what_takes_too_long_goes_on_in_the_next_request(user, settings):
    settings.BATCH_SECONDS = 0
    every, skip = [], 0
    while skip is not None:
        *rows, last = lines(posted(user, targets=TARGETS, skip=skip))
        assert len(rows) == 1
        every += rows
        skip = last["next"]
    settings.BATCH_SECONDS = 60
    assert every == lines(posted(user, targets=TARGETS))[:-1]
    assert lines(posted(user, targets=TARGETS, skip=99))[0]["next"] is None


def test_lines_are_made_while_they_are_read(user):
    response = posted(user, targets=TARGETS)
    assert response.streaming
    assert json.loads(next(iter(response.streaming_content)))["target"] == TARGETS[0]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"workloads": ["nothing"]}, "workload"),
        ({"targets": ["nowhere"]}, "target"),
        ({"method": "mpet2020", "estimate": True}, "estimate"),
        ({"workloads": []}, "workloads"),
        ({"surprise": 1}, "surprise"),
        ({"skip": -1}, "skip"),
        ({"settings": {"level": 7.0}}, "settings.level"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_line(user, body, name):
    response = posted(user, **body)
    assert response.status_code == 400
    assert [error["name"] for error in response.json()["errors"]] == [name]


def test_what_is_private_is_answered_to_its_owner_alone(user):
    secret = store_private(user)[0]
    assert client_of().post(f"{API}predictions/batch/", {"workloads": WORKLOADS}, format="json").status_code == 401
    assert posted(make_user("bob"), workloads=[secret.workload.slug]).status_code == 400
    own = lines(posted(user, workloads=[secret.workload.slug], targets=[secret.platform.slug]))
    assert own[-1]["pairs"] == 1
    assert posted(user, workloads=[secret.workload.slug], public_only=True).status_code == 400
    before = lines(posted(make_user("eve"), targets=TARGETS))
    assert before[:-1] == lines(posted(user, targets=TARGETS, public_only=True))[:-1]
