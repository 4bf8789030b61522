"""Bodies of requests are bounded before anything is made of them."""

import json
import zlib

import pytest

from mpet_site.web import parsers
from tests.mpet_site.api_samples import API, client_of, make_user
from tests.mpet_site.web.test_problems import problem_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return client_of(make_user("ada"))


def post(client, content: bytes, content_type: str = "application/json"):
    return client.generic("POST", API + "predictions/", content, content_type=content_type)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" + b"[]," * 300_000 + b"[]]", "The body has more than 10000 lists and objects."),
        (b'{"references": [' + b"{}," * 10_000 + b"{}]}", "The body has more than 10000 lists and objects."),
        (b'{"n": [' + b"1," * 60_000 + b"1]}", "The body has more than 50000 values."),
    ],
)
def test_trust_13_lists_without_end_are_413_before_they_are_parsed(ada, monkeypatch, content, reason):
    def parse(*arguments: object) -> None:
        raise AssertionError("the body was parsed")

    monkeypatch.setattr("rest_framework.parsers.JSONParser.parse", parse)
    assert problem_in(post(ada, content), 413)["detail"] == reason


def test_a_large_honest_request_is_parsed(ada):
    content = json.dumps({"workload": "x", "target": "y", "references": [f"p{i}" for i in range(1000)]}).encode()
    assert problem_in(post(ada, content), 400)["errors"][0]["name"] != "references"


def test_json_is_utf_8_whatever_the_request_says(ada):
    """A charset of Python's that unpacks would make gigabytes of a megabyte; one that hides brackets would not be
    counted."""
    bomb = zlib.compress(b" " * 10_000_000 + b"{}")
    for content, charset in ((bomb, "zlib"), (b"+AFsAXQ-", "utf-7"), ("[]".encode("utf-16"), "utf-16")):
        assert "JSON" in problem_in(post(ada, content, f"application/json; charset={charset}"), 400)["detail"]


def test_the_limit_of_bytes(ada):
    assert problem_in(post(ada, b" " * (parsers.JSON_MAX_BYTES + 1)), 413)["limit_bytes"] == parsers.JSON_MAX_BYTES
