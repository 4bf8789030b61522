"""The page and the document of what lies beyond the measured thread counts and sizes."""

import json

import jsonschema
import numpy as np
import pytest
from django.urls import reverse

from predictor.extrapolation import fits
from predictor.extrapolation.document import extrapolation_document, serial_fraction_sentence, sizes_beyond
from predictor.extrapolation.questions import DEFAULT_MODELS, OFFERED_MODELS, ExtrapolationQuestion, InvalidFit
from profiles.ingest.derivation import run_tables
from profiles.measurements import ProfileRecord
from profiles.models import ScalingCurves
from tests.mpet_site.api_samples import API, client_of, strict_json
from tests.mpet_site.web.test_api import strict
from tests.mpet_site.web.test_problems import problem_in
from tests.pages import figures_of, store_private, store_public, text_of, twin_of, user
from tests.predictor.conftest import store
from tests.research.scaling.studies.kit import product_s, sweep
from tests.samples import sample_measurements, sample_runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def swept():
    """A matrix product at twelve sizes on a machine with four threads; a merge sort."""
    return {profile.workload.name: profile for profile in store(sweep()).profiles}


@pytest.fixture
def profile():
    return store_public()[0]


def page(client, profile, **query):
    return client.get(reverse("beyond", args=[profile.uid]), query)


def test_all_models_answer_beyond_the_measured_thread_counts(profile):
    document = extrapolation_document(profile, None, ExtrapolationQuestion())
    assert [part["model"] for part in document["models"]] == list(DEFAULT_MODELS)
    for part in document["models"]:
        assert part["refusal"] == ""
        assert [row["n"] for row in part["predictions"]] == list(range(17, 33))  # measured to 16
        assert all(row["low_s"] <= row["time_s"] <= row["high_s"] for row in part["predictions"])
        assert [row["time_s"] for row in part["points"]] == [row["time_s"] for row in document["measured"]]
    assert document["models"][0]["reasons"][0]["chosen"]


def test_penalty_and_serial_fraction(profile):
    """The samples are 0.1 + 0.9/n with 1 % noise: a serial fraction of 10 %, about constant."""
    document = extrapolation_document(profile, None, ExtrapolationQuestion())
    row_of_count = {row["n"]: row for row in document["quality"]}
    assert row_of_count[1] == {"n": 1, "size": None, "clock_ratio": None, "penalty_s": 0.0, "serial_fraction": None}
    assert row_of_count[16]["serial_fraction"] == pytest.approx(0.1, rel=0.1)
    assert row_of_count[16]["penalty_s"] == pytest.approx(0.1 * profile.t1_s * 15 / 16, rel=0.1)
    assert "about constant" in document["reading"]


@pytest.mark.parametrize(
    ("fractions", "word"), [([0.01, 0.02, 0.04], "rises"), ([0.04, 0.02, 0.01], "falls"), ([0.04, 0.02], "")]
)
def test_readings(fractions, word):
    quality = [{"n": n, "serial_fraction": f} for n, f in enumerate([None, *fractions], start=1)]
    reading = serial_fraction_sentence(quality)
    assert word in reading
    assert bool(word) == bool(reading)


def test_models_and_the_largest_n_are_chosen(profile):
    document = extrapolation_document(profile, None, ExtrapolationQuestion(("usl", "memory_wall"), 200))
    assert [part["model"] for part in document["models"]] == ["usl", "memory_wall"]
    assert len(document["models"][0]["predictions"]) == 40
    assert document["models"][0]["predictions"][-1]["n"] == 200
    for wrong in (("moon",), ()):
        with pytest.raises(InvalidFit, match="models"):
            ExtrapolationQuestion(wrong)


def test_a_model_that_refuses_says_why(swept):
    """Four thread counts, of which the first predict none of the last within 10 %."""
    document = extrapolation_document(swept["mergesort"], None, ExtrapolationQuestion(("usl", "parallel_penalty")))
    refused = {part["model"]: part["refusal"] for part in document["models"]}
    assert refused["usl"] == ""
    assert "no smoother predicts the last known value within 10.0%" in refused["parallel_penalty"]


def test_sizes_beyond_the_measured_ones(swept):
    sizes = extrapolation_document(swept["matmul_naive"], None, ExtrapolationQuestion())["sizes"]
    chosen = next(reason for reason in sizes["reasons"] if reason["chosen"])
    assert chosen["model"] == "Extended Amdahl model, degree 3"
    assert chosen["error_percent"] < 5
    tried = {reason["model"] for reason in sizes["reasons"]}
    assert tried == {*(f"Extended Amdahl model, degree {degree}" for degree in (1, 2, 3)), "Parallel penalty"}
    sorting = extrapolation_document(swept["mergesort"], None, ExtrapolationQuestion())["sizes"]  # it spawns tasks
    assert "Task graph" in {reason["model"] for reason in sorting["reasons"]}
    predicted = {(row["n"], row["size"]): row for row in sizes["answer"]["predictions"]}
    for (n, size), row in predicted.items():
        assert row["time_s"] == pytest.approx(product_s(size, n), rel=0.1)
    assert {size for _, size in predicted} == {1500, 1800, 2400, 3600, 4800}
    assert sizes_beyond(0.5)[0] == 0.625


def test_a_model_that_predicts_impossible_times_is_not_chosen(swept):
    """Without the middle sizes' runs a cubic through noise may fall below 0: whatever is chosen is above."""
    runs = swept["matmul_naive"].runs.filter(size__gt=200, size__lt=1200)
    runs.delete()
    swept["matmul_naive"].runs.filter(size=1200).update(time_s=1e-4)
    sizes = extrapolation_document(swept["matmul_naive"], None, ExtrapolationQuestion())["sizes"]
    if sizes["answer"]:
        assert min(row["time_s"] for row in sizes["answer"]["predictions"]) > 0
        assert sum(reason["chosen"] for reason in sizes["reasons"]) == 1
    else:
        assert not any(reason["chosen"] for reason in sizes["reasons"])


def runs_read(monkeypatch):
    """The lengths of the tables of runs that are read from now on."""
    lengths = []

    def recorded(*arguments):
        tables = run_tables(*arguments)
        lengths.extend(map(len, tables.values()))
        return tables

    monkeypatch.setattr(fits, "run_tables", recorded)
    return lengths


def test_one_size_has_no_other(profile, monkeypatch):
    """For which no run is read, however many there are."""
    lengths = runs_read(monkeypatch)
    assert extrapolation_document(profile, None, ExtrapolationQuestion())["sizes"] is None
    assert lengths == []


def test_runs_are_read_once_and_of_many_the_first_repeats(swept, monkeypatch):
    profile = swept["matmul_naive"]
    lengths = runs_read(monkeypatch)
    whole = extrapolation_document(profile, None, ExtrapolationQuestion())["sizes"]["measured"]
    assert lengths == [profile.runs.count()]
    first = profile.runs.filter(repeat=profile.runs.order_by("repeat")[0].repeat).count()
    monkeypatch.setattr(fits, "MOST_RUNS_READ", first)
    some = extrapolation_document(profile, None, ExtrapolationQuestion())["sizes"]["measured"]
    assert lengths[1:] == [first]
    assert [(point["n"], point["size"]) for point in some] == [(point["n"], point["size"]) for point in whole]


def test_page_and_twin_say_the_same(client, swept):
    response = page(client, swept["matmul_naive"], model=["usl", "amdahl"], to="12")
    figures = figures_of(response)
    assert set(figures) == {"beyond", "penalty", "serial-fraction", "sizes"}
    twin = client.get(twin_of(response))
    document = strict_json(twin.content)
    assert [part["model"] for part in document["models"]] == ["usl", "amdahl"]
    line = next(trace for trace in figures["beyond"]["data"] if trace["name"] == "Universal scalability law")
    times = [row["time_s"] for row in document["models"][0]["predictions"]]
    assert line["y"][-len(times) :] == pytest.approx(times)
    assert figures["serial-fraction"]["data"][0]["y"] == pytest.approx(
        [100 * row["serial_fraction"] for row in document["quality"] if row["n"] > 1]
    )
    assert "Extended Amdahl model, degree 3" in text_of(response)


def test_where_no_model_can_be_fitted_the_page_says_so_once_and_leads_to_a_prediction(client):
    rng = np.random.default_rng(3)
    alone = ProfileRecord(platform=0, workload=0, runs=sample_runs(rng, counts=(1,)), counters=None)
    (profile,) = store(sample_measurements(1, 1, profiles=[alone])).profiles
    response = page(client, profile)
    text = text_of(response)
    assert "No scaling model can be fitted to this profile. Automatic choice needs 2 thread counts; found 1." in text
    assert text.count("found 1") == 1
    assert "one thread count, 1, and" in text
    address = f"{reverse('predict')}?workload={profile.workload.slug}&amp;target={profile.platform.slug}"
    assert address in response.content.decode()


def test_nothing_is_inline_but_data_and_the_profile_page_leads_there(client, profile):
    content = page(client, profile).content.decode()
    assert "style=" not in content
    assert "onclick" not in content
    scripts = [part.split(">")[0] for part in content.split("<script")[1:]]
    assert all("src=" in script or "application/json" in script for script in scripts)
    assert reverse("beyond", args=[profile.uid]) in client.get(reverse("profile", args=[profile.uid])).content.decode()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"model": "moon"}, "Unknown model moon"),
        ({"to": "many"}, "not a whole number of threads"),
        ({"to": "0"}, "0 is not a thread count from 1"),
    ],
)
def test_wrong_questions(client, profile, query, reason):
    response = page(client, profile, **query)
    assert response.status_code == 422
    assert reason in text_of(response)
    parameters = {"models" if name == "model" else name: value for name, value in query.items()}
    problem_in(client.get(f"{API}profiles/{profile.uid}/beyond/", parameters), 400)


def test_simulated_profiles_are_marked(client):
    owner = user("ada")
    (simulated,) = store_private(owner)
    assert page(client, simulated).status_code == 404
    client.force_login(owner)
    text = text_of(page(client, simulated))
    assert "is simulated, not measured" in text
    assert "Parallel penalty (simulated)" in text
    other = client_of().get(f"{API}profiles/{simulated.uid}/beyond/")
    assert other.status_code == 404


def test_a_damaged_curve_is_refused_not_drawn_as_if_there_was_none(client, profile):
    """What no ingest stores and an old database may hold all the same."""
    curves = ScalingCurves.objects.get(profile=profile)
    curves.values = np.full(len(curves.values), -np.inf)
    curves.save()
    text = text_of(page(client, profile))
    assert "has no usable curves" in text
    document = strict_json(client.get(f"{API}profiles/{profile.uid}/beyond/").content)
    assert (document["reading"], document["quality"]) == ("", [])
    curves.delete()
    assert "has no usable curves" in text_of(page(client, profile))


def test_the_document_is_as_described(client, swept):
    schema = client_of().get(API + "schema/?format=json").json()
    answer = client.get(f"{API}profiles/{swept['matmul_naive'].uid}/beyond/?models={','.join(OFFERED_MODELS)}").json()
    jsonschema.validate(answer, {"components": strict(schema["components"]), "$ref": "#/components/schemas/Beyond"})


def test_the_answer_is_cached_until_something_changes(profile):
    address = f"{API}profiles/{profile.uid}/beyond/"
    first = client_of().get(address)
    assert client_of().get(address, headers={"if-none-match": first["ETag"]}).status_code == 304
    assert np.isfinite(json.loads(first.content)["models"][0]["predictions"][0]["time_s"])
