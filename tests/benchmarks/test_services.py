"""How tarballs are received: what is kept, and what is handed on to be processed."""

import io
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.utils import timezone

from benchmarks import processing, services
from benchmarks.models import Upload
from tests.benchmarks.uploads import kept_files, receive, tarball
from tests.profiles.deliveries import stored_counts

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
    [
        ("/etc/passwd", "passwd"),
        ("..\\..\\run.tar.gz", "run.tar.gz"),
        ("", "results.tar.gz"),
        ("x" * 300, "x" * 255),
    ],
)
def test_filenames_lose_their_folders(filename, kept):
    upload = receive(tarball(), filename=filename)
    assert upload.filename == kept
    assert upload.status == Upload.Status.ACCEPTED


def test_django_uploaded_files_are_taken(alice):
    file = SimpleUploadedFile("run.tar.gz", tarball())
    assert services.receive_tarball(file, alice, "public", file.name).status == Upload.Status.ACCEPTED


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


def test_without_owner_too():
    content = tarball()
    assert receive(content) == receive(content)


def test_two_at_the_same_moment_are_one(alice, media, monkeypatch):
    content = tarball()
    first = receive(content, alice)
    answers = iter([None, first])
    monkeypatch.setattr(services, "_find_first", lambda upload: next(answers))
    assert receive(content, alice) == first
    assert Upload.objects.count() == 1
    assert len(kept_files(media)) == 1


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
    assert services.receive_tarball(file, alice, "public", "endless").status == Upload.Status.REJECTED
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
