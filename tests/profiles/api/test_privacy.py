"""What is private to one user leaves no trace for others (docs/decisions/privacy.md)."""

import pytest

from benchmarks.models import Upload
from predictor.models import Prediction
from tests.mpet_site.api_samples import API, client_of, make_user, read, said, secret_measurements, store, tarball
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
LISTS = ("platforms/", "workloads/", "profiles/")
NO_UUID = "12345678-1234-4123-8123-123456789abc"


@pytest.fixture(params=["anonymous", "other user"])
def other(request, db):
    return client_of(None if request.param == "anonymous" else make_user("bob"))


@pytest.fixture
def secret(ada):
    store(sample_measurements(2, 2))
    return store(secret_measurements(), ada, private=True).profiles[0]


@pytest.fixture
def paths(secret):
    return [f"platforms/{secret.platform.slug}/", f"workloads/{secret.workload.slug}/", f"profiles/{secret.uid}/"]


def test_the_owner_sees_them(ada, paths):
    client = client_of(ada)
    answers = [client.get(API + path) for path in paths]
    assert [(answer.status_code, answer.json()["private"]) for answer in answers] == [(200, True)] * 3
    assert [client.get(API + path).json()["count"] for path in LISTS] == [3, 3, 5]


def check_unknown(hidden, missing):
    assert hidden.status_code == missing.status_code == 404
    assert said(hidden) == said(missing)


def test_for_others_they_are_unknown(paths, other):
    for path, unknown in zip(paths, ("platforms/unknown/", "workloads/unknown/", f"profiles/{NO_UUID}/"), strict=True):
        hidden, missing = other.get(API + path), other.get(API + unknown)
        check_unknown(hidden, missing)
        same = {"X-Request-ID": ""}
        assert dict(hidden.headers) | same == dict(missing.headers) | same


def test_lists_counts_search_filters_and_csv_are_as_if_they_were_not_there(ada, other):
    store(sample_measurements(2, 2))
    queries = [
        *LISTS,
        *(f"{path}?format=csv" for path in LISTS),
        *(f"{path}?search=secret" for path in LISTS),
        *(f"{path}?page_size=1&page=2" for path in LISTS),
        "platforms/?cpu_model=Secret%20CPU",
        "platforms/?ordering=-profiles",
        "workloads/?application=secret",
    ]
    before = [read(other.get(API + query)) for query in queries]
    etags = [other.get(API + query)["ETag"] for query in queries]
    profile = store(secret_measurements(), ada, private=True).profiles[0]
    store(sample_measurements(2, 2, seed=9), ada, private=True, label="own runs of public things")
    assert [read(other.get(API + query)) for query in queries] == before
    assert [other.get(API + query)["ETag"] for query in queries] == etags
    for query in (f"platform={profile.platform.slug}", f"workload={profile.workload.slug}", "search=own%20runs"):
        assert other.get(f"{API}profiles/?{query}").json()["count"] == 0


def test_counts_of_a_public_platform_are_the_viewer_s(ada, other):
    slug = store(sample_measurements(1, 2)).profiles[0].platform.slug
    store(sample_measurements(1, 2, seed=9), ada, private=True, label="own")
    assert other.get(f"{API}platforms/{slug}/").json()["profiles"] == 2
    assert client_of(ada).get(f"{API}platforms/{slug}/").json()["profiles"] == 4


def test_distances_are_as_if_they_were_not_there(ada, other):
    store(sample_measurements(3, 3))
    query = "distances/platforms/?a=machine-0&b=machine-1"
    before = other.get(API + query)
    profile = store(secret_measurements(), ada, private=True).profiles[0]
    store(sample_measurements(3, 3, seed=9), ada, private=True, label="own")
    after = other.get(API + query)
    assert (after.content, after["ETag"]) == (before.content, before["ETag"])
    for path, slug, known in (
        ("platforms", profile.platform.slug, "machine-0"),
        ("workloads", profile.workload.slug, "app0-section0"),
    ):
        assert client_of(ada).get(f"{API}distances/{path}/?a={slug}&b={known}").status_code == 200
        hidden = other.get(f"{API}distances/{path}/?a={slug}&b={known}")
        missing = other.get(f"{API}distances/{path}/?a=unknown&b={known}")
        assert hidden.status_code == missing.status_code == 400
        assert said(hidden).replace(slug.encode(), b"unknown") == said(missing)


def test_predictions_with_private_profiles_are_private(ada, secret, other):
    asked = {"workload": "app0-section0", "target": "machine-0"}
    uid = client_of(ada).post(API + "predictions/", asked, format="json").json()["id"]
    assert Prediction.objects.get(uid=uid).private_to == ada
    assert client_of(ada).get(f"{API}predictions/{uid}/").status_code == 200
    check_unknown(other.get(f"{API}predictions/{uid}/"), other.get(f"{API}predictions/{NO_UUID}/"))


def test_asking_about_private_things_is_asking_about_unknown_ones(ada, secret):
    bob = client_of(make_user("bob"))
    for field, slug in (("workload", secret.workload.slug), ("target", secret.platform.slug)):
        asked = {"workload": "app0-section0", "target": "machine-0"}
        hidden = bob.post(API + "predictions/", asked | {field: slug}, format="json")
        assert hidden.status_code == 400
        assert hidden.json()["errors"][0]["name"] == field
        unknown = slug[:-1] + ("0" if slug[-1] != "0" else "1")
        missing = bob.post(API + "predictions/", asked | {field: unknown}, format="json")
        assert said(hidden).replace(slug.encode(), unknown.encode()) == said(missing)


def test_private_uploads_are_unknown_to_others(ada, other):
    answer = client_of(ada).post(API + "uploads/", {"file": tarball(secret_measurements()), "visibility": "private"})
    assert answer.json()["status"] == "accepted", answer.content
    uid = answer.json()["id"]
    assert Upload.objects.get(uid=uid).visibility == "private"
    check_unknown(other.get(f"{API}uploads/{uid}/"), other.get(f"{API}uploads/{NO_UUID}/"))
    assert [other.get(API + path).json()["count"] for path in LISTS] == [0, 0, 0]
