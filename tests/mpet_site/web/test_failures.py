"""What a visitor and a program are told while the database is busy, and when something broke."""

import errno
import sqlite3

import psycopg
import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.urls import reverse

from profiles.models import Platform
from tests.mpet_site.web.test_database_unavailable import error_of, locked, wrapped  # noqa: F401 a fixture
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
    failing(wrapped(sqlite3.OperationalError("no such table: x")))
    page = client.get(reverse("platforms"))
    assert page.status_code == 500
    assert "Retry-After" not in page
    assert "Something broke" in text_of(page)
    problem_in(client.get(reverse("api-platforms")), 500)


def full_disk(_folder) -> Exception:
    file = sqlite3.connect(":memory:")
    file.execute("CREATE TABLE t (x)")
    file.execute("PRAGMA max_page_count = 2")
    error = error_of(lambda: file.execute("INSERT INTO t VALUES (zeroblob(100000))"), sqlite3.OperationalError)
    assert "full" in str(error)
    return wrapped(error)


def read_only(folder) -> Exception:
    sqlite3.connect(folder / "a.sqlite3").execute("CREATE TABLE t (x)").connection.close()
    file = sqlite3.connect(f"file:{folder}/a.sqlite3?mode=ro", uri=True)
    error = error_of(lambda: file.execute("INSERT INTO t VALUES (1)"), sqlite3.OperationalError)
    assert "readonly" in str(error)
    return wrapped(error)


STORAGE_ERRORS = {
    "full": full_disk,
    "read only": read_only,
    "no space": lambda _: OSError(errno.ENOSPC, "No space left on device"),
    "PostgreSQL": lambda _: wrapped(psycopg.errors.DiskFull("could not extend file")),
}


@pytest.mark.parametrize("kind", STORAGE_ERRORS)
def test_trust_third_11_where_nothing_can_be_written_is_503(client, failing, tmp_path, kind):
    """It was 500."""
    failing(STORAGE_ERRORS[kind](tmp_path))
    page = client.get(reverse("platforms"))
    assert (page.status_code, page["Retry-After"], page["Cache-Control"]) == (503, "60", "no-store")
    assert "Nothing can be stored" in text_of(page)
    answer = client.get(reverse("api-platforms"))
    assert "disk is full or read-only" in problem_in(answer, 503)["detail"]
    assert answer["Retry-After"] == "60"


def test_a_request_for_another_host_is_a_problem_document_of_the_api_and_a_page_elsewhere(client):
    problem = problem_in(client.get(reverse("api-platforms"), headers={"host": "evil.example"}), 400)
    assert problem["detail"] == "The request is malformed, or for a host that this server does not serve."
    page = client.get(reverse("platforms"), headers={"host": "evil.example"})
    assert (page.status_code, "The request is malformed." in text_of(page)) == (400, True)
