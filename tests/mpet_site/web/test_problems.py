"""Specification of errors under /api/v1/.

- Every error has the media type application/problem+json and the members type, title, status and detail (RFC 9457);
  `status` is the response's. `type` is about:blank, with the status' own phrase as title, or an anchor of docs/api.md.
- That holds whatever was asked for (?format=csv, Accept), whoever asked, and for paths that are nothing.
- 400 names what is wrong: `errors` is a list of {name, reason}, one for each parameter or field.
- 401 carries WWW-Authenticate, 405 Allow, 429 and 503 Retry-After.
- What is private to somebody else has the same body as what does not exist: docs/decisions/privacy.md.
- 500 tells nothing of the mistake; the log has it.
- No error may be kept by a cache.
"""

from http import HTTPStatus
from itertools import product
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.test import override_settings

from mpet_site.web.problems import NOT_FOUND, validation_reasons
from profiles.models import Platform
from tests.mpet_site.api_samples import API, client_of, make_user, strict_json, tarball
from tests.paths import ROOT

pytestmark = pytest.mark.django_db
DOCS = ROOT / "docs" / "api.md"


def problem_in(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, (response.request["PATH_INFO"], response.content)
    assert response["Content-Type"] == "application/problem+json"
    assert response["Cache-Control"] == "no-store"
    document = strict_json(response.content)
    assert set(document) >= {"type", "title", "status", "detail"}
    assert document["status"] == status
    assert document["detail"]
    if document["type"] == "about:blank":
        assert document["title"] == HTTPStatus(status).phrase
    else:
        page, anchor = document["type"].split("#")
        assert page == "/docs/api.md"
        assert f'<a id="{anchor}"></a>' in DOCS.read_text()
    return document


METHODS = ("get", "post", "put", "delete", "options")
UNKNOWN = ("nothing/", "nothing", "platforms/x/y/", "platforms/a%0Ab/similar/", "profiles/7/")
NO_ROW = "platforms/no-such/"


def test_an_unknown_path_is_404_for_every_method():
    client = client_of()
    for path, method in [*product(UNKNOWN, METHODS), (NO_ROW, "get")]:
        assert problem_in(getattr(client, method)(API + path), 404)["detail"] == NOT_FOUND, (path, method)
    for path in (*UNKNOWN, NO_ROW):
        response = client.head(API + path)
        assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json"), path


def test_a_reader_who_forgot_the_slash_at_the_end_is_sent_there():
    response = client_of().get(API + "platforms?search=x")
    assert (response.status_code, response["Location"]) == (301, API + "platforms/?search=x")


def test_400_names_every_parameter():
    document = problem_in(client_of().get(API + "platforms/?vendr=Intel&cpu=x"), 400)
    assert document["type"].endswith("#invalid-request")
    assert [error["name"] for error in document["errors"]] == ["vendr", "cpu"]
    assert "vendor" in document["errors"][0]["reason"]


def test_400_names_the_field():
    client = client_of(make_user("ada"))
    document = problem_in(client.post(API + "predictions/", {"workload": "", "n": [0, 1]}, format="json"), 400)
    assert {error["name"] for error in document["errors"]} == {"workload", "target", "n.0"}


@pytest.mark.parametrize(
    "body", [b"{", b"[" * 9_000, b'{"n": [NaN]}', b"\xff", b'"text"', b"[1]", b"null", b'{"workload": "\\ud800"}']
)
def test_a_body_that_cannot_be_read_is_400(body):
    response = client_of(make_user("ada")).post(API + "predictions/", body, content_type="application/json")
    problem_in(response, 400)


def test_400_answers_json_where_csv_was_asked_for():
    problem_in(client_of().get(API + "platforms/?format=csv&x=1"), 400)
    problem_in(client_of().get(API + "platforms/?ordering=secret", HTTP_ACCEPT="text/csv"), 400)


def test_401_without_a_token_says_which_kind():
    document_response = client_of().post(API + "uploads/", {"file": tarball()})
    problem_in(document_response, 401)
    assert document_response["WWW-Authenticate"].startswith("Bearer")


def test_403_with_a_token_of_another_scope():
    response = client_of(make_user("ada"), scope="predict").post(API + "uploads/", {"file": tarball()})
    assert "upload" in problem_in(response, 403)["detail"]


def test_405_lists_what_is_allowed():
    response = client_of(make_user("ada")).delete(API + "platforms/")
    problem_in(response, 405)
    assert "GET" in response["Allow"]


def test_406():
    problem_in(client_of().get(API + "platforms/", HTTP_ACCEPT="image/png"), 406)


@override_settings(UPLOAD_MAX_PACKED_BYTES=100)
def test_413_before_the_body_is_read():
    class Unread:
        def read(self, *args):
            raise AssertionError("the body was read")

        readline = read

    client = client_of(make_user("ada"))
    response = client.generic(
        "POST",
        API + "uploads/",
        b"",
        content_type="multipart/form-data; boundary=x",
        CONTENT_LENGTH="1000000",
        **{"wsgi.input": Unread()},
    )
    assert problem_in(response, 413)["limit_bytes"] > 100


@override_settings(UPLOAD_MAX_PACKED_BYTES=100)
def test_413_for_a_file_just_over_the_limit():
    response = client_of(make_user("ada")).post(API + "uploads/", {"file": tarball()})
    assert problem_in(response, 413)["limit_bytes"] == 100


def test_415():
    client = client_of(make_user("ada"))
    problem_in(client.post(API + "uploads/", {"file": "x"}, format="json"), 415)
    problem_in(client.post(API + "predictions/", {"workload": "x"}), 415)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("the password is 1234"), 500),
        (PermissionDenied("the password is 1234"), 403),
        (SuspiciousOperation("the password is 1234"), 400),
        (RequestDataTooBig("the password is 1234"), 413),
    ],
)
def test_what_goes_wrong_inside_stays_inside(monkeypatch, caplog, error, status):
    def fail(*args: Any) -> None:
        raise error

    monkeypatch.setattr(type(Platform.objects.all()), "in_api", fail)
    document = problem_in(client_of().get(API + "platforms/"), status)
    assert "1234" not in str(document)
    assert "Traceback" not in str(document)
    assert ("1234" in caplog.text) == (status == 500)


def test_nested_reasons_are_flat():
    nested = {"settings": {"k": ["Too small."]}, "non_field_errors": ["No."], "n": [{}, {"1": ["Odd."]}]}
    assert list(validation_reasons(nested)) == [
        {"name": "settings.k", "reason": "Too small."},
        {"name": "", "reason": "No."},
        {"name": "n.1", "reason": "Odd."},
    ]
