import pytest
from django.test import override_settings

from tests.mpet_site.api_samples import API, client_of, make_user, secret_measurements, store
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db


@pytest.fixture
def paths():
    profiles = store(sample_measurements(2, 2)).profiles
    platforms = sorted({profile.platform.slug for profile in profiles})
    workloads = sorted({profile.workload.slug for profile in profiles})
    return [
        "platforms/",
        "platforms/?format=csv",
        f"platforms/{platforms[0]}/",
        "workloads/",
        f"workloads/{workloads[0]}/",
        "profiles/",
        f"profiles/{profiles[0].uid}/",
        f"distances/platforms/?a={platforms[0]}&b={platforms[1]}",
        f"distances/workloads/?a={workloads[0]}&b={workloads[1]}",
        "methods/",
    ]


def test_304_while_nothing_changed_and_200_after(paths):
    client = client_of()
    before = {path: client.get(API + path)["ETag"] for path in paths}
    assert len(set(before.values())) == len(paths)
    for path, etag in before.items():
        answer = client.get(API + path, HTTP_IF_NONE_MATCH=f'"other", {etag}')
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)
    store(secret_measurements(), label="another")
    for path in paths:
        expected = 304 if path == "methods/" else 200
        assert client.get(API + path, HTTP_IF_NONE_MATCH=before[path]).status_code == expected


def test_a_private_change_moves_the_owner_s_etags_alone(paths):
    ada, bob = make_user("ada"), make_user("bob")
    clients = {"anonymous": client_of(), "bob": client_of(bob), "ada": client_of(ada)}
    before = {who: [client.get(API + path)["ETag"] for path in paths] for who, client in clients.items()}
    assert before["anonymous"] == before["bob"] == before["ada"]
    store(secret_measurements(), ada, private=True)
    after = {who: [client.get(API + path)["ETag"] for path in paths] for who, client in clients.items()}
    assert after["anonymous"] == after["bob"] == before["bob"]
    changed = [path for path, old, new in zip(paths, before["ada"], after["ada"], strict=True) if old != new]
    assert changed == [path for path in paths if path != "methods/"]


def test_owners_of_private_rows_share_no_etag():
    ada, bob = make_user("ada"), make_user("bob")
    for owner in (ada, bob):
        store(secret_measurements(), owner, private=True, label=owner.username)
    assert client_of(ada).get(API + "platforms/")["ETag"] != client_of(bob).get(API + "platforms/")["ETag"]


def test_no_304_for_what_one_may_not_see():
    ada = make_user("ada")
    slug = store(secret_measurements(), ada, private=True).profiles[0].platform.slug
    etag = client_of(ada).get(f"{API}platforms/{slug}/")["ETag"]
    assert client_of(ada).get(f"{API}platforms/{slug}/", HTTP_IF_NONE_MATCH=etag).status_code == 304
    for header in (etag, "*"):
        assert client_of().get(f"{API}platforms/{slug}/", HTTP_IF_NONE_MATCH=header).status_code == 404


def test_another_version_of_the_code_is_another_etag(paths):
    client = client_of()
    before = client.get(API + "platforms/")["ETag"]
    with override_settings(CODE_VERSION="0.0.0-other"):
        assert client.get(API + "platforms/")["ETag"] != before


def test_shared_caches_keep_viewers_apart(paths):
    own = [*paths, "uploads/", "tokens/"]
    for client, kept, asked in (
        (client_of(), "no-cache", paths),
        (client_of(make_user("ada")), "private, no-store", own),
    ):
        for path in asked:
            response = client.get(API + path)
            assert response["Cache-Control"] == kept
            assert {"Authorization", "Accept", "Cookie"} <= {part.strip() for part in response["Vary"].split(",")}


def test_a_changed_platform_of_a_public_import_is_seen():
    store(sample_measurements(1, 1))
    client = client_of()
    etag = client.get(API + "platforms/")["ETag"]
    measurements = sample_measurements(1, 1, seed=5)
    measurements.platforms[0] = sample_platform(50)
    store(measurements, label="next")
    assert client.get(API + "platforms/", HTTP_IF_NONE_MATCH=etag).json()["count"] == 2
