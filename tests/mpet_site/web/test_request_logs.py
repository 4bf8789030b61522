"""One name for a request: in the answer, in its problem document, in every line of the log."""

import json
import logging

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from mpet_site.web import request_logs
from mpet_site.web.request_logs import RequestIdMiddleware, request_id
from tests.logs import written_log

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(settings):
    """What a server writes with MPET_LOG_FORMAT=json."""
    with written_log(settings, "json") as written:
        yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]


def test_an_answer_and_its_problem_document_have_the_same_id(client):
    response = client.get("/api/v1/platforms/nowhere/")
    assert response.json()["request_id"] == response["X-Request-ID"]
    assert client.get("/")["X-Request-ID"] != response["X-Request-ID"]
    assert request_id() == ""


def test_a_mistake_of_the_server_is_found_in_the_log_by_its_id(client, lines, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("mpet_site.web.views.render", lambda *_: 1 / 0)
    page = client.get("/glossary/")
    assert page.status_code == 500
    assert page["X-Request-ID"] in page.content.decode()
    logged = [line for line in lines() if line["request_id"] == page["X-Request-ID"]]
    assert any("ZeroDivisionError" in line.get("exc_info", "") for line in logged)


def test_each_request_is_a_line_of_json_without_what_was_searched(client, lines, settings):
    settings.LOG_REQUESTS = True
    response = client.get("/platforms/?search=secret")
    (line,) = [line for line in lines() if line["logger"] == "mpet.requests"]
    wanted = {"method": "GET", "path": "/platforms/", "view": "platforms", "status": 200, "level": "INFO"}
    assert line | wanted | {"request_id": response["X-Request-ID"]} == line
    assert line["duration_ms"] > 0
    assert "secret" not in json.dumps(line)


def test_what_is_no_request_has_no_id(lines):
    logging.getLogger("chore").warning("swept")
    assert [(line["message"], line["request_id"]) for line in lines()] == [("swept", "-")]


@pytest.mark.parametrize(
    ("proxies", "given", "is_kept"),
    [(1, "proxy-0123456789", True), (0, "proxy-0123456789", False), (1, "short", False), (1, "a b\tc" * 4, False)],
)
def test_the_id_of_a_trusted_proxy_is_kept(proxies, given, is_kept, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": proxies}
    request = RequestFactory().get("/", headers={"X-Request-ID": given})
    response = RequestIdMiddleware(lambda _: HttpResponse(request_id()))(request)
    assert (response["X-Request-ID"] == given) == is_kept
    assert response.content.decode() == response["X-Request-ID"]
    assert request_logs.ACCEPTED.fullmatch(response["X-Request-ID"])
