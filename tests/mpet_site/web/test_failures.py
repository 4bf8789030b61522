"""What a visitor and a program are told while the database is busy, and when something broke."""

import errno
import sqlite3

import psycopg
import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from profiles.models import Platform
from tests.mpet_site.web.test_database_unavailable import locked  # noqa: F401 a fixture
from tests.mpet_site.web.test_problems import problem_in
from tests.pages import text_of, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


@pytest.fixture
def failing(monkeypatch):
    """failing(error): from now on, whoever lists platforms meets this error."""

    def fail_with(error: Exception) -> None:
        def fail(*_args):
            raise error

        monkeypatch.setattr(type(Platform.objects.all()), "visible_to", fail)

    return fail_with


def test_a_page_of_a_busy_database_is_503_and_says_when_to_come_back(client, failing, locked):  # noqa: F811
    failing(locked)
    page = client.get(reverse("platforms"))
    assert (page.status_code, page["Retry-After"], page["Cache-Control"]) == (503, "5", "no-store")
    assert "The server is busy" in text_of(page)


def test_the_api_of_a_busy_database_is_a_problem_503(client, failing, locked):  # noqa: F811
    failing(locked)
    answer = client.get(reverse("api-platforms"))
    problem_in(answer, 503)
    assert answer["Retry-After"] == "5"


@pytest.mark.parametrize("name", ["platforms", "api-platforms"])
def test_a_busy_database_around_a_view_is_503_as_well(client, monkeypatch, locked, name):  # noqa: F811
    """The session is saved after the view has answered."""
    client.force_login(user("ada"))

    def save(*_args, **_options):
        raise locked

    monkeypatch.setattr(SessionStore, "save", save)
    monkeypatch.setattr("django.conf.settings.SESSION_SAVE_EVERY_REQUEST", True)
    answer = client.get(reverse(name))
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert (answer["Content-Type"] == "application/problem+json") == name.startswith("api")


def test_what_waiting_does_not_mend_stays_500(client, failing):
    error = OperationalError("no such table: x")
    error.__cause__ = sqlite3.OperationalError("no such table: x")
    failing(error)
    page = client.get(reverse("platforms"))
    assert page.status_code == 500
    assert "Retry-After" not in page
    assert "Something broke" in text_of(page)
    problem_in(client.get(reverse("api-platforms")), 500)


@pytest.fixture
def full() -> Exception:
    """What a write of a database that may grow no further is told."""
    file = sqlite3.connect(":memory:")
    file.execute("CREATE TABLE t (x)")
    file.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError, match="full") as caught:
        file.execute("INSERT INTO t VALUES (zeroblob(100000))")
    error = OperationalError(str(caught.value))
    error.__cause__ = caught.value
    return error


@pytest.fixture
def read_only(tmp_path) -> Exception:
    sqlite3.connect(tmp_path / "a.sqlite3").execute("CREATE TABLE t (x)").connection.close()
    file = sqlite3.connect(f"file:{tmp_path}/a.sqlite3?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly") as caught:
        file.execute("INSERT INTO t VALUES (1)")
    error = OperationalError(str(caught.value))
    error.__cause__ = caught.value
    return error


@pytest.fixture
def no_space() -> Exception:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def postgresql_full() -> Exception:
    error = OperationalError("could not extend file")
    error.__cause__ = psycopg.errors.DiskFull("could not extend file")
    return error


@pytest.mark.parametrize("kind", ["full", "read_only", "no_space", "postgresql_full"])
def test_trust_third_11_where_nothing_can_be_written_is_503(client, failing, request, kind):
    """It was 500."""
    failing(request.getfixturevalue(kind))
    page = client.get(reverse("platforms"))
    assert (page.status_code, page["Retry-After"], page["Cache-Control"]) == (503, "60", "no-store")
    assert "Nothing can be stored" in text_of(page)
    answer = client.get(reverse("api-platforms"))
    assert "disk is full or read-only" in problem_in(answer, 503)["detail"]
    assert answer["Retry-After"] == "60"
