"""An account as a whole: what is kept of it, taking it along, and deleting it."""

import io
import json
import tarfile

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import ApiToken
from accounts.user_data import ArchiveMember, close_account, tar_pieces
from benchmarks.models import Upload
from predictor.models import AskedPrediction, Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Platform, Profile, Source
from tests.benchmarks.uploads import kept_files, receive, tarball
from tests.mpet_site.api_samples import API, client_of, read, store
from tests.pages import PASSWORD, text_of, twin_of, user
from tests.profiles.deliveries import stored_counts
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ada(media):
    """Somebody with a public and a private upload, predictions from both kinds of data, and a token."""
    owner = user("ada")
    store(sample_measurements(2, 2))
    receive(tarball(own_machine(7)), owner, "public", "public.tar.gz")
    predict(PredictionRequest("app0-section0", "machine-1"), owner)
    receive(tarball(own_machine(8)), owner, "private", "private.tar.gz")
    predict(PredictionRequest("app0-section0", "machine-1"), owner)
    ApiToken.issue(owner, name="laptop")
    return owner


def own_machine(number: int):
    measurements = sample_measurements(1, 2, seed=number)
    measurements.platforms[0] = sample_platform(number)
    return measurements


@pytest.fixture
def signed_in(ada):
    client = Client()
    client.force_login(ada)
    return client


def closing(**fields):
    return {"password": PASSWORD, "public_uploads": "delete"} | fields


def archive_of(response) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(read(response)), mode="r:") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def test_the_page_and_the_api_say_what_is_kept(ada, signed_in):
    page = signed_in.get(reverse("account"))
    document = signed_in.get(twin_of(page)).json()
    counts = {"uploads": 2, "profiles": 4, "predictions": 2, "own prices": 0, "region names": 0}
    assert document["counts"] == page.context["counts"] == counts
    assert document["username"] == "ada"
    assert client_of().get(f"{API}account/").status_code == 401
    assert Client().get(reverse("account")).status_code == 302


def test_everything_is_taken_along_in_one_archive(ada, signed_in):
    members = archive_of(signed_in.get(reverse("export-account")))
    assert members.keys() == archive_of(client_of(ada).get(f"{API}account/export/")).keys()
    uploads = {upload.filename: upload for upload in Upload.objects.all()}
    for name, upload in uploads.items():
        assert members[f"uploads/{upload.uid}/{name}"] == upload.file.open().read()
        assert json.loads(members[f"uploads/{upload.uid}/report.json"])["visibility"] == upload.visibility
    for profile in Profile.objects.filter(source__owner=ada):
        document = json.loads(members[f"profiles/{profile.uid}.json"])
        assert document == json.loads(signed_in.get(f"{API}profiles/{profile.uid}/").content)
    for prediction in Prediction.objects.all():
        document = json.loads(members[f"predictions/{prediction.uid}.json"])
        assert document["curve"] == signed_in.get(f"{API}predictions/{prediction.uid}/").json()["curve"]
    account = json.loads(members["account.json"])
    assert (account["username"], account["tokens"][0]["name"]) == ("ada", "laptop")
    assert len(members) == 1 + 4 + 4 + 2


def test_the_archive_asks_no_queries_for_each_profile(ada, signed_in, django_assert_max_num_queries):
    """What is read for all profiles together: rows, curves, features, runs, ceilings of each platform, counters."""
    store(sample_measurements(2, 3, seed=4), label="few", owner=ada)
    with CaptureQueriesContext(connection) as few:
        archive_of(signed_in.get(reverse("export-account")))
    store(sample_measurements(2, 30, seed=5), label="many", owner=ada)
    with django_assert_max_num_queries(len(few) + 5):  # 54 profiles more
        members = archive_of(signed_in.get(reverse("export-account")))
    assert sum(name.startswith("profiles/") for name in members) == 4 + 6 + 60


def test_the_archive_has_nothing_of_others(ada):
    members = archive_of(client_of(user("bob")).get(f"{API}account/export/"))
    assert list(members) == ["account.json"]
    assert client_of().get(f"{API}account/export/").status_code == 401


def test_the_archive_is_asked_for_so_often_only(ada, signed_in, limit_rates):
    limit_rates(export="1/hour")
    assert signed_in.get(reverse("export-account")).status_code == 200
    assert signed_in.get(reverse("export-account")).status_code == 429
    assert client_of(ada).get(f"{API}account/export/").status_code == 429


def test_the_archive_is_made_while_it_is_sent():
    """No member is opened before the one before it is sent."""
    opened = []

    def members():
        for name in ("first", "second"):
            opened.append(name)
            yield ArchiveMember(name, 10**6, io.BytesIO(bytes(10**6)))

    pieces = tar_pieces(members())
    first = [next(pieces) for _ in range(3)]
    assert opened == ["first"]
    assert max(map(len, first)) < 10**6
    with tarfile.open(fileobj=io.BytesIO(b"".join([*first, *pieces])), mode="r:") as archive:
        assert [(member.name, member.size) for member in archive] == [("first", 10**6), ("second", 10**6)]


def test_a_file_that_became_shorter_breaks_nothing():
    pieces = tar_pieces([ArchiveMember("a", 700, io.BytesIO(b"x" * 3)), ArchiveMember.of_json("b", [])])
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces)), mode="r:") as archive:
        assert [member.name for member in archive] == ["a", "b"]


def test_a_deleted_account_leaves_nothing(ada, signed_in, media):
    others = stored_counts()
    page = signed_in.post(reverse("delete-account"), closing(), follow=True)
    assert "The account is deleted" in text_of(page)
    assert not page.wsgi_request.user.is_authenticated
    for model in (get_user_model(), Upload, ApiToken, Prediction, AskedPrediction):
        assert not model.objects.exists(), model
    assert kept_files(media) == []
    assert set(Source.objects.values_list("owner", "label")) == {(None, "sample")}
    assert Platform.objects.count() == others["Platform"] - 2 == 2
    assert Profile.objects.count() == 4


def test_public_uploads_are_left_without_a_name(ada, signed_in, media):
    signed_in.post(reverse("delete-account"), closing(public_uploads="leave"))
    upload = Upload.objects.get()
    assert (upload.filename, upload.owner, upload.source.owner) == ("public.tar.gz", None, None)
    assert len(kept_files(media)) == 1
    assert Profile.objects.visible_to(None).count() == Profile.objects.count() == 6
    assert client_of().get(f"{API}uploads/{upload.uid}/").json()["filename"] is None
    assert receive(tarball(own_machine(7)), user("bob"), "public").status == "accepted"


def test_bytes_that_an_operator_delivered_too_are_not_kept_twice(ada):
    receive(tarball(own_machine(7)), None, "public")
    close_account(ada, keep_public=True)
    assert Upload.objects.get().owner is None
    assert Profile.objects.count() == 6


def test_only_the_owner_deletes_it_with_the_password_and_a_choice(ada, signed_in):
    before = stored_counts()
    assert "cannot be undone" in text_of(signed_in.get(reverse("delete-account")))
    assert Client().post(reverse("delete-account"), closing()).status_code == 302
    assert client_of(ada).delete(f"{API}account/").status_code == 405
    for fields in ({"password": "wrong"}, {"public_uploads": ""}, {"public_uploads": "hide"}):
        assert signed_in.post(reverse("delete-account"), closing(**fields)).status_code == 200
    assert get_user_model().objects.filter(username="ada").exists()
    assert stored_counts() == before


def test_what_was_imported_for_the_user_goes_too(ada):
    store(own_machine(9), owner=ada, private=True, label="imported")
    close_account(ada, keep_public=True)
    assert not Source.objects.filter(label="imported").exists()
    assert not Platform.objects.exclude(private_to=None).exists()


def test_passwords_are_guessed_so_often_only(ada, signed_in, limit_rates):
    limit_rates(login="1/hour")
    for status in (200, 429):
        assert signed_in.post(reverse("delete-account"), closing(password="wrong")).status_code == status
