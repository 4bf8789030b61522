"""How tarballs are received: what is kept, and what is handed on to be processed."""

import io
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, OperationalError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks import processing, services
from benchmarks.models import Upload
from benchmarks.processing import process
from benchmarks.reading import read_upload
from benchmarks.services import delete_uploads, keep_tarball
from profiles.ingest.service import IngestError
from profiles.models import Profile
from tests.benchmarks.uploads import kept_files, receive, tarball
from tests.mpet_site.api_samples import API, client_of
from tests.pages import text_of
from tests.profiles.deliveries import stored_counts
from tests.samples import sample_measurements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def test_the_tarball_is_kept_under_a_random_name(alice, media):
    content = tarball()
    upload = receive(content, alice, filename="secret project.tar.gz")
    (path,) = kept_files(media)
    assert path.read_bytes() == content
    assert "secret" not in str(path)
    assert upload.file.name.startswith("uploads/")


@pytest.mark.parametrize(
    ("filename", "kept"),
    [("/etc/passwd", "passwd"), ("..\\..\\run.tar.gz", "run.tar.gz"), ("", "results.tar.gz"), ("x" * 300, "x" * 255)],
)
def test_filenames_lose_their_folders(filename, kept):
    upload = receive(tarball(), filename=filename)
    assert upload.filename == kept
    assert upload.status == Upload.Status.ACCEPTED


def test_the_same_tarball_again_answers_with_the_first(alice, bob, media):
    content = tarball()
    first = receive(content, alice)
    before = stored_counts()
    again = receive(content, alice, "private", "other.tar.gz")
    assert again == first
    assert again.visibility == "public"
    assert stored_counts() == before
    assert len(kept_files(media)) == 1
    assert receive(content, bob) != first


def test_two_at_the_same_moment_are_one(alice, media, monkeypatch):
    content = tarball()
    first = receive(content, alice)
    answers = iter([None, first])
    monkeypatch.setattr(services, "_find_first", lambda upload: next(answers))
    assert receive(content, alice) == first
    assert Upload.objects.count() == 1
    assert len(kept_files(media)) == 1


@pytest.mark.parametrize("owned", [True, False])
def test_the_database_keeps_an_upload_once(alice, owned):
    fields = {"owner": alice if owned else None, "filename": "x", "sha256": "a" * 64, "size_bytes": 1}
    for status in ("rejected", "rejected", "received"):
        Upload.objects.create(**fields, status=status)
    with pytest.raises(IntegrityError), transaction.atomic():
        Upload.objects.create(**fields, status="accepted")


def test_a_rejected_tarball_may_be_tried_again(alice, monkeypatch):
    content = tarball()

    def fail(*_, **__):
        raise RuntimeError("out of order")

    with monkeypatch.context() as patch:
        patch.setattr(processing, "ingest", fail)
        rejected = receive(content, alice)
    assert rejected.status == Upload.Status.REJECTED
    accepted = receive(content, alice)
    assert accepted != rejected
    assert accepted.status == Upload.Status.ACCEPTED
    assert Upload.objects.count() == 2


def test_too_large_is_rejected_and_not_kept(alice, media, settings):
    content = tarball()
    settings.UPLOAD_MAX_PACKED_BYTES = len(content) - 1
    upload = receive(content, alice)
    assert upload.status == Upload.Status.REJECTED
    assert "larger than" in upload.report["errors"][0]["reason"]
    assert kept_files(media) == []
    settings.UPLOAD_MAX_PACKED_BYTES = len(content)
    assert receive(content, alice).status == Upload.Status.ACCEPTED


def test_an_endless_file_is_not_read_to_its_end(alice, settings):
    class Endless(io.RawIOBase):
        read_bytes = 0

        def read(self, size=-1):
            self.read_bytes += size
            return b"\0" * size

    settings.UPLOAD_MAX_PACKED_BYTES = 3 << 20
    file = Endless()
    assert keep_tarball(file, alice, "public", "endless").status == Upload.Status.REJECTED
    assert file.read_bytes <= 5 << 20


def test_an_upload_whose_process_died_goes_on_when_it_is_sent_again(alice, waiting):
    """trust 5: the same tarball again answered 202 although nobody worked on it."""
    assert waiting.claim_to_process()
    with waiting.file.open() as file:
        content = file.read()
    assert receive(content, alice).status == Upload.Status.PROCESSING  # somebody may be at it
    Upload.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    again = receive(content, alice)
    assert again == waiting
    assert again.status == Upload.Status.ACCEPTED


def test_a_database_that_does_not_answer_leaves_no_file(alice, media, monkeypatch):
    def locked(*_, **__):
        raise OperationalError("database is locked")

    monkeypatch.setattr(Upload, "save", locked)
    with pytest.raises(OperationalError):
        receive(tarball(), alice)
    assert kept_files(media) == []


def test_the_disk_holds_the_file_before_the_row_is_there(alice, media, monkeypatch):
    synced = []

    def note(descriptor):
        synced.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), Upload.objects.exists()))

    monkeypatch.setattr(os, "fsync", note)
    receive(tarball(), alice)
    (path,) = kept_files(media)
    assert synced == [(str(path), False), (str(path.parent), False)]


@pytest.fixture
def signed_in(alice):
    client = Client()
    client.force_login(alice)
    return client


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("visibility", ["public", "private"])
def test_a_deleted_upload_leaves_nothing(alice, media, visibility):
    upload = receive(tarball(), alice, visibility)
    assert client_of(alice).delete(f"{API}uploads/{upload.uid}/").status_code == 204
    assert set(stored_counts().values()) == {0}
    assert kept_files(media) == []
    assert not Upload.objects.exists()
    assert client_of(alice).get(f"{API}uploads/{upload.uid}/").status_code == 404
    assert receive(tarball(), alice).status == "accepted"


def test_a_rejected_upload_is_deleted_too(alice):
    upload = receive(b"no tarball", alice)
    assert client_of(alice).delete(f"{API}uploads/{upload.uid}/").status_code == 204


def test_others_delete_nothing(alice, bob):
    address = f"{API}uploads/{receive(tarball(), alice).uid}/"
    private = receive(tarball(sample_measurements(1, 1, seed=9)), alice, "private")
    assert client_of().delete(address).status_code == 401
    assert client_of(bob).delete(address).status_code == 403
    assert client_of(alice, "predict").delete(address).status_code == 403
    assert client_of(bob).delete(f"{API}uploads/{private.uid}/").status_code == 404
    stranger = Client()
    stranger.force_login(bob)
    assert stranger.post(reverse("delete-upload", args=[private.uid])).status_code == 404
    assert Upload.objects.count() == 2


def test_the_page_asks_first(alice, signed_in):
    upload = receive(tarball(), alice)
    address = reverse("delete-upload", args=[upload.uid])
    assert address in signed_in.get(reverse("upload-report", args=[upload.uid])).content.decode()
    assert "a source was withdrawn" in text_of(signed_in.get(address))
    assert Upload.objects.exists()
    assert signed_in.post(address)["Location"] == reverse("uploads")
    assert not Upload.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_that_is_deleted_while_it_is_read_stores_nothing(alice, media, monkeypatch):
    upload = keep_tarball(io.BytesIO(tarball()), alice, "public", "run.tar.gz")

    def delete_meanwhile(*arguments):
        delete_uploads(Upload.objects.filter(pk=upload.pk))
        return read_upload(*arguments)

    monkeypatch.setattr("benchmarks.processing.read_upload", delete_meanwhile)
    process(upload)
    assert set(stored_counts().values()) == {0}
    assert kept_files(media) == []


def test_what_fails_on_the_way_leaves_the_upload_whole(alice, media, monkeypatch):
    upload = receive(tarball(), alice)
    before = stored_counts()

    def fail(sources):
        raise IngestError("for this test")

    monkeypatch.setattr("benchmarks.services.withdraw_in_transaction", fail)
    with pytest.raises(IngestError):
        delete_uploads(Upload.objects.filter(pk=upload.pk))
    assert (stored_counts(), len(kept_files(media)), Upload.objects.count()) == (before, 1, 1)


def publish(client, upload, **body):
    return client.patch(f"{API}uploads/{upload.uid}/", body or {"visibility": "public"}, format="json")


def test_a_private_upload_is_published_once_and_for_all(alice, bob):
    upload = receive(tarball(), alice, "private")
    assert client_of(bob).get(f"{API}uploads/{upload.uid}/").status_code == 404
    for _ in range(2):
        answer = publish(client_of(alice), upload)
        assert (answer.status_code, answer.json()["visibility"]) == (200, "public")
    assert client_of(bob).get(f"{API}uploads/{upload.uid}/").json()["profiles"] == answer.json()["profiles"]
    refused = publish(client_of(alice), upload, visibility="private")
    assert refused.status_code == 400
    assert "stay" in refused.json()["detail"]


def test_what_cannot_be_published_says_why(alice, bob):
    private = receive(tarball(), alice, "private")
    rejected = receive(b"no tarball", alice, "private")
    assert publish(client_of(alice), rejected).status_code == 409
    assert publish(client_of(bob), private).status_code == 404
    assert publish(client_of(alice, "predict"), private).status_code == 403
    assert publish(client_of(), private).status_code == 401
    assert publish(client_of(alice), private, visibility="public", licence="CC0").status_code == 400
    assert Upload.objects.get(pk=private.pk).visibility == "private"


def test_the_page_to_publish_asks_first_and_names_the_licence(alice, signed_in):
    file = SimpleUploadedFile("run.tar.gz", tarball())
    signed_in.post(reverse("upload"), {"file": file, "visibility": "private", "licence": "CC0"})
    upload = Upload.objects.get()
    assert (upload.licence, upload.source.licence) == ("CC0", "CC0")
    address = reverse("publish-upload", args=[upload.uid])
    report = reverse("upload-report", args=[upload.uid])
    assert address in signed_in.get(report).content.decode()
    assert "Its licence: CC0" in text_of(signed_in.get(address))
    assert signed_in.post(address)["Location"] == report
    assert Upload.objects.get().visibility == "public"
    assert address not in signed_in.get(report).content.decode()


def test_a_licence_is_shown_wherever_the_numbers_are(alice, signed_in):
    file = SimpleUploadedFile("run.tar.gz", tarball())
    sent = {"file": file, "visibility": "public", "licence": "CC BY 4.0"}
    answer = client_of(alice).post(f"{API}uploads/", sent)
    assert answer.json()["licence"] == "CC BY 4.0"
    assert client_of(alice).get(f"{API}uploads/").json()["results"][0]["licence"] == "CC BY 4.0"
    profile = Profile.objects.first()
    for address in (
        reverse("upload-report", args=[answer.json()["id"]]),
        reverse("profile", args=[profile.uid]),
        reverse("platform", args=[profile.platform.slug]),
        reverse("workload", args=[profile.workload.slug]),
        reverse("platforms"),
        reverse("home"),
    ):
        assert "CC BY 4.0" in text_of(Client().get(address)), address
    assert client_of().get(f"{API}profiles/{profile.uid}/").json()["source"]["licence"] == "CC BY 4.0"
