"""Lists of the API are cut into pages."""

import pytest

from mpet_site.web.lists import Pagination
from tests.mpet_site.api_samples import API, client_of, store
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
LISTS = ("platforms/", "workloads/", "profiles/")


@pytest.mark.parametrize("path", LISTS)
def test_pages_cover_the_list_once(path):
    store(sample_measurements(3, 4))
    client = client_of()
    whole = client.get(API + path).json()
    address, seen = f"{API}{path}?page_size=2", []
    while address:
        page = client.get(address).json()
        assert page["count"] == whole["count"]
        assert len(page["results"]) <= 2
        seen += page["results"]
        address = page["next"]
    assert seen == whole["results"]
    assert len(seen) == whole["count"] > 2


@pytest.mark.parametrize("name", ["page", "page_size"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "٣", "9" * 30, "1%00"])
def test_what_is_no_page_is_refused(name, value):
    document = problem_in(client_of().get(f"{API}profiles/?{name}={value}"), 400)
    assert [error["name"] for error in document["errors"]] == [name]


def test_a_page_beyond_the_last_is_404():
    problem_in(client_of().get(API + "platforms/?page=2"), 404)


def test_page_size_ends_at_500(monkeypatch):
    store(sample_measurements(3, 1))
    monkeypatch.setattr(Pagination, "max_page_size", 2)
    page = client_of().get(API + "platforms/?page_size=100000").json()
    assert (page["count"], len(page["results"])) == (3, 2)
    monkeypatch.undo()
    assert (Pagination.page_size, Pagination.max_page_size) == (50, 500)
