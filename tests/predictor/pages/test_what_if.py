"""What-if: the address holds the state, page, part and twin say the same, and what cannot be moved says why."""

import html
import re
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from django.urls import reverse

from predictor.models import Prediction
from predictor.pages import what_if
from predictor.predictions.service import preview_answer
from predictor.predictions.sliders import neutral_values, platform_sliders
from profiles.models import Platform, Profile
from tests.pages import figures_of, store_dataset, store_private, text_of, twin_of, user
from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_workload

pytestmark = pytest.mark.django_db
PAIR = {"workload": "app0-section0", "target": "machine-1"}


def page(client, **parameters):
    return client.get(reverse("what-if"), PAIR | parameters)


def part(client, **parameters):
    return client.get(reverse("what-if-answer"), PAIR | parameters)


def slider(response, name: str) -> str:
    return re.search(rf'<input type="range"\s+id="slider-{name}"[^>]*>', response.content.decode())[0]


@pytest.mark.parametrize(("changes", "questions"), [({}, 1), ({"work": "1"}, 1), ({"work": "2"}, 2)])
def test_the_page_asks_each_question_once(client, public, monkeypatch, changes, questions):
    asked = []

    def preview(question, user, **options):
        asked.append(question)
        return preview_answer(question, user, **options)

    monkeypatch.setattr(what_if, "preview_answer", preview)
    assert page(client, **changes).context["answer"]["curve"]
    assert len(asked) == questions


def test_the_address_holds_the_state(client, public):
    response = page(client, work="2", memory="", n_ht="0", n_max="32", base_mhz="4200")
    answer = response.context["answer"]
    assert answer["workload_changes"] == {"work": 2.0}
    assert answer["platform_changes"] == {"n_ht": None, "n_max": 32, "base_mhz": 4200.0}
    assert [row["n"] for row in answer["curve"]] == list(range(1, 33))
    assert 'value="2.0"' in slider(response, "work")
    assert '<output for="slider-n_ht">none</output>' in response.content.decode()
    for sentence in answer["changes"]:
        assert html.escape(sentence) in response.content.decode()
    assert len(answer["changes"]) == 4


def test_nothing_is_changed_at_first_and_the_baseline_stays_in_the_figures(client, public):
    response = page(client)
    assert response.context["answer"]["baseline"] is None
    assert "nothing is changed" in text_of(response)
    assert 'value="1.0"' in slider(response, "work") and "disabled" not in slider(response, "lock_delay")
    figures, curves = figures_of(page(client, work="2")), {}
    for name in ("time", "speedup"):
        curves[name] = next(trace["y"] for trace in figures[name]["data"] if trace["name"] == "baseline")
    as_it_is = next(trace for trace in figures_of(response)["time"]["data"] if trace["name"] == "predicted")
    assert curves["time"] == pytest.approx(as_it_is["y"])


def test_a_slider_that_stands_where_it_was_changes_nothing(client, public):
    platform = Platform.objects.get(slug="machine-1")
    where = {name: f"{value:g}" for name, value in neutral_values(platform).items()}
    response = page(client, **where)
    assert response.context["answer"]["baseline"] is None
    assert response.context["state"] == "workload=app0-section0&target=machine-1"


def test_the_part_that_follows_and_the_twin_are_the_same_as_the_page(client, public):
    moved = {"lock_delay": "0", "work_imbalance": "0.5", "n_max": "8"}
    whole, answer = page(client, **moved), part(client, **moved)
    assert figures_of(answer) == figures_of(whole)
    assert text_of(answer) in text_of(whole) and "<html" not in answer.content.decode()
    twin = client.get(twin_of(whole)).json()
    assert "why" not in twin
    assert twin == {"id": None, "url": None} | whole.context["answer"]


def test_what_is_refused_is_said_and_the_pair_as_it_is_stays(client, public):
    response = page(client, n_nu="12", n_ht="6")
    assert response.status_code == 200
    assert text_of(response).count(response.context["refusal"].sentence) == 1
    assert response.context["answer"]["baseline"] is None
    assert set(figures_of(response)) >= {"time", "speedup"}
    unknown = page(client, target="nowhere")
    assert "There is no target machine “nowhere”." in text_of(unknown)
    assert '<input type="range"' not in unknown.content.decode()


@pytest.mark.parametrize("value", ["much", "nan", "-1", "1e9"])
def test_a_value_that_no_slider_has_is_refused(client, public, value):
    response = page(client, work=value)
    assert response.status_code == 200
    assert "ork:" in response.context["refusal"].sentence
    assert client.get(reverse("api-prediction-preview"), PAIR | {"work": value}).status_code == 400


def test_time_only_workloads_say_why_their_parts_cannot_be_changed(client):
    store_dataset()
    response = client.get(reverse("what-if"), {"workload": "relative-0", "target": "cloud-1"})
    for name in ("lock_delay", "work_imbalance", "task_join"):
        assert "disabled" in slider(response, name)
        assert 'aria-describedby="note-1"' in slider(response, name)
    assert 'id="note-1"' in response.content.decode()
    for name in ("work", "redundancy", "n_max"):
        assert "disabled" not in slider(response, name)
    assert "only the wall time of this workload was measured" in html.unescape(text_of(response))


@pytest.mark.parametrize("clock", [2400.0, 2445.5, 800.0])
def test_the_clock_s_slider_can_stand_where_it_was(clock):
    slider = platform_sliders(Platform(n_max=8, base_mhz=clock), {})[-1]
    assert (clock - slider.low) % slider.step == pytest.approx(0)
    assert slider.low > 0
    assert slider.spelled == f"{clock:g} MHz"


def test_an_unknown_clock_cannot_be_changed():
    sliders = {slider.name: slider for slider in platform_sliders(Platform(n_max=8), {})}
    assert "clock" in sliders["base_mhz"].unavailable
    assert (sliders["n_ht"].spelled, sliders["n_max"].spelled) == ("none", "8")


def test_an_answer_is_kept_on_demand_alone(client, public):
    page(client, work="2")
    assert not Prediction.objects.exists()
    address = f"{reverse('what-if')}?workload=app0-section0&target=machine-1&work=2"
    refused = client.post(address)
    assert refused.url == f"{reverse('login')}?next={quote(address)}", "trust 10: as the API"
    assert not Prediction.objects.exists()
    client.force_login(user("ada"))
    kept = client.post(address)
    stored = Prediction.objects.get()
    assert kept["Location"] == reverse("prediction", args=[stored.uid])
    assert stored.answer["workload_changes"] == {"work": 2.0}
    words = html.unescape(text_of(client.get(kept["Location"])))
    assert "What was changed" in words
    assert stored.answer["changes"][0] in words


def test_the_part_that_follows_takes_a_fixed_number_of_queries(client, public, django_assert_num_queries):
    part(client)
    # the target; revision, newest profile; with changes the bound; virtualised references; sources; platforms by name
    with django_assert_num_queries(7):
        part(client, work="2")


def curve_of(answer):
    return {row["n"]: row["time_s"] for row in answer["curve"]}


def test_the_measured_times_of_a_pair_can_be_changed(client, public):
    """Page, part and JSON form are the same; without a change the curve is the measured one."""
    predicted = page(client)
    assert "Start from the measured times" in text_of(predicted)
    start = re.search(r'<a href="([^"]+)">Start from the measured times', predicted.content.decode())[1]
    measured = client.get(html.unescape(start))
    answer = measured.context["answer"]
    assert answer["references"] == ["machine-1"]
    assert (answer["changes"][0], answer["workload_changes"]) == (
        "based on the times measured on machine-1",
        {"work": 1.0},
    )
    profile = Profile.objects.get(platform__slug="machine-1", workload__slug="app0-section0")
    n = np.asarray(profile.curves.n)
    for count, time_s in zip(n, np.asarray(profile.curves.values)[: len(n)], strict=True):
        assert curve_of(answer)[count] == pytest.approx(time_s)
    assert '<input type="hidden" name="measured" value="true">' in measured.content.decode()
    assert "Start from a prediction" in text_of(measured)
    moved = {"measured": "true", "lock_delay": "0"}
    whole = page(client, **moved)
    assert curve_of(whole.context["answer"])[8] <= curve_of(answer)[8]
    assert text_of(part(client, **moved)) in text_of(whole)
    assert client.get(twin_of(whole)).json() == {"id": None, "url": None} | whole.context["answer"]
    assert whole.context["reset"].endswith("&measured=true")


def test_a_workload_that_only_this_machine_ran_starts_from_its_measured_times(client, public):
    """No other machine shows it, so there is no prediction: before, the page was a dead end for one's own program."""
    ada = user("ada")
    profile = store_private(ada)[0]
    pair = {"workload": profile.workload.slug, "target": profile.platform.slug}
    client.force_login(ada)
    found = client.get(reverse("what-if"), pair)
    assert found["Location"] == f"{reverse('what-if')}?{urlencode(pair | {'measured': 'true'})}"
    answer = client.get(found["Location"]).context["answer"]
    assert answer["references"] == [profile.platform.slug]
    refused = client.get(reverse("what-if"), pair | {"measured": "false"})
    assert "was measured on no other machine" in text_of(refused)
    assert "Start from the simulated times" in text_of(refused)


def test_what_nobody_measured_or_others_keep_private_has_no_measured_times(client, public):
    profile = store_private(user("ada"))[0]
    for target in (profile.platform.slug, "machine-0"):
        pair = {"workload": profile.workload.slug, "target": target}
        response = client.get(reverse("what-if"), pair)
        assert response.status_code == 200
        assert "measured times" not in text_of(response) and "Secret" not in response.content.decode()
        assert client.get(reverse("api-prediction-preview"), pair).status_code == 400
    Profile.objects.filter(platform__slug="machine-1", workload__slug="app0-section0").delete()
    assert "measured times" not in text_of(page(client))
    assert page(client, measured="true").context["refusal"]


def test_a_pair_without_measured_times_leads_to_a_prediction(client, public):
    """The remedy "Use all references" would lead to the same page otherwise."""
    own = sample_measurements(1, 1, seed=5)
    own.workloads[:] = [sample_workload(9)]
    workload = store(own, label="own").profiles[0].workload.slug
    refusal = page(client, workload=workload, measured="true").context["refusal"]
    assert refusal.action == "Use all references"
    assert client.get(refusal.address).context["answer"]["curve"]


def test_the_page_of_a_profile_leads_to_changes_of_its_times(client, public):
    profile = Profile.objects.get(platform__slug="machine-1", workload__slug="app0-section0")
    content = client.get(reverse("profile", args=[profile.uid])).content.decode()
    link = html.unescape(re.search(r'href="([^"]+)">What if[?]', content)[1])
    assert client.get(link).context["answer"]["references"] == ["machine-1"]
