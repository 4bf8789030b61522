"""Answers without an account: shown, not kept, under an address that asks again. Trust 10."""

import html
import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest
from django.http import QueryDict
from django.urls import reverse

from accounts.models import ApiToken
from predictor.models import Prediction
from predictor.pages.forms import (
    PredictionForm,
    curl_command,
    form_of_question,
    python_program,
    question_parameters,
    request_body,
)
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from tests.mpet_site.api_samples import API, client_of
from tests.pages import store_private, store_public, text_of, twin_of, user

pytestmark = pytest.mark.django_db
QUESTION = {"workload": "app0-section0", "target": "machine-1", "method": "mpet"}
CHANGED = {
    "n": "1, 2, 4",
    "references": "machine-0",
    "workload_changes.work": "2",
    "platform_changes.n_ht": "none",
    "include_simulated": "on",
    "mpet.level": "0.8",
    "mpet2020.t1_workloads": "2",
}
REQUESTS = {
    "plain": {},
    "everything": {
        "references": ["machine-0", "machine-2"],
        "method": "mpet2020",
        "n": [1, 2, 4],
        "settings": {"t1_workloads": 2},
        "include_simulated": True,
    },
    "scaling alone": {"scenario": "scaling"},
    "what if": {"workload_changes": {"lock_delay": 0.5, "work": 2}, "platform_changes": {"n_ht": None, "n_max": 8}},
}


def ask(client, **fields):
    return client.post(reverse("predict"), QUESTION | fields, follow=True)


def test_trust_10_pages_keep_no_answer_without_an_account_as_the_api_does(client, public):
    page = ask(client)
    assert page.status_code == 200
    assert page.redirect_chain[0][0].startswith(reverse("unstored-answer"))
    answer = client_of().post(API + "predictions/", QUESTION, format="json")
    assert (answer.status_code, answer.json()["id"], answer.json()["url"]) == (200, None, None)
    assert not Prediction.objects.exists()


@pytest.mark.parametrize("fields", [{}, CHANGED, {"scenario": "sequential"}, {"method": "mpet2020"}])
def test_the_answer_is_the_one_that_is_kept_with_an_account(client, public, fields):
    shown = ask(client, **fields)
    client.force_login(user("ada"))
    kept = ask(client, **fields).context["answer"]
    assert {name: value for name, value in shown.context["answer"].items() if name in kept} == kept
    page = client.get(shown.redirect_chain[0][0])
    assert "Save this prediction" in text_of(page)
    client.post(reverse("predict"), page.context["parameters"])
    assert Prediction.objects.count() == 1, "the button asks the same question"


def test_an_address_says_what_the_form_says(public):
    form = PredictionForm(QUESTION | CHANGED)
    query = QueryDict(mutable=True)
    query.update(question_parameters(form))
    assert not any(name.startswith("mpet2020.") for name in query)
    again = form_of_question(query, None)
    assert form.is_valid() and again.is_valid()
    assert again.prediction_request() == form.prediction_request()


def test_a_short_address_asks_with_the_defaults(client, public):
    page = client.get(reverse("unstored-answer"), {"workload": "app0-section0", "target": "machine-1"})
    assert page.context["answer"]["method"] == "mpet"
    assert "This prediction is not saved" in text_of(page) and "Sign in to save it" in text_of(page)


def test_the_twin_is_the_same_answer_where_an_address_can_ask_for_it(client, public):
    page = ask(client, **{"workload_changes.work": "2", "platform_changes.n_max": "8"})
    assert client.get(twin_of(page)).json()["curve"] == page.context["answer"]["curve"]
    assert twin_of(ask(client, n="1, 2")) is None


@pytest.mark.parametrize(
    ("fields", "words"), [({"target": "nowhere"}, "nowhere"), ({"n": "0"}, "not a thread count"), ({}, "required")]
)
@pytest.mark.parametrize("view", ["unstored-answer", "unstored-measure-next"])
def test_an_address_without_an_answer_shows_the_form_and_why(client, public, view, fields, words):
    page = client.get(reverse(view), QUESTION | fields if fields else {})
    assert page.status_code == 422
    assert words in html.unescape(text_of(page))
    assert "What to predict" in text_of(page)


def test_what_to_measure_next_needs_no_account(client, public):
    next_address = ask(client).context["next_address"]
    page, part = client.get(next_address), client.get(next_address, headers={"HX-Request": "true"})
    assert page.status_code == 200 and text_of(part) in text_of(page)
    assert html.escape(page.context["back"]) in page.content.decode()
    assert client.get(page.context["back"]).status_code == 200


def test_an_answer_from_private_profiles_is_shown_to_their_owner_alone(client, public):
    ada = user("ada")
    pair = {"workload": store_private(ada)[0].workload.slug, "target": "machine-0"}
    assert client.get(reverse("unstored-answer"), pair).status_code == 422
    client.force_login(ada)
    page = client.get(reverse("unstored-answer"), QUESTION)
    assert (page.status_code, page["Cache-Control"]) == (200, "private, no-store")


@pytest.fixture
def stored(request):
    store_public()
    return predict(PredictionRequest("app0-section0", "machine-1", **REQUESTS[request.param]))


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("stored", ["everything", "what if"], indirect=True)
def test_the_python_program_and_the_command_answer_with_the_stored_prediction(stored, live_server):
    _, secret = ApiToken.issue(user("ada"), name="laptop", scope="predict")
    environment = {**os.environ, "MPET_TOKEN": secret, "NO_PROXY": "*", "no_proxy": "*"}
    address = live_server.url + reverse("api-predictions")

    def run(*command) -> str:
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
        return done.stdout

    printed = run(sys.executable, "-c", python_program(stored.answer, address)).splitlines()
    expected = [[str(row[name]) for name in ("n", "time_s", "low_s", "high_s")] for row in stored.answer["curve"]]
    assert [line.split() for line in printed] == expected
    command = curl_command(stored.answer, address).replace("curl ", "curl --silent --fail ", 1)
    answer = json.loads(run("sh", "-c", command))
    assert (answer["id"], answer["curve"]) == (str(stored.uid), stored.answer["curve"])


@pytest.mark.parametrize("stored", REQUESTS, indirect=True)
def test_the_command_is_one_that_a_shell_takes_apart_as_meant(stored):
    command = shlex.split(curl_command(stored.answer, "http://localhost/it's/").replace("\\\n", " "))
    assert command[1] == "http://localhost/it's/"
    body = json.loads(command[command.index("-d") + 1])
    assert body == request_body(stored.answer)
    assert predict(PredictionRequest(**body)) == stored


def test_the_interval_is_described_with_the_level_that_was_asked_for(client, public):
    page = ask(client, **{"mpet.level": "0.8"})
    assert 'aria-label="8 of 10 times between ' in page.content.decode()
    assert "9 of 10" not in page.content.decode()
