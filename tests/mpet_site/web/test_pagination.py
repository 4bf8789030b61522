"""What all lists of the API have in common: pages, order, search, CSV, strict parameters."""

import csv
import io

import pytest

from mpet_site.web.pagination import Pagination
from tests.mpet_site.api_samples import API, client_of, read, secret_measurements, store
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db
LISTS = ("platforms/", "workloads/", "profiles/")


def rows_of(response):
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(read(response).decode())))


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


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("name", ["page", "page_size"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "٣", "9" * 30, "1%00"])
def test_what_is_no_page_is_refused(path, name, value):
    document = problem_in(client_of().get(f"{API}{path}?{name}={value}"), 400)
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


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("nonsense=1", "nonsense"),
        ("private_to=1", "private_to"),
        ("ordering=nonsense", "ordering"),
        ("ordering=private_to__username", "ordering"),
        ("ordering=-", "ordering"),
        ("format=xml", "format"),
        ("search=a&search=b", "search"),
        ("search=%00", "search"),
    ],
)
def test_what_a_list_does_not_know_is_refused(path, query, name):
    document = problem_in(client_of().get(f"{API}{path}?{query}"), 400)
    assert [error["name"] for error in document["errors"]] == [name]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("platforms/", "device_class"),
        ("platforms/", "virtualised"),
        ("workloads/", "strategy"),
        ("workloads/", "bound"),
        ("profiles/", "origin"),
        ("profiles/", "decomposed"),
    ],
)
def test_a_value_that_a_filter_does_not_know_is_refused(path, name):
    document = problem_in(client_of().get(f"{API}{path}?{name}=nonsense"), 400)
    assert [error["name"] for error in document["errors"]] == [name]


def test_detail_pages_know_no_filters():
    slug = store(sample_measurements(1, 1)).profiles[0].platform.slug
    problem_in(client_of().get(f"{API}platforms/{slug}/?page=1"), 400)


def test_unknown_values_come_last_in_both_directions():
    measurements = sample_measurements(3, 1)
    measurements.platforms[1] = sample_platform(1, base_mhz=None)
    store(measurements)
    for ordering, expected in (("base_mhz", [2000, 2200, None]), ("-base_mhz", [2200, 2000, None])):
        rows = client_of().get(f"{API}platforms/?ordering={ordering}").json()["results"]
        assert [row["base_mhz"] for row in rows] == expected


@pytest.mark.parametrize("path", LISTS)
def test_csv_has_all_rows_that_match(path):
    store(sample_measurements(3, 4))
    client = client_of()
    listed = client.get(API + path).json()["results"]
    rows = rows_of(client.get(API + path + "?format=csv&page_size=1"))
    assert len(rows) == len(listed)
    names = [name for name in ("slug", "id", "platform", "t1_s") if name in rows[0]]
    assert [[row[name] for name in names] for row in rows] == [[str(row[name]) for name in names] for row in listed]
    assert rows_of(client.get(API + path, HTTP_ACCEPT="text/csv")) == rows


def test_csv_leaves_null_empty_and_formulas_harmless():
    measurements = sample_measurements(1, 1)
    measurements.platforms[0] = sample_platform(0, name='=HYPERLINK("http://x")', base_mhz=None, virtualised=None)
    store(measurements)
    (row,) = rows_of(client_of().get(API + "platforms/?format=csv"))
    assert row["name"] == '\'=HYPERLINK("http://x")'
    assert (row["base_mhz"], row["virtualised"]) == ("", "")
    assert client_of().get(API + "platforms/").json()["results"][0]["name"] == '=HYPERLINK("http://x")'


def test_csv_of_an_empty_list_is_its_header():
    assert read(client_of().get(API + "profiles/?format=csv")).startswith(b"id,platform,workload,")


@pytest.mark.parametrize("path", LISTS)
def test_head_and_options(path):
    store(secret_measurements())
    client = client_of()
    head = client.head(API + path)
    assert (head.status_code, head.content) == (200, b"")
    assert head["ETag"] == client.get(API + path)["ETag"]
    assert client.options(API + path + "?format=csv").json()["renders"] == ["application/json", "text/csv"]
