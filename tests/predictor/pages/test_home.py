from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.core.assembly import MEASURED
from predictor.models import EvaluatedMethod, Evaluation, Prediction
from predictor.pages import offers
from predictor.pages.offers import first_pair
from predictor.predictions.request import DEFAULT_METHOD
from predictor.snapshot.cache import read_database
from profiles.ingest.service import ingest
from profiles.templatetags.quantities import as_percent
from tests.pages import figures_of, store_dataset, store_private, store_public, text_of, user
from tests.samples import sample_measurements, sample_platform, sample_runs, sample_workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def public():
    return store_public()


def home(client, **query):
    return client.get(reverse("home"), query)


def test_a_prediction_stands_there_from_the_beginning_and_is_not_kept(client, public):
    page = home(client)
    answer = page.context["answer"]
    assert (answer["workload"], answer["target"]) == (page.context["workload"], page.context["target"])
    assert f"its error is {as_percent(answer['measured']['error_percent'])} on average" in text_of(page)
    names = [trace["name"] for trace in figures_of(page)["time"]["data"]]
    assert names[-2:] == ["predicted", "measured"]
    assert not Prediction.objects.exists()


def test_the_address_says_what_is_predicted(client, public):
    page = home(client, workload="app1-section0", target="machine-2")
    assert page.context["answer"]["workload"] == "app1-section0"
    assert page.context["answer"]["target"] == "machine-2"
    assert page.context["answer"]["method"] == DEFAULT_METHOD
    content = page.content.decode()
    assert '<option value="app1-section0" selected>' in content
    assert "/predict/?workload=app1-section0&amp;target=machine-2" in content


def test_the_answer_on_the_page_has_a_twin(client, public):
    page = home(client, workload="app1-section0", target="machine-2")
    address = page.context["answer_twin"]
    assert f'href="{address.replace("&", "&amp;")}"' in page.content.decode()
    twin = client.get(address).json()
    assert "why" not in twin
    assert twin == {"id": None, "url": None} | page.context["answer"]


def test_what_cannot_be_predicted_is_said_with_the_reason(client, public):
    store_dataset()
    page = home(client, workload="app0-section0", target="cloud-0")
    assert page.status_code == 200
    assert "No prediction:" in text_of(page)
    assert "time" not in figures_of(page)


def test_private_names_are_as_unknown_as_others(client, public):
    ada = user("ada")
    profile = store_private(ada)[0]
    for viewer in (None, user("eve")):
        if viewer:
            client.force_login(viewer)
        assert "secret" not in home(client).content.decode()
        page = home(client, workload=profile.workload.slug, target="machine-0")
        assert "Secret" not in page.content.decode()
        assert "did you mean" not in text_of(page)
    client.force_login(ada)
    assert "secret.tar.gz" in text_of(home(client))


def store_two_threads():
    """As after `make run`: two measured machines of two threads."""
    measured = sample_measurements(2, 2)
    for index, record in enumerate(measured.profiles):
        measured.profiles[index] = replace(record, runs=sample_runs(np.random.default_rng(index), counts=(1, 2)))
    ingest(measured, kind="tarball", label="measured", sha256="4" * 64, owner=None, private=False)


def store_simulated():
    simulated = replace(sample_measurements(3, 2, seed=8), origin="simulated")
    simulated.platforms[:] = [sample_platform(5 + index, name=f"model-{index}") for index in range(3)]
    simulated.workloads[:] = [sample_workload(8 + index) for index in range(2)]
    ingest(simulated, kind="simulator", label="demo", sha256="5" * 64, owner=None, private=False)


def test_where_nothing_measured_has_a_curve_to_predict_it_begins_with_simulated_profiles(client):
    store_public(platforms=1)
    store_simulated()
    page = client.get(reverse("home"))
    assert page.context["target"].startswith("model-")
    assert figures_of(page)
    assert "No prediction" not in text_of(page)


def test_what_was_measured_stands_first_also_where_it_has_two_threads(client):
    store_two_threads()
    store_simulated()
    page = home(client)
    assert page.context["target"].startswith("machine-")
    assert not page.context["answer"]["simulated"]
    assert [trace["name"] for trace in figures_of(page)["time"]["data"]][-1] == "measured"


def test_simulated_profiles_are_not_read_where_measured_ones_have_an_answer(public, monkeypatch):
    read = []
    monkeypatch.setattr(offers, "read_database", lambda user, origins: read.append(origins) or read_database(user))
    assert first_pair(None)[0]
    assert read == [MEASURED]


@pytest.mark.parametrize("view", ["ranking", "what-if", "workload-map", "settled"])
def test_the_navigation_leads_to_a_page_and_marks_it_there(client, public, view):
    address = reverse(view)
    navigation = home(client).content.decode().split("<nav")[1]
    assert f'href="{address}"' in navigation
    there = client.get(address, follow=True).content.decode().split("<nav")[1]
    assert f'href="{address}" aria-current="true"' in there


def test_an_empty_database_has_doors_and_no_prediction(client):
    page = home(client)
    assert page.status_code == 200
    assert "Try it" not in text_of(page)
    for door in ("Try a prediction", "Measure your machine", "Browse"):
        assert door in text_of(page)


def test_the_latest_uploads_are_those_the_viewer_sees(client, public):
    assert "public.tar.gz, 12 profiles" in text_of(home(client))


def test_the_score_is_that_of_the_newest_evaluation_with_baselines(client, public):
    assert "Median error" not in text_of(home(client))
    evaluation = Evaluation.objects.create(
        revision=1, origin="measured", holdout="pair", seed=0, profiles=12, pairs={}, code_version="1", seconds=1.0
    )
    medians = {"mpet-log": (6.2, False), "mpet2020": (11.0, False), "speed-ratio": (8.3, True)}
    for position, (name, (median, is_baseline)) in enumerate(medians.items()):
        EvaluatedMethod.objects.create(
            evaluation=evaluation,
            position=position,
            name=name,
            version="1",
            is_baseline=is_baseline,
            statistics={"full": {"median": median}},
            errors_full=np.zeros(0),
            errors_t1=np.zeros(0),
            errors_scaling=np.zeros(0),
        )
    words = text_of(home(client))
    assert "Median error 6.2 % of mpet-log on the measured profiles; best baseline speed-ratio: 8.3 %" in words
