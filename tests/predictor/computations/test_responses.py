"""trust 8: what takes longer than a request is a page that is there at once and says how far the answer is. The API
answers 202 with progress, then 200 at the same address."""

from itertools import islice

import pytest
from django.urls import reverse

from predictor.computations.running import save
from predictor.models import Computation
from predictor.predictions.question import PredictionRequest
from predictor.predictions.rankings import RankingQuestion
from predictor.predictions.service import predict
from profiles.jobs.queue import take_up
from profiles.models import Profile, Revision
from tests.mpet_site.api_samples import API, client_of, make_user, strict_json
from tests.mpet_site.web.test_problems import problem_in
from tests.pages import store_private, store_public, text_of, twin_of, user
from tests.predictor.computations.conftest import WORKLOAD, store_more

pytestmark = pytest.mark.django_db
API_URL = API + "rankings/"
ASKED = {"workload": WORKLOAD}


@pytest.fixture
def public():
    return store_public()


def fail(question, target):
    raise ZeroDivisionError


def page(client, headers=None, **parameters):
    return client.get(reverse("ranking"), {"workload": WORKLOAD} | parameters, headers=headers)


def polled(client):
    return page(client, headers={"HX-Request": "true", "HX-Target": "computing"})


def test_the_page_is_there_at_once_and_asks_by_itself(client, public, started):
    response = page(client)
    content, address = response.content.decode(), f"{reverse('ranking')}?workload={WORKLOAD}"
    assert (response.status_code, "no-store" in response["Cache-Control"]) == (200, True)
    assert "Waiting for other computations to finish" in text_of(response)
    for part in (f'hx-get="{address}"', f'<a href="{address}">Reload</a>', "htmx-2.min"):
        assert part in content
    part = polled(client)
    assert part.content.decode().lstrip().startswith('<div class="notice"')
    assert "HX-Refresh" not in part
    assert "HX-Target" in part["Vary"]
    take_up("computations")
    part = polled(client)
    assert (part.content, part["HX-Refresh"]) == (b"", "true")
    response = page(client)
    assert len(response.context["rows"]) == 3
    assert 'id="computing"' not in response.content.decode()
    assert "htmx-2.min" not in response.content.decode()


def test_rows_so_far_stand_there(client, public, started):
    page(client)
    _, *firsts = islice(RankingQuestion.of(WORKLOAD).steps(), 2)
    computation = Computation.objects.get()
    computation.claim()
    assert save(computation, firsts[-1])
    response = page(client)
    assert "1 of 3" in text_of(response)
    assert "Results so far are shown" in text_of(response)
    assert len(response.context["rows"]) == 1
    assert '<progress value="1" max="3"' in response.content.decode()


def test_the_answer_of_the_earlier_revision_stands_there_meanwhile(client, public, started):
    page(client)
    take_up("computations")
    earlier = page(client).context["ranking"]
    store_more()
    response = page(client)
    assert (response.context["ranking"], response.context["shown"].is_computed) == (earlier, False)
    assert f"Until then the answer of revision {earlier.revision} is shown" in text_of(response)
    take_up("computations")
    assert "machine-9" in {row["platform"] for row, _ in page(client).context["rows"]}
    assert Computation.objects.count() == 1  # the earlier one is gone


def test_a_platform_that_was_hidden_since_is_not_in_an_outdated_answer(client, public, started):
    page(client)
    take_up("computations")
    owner = user("owner")
    platform = public[0].platform
    platform.private_to = owner
    platform.save()
    store_more()
    response = page(client)
    assert response.context["shown"].is_outdated
    assert platform.slug not in {row["platform"] for row, _ in response.context["rows"]}


def test_a_private_viewers_answer_is_shown_to_nobody_else(client, public, started):
    ada = user("ada")
    store_private(ada)
    client.force_login(ada)
    page(client)
    assert Computation.objects.get().private_to == ada
    take_up("computations")
    assert "secret-machine" in page(client).content.decode()
    client.logout()
    assert not page(client).context["shown"].is_computed
    take_up("computations")
    assert Computation.objects.count() == 2
    response = page(client)
    assert response.context["shown"].is_computed
    assert "secret" not in response.content.decode()


def test_when_too_many_wait_page_and_api_say_so(client, public, started, settings):
    settings.COMPUTATIONS_WAITING = 0
    answer = client_of().get(API_URL, ASKED)
    assert "queue of computations is full" in problem_in(answer, 503)["detail"]
    response = page(client)
    assert (response.status_code, response["Retry-After"], answer["Retry-After"]) == (503, "30", "30")
    assert "this one was not added" in text_of(response)
    assert polled(client).status_code == 200


def test_what_could_not_be_computed_is_logged_and_said(client, public, started, monkeypatch, caplog):
    page(client)
    monkeypatch.setattr("predictor.predictions.ranking_rows.ranking_row", fail)
    assert [take_up("computations") for _ in range(2)] == [1, 0]
    assert "ZeroDivisionError" in caplog.text
    assert "computation failed" in text_of(page(client))
    assert "hx-get" not in polled(client).content.decode()
    assert "log" in problem_in(client_of().get(API_URL, ASKED), 500)["detail"]


def test_a_long_ranking_has_pages(client, public, monkeypatch):
    monkeypatch.setattr("predictor.pages.ranking.RANKED_PER_PAGE", 2)
    assert [row["place"] for row, _ in page(client).context["rows"]] == [1, 2]
    second = page(client, page=2)
    assert [row["place"] for row, _ in second.context["rows"]] == [3]
    assert second.context["rows"][0][0]["relative"] > 1
    assert "3 machines" in text_of(second)


def test_what_to_measure_next_is_computed_behind_the_request_too(client, public, started):
    Profile.objects.filter(platform__slug="machine-1", workload__slug="app1-section1").delete()
    Revision.raise_for(None)
    address = reverse("measure-next", args=[predict(PredictionRequest(WORKLOAD, "machine-1")).uid])
    whole, part = client.get(address), client.get(address, headers={"HX-Request": "true", "HX-Target": "measure-next"})
    for response in (whole, part):
        assert "Waiting for other computations to finish" in text_of(response)
        assert f'hx-get="{address}"' in response.content.decode()
        assert "No further measurement" not in text_of(response)
    assert "htmx-2.min" in whole.content.decode()
    assert client.get(twin_of(whole)).status_code == 202
    take_up("computations")
    rows = client.get(address, headers={"HX-Request": "true", "HX-Target": "computing"})
    assert "HX-Refresh" not in rows  # it stands within the prediction's page
    assert "app1/section1" in text_of(rows)
    assert 'id="computing"' not in rows.content.decode()
    assert client.get(twin_of(whole)).json()["results"]


def test_a_long_ranking_is_accepted_and_later_there(database, started):
    client = client_of()
    response = client.get(API_URL, ASKED)
    document = strict_json(response.content)
    assert response.status_code == 202
    assert (document["status"], document["progress"]) == ("waiting", {"done": 0, "total": 0})
    assert document["url"].endswith(f"{API_URL}?workload=app0-section0")
    assert 2 <= int(response["Retry-After"]) <= 30
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response
    take_up("computations")
    response = client.get(document["url"])
    assert response.status_code == 200
    assert [row["platform"] for row in response.json()["results"]] == ["machine-0", "machine-1", "machine-2"]
    assert client.get(API_URL, ASKED, HTTP_IF_NONE_MATCH=response["ETag"]).status_code == 304


def test_one_under_way_says_to_all_how_far_it_is(database, started):
    client_of(make_user("ada")).get(API_URL, ASKED)
    Computation.objects.update(done=500, total=1995, attempts=1)
    response = client_of().get(API_URL, ASKED)
    assert response.json()["status"] == "computing"
    assert response.json()["progress"] == {"done": 500, "total": 1995}
    assert response["Retry-After"] == "30"
    assert Computation.objects.count() == 1


def test_csv_waits_as_well(database, started):
    asked = ASKED | {"format": "csv"}
    response = client_of().get(API_URL, asked)
    assert (response.status_code, response["Content-Type"]) == (202, "application/json")
    take_up("computations")
    assert client_of().get(API_URL, asked)["Content-Type"].startswith("text/csv")


def test_one_address_sets_only_so_many_going(database, started, settings):
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"computation": "1/hour"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    address = {"REMOTE_ADDR": "192.0.2.77"}
    assert client_of().get(API_URL, ASKED, **address).status_code == 202
    other = {"workload": "app0-section1"}
    problem_in(client_of().get(API_URL, other, **address), 503)
    assert client_of().get(API_URL, ASKED, **address).status_code == 202
    assert client_of().get(API_URL, other, REMOTE_ADDR="192.0.2.78").status_code == 202
