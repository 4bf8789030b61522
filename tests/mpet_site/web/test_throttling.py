import pytest
from django.core.cache import cache
from django.test import override_settings

from mpet_site import settings as defaults
from tests.mpet_site.api_samples import API, client_of, make_user
from tests.mpet_site.web.test_problems import problem_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rates(settings):
    cache.clear()
    rates = {"anon": "2/min", "user": "3/min"}
    with override_settings(REST_FRAMEWORK={**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}):
        yield
    cache.clear()


def statuses(client, number, **headers):
    return [client.get(API + "methods/", **headers).status_code for _ in range(number)]


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
    assert rates == {"anon": "600/min", "user": "1200/min", "login": "20/min", "signup": "20/hour"}
