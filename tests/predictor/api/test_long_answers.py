"""trust 8: what takes longer than a request is 202 with progress, then 200; it is asked again at the same address."""

import pytest

from predictor.models import Computation
from predictor.predictions.rankings import RankingQuestion
from profiles.jobs.queue import take_up
from tests.mpet_site.api_samples import API, client_of, make_user, strict_json
from tests.mpet_site.web.test_problems import problem_in

pytestmark = pytest.mark.django_db
URL = API + "rankings/"
ASKED = {"workload": "app0-section0"}


def test_a_long_ranking_is_accepted_and_later_there(database, started):
    client = client_of()
    response = client.get(URL, ASKED)
    document = strict_json(response.content)
    assert response.status_code == 202
    assert (document["status"], document["progress"]) == ("waiting", {"done": 0, "total": 0})
    assert document["url"].endswith(f"{URL}?workload=app0-section0")
    assert 2 <= int(response["Retry-After"]) <= 30
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response
    take_up("computations")
    response = client.get(document["url"])
    assert response.status_code == 200
    assert [row["platform"] for row in response.json()["results"]] == ["machine-0", "machine-1", "machine-2"]
    assert client.get(URL, ASKED, HTTP_IF_NONE_MATCH=response["ETag"]).status_code == 304


def test_one_under_way_says_how_far_it_is(database, started):
    client_of().get(URL, ASKED)
    Computation.objects.update(done=500, total=1995, attempts=1)
    response = client_of().get(URL, ASKED)
    assert response.json()["status"] == "computing"
    assert response.json()["progress"] == {"done": 500, "total": 1995}
    assert response["Retry-After"] == "30"


def test_csv_waits_as_well(database, started):
    asked = ASKED | {"format": "csv"}
    response = client_of().get(URL, asked)
    assert (response.status_code, response["Content-Type"]) == (202, "application/json")
    take_up("computations")
    assert client_of().get(URL, asked)["Content-Type"].startswith("text/csv")


def test_when_too_many_wait_it_is_busy(database, started, settings):
    settings.COMPUTATIONS_WAITING = 0
    response = client_of().get(URL, ASKED)
    assert "wait" in problem_in(response, 503)["detail"]
    assert response["Retry-After"] == "30"


def test_one_address_sets_only_so_many_going(database, started, settings):
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"computation": "1/hour"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    address = {"REMOTE_ADDR": "192.0.2.77"}
    assert client_of().get(URL, ASKED, **address).status_code == 202
    other = {"workload": "app0-section1"}
    problem_in(client_of().get(URL, other, **address), 503)
    assert client_of().get(URL, ASKED, **address).status_code == 202
    assert client_of().get(URL, other, REMOTE_ADDR="192.0.2.78").status_code == 202


def test_what_could_not_be_computed_says_so(database, started, monkeypatch):
    client_of().get(URL, ASKED)
    monkeypatch.setattr(RankingQuestion, "row", lambda self, target: 1 / 0)
    take_up("computations")
    assert "log" in problem_in(client_of().get(URL, ASKED), 500)["detail"]


def test_another_user_shares_what_is_public(database, started):
    client_of(make_user("ada")).get(URL, ASKED)
    client_of().get(URL, ASKED)
    assert Computation.objects.count() == 1
