import re
from dataclasses import replace

import numpy as np
import pytest
from django.core.cache import caches
from django.urls import reverse

from predictor.computations.asking import read_showcase, request_showcase
from predictor.models import Computation, EvaluatedMethod, Evaluation, Prediction
from predictor.predictions.feasibility import feasibility
from predictor.predictions.question import DEFAULT_METHOD, PredictionRequest
from predictor.predictions.showcase import ENOUGH_THREADS, FEWEST_POINTS, example_pairs
from predictor.snapshot.cache import read_database
from profiles.identity.programs import programs_by_source
from profiles.jobs.queue import take_up
from profiles.models import Profile, Revision
from profiles.templatetags.quantities import as_percent
from tests.pages import figures_of, store_dataset, store_private, store_public, text_of, user
from tests.predictor.conftest import store
from tests.programs import program_measurements
from tests.samples import sample_measurements, sample_runs

pytestmark = pytest.mark.django_db


def home(client, **query):
    return client.get(reverse("home"), query)


def options(page, box: str) -> list[str]:
    listed = page.content.decode().split(f'<datalist id="{box}">')[1].split("</datalist>")[0]
    return re.findall(r'<option value="([^"]*)"', listed)


def test_the_boxes_offer_only_pairs_with_an_answer(client, public):
    """What shares no workload with the rest has no answer, in neither box."""
    store_dataset()  # relative times, on machines and of workloads of its own: they have an answer among themselves
    assert "cloud-0" in options(home(client), "ask-machines")
    assert options(home(client, workload="app0-section0"), "ask-machines") == [f"machine-{i}" for i in range(3)]
    assert options(home(client, target="cloud-0"), "ask-workloads") == ["relative/0", "relative/1"]
    lacking = {target: feasibility(PredictionRequest("app0-section0", target), None).refusal for target in
               ("machine-0", "cloud-0")}  # fmt: skip
    assert lacking["machine-0"] is None
    assert lacking["cloud-0"] is not None


def test_a_list_that_is_cut_off_is_not_called_all_machines(client, public, monkeypatch):
    monkeypatch.setattr("predictor.pages.home.MOST_NAMES_IN_LIST", 2)
    page = home(client, workload="app0-section0")
    assert options(page, "ask-machines") == ["machine-0", "machine-1"]
    assert "Choose a machine on which app0/section0 can be predicted." in text_of(page)


def test_a_workload_and_a_machine_lead_to_the_answer_by_name_or_slug(client, public):
    workload = public[0].workload
    for text in (workload.slug, workload.name):
        answer = home(client, workload=text, target="machine-2")
        assert answer.status_code == 302
        assert answer.url == f"{reverse('unstored-answer')}?workload={workload.slug}&target=machine-2"
    assert client.get(answer.url).context["answer"]["target"] == "machine-2"
    assert not Prediction.objects.exists()
    page = home(client, workload=workload.slug)
    assert page.context["workload"] == workload.name != workload.slug
    assert workload.slug not in text_of(page)


def test_a_program_in_the_box_leads_to_its_page(client, public):
    source = store(program_measurements(), label="program").source
    (program,) = programs_by_source([source.pk], None)[source.pk]
    label = f"program {program.name}"
    assert label in options(home(client), "ask-workloads")
    assert home(client, workload=label).url == reverse("program", args=program.address)


def test_private_names_are_offered_to_their_owner_only(client, public):
    ada = user("ada")
    profile = store_private(ada)[0]
    for viewer in (None, user("eve")):
        if viewer:
            client.force_login(viewer)
        for query in ({}, {"target": "machine-0"}):
            assert "secret" not in home(client, **query).content.decode().lower()
    client.force_login(ada)
    assert profile.platform.name in text_of(home(client))


def compute_showcase() -> None:
    request_showcase()
    take_up("computations")


def test_the_example_was_computed_before_and_says_how_far_off_it_is(client, public, monkeypatch):
    assert home(client).context["example"] is None, "no request computes one"
    compute_showcase()
    monkeypatch.setattr("predictor.predictions.service.run_query", lambda *_: pytest.fail("a request predicted"))
    caches["pages"].clear()
    page = home(client)
    example = page.context["example"]
    error = as_percent(example["measured"]["error_percent"])
    assert f"Error {error}, without a measurement on this machine" in text_of(page)
    names = [trace["name"] for trace in figures_of(page)["time"]["data"]]
    assert names[-2:] == ["predicted", "measured"]
    assert len(example["measured"]["curve"]) >= FEWEST_POINTS
    following = home(client, example=page.context["next_example"]).context["example"]
    assert (following["workload"], following["target"]) != (example["workload"], example["target"])
    request_showcase()
    assert Computation.objects.filter(kind="showcase").count() == 1, "once for each revision"


def test_an_example_is_not_shown_once_something_was_taken_away(client, public):
    compute_showcase()
    assert read_showcase()
    Profile.objects.filter(pk=public[0].pk).delete()
    Revision.raise_for(None)
    assert read_showcase() == []


def test_curves_of_two_points_are_no_example():
    """As after `make run`: two measured machines of two threads."""
    measured = sample_measurements(2, 2)
    measured.profiles[:] = [
        replace(record, runs=sample_runs(np.random.default_rng(index), counts=(1, 2)))
        for index, record in enumerate(measured.profiles)
    ]
    store(measured, label="measured")
    assert example_pairs(read_database(None)) == []
    store_public()
    database = read_database(None)
    lengths = np.diff(database.curve_offsets)
    for workload, platform in example_pairs(database):
        rows = database.rows_of_platform(database.platforms.index(platform))
        row = next(row for row in rows if database.workloads[database.workload_index[row]] == workload)
        assert lengths[row] >= FEWEST_POINTS
        assert database.curve_n[database.curve_offsets[row + 1] - 1] >= ENOUGH_THREADS


MARKED = {
    "ranking": "predict", "what-if": "predict", "workload-map": "platforms", "settled": "accuracy", "upload": "measure"
}  # fmt: skip


@pytest.mark.parametrize(("view", "part"), MARKED.items())
def test_the_menu_has_five_parts_and_marks_the_one_of_the_page(client, public, view, part):
    client.force_login(user("ada"))
    page = client.get(reverse(view), follow=True).content.decode()
    menu = page.split('aria-label="Pages"')[1].split("</nav>")[0]
    assert re.findall(r">([A-Z]\w+)</a>", menu) == ["Predict", "Machines", "Accuracy", "Measure", "Docs"]
    assert f'href="{reverse(part)}" aria-current="true"' in menu
    pages = page.split('class="section-menu"')[1].split("</nav>")[0]
    assert f'href="{reverse(view)}" aria-current="true"' in pages


def test_an_empty_database_has_doors_and_the_published_figures(client):
    page = home(client)
    assert page.status_code == 200
    words = text_of(page)
    for door in ("My program on other machines", "Which machine", "How good is this machine"):
        assert door in words
    assert "980 hidden measurements: half within 2.47 %, 90 % intervals cover 92.5 %." in words
    assert "error-histogram" in figures_of(page)
    assert words.count("There are no profiles yet that a prediction could use. Measure your machine") == 1
    assert 'id="ask-workload"' not in page.content.decode()


def test_the_latest_measurements_are_those_of_real_machines_that_the_viewer_sees(client, public):
    ada = user("ada")
    store_private(ada)  # a simulated machine
    page = home(client)
    assert page.context["real_machines"] == 3
    words = text_of(page)
    assert "where nobody has run it" in words
    assert "Latest measurements 3 real machines so far. machine-0 , machine-1 , machine-2 12 profiles" in words
    client.force_login(ada)
    assert home(client).context["real_machines"] == 3


def test_only_an_evaluation_of_many_machines_replaces_the_published_figures(client, public):
    nine = [f"machine-{number}" for number in range(9)]
    evaluation = Evaluation.objects.create(
        revision=1, origin="measured", holdout="pair", seed=0, profiles=12, code_version="1", seconds=1.0,
        pairs={"platforms": nine},
    )  # fmt: skip
    EvaluatedMethod.objects.create(
        evaluation=evaluation, position=0, name=DEFAULT_METHOD, version="1", is_baseline=False,
        statistics={"full": {"median": 3.0}, "coverage": 0.91},
        errors_full=np.full(200, 0.03, dtype=np.float32), errors_t1=np.zeros(0), errors_scaling=np.zeros(0),
    )  # fmt: skip
    assert "980 hidden measurements" in text_of(home(client))
    evaluation.pairs = {"platforms": [*nine, "machine-9"]}
    evaluation.save()
    caches["pages"].clear()
    assert "200 hidden measurements: half within 3 %, 90 % intervals cover 91 %." in text_of(home(client))
