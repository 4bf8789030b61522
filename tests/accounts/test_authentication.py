"""Requests with tokens, good and bad, and with sessions."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import USE_NOTED_EVERY, ApiToken
from tests.mpet_site.api_samples import API, client_of, make_user, secret_measurements, store
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return make_user("ada")


def get(secret, path="platforms/", scheme="Bearer"):
    return client_of().get(API + path, HTTP_AUTHORIZATION=f"{scheme} {secret}")


def test_a_user_has_several(ada):
    for scope in ("predict", "upload"):
        assert get(ApiToken.issue(ada, scope)[1]).status_code == 200


def expire(token):
    token.expires_at = timezone.now() - timedelta(seconds=1)
    token.save()


def lock(token):
    token.user.is_active = False
    token.user.save()


@pytest.mark.parametrize("end", [expire, lock, ApiToken.revoke, ApiToken.delete])
def test_a_token_that_has_ended_answers_as_an_unknown_one(ada, end):
    token, secret = ApiToken.issue(ada, lifetime=timedelta(days=1))
    assert get(secret).status_code == 200
    end(token)
    ended, unknown = get(secret), get("mpet_unknown")
    problem_in(ended, 401)
    assert ended.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}


@pytest.mark.parametrize("value", ["Bearer", "Bearer a b", "bearer ", "Bearer \xff"])
def test_a_malformed_header_is_401(value):
    problem_in(client_of().get(API + "platforms/", HTTP_AUTHORIZATION=value), 401)


def test_the_word_bearer_has_no_case_and_other_schemes_are_not_ours(ada):
    _, secret = ApiToken.issue(ada)
    assert get(secret, scheme="bearer").status_code == 200
    assert get(secret, scheme="Basic").status_code == 200  # anonymous
    store(secret_measurements(), ada, private=True)
    assert get(secret, scheme="bearer").json()["count"] == 1
    assert get(secret, scheme="Basic").json()["count"] == 0


def test_use_is_noted_now_and_then(ada):
    token, secret = ApiToken.issue(ada)
    assert token.last_used_at is None
    get(secret)
    token.refresh_from_db()
    first = token.last_used_at
    assert timezone.now() - first < timedelta(minutes=1)
    get(secret)
    token.refresh_from_db()
    assert token.last_used_at == first
    ApiToken.objects.update(last_used_at=first - USE_NOTED_EVERY)
    get(secret)
    token.refresh_from_db()
    assert token.last_used_at > first


def test_where_it_was_used_from_is_noted_at_once(ada):
    token, secret = ApiToken.issue(ada)
    for address, noted in (("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::/64")):
        client_of().get(API + "platforms/", HTTP_AUTHORIZATION=f"Bearer {secret}", REMOTE_ADDR=address)
        token.refresh_from_db()
        assert token.last_used_from == noted


def test_sessions_read_and_write_with_a_csrf_token(ada):
    store(sample_measurements(3, 4))
    store(secret_measurements(), ada, private=True)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ada)
    assert browser.get(API + "platforms/").json()["count"] == 4
    asked = {"workload": "app0-section0", "target": "machine-0"}
    refused = browser.post(API + "predictions/", asked, content_type="application/json")
    assert "CSRF" in problem_in(refused, 403)["detail"]
    browser.cookies["csrftoken"] = "a" * 32
    headers = {"HTTP_X_CSRFTOKEN": "a" * 32}
    assert browser.post(API + "predictions/", asked, content_type="application/json", **headers).status_code == 201
