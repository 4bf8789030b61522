import html
import json
import re
import shlex

import pytest
from django.test import Client
from django.urls import reverse

from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Profile, Revision
from profiles.templatetags.quantities import as_percent, percent
from tests.pages import figures_of, store_dataset, store_private, text_of, twin_of, user

pytestmark = pytest.mark.django_db
QUESTION = {"workload": "app0-section0", "target": "machine-1", "method": "mpet2020"}


def post_question(client, **fields):
    """By somebody with an account, whose answers are kept."""
    if "_auth_user_id" not in client.session:
        client.force_login(user("asker"))
    return client.post(reverse("predict"), QUESTION | fields, follow=True)


def test_the_form_wants_its_token_against_forged_requests(public):
    refused = Client(enforce_csrf_checks=True).post(reverse("predict"), QUESTION)
    assert refused.status_code == 403
    assert "Nothing was stored" in text_of(refused)
    assert not Prediction.objects.exists()


def test_the_answer_names_its_error_candidates_warnings_confidence_revision_and_sources(client, public):
    page = post_question(client)
    stored = Prediction.objects.get()
    assert page.redirect_chain == [(reverse("prediction", args=[stored.uid]), 302)]
    answer, words = stored.answer, html.unescape(text_of(page))
    assert answer["target"] == "machine-1"
    assert answer["warnings"]
    assert [
        part
        for part in (
            as_percent(answer["measured"]["error_percent"]),
            f"revision {answer['revision']} ",
            f"For the scaling: {len(answer['candidates']['scaling'])} pairs",
            "public.tar.gz",
            *answer["warnings"],
            *answer["confidence"]["reasons"],
        )
        if part not in words
    ] == []
    assert set(figures_of(page)) == {"time", "speedup", "shares", "candidate-1", "candidate-2"}
    names = [trace["name"] for trace in figures_of(page)["time"]["data"]]
    assert names[-2:] == ["predicted", "measured"]
    assert client.get(twin_of(page)).json()["curve"] == answer["curve"]


def test_t1_is_only_called_measured_if_it_ran_with_one_thread(client, public):
    """The stored t(1) of a profile with more threads alone is n t(n)."""
    post_question(client)
    stored = Prediction.objects.get()
    address = reverse("prediction", args=[stored.uid])
    assert stored.answer["measured"]["curve"][0]["n"] == 1
    assert "measured t(1):" in text_of(client.get(address))
    stored.answer["measured"]["curve"].pop(0)
    stored.save()
    text = text_of(client.get(address))
    assert "mean over the thread counts" in text
    assert "measured t(1):" not in text


def test_the_command_on_the_page_asks_the_same_question(client, public):
    page = post_question(client, n="1, 2, 4", **{"mpet2020.t1_workloads": "2"})
    assert page.context["curl"] in html.unescape(page.content.decode())
    command = shlex.split(page.context["curl"].replace("\\\n", " "))
    body = json.loads(command[command.index("-d") + 1])
    assert (body["n"], body["settings"]["t1_workloads"]) == ([1, 2, 4], 2)
    assert predict(PredictionRequest(**body)) == Prediction.objects.get()


def test_the_form_can_be_filled_by_its_address_and_says_what_is_possible(client, public):
    page = client.get(reverse("predict"), QUESTION)
    assert 'value="app0/section0"' in page.content.decode()
    assert (
        "Possible: 2 reference machines have the workload; the target has 3 other workloads; "
        "6 profiles connect the two. This pair was measured."
    ) in text_of(page)
    store_dataset()
    assert "shares no workload" in text_of(client.get(reverse("predict"), QUESTION | {"target": "cloud-0"}))


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"n": "1, two"}, "n", "“two” is not a whole number"),
        ({"n": "0"}, "n", "not a thread count"),
        ({"method": "oracle"}, "method", "oracle"),
        ({"method": "mpet2020", "mpet2020.t1_workloads": "0"}, "mpet2020.t1_workloads", "is below 1"),
        ({"workload": ""}, "workload", "required"),
        ({"scenario": "guess"}, "scenario", "guess"),
        ({"scenario": "parallelisation"}, "strategy", "Choose the strategy"),
        ({"scenario": "parallelisation", "strategy": "sequential"}, "strategy", "sequential"),
        ({"scenario": "sequential", "workload_changes.work": "2"}, "__all__", "predicts t(1) only"),
        ({"workload_changes.work": "0"}, "workload_changes.work", "not a factor"),
        ({"platform_changes.n_nu": "many"}, "platform_changes.n_nu", "“many” is not a whole number of threads"),
        ({"platform_changes.n_nu": "12"}, "platform_changes.n_nu", "not below"),
    ],
)
def test_what_cannot_be_answered_is_said_at_its_field(client, public, fields, field, words):
    page = post_question(client, **{"method": "mpet"} | fields)
    assert page.status_code == 422
    errors = page.context["form"].errors[field]
    assert words in " ".join(errors)
    assert html.unescape(text_of(page)).count(errors[0]) == 1
    assert not Prediction.objects.exists()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"workload": "app0-sectoin0"}, "There is no workload “app0-sectoin0”. Did you mean app0/section0"),
        ({"target": "nowhere"}, "There is no target machine “nowhere”."),
        ({"references": "machine-9"}, "There is no reference machine “machine-9”."),
        ({"references": "machine-1"}, "was measured on no other machine"),
    ],
)
def test_what_has_no_answer_is_said_once_with_what_would_help(client, public, fields, sentence):
    page = post_question(client, method="mpet", **fields)
    assert page.status_code == 422
    assert html.unescape(text_of(page)).count(sentence) == 1
    assert text_of(page).count("There is no") <= 1
    assert not Prediction.objects.exists()


def test_a_suggestion_leads_to_the_form_with_the_rest_of_the_question(client, public):
    page = post_question(client, workload="app0-sectoin0", n="1, 2")
    (address,) = {a for name, a in page.context["refusal"].suggestions if name == "app0/section0"}
    form = client.get(address).context["form"]
    shown = [form[name].value() for name in ("workload", "target", "n")]
    assert shown == ["app0/section0", "machine-1", "1, 2"]


@pytest.mark.parametrize("has_account", [False, True])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("workload", "a" * 100_000),
        ("target", "a" * 100_000),
        ("references", "machine-0," * 20_000),
        ("n", "9" * 5_000),
        ("platform_changes.n_nu", "9" * 5_000),
        ("platform_changes.n_max", "9" * 5_000),
        ("mpet2020.t1_workloads", "9" * 5_000),
    ],
)
def test_values_that_nobody_means_are_said_at_their_field(client, public, has_account, field, value):
    if has_account:
        client.force_login(user("ada"))
    page = client.post(reverse("predict"), QUESTION | {field: value})
    assert (page.status_code, list(page.context["form"].errors)) == (422, [field])


def test_every_scenario_can_be_chosen(client, public):
    t1 = post_question(client, method="mpet", scenario="sequential")
    assert t1.context["answer"]["scenario"] == "sequential"
    assert set(figures_of(t1)) == {"first-time"} and "Only t(1) was requested" in text_of(t1)
    scaling = post_question(client, method="mpet", scenario="scaling")
    assert scaling.context["answer"]["t1_s"] is None
    assert "Largest speedup" in text_of(scaling) and "time" not in figures_of(scaling)
    strategy = {"method": "mpet", "strategy": "dynamic_loop"}
    made_parallel = post_question(client, scenario="parallelisation", **strategy)
    assert made_parallel.context["answer"]["strategy"] == "dynamic_loop"
    assert "benchmarks with the strategy dynamic loop" in text_of(made_parallel)
    assert post_question(client, **strategy).context["answer"]["strategy"] is None


def test_changes_of_workload_and_platform_can_be_asked_for(client, public):
    workload = {"workload_changes.lock_delay": "0.5", "workload_changes.work": "2"}
    platform = {"platform_changes.n_ht": "none", "platform_changes.n_max": "8"}
    changed = post_question(client, method="mpet", **workload, **platform)
    answer = changed.context["answer"]
    assert answer["workload_changes"] == {"lock_delay": 0.5, "work": 2.0}
    assert answer["platform_changes"] == {"n_ht": None, "n_max": 8}
    assert html.escape(answer["changes"][0]) in changed.content.decode()
    assert "baseline" in [trace["name"] for trace in figures_of(changed)["time"]["data"]]
    assert "as fast" in text_of(changed)


def test_negative_weights_are_explained_where_there_are_any(client, public):
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    address = reverse("prediction", args=[prediction.uid])
    candidates = prediction.answer["candidates"]
    for weight, explained in ((0.5, False), (-0.5, True)):
        candidates["scaling"][0]["weight"] = candidates["t1"][0]["weight"] = weight
        for row in (*candidates["scaling"][1:], *candidates["t1"][1:]):
            row["weight"] = abs(row["weight"])
        prediction.save()
        assert ("Some weights are negative" in text_of(client.get(address))) == explained


def test_private_names_are_neither_offered_nor_suggested_to_others(client, public):
    ada, misspelt = user("ada"), {"target": "secret-machin"}
    store_private(ada)
    page = client.get(reverse("predict"))
    assert [row.slug for row in page.context["platforms"]] == ["machine-0", "machine-1", "machine-2"]
    assert "secret" not in page.content.decode()
    assert "secret-machine" not in post_question(client, **misspelt).content.decode()
    client.force_login(ada)
    names = [name for name, _ in post_question(client, **misspelt).context["refusal"].suggestions]
    assert "secret-machine" in " ".join(names)


def test_a_private_answer_is_for_its_owner_alone(client, public):
    ada = user("ada")
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    Prediction.objects.filter(pk=prediction.pk).update(private_to=ada)
    for viewer, status in ((None, 404), (user("eve"), 404), (ada, 200)):
        if viewer:
            client.force_login(viewer)
        page = client.get(reverse("prediction", args=[prediction.uid]))
        assert page.status_code == status
    assert "private" in text_of(page)


def test_a_relative_answer_has_no_seconds(client):
    store_dataset()
    page = post_question(client, workload="relative-0", target="cloud-1")
    assert page.status_code == 200 and "unknown unit" in text_of(page)
    assert not re.search(r"\d (s|ms|µs)\b", text_of(page))


def test_pages_take_a_fixed_number_of_queries(client, public, django_assert_num_queries):
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    client.get(reverse("home"))  # snapshots and the pair of the front page are made once a revision and process
    # revision and newest profile of both origins; the example: revision, one computation; the newest evaluation; how
    # many machines; the latest with their machines; sources
    with django_assert_num_queries(16):
        client.get(reverse("home"))
    # workloads and platforms to offer, and what has their names
    with django_assert_num_queries(4):
        client.get(reverse("predict"))
    # what connects them: revision, newest profile; the names of the two: the row, what else has its name, and where
    # that was measured
    with django_assert_num_queries(12):
        client.get(reverse("predict"), QUESTION)
    # the prediction, the platforms and the workloads that it names, and what has their names; candidates' curves:
    # revision, newest profile; what was withdrawn of what it rests on
    with django_assert_num_queries(8):
        client.get(reverse("prediction", args=[prediction.uid]))


def test_what_to_measure_next_is_a_page_and_a_part_of_the_answer_s(client, public):
    Profile.objects.filter(platform__slug="machine-1", workload__slug="app1-section1").delete()
    Revision.raise_for(None)
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    address = reverse("measure-next", args=[prediction.uid])
    assert f'hx-get="{address}"' in client.get(reverse("prediction", args=[prediction.uid])).content.decode()
    page, part = client.get(address), client.get(address, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode() and text_of(part) in text_of(page)
    assert page["Vary"] == part["Vary"] and "HX-Request" in page["Vary"]
    twin = client.get(twin_of(page)).json()["results"]
    assert twin[0]["workload"] == "app1-section1"
    assert [(row, workload.slug, platform.slug) for row, workload, platform in page.context["rows"]] == [
        (row, row["workload"], row["platform"]) for row in twin
    ]


def test_what_to_measure_next_says_when_nothing_is_known_to_help(client, public):
    prediction = predict(PredictionRequest("app0-section0", "machine-1"))
    Profile.objects.exclude(platform__slug="machine-1").delete()
    Revision.raise_for(None)
    page = client.get(reverse("measure-next", args=[prediction.uid]))
    assert page.status_code == 200
    assert "No further measurement is expected to narrow the interval" in text_of(page)


def test_the_answer_says_why_and_what_carried_it(client, public):
    page = client.get(post_question(client, method="mpet").context["why_address"])
    why, words = page.context["why"], html.unescape(text_of(page))
    assert "Why: app0/section0 on machine-1" in words
    assert len(page.context["sentences"]) == len(why["sentences"]) > 0
    assert all(sentence in words for sentence in page.context["sentences"])
    assert [row for row, _ in page.context["carried"]] == why["carried"]
    reference = next(row for row in why["carried"] if row["kind"] == "reference")
    assert f"{reference['name']} reference {percent(reference['share'])}" in words


def test_the_form_and_the_sliders_take_names(client, public):
    page = client.get(reverse("predict"), QUESTION)
    assert page.context["form"]["workload"].value() == "app0/section0"
    offered = page.content.decode().split('<datalist id="workloads">')[1].split("</datalist>")[0]
    assert '<option value="app0/section0">' in offered and "app0-section0" not in offered
    page = post_question(client, workload="app0/section0", references="machine-0, machine-2")
    assert page.status_code == 200
    assert Prediction.objects.get().workload == "app0-section0"
    page = client.get(reverse("what-if"), {"workload": "app0/section0", "target": "machine-1"})
    assert page.status_code == 302 and page["Location"].endswith("?workload=app0-section0&target=machine-1")
