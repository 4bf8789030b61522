from dataclasses import replace

import pytest

from predictor.core.scenarios import SCENARIOS
from predictor.models import Prediction
from predictor.predictions.rankings import RankingQuestion
from tests.mpet_site.api_samples import API, client_of, make_user, read, secret_measurements, store, strict_json
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db
ASKED = {"workload": "app0-section0", "target": "machine-0"}


def ask(client, **fields):
    return client.post(API + "predictions/", ASKED | fields, format="json")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_answers_and_is_kept(ada, kit, scenario):
    strategy = {"strategy": "dynamic_loop"} if scenario == "parallelisation" else {}
    response = ask(ada, scenario=scenario, **strategy)
    assert response.status_code == 201, response.content
    answer = strict_json(response.content)
    assert answer["scenario"] == scenario
    assert client_of().get(answer["url"]).json() == answer
    assert all(point["speedup"] > 0 for point in answer["curve"])


def test_a_virtual_workload_on_a_virtual_platform(ada, kit):
    workload = {"lock_delay": 0.5, "work_imbalance": 0, "memory": 2, "work": 1.5}
    platform = {"n_nu": None, "n_ht": 12, "n_max": 24, "base_mhz": 3000}
    answer = ask(ada, workload_changes=workload, platform_changes=platform).json()
    assert (answer["workload_changes"], answer["platform_changes"]) == (workload, platform)
    assert (len(answer["changes"]), len(answer["curve"])) == (8, 24)
    assert [set(point) for point in answer["baseline"]] == [{"n", "time_s", "speedup"}] * 16
    assert answer["confidence"]["level"] == "low"


def test_defaults_are_the_question_without_them(ada, kit):
    plain = ask(ada).json()
    spelled = ask(ada, scenario="migration", strategy=None, workload_changes=None, platform_changes=None).json()
    assert spelled == plain
    assert ask(ada, workload_changes={}).json() == plain
    assert Prediction.objects.count() == 1


def test_what_is_not_known_is_422(ada):
    store(sample_measurements(3, 6, decomposed=False))
    assert "time-only" in problem_in(ask(ada, workload_changes={"lock_delay": 0.5}), 422)["detail"]
    assert "pipeline" in problem_in(ask(ada, scenario="parallelisation", strategy="pipeline"), 422)["detail"]


RANKINGS = API + "rankings/"
RANKED = {"workload": "app0-section0"}


def test_a_ranking_has_platforms_by_rising_time_each_with_its_prediction(ada, kit):
    ranking = strict_json(client_of().get(RANKINGS, RANKED | {"level": "0.8"}).content)
    assert (ranking["workload"], ranking["method"], ranking["revision"]) == ("app0-section0", "mpet", 1)
    assert [row["platform"] for row in ranking["results"]] == ["machine-0", "machine-1", "machine-2"]
    assert ranking["refused"] == []
    for row in ranking["results"]:
        assert row["low_s"] < row["time_s"] < row["high_s"]
        assert (row["measured"], row["origin"]) == (True, "measured")
        assert row["measured_time_s"] == pytest.approx(row["time_s"], rel=0.2)
    best = min(ask(ada, settings={"level": 0.8}).json()["curve"], key=lambda point: point["time_s"])
    first = ranking["results"][0]
    assert [first[name] for name in ("time_s", "low_s", "high_s", "n_best")] == [
        best[name] for name in ("time_s", "low_s", "high_s", "n")
    ]
    lines = read(client_of().get(RANKINGS, RANKED | {"format": "csv"})).decode().splitlines()
    assert lines[0].startswith("platform,n_best,time_s,low_s,high_s,measured")
    assert len(lines) == 4


def test_platforms_that_cannot_be_ranked_are_named(kit):
    store(replace(sample_measurements(1, 1, seed=4), platforms=[sample_platform(9)]), label="lonely")
    ranking = client_of().get(RANKINGS, {"workload": "app0-section1"}).json()
    assert "machine-9" in [row["platform"] for row in ranking["results"]]
    (refused,) = client_of().get(RANKINGS, RANKED).json()["refused"]
    assert refused["platform"] == "machine-9" and "no other workload" in refused["reason"]


def test_private_platforms_are_ranked_for_their_owner_alone(kit):
    owner = make_user("owner")
    own = replace(sample_measurements(1, 6, seed=4), platforms=[sample_platform(9, name="secret-machine")])
    store(own, owner=owner, private=True)
    public, private = (client.get(RANKINGS, RANKED) for client in (client_of(), client_of(owner)))
    assert "secret" not in public.content.decode()
    assert any(row["platform"].startswith("secret-machine") for row in private.json()["results"])


def test_a_ranking_of_only_simulated_profiles_needs_no_request():
    store(sample_measurements(3, 4, origin="simulated"))
    assert {row["origin"] for row in client_of().get(RANKINGS, RANKED).json()["results"]} == {"simulated"}


def test_a_ranking_is_computed_once_a_revision(kit, monkeypatch):
    client = client_of()
    first = client.get(RANKINGS, RANKED)
    monkeypatch.setattr(RankingQuestion, "steps", None)
    assert client.get(RANKINGS, RANKED).content == first.content
    assert client.get(RANKINGS, RANKED, HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({}, "workload"),
        ({"workload": "guess"}, "workload"),
        ({"method": "guess"}, "method"),
        ({"level": "much"}, "level"),
        ({"level": "0.2"}, "level"),
        ({"level": "0.8", "method": "mpet2020"}, "level"),
        ({"include_simulated": "perhaps"}, "include_simulated"),
        ({"platform": "machine-0"}, "platform"),
    ],
)
def test_what_cannot_be_understood_of_a_ranking_is_400(kit, parameters, name):
    document = problem_in(client_of().get(RANKINGS, (RANKED if parameters else {}) | parameters), 400)
    assert [error["name"] for error in document["errors"]] == [name]


@pytest.mark.parametrize(("noun", "slug"), [("platform", "machine-0"), ("workload", "app0-section0")])
def test_the_most_similar_come_first(kit, noun, slug):
    document = strict_json(client_of().get(f"{API}{noun}s/{slug}/similar/").content)
    assert document["of"] == slug
    distances = [neighbour["distance"] for neighbour in document["results"]]
    assert distances == sorted(distances)
    assert slug not in [neighbour[noun] for neighbour in document["results"]]
    assert all(neighbour["count"] >= 1 for neighbour in document["results"])


def test_private_rows_are_similar_for_their_owner_alone(kit):
    owner = make_user("owner")
    (profile,) = store(secret_measurements(), owner=owner, private=True).profiles
    for path in (f"platforms/{profile.platform.slug}", f"workloads/{profile.workload.slug}"):
        assert client_of().get(f"{API}{path}/similar/").status_code == 404
        assert client_of(owner).get(f"{API}{path}/similar/").status_code == 200
    assert client_of().get(f"{API}platforms/guess/similar/").status_code == 404
