"""Requests with tokens, good and bad, and with sessions."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from accounts.device_logins import begin_login
from accounts.models import USE_NOTED_EVERY, ApiToken
from tests.mpet_site.api_samples import API, client_of, secret_measurements, store
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


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


def revoke(token):
    ApiToken.objects.filter(pk=token.pk).revoke()


@pytest.mark.parametrize("end", [expire, lock, revoke, ApiToken.delete])
def test_a_token_that_has_ended_answers_as_an_unknown_one(ada, end):
    token, secret = ApiToken.issue(ada, lifetime=timedelta(days=1))
    assert get(secret).status_code == 200
    end(token)
    ended, unknown = get(secret), get("mpet_unknown")
    problem_in(ended, 401)
    assert ended.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}


@pytest.mark.parametrize("value", ["Bearer", "Bearer a b", "bearer ", "Bearer \xff", "Bearer mpet_wrong"])
def test_a_wrong_header_is_401_even_for_reading(value):
    answer = client_of().get(API + "platforms/", HTTP_AUTHORIZATION=value)
    problem_in(answer, 401)
    assert answer["WWW-Authenticate"].startswith("Bearer")


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


@pytest.mark.parametrize(
    "message", ["database is locked", "database or disk is full", "attempt to write a readonly database"]
)
def test_trust_third_8_a_token_reads_where_its_use_cannot_be_noted(ada, monkeypatch, message):
    """20 s and 503 on a locked database, 500 on a full disk."""
    token, secret = ApiToken.issue(ada)

    def fail(*_args, **_options):
        raise OperationalError(message)

    monkeypatch.setattr(QuerySet, "update", fail)
    assert get(secret).status_code == 200
    monkeypatch.undo()
    token.refresh_from_db()
    assert token.last_used_at is None
    assert get(secret).status_code == 200
    token.refresh_from_db()
    assert token.last_used_at is not None  # at the next use


def test_noting_a_use_waits_for_nobody(ada, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("this is about SQLite")
    waits = []

    def update(*_args, **_options):
        with connection.cursor() as cursor:
            waits.append(cursor.execute("PRAGMA busy_timeout").fetchone()[0])

    token, _ = ApiToken.issue(ada)
    with monkeypatch.context() as patched:
        patched.setattr(QuerySet, "update", update)
        token.note_use("192.0.2.1")
    with connection.cursor() as cursor:
        assert (waits, cursor.execute("PRAGMA busy_timeout").fetchone()[0]) == ([0], 20000)


def test_trust_third_12_names_of_tokens_and_programs_have_no_invisible_characters(ada):
    assert ApiToken.issue(ada, name="lap\u202etop")[0].name == "laptop"
    assert begin_login("m\u200bpet", "192.0.2.1")[0].program == "mpet"
    assert begin_login("\u200b", "192.0.2.1")[0].program == "a program"
