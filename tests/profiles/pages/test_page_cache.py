"""A page that is made once for all visitors is nobody's own, and no older than what is public."""

import errno
import gzip

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client, RequestFactory
from django.urls import reverse

from profiles.models import Platform, Revision
from profiles.pages.page_cache import page_key
from tests.mpet_site.api_samples import secret_measurements, store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def kept(settings):
    settings.PAGE_CACHE_SECONDS = 60
    caches["pages"].clear()
    yield
    caches["pages"].clear()


@pytest.fixture
def address():
    store(sample_measurements(2, 3))
    return reverse("platform", args=[Platform.objects.order_by("pk")[0].slug])


RENAMED = b"renamed behind its back"


def rename():
    Platform.objects.update(name=RENAMED.decode())


def test_visitors_share_a_page_until_a_new_revision(address, django_assert_num_queries):
    first = Client().get(address)
    rename()
    with django_assert_num_queries(3):  # what is public, what is judged, what the machine has
        second = Client().get(address)
    assert second.content == first.content
    assert "Cookie" in second["Vary"]
    assert second["Content-Type"] == first["Content-Type"]
    waiting = Client()
    waiting.cookies["messages"] = "anything"
    assert RENAMED in waiting.get(address).content, "a waiting message is shown once"
    Revision.raise_for(None)
    assert RENAMED in Client().get(address).content


def test_a_full_disk_keeps_nobody_from_a_page(address, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(caches["pages"]), "set", refuse)
    assert Client().get(address).status_code == 200


@pytest.mark.parametrize("view", ["platform", "workload", "api-rankings"])
def test_the_page_of_one_outlives_what_is_added_to_others(view):
    shown = store(sample_measurements(3, 3), label="shown").profiles[0]
    slugs = {"platform": shown.platform.slug, "workload": shown.workload.slug}
    address = reverse(view, args=[slugs[view]]) if view in slugs else f"{reverse(view)}?workload={slugs['workload']}"
    first = Client().get(address).content
    assert view in slugs or b"machine-0" in first
    rename()
    store(secret_measurements())
    assert Client().get(address).content == first
    store(sample_measurements(3, 3), label="measured again")
    assert Client().get(address).content != first


def test_a_list_of_the_api_is_made_once(django_assert_num_queries):
    store(sample_measurements(2, 3))
    address = reverse("api-platforms")
    first = Client().get(address)
    rename()
    with django_assert_num_queries(1):  # the revision
        second = Client().get(address)
    assert second.json() == first.json() and second["ETag"] == first["ETag"]
    assert Client().get(address, headers={"If-None-Match": first["ETag"]}).status_code == 304
    assert Client().get(f"{address}?format=csv")["Content-Type"].startswith("text/csv")
    Revision.raise_for(None)
    assert Client().get(address).json() != first.json()


def test_a_kept_answer_is_compressed_for_those_who_take_that(address):
    plain = Client().get(address)
    compressed = Client().get(address, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain
    assert compressed["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.content) == plain.content
    assert "Accept-Encoding" in compressed["Vary"]


def test_somebody_signed_in_neither_gets_nor_leaves_one(address):
    Client().get(address)
    rename()
    signed_in = Client()
    signed_in.force_login(User.objects.create_user("grace-hopper"))  # no name that an identifier of the page may have
    own = signed_in.get(address).content
    assert RENAMED in own and b"grace-hopper" in own
    caches["pages"].clear()
    signed_in.get(address)
    assert b"grace-hopper" not in Client().get(address).content


def test_addresses_and_parts_are_told_apart():
    ask = RequestFactory().get
    requests = [
        ask("/platforms/"),
        ask("/platforms/", {"search": "fft"}),
        ask("/platforms/", headers={"HX-Request": "true"}),
        ask("/platforms/", headers={"HX-Request": "true", "HX-Target": "rows"}),
        ask("/workloads/"),
        ask("/platforms/", headers={"Host": "localhost"}),
    ]
    assert len({page_key(request, 1) for request in requests}) == len(requests)


def test_trust_third_4_a_prefix_that_a_client_names_is_no_part_of_another_pages_address(settings, address):
    """The front page was kept as /workloads/."""
    answer = Client().get("/", SCRIPT_NAME="/workloads")
    assert answer.wsgi_request.path == "/"
    assert b"/workloads/workloads/" not in answer.content
    ask = RequestFactory().get
    assert settings.FORCE_SCRIPT_NAME == ""
    settings.FORCE_SCRIPT_NAME = None  # as Django has it by default
    assert page_key(ask("/", SCRIPT_NAME="/workloads"), 1) != page_key(ask("/workloads/"), 1)


def test_errors_and_forms_are_made_each_time(address):
    """A form to send has a token of its visitor."""
    assert Client().get(reverse("platform", args=["nothing"])).status_code == 404
    store(sample_measurements(1, 1, seed=5), label="more")
    for page in ("predict", "home"):
        visitor = Client()
        content = visitor.get(reverse(page)).content
        if b"csrfmiddlewaretoken" in content:
            assert visitor.cookies["csrftoken"].value
            again = Client()
            again.get(reverse(page))
            assert again.cookies["csrftoken"].value != visitor.cookies["csrftoken"].value


def test_none_is_kept_where_that_is_off(address, settings):
    settings.PAGE_CACHE_SECONDS = 0
    Client().get(address)
    rename()
    assert RENAMED in Client().get(address).content
