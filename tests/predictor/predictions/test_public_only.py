"""Public data only: somebody with private data gets the answer that everybody gets, and can pass it on."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from predictor.models import Prediction
from tests.mpet_site.api_samples import API, client_of
from tests.pages import store_private, store_public, twin_of, user
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
PAIR = {"workload": "app0-section0", "target": "machine-1"}
PUBLIC = {"public_only": "true"}


@pytest.fixture
def ada():
    store_public()
    owner = user("ada")
    store(sample_measurements(4, 5, seed=9), label="mine", owner=owner, private=True)
    return owner


@pytest.fixture
def signed_in(ada):
    client = Client()
    client.force_login(ada)
    return client


def ask(client, **fields):
    return client.post(f"{API}predictions/", PAIR | fields, format="json").json()


def test_the_stored_answer_is_the_publics_and_can_be_read_by_all(ada):
    private = ask(client_of(ada))
    shared = ask(client_of(ada), public_only=True)
    assert ask(client_of(user("bob"))) == shared
    assert private["curve"] != shared["curve"]
    assert client_of().get(shared["url"]).json() == shared
    assert client_of().get(private["url"]).status_code == 404
    assert Prediction.objects.count() == 2
    assert Prediction.objects.asked_by(ada).count() == 2


QUESTIONS = {
    "predictions/preview/": PAIR,
    "rankings/": {"workload": "app0-section0"},
    "compare/platforms/": {"slugs": "machine-0,machine-1"},
    "compare/workloads/": {"slugs": "app0-section0,app0-section1", "on": "machine-1"},
    "distances/platforms/": {"a": "machine-0", "b": "machine-1"},
    "distances/workloads/": {"a": "app0-section0", "b": "app0-section1"},
    "distances/platforms/matrix/": {},
    "distances/workloads/matrix/": {},
    "distances/workloads/map/": {},
}


@pytest.mark.parametrize("path", QUESTIONS)
def test_every_question_of_the_api_has_the_switch(ada, path):
    address = f"{API}{path}?{urlencode(QUESTIONS[path])}"
    public = f"{API}{path}?{urlencode(QUESTIONS[path] | PUBLIC)}"
    theirs = client_of().get(address)
    assert theirs.status_code == 200
    assert client_of(ada).get(public).json() == client_of().get(public).json() == theirs.json()
    assert client_of(ada).get(address).json() != theirs.json()


PAGES = {
    "what-if": PAIR,
    "ranking": {"workload": "app0-section0"},
    "compare-platforms": {"platform": "machine-0"},
    "unstored-answer": PAIR,
    "platform-distances": {},
    "workload-map": {},
}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_that_asks_has_it_and_its_twin_says_the_same(ada, signed_in, name):
    parameters = PAGES[name] | ({"platform": ["machine-0", "machine-1"]} if name == "compare-platforms" else {})
    page = signed_in.get(f"{reverse(name)}?{urlencode(parameters | PUBLIC, doseq=True)}")
    twin = twin_of(page)
    assert "public_only=true" in twin
    assert signed_in.get(twin).json() == Client().get(twin).json()


@pytest.mark.parametrize(("name", "query"), [("predict", PAIR), ("what-if", PAIR), ("ranking", PAGES["ranking"])])
def test_the_check_box_is_for_those_who_have_private_data(ada, signed_in, name, query):
    address = f"{reverse(name)}?{urlencode(query)}"
    assert 'name="public_only"' in signed_in.get(address).content.decode()
    assert 'name="public_only"' not in Client().get(address).content.decode()
    stranger = Client()
    stranger.force_login(user("bob"))
    assert 'name="public_only"' not in stranger.get(address).content.decode()


def test_the_form_stores_a_public_answer_and_its_commands_ask_for_the_same(ada, signed_in):
    page = signed_in.post(reverse("predict"), PAIR | {"method": "mpet", "public_only": "on"}, follow=True)
    stored = Prediction.objects.get()
    assert stored.private_to is None
    assert page.context["prediction"] == stored
    assert '"public_only": true' in page.context["curl"]
    assert "public_only=true" in page.context["question"]
    assert Client().get(reverse("prediction", args=[stored.uid])).status_code == 200


def test_keeping_a_what_if_that_is_public_keeps_a_public_answer(ada, signed_in):
    signed_in.post(f"{reverse('what-if')}?{urlencode(PAIR | PUBLIC | {'work': '0.5'})}")
    assert Prediction.objects.get().private_to is None


def test_what_is_private_is_unknown_to_such_a_question(ada):
    profile = store_private(ada)[0]
    asked = {"workload": profile.workload.slug, "target": "machine-1", "include_simulated": True}
    refused = client_of(ada).post(f"{API}predictions/", asked | {"public_only": True}, format="json")
    assert refused.status_code == 400
    assert profile.workload.name not in refused.json()["detail"]
    possible = Client()
    possible.force_login(ada)
    query = urlencode({"workload": profile.workload.slug, "target": "machine-1"} | PUBLIC)
    assert "There is no workload" in possible.get(f"{reverse('predict-possible')}?{query}").content.decode()


def test_what_to_measure_next_by_public_data_alone(ada):
    answer = ask(client_of(ada))
    address = f"{answer['url']}measure-next/"
    public = ask(client_of(ada), public_only=True)
    shared = client_of(ada).get(f"{address}?public_only=true").json()
    assert shared == client_of().get(f"{public['url']}measure-next/").json()
