"""What holds for every request."""

import gzip
from unittest.mock import patch

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from mpet_site.web.etags import PRIVATE
from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS, ContentSecurityPolicyMiddleware
from tests.browser.walk import page_names, plain_address
from tests.mpet_site.web.test_problems import problem_in
from tests.pages import store_public, text_of, user

UNKNOWN_METHODS = ("PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "MPET")


def test_a_view_may_set_a_policy_of_its_own(rf):
    own = HttpResponse(headers={"Content-Security-Policy": "default-src 'none'"})
    answer = ContentSecurityPolicyMiddleware(lambda request: own)(rf.get("/"))
    assert answer["Content-Security-Policy"] == "default-src 'none'"


@pytest.fixture
def plain_pages(db) -> list[str]:
    store_public()
    return [address for name in sorted(page_names()) if (address := plain_address(name))]


def test_a_page_refuses_methods_that_it_does_not_have(plain_pages):
    """With the check of forged requests on, as in a server: 405 comes first."""
    client = Client(enforce_csrf_checks=True)
    for address in (*plain_pages, "/admin/", "/healthz", "/nowhere/"):
        for method in UNKNOWN_METHODS:
            answer = client.generic(method, address)
            assert (answer.status_code, "GET" in answer["Allow"]) == (405, True), (method, address)
    assert [Client().post(reverse(name)).status_code for name in ("glossary", "healthz")] == [405, 405]


@pytest.mark.parametrize("name", ["", "ada"])
def test_head_and_options_of_a_page_never_fail(plain_pages, name):
    client = Client()
    if name:
        client.force_login(user(name))
    for address in plain_pages:
        head, get = client.head(address), client.get(address)
        assert (head.status_code, head.content) == (get.status_code, b""), address
        options = client.options(address)
        assert options.status_code in {200, 302, 405}, address
        assert options.status_code == 302 or "GET" in options["Allow"], address


@pytest.mark.parametrize("value", ["a" * (MOST_PARAMETER_CHARACTERS + 1), "f\0t"])
@pytest.mark.parametrize("name", ["platforms", "ranking", "what-if", "login"])
def test_a_parameter_that_cannot_be_meant_is_refused(client, db, name, value):
    page = client.get(reverse(name), {"workload": value, "target": "machine-1"})
    assert page.status_code == 400
    assert "workload" in text_of(page)
    assert client.get(reverse(name), {value: "1"}).status_code == 400
    problem_in(client.get(reverse("api-rankings"), {"workload": value}), 400)


def test_trust_17_signed_in_pages_are_kept_by_no_cache(client, plain_pages):
    for address in plain_pages:
        assert client.get(address).headers.get("Cache-Control", "") != PRIVATE, address
    client.force_login(user("ada"))
    for address in (*plain_pages, "/nowhere/"):
        kept = client.get(address)["Cache-Control"]
        assert "private" in kept, address
        assert "no-store" in kept, address


def test_pages_are_compressed_and_neither_the_api_nor_files_are(db):
    client = Client(headers={"accept-encoding": "gzip"})
    page = client.get("/glossary/")
    assert page["Content-Encoding"] == "gzip"
    assert len(page.content) < 20_000 < len(gzip.decompress(page.content))
    for address in (reverse("api-platforms"), f"{reverse('api-platforms')}?format=csv", reverse("api-schema")):
        assert not client.get(address).has_header("Content-Encoding"), address


@pytest.mark.parametrize("name", ["login", "upload", "glossary"])
def test_a_body_larger_than_any_upload_is_refused_before_its_file_is_stored(db, settings, tmp_path, name):
    """The check of forged requests wrote a file of any size to the disk, for a visitor without an account."""
    settings.UPLOAD_MAX_PACKED_BYTES = 1_000
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    client = Client(enforce_csrf_checks=True)
    client.get(reverse("login"))
    large = SimpleUploadedFile("a.tar.gz", b"x" * 3_000_000)
    with patch("django.core.files.uploadhandler.TemporaryFileUploadHandler.new_file") as stored:
        page = client.post(reverse(name), {"file": large})
    assert (page.status_code, stored.called) == (413, False)
    assert "at most 66536 are accepted. Nothing was stored." in text_of(page)


def test_a_problem_document_says_how_large_a_body_may_be(client, db, settings):
    settings.UPLOAD_MAX_PACKED_BYTES = 1_000
    answer = client.post(reverse("api-uploads"), {"file": SimpleUploadedFile("a.tar.gz", b"x" * 70_000)})
    assert problem_in(answer, 413)["limit_bytes"] == 66_536
