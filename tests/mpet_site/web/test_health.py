"""What tells a supervisor that a server takes nothing more."""

import pytest
from django.db import connection
from django.test import Client

from mpet_site.web.background import _in_request, waiting
from mpet_site.web.lock_waits import shorten_waits_of_requests

pytestmark = pytest.mark.django_db


def test_trust_third_11_a_disk_that_is_nearly_full_is_unhealthy(client, settings):
    """It said ok."""
    assert client.get("/healthz").json() == {"status": "ok"}
    settings.LEAST_FREE_BYTES = 1 << 62
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert "MiB left, less than" in answer.json()["reason"]


def test_trust_third_11_a_folder_that_cannot_be_written_is_unhealthy(client, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    answer = client.get("/healthz")
    assert (answer.status_code, "cannot be written" in answer.json()["reason"]) == (503, True)


def test_trust_third_12_every_answer_has_a_permissions_policy():
    for address in ("/", "/api/v1/", "/nowhere/", "/healthz"):
        assert "camera=()" in Client().get(address)["Permissions-Policy"]


def busy_timeout() -> int:
    with connection.cursor() as cursor:
        return int(cursor.execute("PRAGMA busy_timeout").fetchone()[0])


@pytest.mark.skipif(connection.vendor != "sqlite", reason="this is about SQLite")
def test_trust_third_12_a_connection_that_a_request_makes_waits_two_seconds_for_a_writer():
    before = busy_timeout()
    token = _in_request.set(True)
    try:
        shorten_waits_of_requests(connection=connection)
        assert busy_timeout() == 2000
        with waiting():
            shorten_waits_of_requests(connection=connection)  # a command, a chore: as the settings say
    finally:
        _in_request.reset(token)
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
    shorten_waits_of_requests(connection=connection)
    assert busy_timeout() == before
