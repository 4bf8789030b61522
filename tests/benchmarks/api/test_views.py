import hashlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from benchmarks.kit_archive import kit_tarball
from benchmarks.models import Upload
from profiles.models import Profile
from tests.mpet_site.api_samples import API, client_of, make_user, secret_measurements, strict_json, tarball
from tests.mpet_site.web.test_problems import problem_in
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
OWNERS_ALONE = ("filename", "sha256", "commit", "branch")


@pytest.fixture
def ada():
    return client_of(make_user("ada"))


def send(client, file=None, **fields):
    return client.post(API + "uploads/", {"file": file or tarball(), "visibility": "public", **fields})


def test_a_good_tarball_is_201_with_its_profiles(ada):
    response = send(ada)
    assert response.status_code == 201, response.content
    upload = strict_json(response.content)
    assert (upload["status"], upload["report"]["errors"], len(upload["profiles"])) == ("accepted", [], 2)
    assert response["Location"] == upload["url"] == f"http://testserver{API}uploads/{upload['id']}/"
    assert sorted(upload["profiles"]) == sorted(str(profile.uid) for profile in Profile.objects.all())
    profile = client_of().get(f"{API}profiles/{upload['profiles'][0]}/").json()
    assert profile["upload"] == upload["id"]
    assert ada.get(upload["url"]).json() == upload


def test_a_bad_tarball_is_rejected_with_the_reason_for_its_owner_alone_and_nothing_is_stored(ada):
    response = send(ada, SimpleUploadedFile("bad.tar.gz", b"this is no tarball"))
    assert response.status_code == 201
    upload = response.json()
    assert (upload["status"], upload["profiles"]) == ("rejected", [])
    assert set(upload["report"]["errors"][0]) == {"member", "line", "reason"}
    assert Profile.objects.count() == 0
    assert ada.get(upload["url"]).json()["status"] == "rejected"
    problem_in(client_of().get(upload["url"]), 404)


def test_work_left_to_a_worker_is_202(ada, monkeypatch):
    monkeypatch.setattr("benchmarks.api.views.begin_processing", later)
    response = send(ada)
    assert (response.status_code, response.json()["status"]) == (202, "processing")
    upload = Upload.objects.get()
    before = ada.get(response["Location"])
    upload.status = Upload.Status.REJECTED
    upload.save()
    assert ada.get(response["Location"], HTTP_IF_NONE_MATCH=before["ETag"]).json()["status"] == "rejected"


def later(upload):
    """The upload as a worker that has claimed it leaves it until it is done."""
    upload.status = Upload.Status.PROCESSING
    upload.save()
    return upload


def test_others_see_a_public_upload_without_its_file(ada):
    own = send(ada).json()
    assert (own["filename"], len(own["sha256"])) == ("results.tar.gz", 64)
    for client in (client_of(), client_of(make_user("bob"))):
        seen = client.get(own["url"]).json()
        assert [seen[name] for name in OWNERS_ALONE] == [None] * 4
        assert {name: seen[name] for name in seen if name not in OWNERS_ALONE} == {
            name: own[name] for name in own if name not in OWNERS_ALONE
        }


def test_private_is_private(ada):
    upload = send(ada, tarball(secret_measurements()), visibility="private").json()
    assert upload["visibility"] == "private"
    problem_in(client_of(make_user("bob")).get(upload["url"]), 404)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([""], "Empty; send public or private."),
        (["public", "private"], "Given 2 times; send public or private once."),
        (["public", "public"], "Given 2 times; send public or private once."),
        (["Public"], '"Public" is not one of: public, private.'),
        ([" public"], '" public" is not one of: public, private.'),
        (["everybody"], '"everybody" is not one of: public, private.'),
        ([SimpleUploadedFile("public", b"public")], "A file; send public or private as text."),
    ],
)
def test_trust_12_visibility_is_said_once_in_a_word_we_know(ada, given, reason):
    """Everything else is refused: what nobody meant to publish is not published."""
    document = problem_in(ada.post(API + "uploads/", {"file": tarball(), "visibility": given}), 400)
    assert document["errors"] == [{"name": "visibility", "reason": reason}]
    assert Upload.objects.count() == 0


@pytest.mark.parametrize(
    ("fields", "name", "reason"),
    [
        ({"licence": ["CC0", "CC0"]}, "licence", "Given 2 times; send one licence."),
        ({"licence": "GPL"}, "licence", '"GPL" is not one of: CC BY 4.0, CC0, ODbL, as the source says.'),
        (
            {"form": "xml"},
            "form",
            '"xml" is not one of: auto, csv, extra-p, google-benchmark, hyperfine, likwid, phoronix, talp.',
        ),
    ],
)
def test_an_invalid_choice_is_refused_with_the_valid_ones(ada, fields, name, reason):
    document = problem_in(ada.post(API + "uploads/", {"file": tarball(), **fields}), 400)
    assert document["errors"] == [{"name": name, "reason": reason}]


def test_trust_12_without_a_word_an_upload_is_private(ada):
    response = ada.post(API + "uploads/", {"file": tarball()})
    assert (response.status_code, response.json()["visibility"]) == (201, "private")
    assert len(response.json()["profiles"]) == 2
    problem_in(client_of().get(response.json()["url"]), 404)
    assert not Profile.objects.public().exists()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "file"),
        ({"file": "text"}, "file"),
        ({"file": SimpleUploadedFile("x.tar.gz", b"")}, "file"),
        *(({"licence": licence}, "licence") for licence in ("", "cc0")),
        ({"owner": "bob"}, "owner"),
    ],
)
def test_what_is_wrong_with_the_form_is_400(ada, fields, name):
    whole = fields if not fields or "file" in fields else {"file": tarball(), **fields}
    document = problem_in(ada.post(API + "uploads/", whole), 400)
    assert [error["name"] for error in document["errors"]] == [name]
    assert Upload.objects.count() == 0


def test_uploading_needs_the_upload_scope():
    bob = make_user("bob")
    problem_in(send(client_of()), 401)
    problem_in(send(client_of(bob, scope="predict")), 403)
    assert send(client_of(bob)).status_code == 201


def test_the_list_holds_one_s_own_uploads_and_how_many_profiles_came_of_each(ada):
    upload = send(ada).json()
    send(ada, SimpleUploadedFile("broken.tar.gz", b"no"))
    listed = ada.get(API + "uploads/?ordering=created_at").json()
    assert [(row["filename"], row["status"], row["profile_count"]) for row in listed["results"]] == [
        ("results.tar.gz", "accepted", len(upload["profiles"])),
        ("broken.tar.gz", "rejected", 0),
    ]
    assert listed["results"][0]["url"] == upload["url"]
    assert ada.get(API + "uploads/?status=rejected").json()["count"] == 1
    table = ada.get(API + "uploads/?format=csv&ordering=created_at").getvalue()
    assert table.count(b".tar.gz") == 2
    address = table.splitlines()[1].split(b",")[1].decode()
    assert ada.get(address).json()["url"] == address == upload["url"]
    assert client_of(make_user("eve")).get(API + "uploads/").json()["count"] == 0
    problem_in(client_of().get(API + "uploads/"), 401)


def test_the_list_is_the_same_until_an_upload_changes(ada):
    send(ada)
    before = ada.get(API + "uploads/")["ETag"]
    assert ada.get(API + "uploads/", HTTP_IF_NONE_MATCH=before).status_code == 304
    send(ada, SimpleUploadedFile("broken.tar.gz", b"no"))
    assert ada.get(API + "uploads/", HTTP_IF_NONE_MATCH=before).status_code == 200


def test_the_list_takes_a_fixed_number_of_queries(ada, django_assert_num_queries):
    for seed in range(3):
        send(ada, tarball(sample_measurements(1, 2, seed=seed), f"{seed}.tar.gz"))
    # token with user, states of the uploads (ETag), revisions, own prices, count, page
    with django_assert_num_queries(6):
        assert ada.get(API + "uploads/").json()["count"] == 3


def test_queries_of_an_upload(ada, django_assert_num_queries):
    """Anonymous: 1 upload with its source, 2 revision (for the ETag), 3 ids of its profiles, 4 its programs, what it
    says otherwise of platforms (5) and workloads (6)."""
    url = send(ada).json()["url"]
    client = client_of()
    with django_assert_num_queries(6):
        client.get(url)


def test_served(kit_folder):
    client = client_of()
    for accept in ("*/*", "application/gzip"):
        response = client.get(API + "kit/", HTTP_ACCEPT=accept)
        assert response.status_code == 200
        assert response["Content-Type"] == "application/gzip"
        assert response["Content-Disposition"] == 'attachment; filename="mpet-kit-1.2.tar.gz"'
        assert response.content == kit_tarball("http://testserver/")
    assert client.get(API + "kit/", HTTP_IF_NONE_MATCH=response["ETag"]).status_code == 304
    (kit_folder / "VERSION").unlink()
    problem_in(client.get(API + "kit/"), 404)


def test_built_programs_are_served_with_the_digest_that_guide_and_page_name(static_build):
    client = client_of()
    (built,) = client.get(API + "kit/guide/").json()["built"]
    response = client.get(built["url"])
    assert response["Content-Disposition"] == 'attachment; filename="mpet-kit-1.2-x86_64.tar.gz"'
    assert hashlib.sha256(response.content).hexdigest() == built["sha256"]
    assert len(response.content) == built["size_bytes"]
    assert client.get(built["url"], HTTP_IF_NONE_MATCH=response["ETag"]).status_code == 304
    problem_in(client.get(API + "kit/aarch64/"), 404)
    page = client.get(reverse("measure")).content.decode()
    assert built["sha256"] in page and f'href="{built["url"]}"' in page
    (static_build / "build" / "static" / "x86_64" / "VERSION").unlink()
    assert client.get(API + "kit/guide/").json()["built"] == []
    assert built["sha256"] not in client.get(reverse("measure")).content.decode()


def test_an_upload_without_a_body_is_400():
    """Trust 16: the schema says that there is one."""
    client = client_of(make_user("ada"))
    document = problem_in(client.generic("POST", API + "uploads/"), 400)
    assert [error["name"] for error in document["errors"]] == ["file"]
