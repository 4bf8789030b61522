from dataclasses import replace

import pytest

from predictor.models import Prediction
from profiles.scaling.names import FEATURE_NAMES
from tests.mpet_site.api_samples import API, client_of, store, strict_json
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db
ASKED = {"workload": "app0-section0", "target": "machine-0"}
PROMISED = {"id", "url", "revision", "method", "settings", "workload", "target", "t1_s", "curve", "features"}
PROMISED |= {"candidates", "confidence", "warnings"}
CANDIDATE = {"platform", "workload", "distance_platform", "distance_workload", "distance_tuple", "weight"}


def ask(client, **fields):
    return client.post(API + "predictions/", ASKED | fields, format="json")


def test_answer_has_the_promised_shape_and_is_stored_once(ada, kit):
    response = ask(ada)
    assert response.status_code == 201, response.content
    answer = strict_json(response.content)
    assert set(answer) >= PROMISED
    assert response["Location"] == answer["url"] == f"http://testserver{API}predictions/{answer['id']}/"
    assert answer["t1_s"] > 0 and answer["settings"]["level"] == 0.9
    assert [point["n"] for point in answer["curve"]] == list(range(1, 17))
    assert {tuple(point) for point in answer["curve"]} == {("n", "time_s", "low_s", "high_s", "speedup", "efficiency")}
    assert answer["features"]["names"] == list(FEATURE_NAMES)
    assert len(answer["features"]["values"]) == 84
    for kind in ("t1", "scaling"):
        assert answer["candidates"][kind]
        for candidate in answer["candidates"][kind]:
            assert set(candidate) == CANDIDATE
            assert candidate["platform"] != "machine-0"
    assert answer == ask(ada, references=None, method="mpet", n=None, settings={}).json()
    assert Prediction.objects.count() == 1


def test_the_stored_answer_never_changes(ada, kit):
    first, client = ask(ada).json(), client_of()
    kept = client.get(first["url"])
    assert kept.json() == first
    store(sample_measurements(3, 4, seed=5), label="more")
    assert client.get(first["url"]).json() == first
    assert client.get(first["url"], HTTP_IF_NONE_MATCH=kept["ETag"]).status_code == 304
    assert ask(ada).json()["revision"] > first["revision"]


def test_everything_can_be_chosen(ada, kit):
    answer = ask(ada, references=["machine-1"], method="mpet2020", n=[4, 2], settings={"t1_workloads": 2}).json()
    assert [point["n"] for point in answer["curve"]] == [2, 4]
    assert answer["settings"]["t1_workloads"] == 2
    assert answer["references"] == ["machine-1"]
    assert {candidate["platform"] for candidate in answer["candidates"]["t1"]} == {"machine-1"}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"workload": "no-such"}, "workload"),
        ({"target": "no-such"}, "target"),
        ({"target": 5.5}, "target"),
        ({"references": ["machine-1", "no-such"]}, "references"),
        ({"references": []}, "references"),
        ({"references": "machine-1"}, "references"),
        ({"method": "no-such"}, "method"),
        ({"n": []}, "n"),
        ({"n": [0]}, "n.0"),
        ({"n": [2**40]}, "n.0"),
        ({"n": ["x"]}, "n.0"),
        ({"settings": {"no_such": 1}}, "settings.no_such"),
        ({"settings": {"t1_k": "x"}}, "settings.t1_k"),
        ({"settings": [1]}, "settings"),
        ({"include_simulated": "perhaps"}, "include_simulated"),
        ({"surprise": 1}, "surprise"),
        ({"scenario": "guess"}, "scenario"),
        ({"scenario": "parallelisation"}, "strategy"),
        ({"scenario": "parallelisation", "strategy": "guess"}, "strategy"),
        ({"scenario": "parallelisation", "strategy": "sequential"}, "strategy"),
        ({"scenario": "sequential", "n": [2]}, "n"),
        ({"scenario": "sequential", "workload_changes": {"work": 2}}, "workload_changes"),
        ({"workload_changes": {"locks": 2}}, "workload_changes.locks"),
        ({"workload_changes": {"work": -1}}, "workload_changes.work"),
        ({"workload_changes": {"work": "2"}}, "workload_changes.work"),
        ({"workload_changes": {"work": None}}, "workload_changes.work"),
        ({"workload_changes": [1]}, "workload_changes"),
        ({"platform_changes": {"n_max": None}}, "platform_changes.n_max"),
        ({"platform_changes": {"n_max": 1.5}}, "platform_changes.n_max"),
        ({"platform_changes": {"n_nu": 8}}, "platform_changes.n_nu"),
        ({"platform_changes": {"cores": 8}}, "platform_changes.cores"),
    ],
)
def test_what_cannot_be_understood_is_400(ada, kit, fields, name):
    document = problem_in(ask(ada, **fields), 400)
    assert [error["name"] for error in document["errors"]] == [name]
    assert Prediction.objects.count() == 0


def test_what_cannot_be_answered_is_422_with_the_evidence(ada):
    store(sample_measurements(1, 2))
    document = problem_in(ask(ada), 422)
    assert document["type"].endswith("#no-prediction")
    assert (document["found"], document["needed"]) == (0, 1)
    assert "machine-0" in document["detail"]


def test_without_a_token_the_same_answer_is_not_kept(ada, kit):
    response = ask(client_of())
    assert (response.status_code, "Location" in response) == (200, False)
    assert not Prediction.objects.exists()
    stored = ask(ada).json()
    kept = {"id", "url", "created_at", "settlement", "withdrawn", "outdated"}
    assert response.json() == {"id": None, "url": None} | {name: stored[name] for name in stored.keys() - kept}
    assert client_of().get(stored["url"]).status_code == 200
    problem_in(ask(client_of(), n=[0]), 400)
    unknown = client_of()
    unknown.credentials(HTTP_AUTHORIZATION="Bearer nothing")
    problem_in(ask(unknown), 401)


def test_without_a_token_few_may_be_asked_for_in_a_minute(ada, kit, settings):
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"prediction": "2/min"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    assert [ask(client_of()).status_code for _ in range(3)] == [200, 200, 429]
    assert int(ask(client_of())["Retry-After"]) <= 60
    assert ask(ada).status_code == 201
    assert client_of().get(API + "predictions/preview/", ASKED).status_code == 200


def test_simulated_profiles_take_part_only_on_request(ada, kit):
    simulated = sample_measurements(1, 4, seed=5, origin="simulated")
    store(replace(simulated, platforms=[sample_platform(8)]), label="simulated")
    assert ask(ada).json()["simulated"] is False
    problem_in(ask(ada, target="machine-8"), 422)
    answer = ask(ada, target="machine-8", include_simulated=True)
    assert (answer.status_code, answer.json()["simulated"]) == (201, True)


def test_a_workload_that_is_only_simulated_needs_no_request(ada):
    store(sample_measurements(3, 4, origin="simulated"))
    assert ask(ada).json()["simulated"] is True


def test_queries_of_a_question_asked_before_and_of_its_answer(ada, kit, django_assert_num_queries):
    """1 token with its user, 2 revision, 3 newest profile (both: which snapshot), 4 the stored prediction, 5 that it is
    on the list of the user's own, 6 what was withdrawn of what it rests on; of the answer 4 and 6."""
    client, url = client_of(), ask(ada).json()["url"]
    with django_assert_num_queries(6):
        ask(ada)
    with django_assert_num_queries(2):
        client.get(url)
