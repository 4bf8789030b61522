"""Trust 16: every path of the API answers to every method, whatever form is asked for.

- OPTIONS is JSON, with the methods and the forms of the path.
- HEAD is GET without its body: the same status and headers.
- A method that a path does not have, known to HTTP or not, is 405 with Allow, whoever asks.
"""

import uuid
from itertools import product

import pytest

from mpet_site.urls import api
from tests.mpet_site.api_samples import API, client_of, make_user, read, store
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
VALUES = {"<slug:slug>": "machine-0", "<uuid:id>": str(uuid.UUID(int=1)), "<str:name>": "usl", "<slug:form>": "csv"}
VALUES |= {"<str:secret>": "secret"}
UNKNOWN_PATH = "<anything:path>"


def paths():
    for included in api:
        for pattern in included.url_patterns:
            path = str(pattern.pattern)
            if path == UNKNOWN_PATH:
                continue
            for placeholder, value in VALUES.items():
                path = path.replace(placeholder, value)
            yield path


PATHS = sorted(paths())
READING = {"GET", "HEAD", "OPTIONS", "POST"}
ONE = "00000000-0000-0000-0000-000000000001"
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY", "PROPFIND", "FOO"}
CHANGING = {
    "predictions/": {"DELETE"},
    f"predictions/{ONE}/": {"DELETE"},
    f"uploads/{ONE}/": {"DELETE", "PATCH"},
    "quarantine/secret/": {"DELETE"},
    f"programs/{ONE}/machine-0/": {"PATCH"},
}


FORMS = ("", "?format=csv", "?format=json", "?format=yaml", "?format=html", "?nonsense=1")
ASKED = [*((form, "*/*") for form in FORMS), ("", "text/csv"), ("?format=csv", "image/png")]


def test_options_is_json_whatever_is_asked_for():
    client = client_of(make_user("ada"))
    for path, (query, accept) in product(PATHS, ASKED):
        response = client.options(f"{API}{path}{query}", HTTP_ACCEPT=accept)
        assert response.status_code == 200, (path, query, accept, response.content)
        assert response["Content-Type"] == "application/json", (path, query, accept)
        assert set(response.json()) >= {"name", "description", "renders", "parses"}, (path, query, accept)
        assert "OPTIONS" in response["Allow"], (path, query, accept)


def test_a_method_that_a_path_has_not_is_405_whoever_asks():
    anybody = client_of()
    for path, client in product(PATHS, (anybody, client_of(make_user("ada")))):
        allowed = set(anybody.options(f"{API}{path}")["Allow"].split(", "))
        assert allowed <= READING | CHANGING.get(path, set()), path
        for method in METHODS - allowed:
            response = client.generic(method, f"{API}{path}?format=csv", HTTP_ACCEPT="image/png")
            problem_in(response, 405)
            assert set(response["Allow"].split(", ")) <= READING | CHANGING.get(path, set()), (path, method)


QUERIES = {
    "compare/platforms/": "slugs=machine-0,machine-1",
    "compare/workloads/": "slugs=app0-section0,app0-section1&on=machine-0",
    "distances/platforms/": "a=machine-0&b=machine-1",
    "distances/workloads/": "a=app0-section0&b=app0-section1",
    "predictions/preview/": "workload=app0-section0&target=machine-0",
    "predictions/possible/": "workload=app0-section0",
    "rankings/": "workload=app0-section0",
}


def test_head_is_get_without_a_body():
    store(sample_measurements(2, 2))
    client = client_of(make_user("ada"))
    for path, form in product(PATHS, ("", "format=csv")):
        address = f"{API}{path}?{QUERIES.get(path, '')}&{form}"
        answer, head = client.get(address), client.head(address)
        assert (head.status_code, read(head)) == (answer.status_code, b""), address
        assert answer.status_code < 500, address
        for name in ("Content-Type", "ETag", "Cache-Control", "Allow", "Content-Disposition"):
            assert head.headers.get(name) == answer.headers.get(name), (address, name)
