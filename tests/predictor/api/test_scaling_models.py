"""Scaling models over the API: what is listed, what a fit answers, and how wrong requests are refused."""

import uuid

import jsonschema
import numpy as np
import pytest

from predictor.scaling_models.registry import SCALING_MODELS
from profiles.measurements import ProfileRecord, RunTable
from profiles.models import Profile, ScalingCurves
from tests.mpet_site.api_samples import API, client_of, make_user, secret_measurements, store, strict_json
from tests.mpet_site.web.test_api import strict
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements, varied_measurements

pytestmark = pytest.mark.django_db
N = [1, 2, 4, 8, 16]
POINTS = [{"n": n, "time_s": 10 * (0.1 + 0.9 / n)} for n in N]


def fit(client, model, **body):
    return client.post(f"{API}scaling-models/{model}/", {"points": POINTS} | body, format="json")


def test_all_models_are_listed():
    response = client_of().get(API + "scaling-models/")
    listed = strict_json(response.content)
    assert [model["name"] for model in listed["results"]] == list(SCALING_MODELS)
    assert listed["count"] == len(SCALING_MODELS)
    assert client_of().get(API + "scaling-models/", headers={"if-none-match": response["ETag"]}).status_code == 304


def test_parameters_residuals_and_interval_of_posted_points(ada):
    response = fit(ada, "amdahl", predict=[{"n": 32}], level=0.95)
    assert response.status_code == 200, response.content
    answer = strict_json(response.content)
    fraction = next(row for row in answer["parameters"] if row["name"] == "parallel_fraction")
    assert (fraction["value"], fraction["low"]) == (pytest.approx(0.9), pytest.approx(0.9, abs=1e-6))
    assert [point["residual_percent"] for point in answer["points"]] == pytest.approx([0] * 5, abs=1e-6)
    (predicted,) = answer["predictions"]
    assert (predicted["n"], predicted["time_s"]) == (32, pytest.approx(10 * (0.1 + 0.9 / 32)))
    assert predicted["low_s"] <= predicted["time_s"] <= predicted["high_s"]
    assert answer["level"] == 0.95
    quality = {row["n"]: row for row in answer["quality"]}
    assert quality[1]["serial_fraction"] is None
    assert quality[16]["serial_fraction"] == pytest.approx(0.1)
    assert quality[16]["penalty_s"] == pytest.approx(10 * 0.1 * (1 - 1 / 16))


def test_a_profile_is_fitted_with_its_platforms_breakpoints_and_companions(ada):
    store(sample_measurements(3, 4))
    profile = Profile.objects.get(platform__slug="machine-0", workload__slug="app0-section0")
    response = fit(ada, "automatic", points=[], profile=str(profile.uid), predict=[{"n": 16}, {"n": 32}])
    answer = strict_json(response.content)
    assert answer["settings"]["n_ht"] == 8
    assert {point["n"] for point in answer["points"]} == set(np.asarray(profile.curves.n).tolist())
    assert sum(reason["chosen"] for reason in answer["reasons"]) == 1
    assert all(reason["error_percent"] >= 0 for reason in answer["reasons"])
    curve = fit(ada, "mpet_curve", points=[], profile=str(profile.uid), settings={"n_ht": None}).json()
    assert (curve["settings"]["n_ht"], curve["settings"]["n_nu"]) == (None, 4)


def test_companions_tell_of_what_was_not_measured(ada):
    """A profile that ends at n = 4, on a platform whose others go on to 16."""
    measurements = sample_measurements(1, 4)
    measurements.profiles[0] = ProfileRecord(0, 0, _first(measurements.profiles[0].runs, 4))
    store(measurements)
    profile = Profile.objects.get(workload__slug="app0-section0")
    request = {"points": [], "profile": str(profile.uid), "predict": [{"n": 16}]}
    knowing = fit(ada, "automatic", **request).json()
    alone = fit(ada, "automatic", **request, companions="none").json()
    assert knowing["reasons"][0]["evidence"] == "3 companions"
    assert "companions" not in alone["reasons"][0]["evidence"]
    assert knowing["predictions"][0]["low_s"] < knowing["predictions"][0]["high_s"]


def test_simulated_profiles_accompany_simulated_ones_only(ada):
    """Ten measured profiles of the same machine change nothing."""
    simulated = sample_measurements(1, 4, origin="simulated")
    simulated.profiles[0] = ProfileRecord(0, 0, _first(simulated.profiles[0].runs, 4))
    store(simulated)
    profile = Profile.objects.get(workload__slug="app0-section0")
    before = of_profile(ada, "automatic", profile).json()["reasons"]
    store(sample_measurements(1, 10, seed=5))
    assert of_profile(ada, "automatic", profile).json()["reasons"] == before
    assert before[0]["evidence"] == "3 companions"


def _first(runs, largest):
    keep = runs.n <= largest
    names = ("n", "repeat", "is_profile_pass", "time_s", "time_ns", "parts_ns")
    return RunTable(**{name: getattr(runs, name)[keep] for name in names})


@pytest.mark.parametrize("model", [name for name in SCALING_MODELS if name not in {"extended_amdahl", "task_graph"}])
def test_every_model_over_n_answers(ada, model):
    settings = {"epsilon": 1.0} if model == "parallel_penalty" else {}
    response = fit(ada, model, predict=[{"n": 24}], settings=settings)
    assert response.status_code == 200, response.content
    assert strict_json(response.content)["predictions"][0]["time_s"] == pytest.approx(10 * (0.1 + 0.9 / 24), rel=0.3)


def test_sizes_and_task_measures(ada):
    shares = {"work_s": 0.8, "delay_s": 0.1, "no_work_s": 0.1, "tasks": 1, "waits": 1}
    points = [
        {"n": n, "size": x, "time_s": x / n} | {name: share * x for name, share in shares.items()}
        for n in (1, 2, 4)
        for x in (2, 4, 8, 16, 32)
    ]
    for model in ("extended_amdahl", "task_graph"):
        answer = fit(ada, model, points=points, predict=[{"n": 4, "size": 64}]).json()
        assert answer["predictions"][0]["time_s"] == pytest.approx(16, rel=0.1), answer


@pytest.mark.parametrize(
    ("model", "body", "name"),
    [
        ("usl", {"points": []}, "points"),
        ("usl", {"profile": str(uuid.uuid4()), "points": []}, "profile"),
        ("usl", {"profile": str(uuid.uuid4())}, "points"),
        ("usl", {"moon": 1}, "moon"),
        ("usl", {"level": 1}, "level"),
        ("usl", {"points": POINTS * 101}, "points"),
        ("usl", {"settings": {"moon": 1}}, "settings.moon"),
        ("usl", {"points": [*POINTS, {"n": 32, "time_s": -1}]}, "points.5.time_s"),
        ("usl", {"companions": "moon"}, "companions"),
        ("automatic", {"settings": {"n_ht": "many"}}, "settings.n_ht"),
        ("automatic", {"settings": {"n_ht": True}}, "settings.n_ht"),
        ("memory_wall", {"settings": {"random_state": -1}}, "settings.random_state"),
        ("parallel_penalty", {"settings": {"epsilon": "small"}}, "settings.epsilon"),
        ("extended_amdahl", {}, "points.0.size"),
        ("task_graph", {"points": [point | {"size": 4} for point in POINTS]}, "points.0.work_s"),
        ("memory_wall", {"points": [point | {"clock_ratio": 1} for point in POINTS], "predict": [{"n": 2}]}, "predict"),
    ],
)
def test_wrong_fields_settings_and_missing_columns_are_named(ada, model, body, name):
    document = problem_in(fit(ada, model, **body), 400)
    assert name in {error["name"] for error in document["errors"]}


def test_what_the_points_cannot_answer_is_422(ada):
    document = problem_in(fit(ada, "usl", points=POINTS[:2]), 422)
    assert (document["found"], document["needed"]) == (2, 3)
    document = problem_in(fit(ada, "parallel_penalty", settings={"epsilon": 1e-9}), 422)
    assert "measure more" in document["detail"]
    problem_in(fit(ada, "growth", settings={"law": "moon"}), 422)


def of_profile(client, model, profile, **body):
    return fit(client, model, points=[], profile=str(profile.uid), **body)


def test_a_profile_of_one_size_or_without_curves(ada):
    store(sample_measurements(1, 1))
    profile = Profile.objects.get()
    (error,) = problem_in(of_profile(ada, "task_graph", profile), 400)["errors"]
    assert error["name"] == "profile" and "one size" in error["reason"]
    ScalingCurves.objects.all().delete()
    assert "refit" in problem_in(of_profile(ada, "usl", profile), 422)["detail"]


def test_runs_of_other_sizes_of_a_profile(ada):
    sizes = (50.0, 150.0, 200.0, 300.0, 400.0)
    store(varied_measurements(sizes, growth=lambda size: (size / 100) ** 2))
    profile = Profile.objects.get(workload__slug="app0-section0")

    def answer(model, n, size=None, **settings):
        point = {"n": n} if size is None else {"n": n, "size": size}
        document = of_profile(ada, model, profile, predict=[point], settings=settings).json()
        return document, document["predictions"][0], {point["size"] for point in document["points"]}

    _, predicted, used = answer("extended_amdahl", 1, 800, degree=2)
    assert used == {100, *sizes}
    assert predicted["time_s"] == pytest.approx(64 * profile.t1_s, rel=0.02)
    assert predicted["low_s"] < predicted["high_s"]
    document, predicted, _ = answer("task_graph", 16, 800)
    last_s = profile.curves.values[len(profile.curves.n) - 1]
    assert (predicted["time_s"], document["no_interval"]) == (pytest.approx(64 * last_s, rel=0.3), "")
    assert len(answer("parallel_penalty", 8, 450, over="size", epsilon=1.0)[2]) == 6
    assert answer("parallel_penalty", 8, epsilon=9.0)[2] == {None}


def test_runs_at_other_clocks_of_a_profile(ada):
    store(varied_measurements((), (1000.0, 1500.0, 2000.0)))
    profile = Profile.objects.get(workload__slug="app0-section0")
    answer = of_profile(ada, "memory_wall", profile, predict=[{"n": 16, "clock_ratio": 0.6}]).json()
    assert {point["clock_ratio"] for point in answer["points"]} == {0.5, 0.75, 1.0}  # of base_mhz, 2000
    assert answer["predictions"][0]["time_s"] > answer["points"][-1]["time_s"]
    answer = of_profile(ada, "memory_wall", profile, predict=[{"n": 16}]).json()
    assert {point["clock_ratio"] for point in answer["points"]} == {None}


def test_why_there_is_no_interval(ada):
    answer = fit(ada, "usl", points=POINTS[:3], predict=[{"n": 32}]).json()
    assert answer["predictions"][0]["low_s"] is None
    assert answer["no_interval"].startswith("the model cannot be refitted without some of the points: ")


def test_answers_are_as_described(ada):
    """Of every model: what openapi.yaml says of the list and of a fit, and no member more."""
    schema = client_of().get(API + "schema/?format=json").json()
    parts = {"components": strict(schema["components"])}

    def check(answer, name):
        jsonschema.validate(answer, parts | {"$ref": f"#/components/schemas/{name}"})

    check(client_of().get(API + "scaling-models/").json(), "ScalingModelList")
    for model, settings in (("usl", {}), ("automatic", {}), ("parallel_penalty", {"epsilon": 1.0})):
        check(fit(ada, model, predict=[{"n": 32}], settings=settings).json(), "ScalingFit")


def test_private_profiles_are_the_owners_and_fitting_needs_a_token_and_a_known_model(ada):
    bob = make_user("bob")
    store(secret_measurements(), owner=bob, private=True)
    request = {"points": [], "profile": str(Profile.objects.get().uid)}
    assert problem_in(fit(ada, "amdahl", **request), 400)["errors"][0]["name"] == "profile"
    assert fit(client_of(bob, scope="predict"), "amdahl", **request).status_code == 200
    problem_in(fit(client_of(), "amdahl"), 401)
    problem_in(fit(ada, "moon"), 404)
