import pytest
from django.contrib.staticfiles.testing import StaticLiveServerTestCase  # noqa: F401
from django.test import RequestFactory
from django.urls import reverse

from mpet_site import settings as defaults
from mpet_site.web.throttling import client_address, seconds_to_wait
from tests.mpet_site.api_samples import API, client_of, make_user
from tests.mpet_site.web.test_problems import problem_in
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rates(limit_rates):
    limit_rates(anon="2/min", user="3/min", login="1/min")


def statuses(client, number, address=API + "methods/", **headers):
    return [client.get(address, **headers).status_code for _ in range(number)]


def test_429_says_when_to_come_back():
    client = client_of()
    assert statuses(client, 2) == [200, 200]
    response = client.get(API + "methods/")
    problem_in(response, 429)
    assert 1 <= int(response["Retry-After"]) <= 60


def test_users_are_counted_apart_with_all_their_tokens():
    ada = make_user("ada")
    assert statuses(client_of(), 3) == [200, 200, 429]
    assert statuses(client_of(ada), 2) == [200, 200]
    assert statuses(client_of(ada), 2) == [200, 429]
    assert statuses(client_of(make_user("bob")), 1) == [200]


def test_a_header_does_not_make_another_client():
    client = client_of()
    answers = [client.get(API + "methods/", HTTP_X_FORWARDED_FOR=f"10.0.0.{n}").status_code for n in range(3)]
    assert answers == [200, 200, 429]


def test_there_are_limits_unless_somebody_takes_them_away():
    rates = defaults.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
    assert rates == {
        "anon": "600/min",
        "user": "1200/min",
        "login": "20/min",
        "device": "20/hour",
        "computation": "60/hour",
        "quarantine": "5/hour",
        "report": "5/hour",
        "prediction": "20/min",
        "preview": "10/min",
        "export": "10/hour",
        "signup": "20/hour",
        "reset": "20/hour",
        "mail": "5/day",
        "verification": "1/day",
    }


def test_trust_10_pages_are_limited_like_the_api_and_counted_apart(client):
    address = reverse("glossary")
    assert statuses(client_of(), 3) == [200, 200, 429]
    assert statuses(client, 2, address) == [200, 200]
    page = client.get(address)
    assert (page.status_code, page["Cache-Control"]) == (429, "no-store")
    assert 1 <= int(page["Retry-After"]) <= 60
    assert "Too many requests came from your address. Try again in" in text_of(page)
    assert statuses(client, 1, reverse("login")) == [429]
    assert statuses(client, 1, address, REMOTE_ADDR="192.0.2.7") == [200]
    client.force_login(make_user("ada"))
    assert statuses(client, 4, address) == [200, 200, 200, 429]


def test_what_is_no_page_is_not_limited(client):
    assert statuses(client, 4, "/healthz") == [200] * 4
    assert statuses(client, 4, "/static/nothing.css") == [404] * 4


@pytest.mark.parametrize("first", ["login", "admin-login"])
def test_trust_7_attempts_to_sign_in_are_counted_together_on_both_pages(client, limit_rates, first):
    limit_rates(login="3/min")
    second = {"login": "admin-login", "admin-login": "login"}[first]
    right = {"login": "root", "username": "root", "password": "x"}
    make_user("root", password="x", is_staff=True, is_superuser=True)
    for name in (first, second, first):
        answer = client.post(reverse(name), right | {"password": "wrong"})
        assert answer.status_code == {"login": 200, "admin-login": 302}[name]
    for name in (first, second):
        answer = client.post(reverse(name), right)
        assert answer.status_code == 429
        assert 1 <= int(answer["Retry-After"]) <= 60
        assert "Too many requests" in text_of(answer)
    assert client.get(reverse("login")).status_code == 200
    assert client.post(reverse("login"), right, REMOTE_ADDR="192.0.2.7").url == "/"


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("unix:", "unix:"),
    ],
)
def test_of_ipv6_the_network_counts(address, counted):
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=address)) == counted


def test_no_rate_is_no_limit(settings, limit_rates):
    limit_rates(anon=None)
    assert [seconds_to_wait(scope, "x") for scope in ("anon", "nothing") for _ in range(5)] == [0] * 10
    assert not settings.RATES_FILE.exists()
