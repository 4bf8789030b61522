import gzip
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from benchmarks import processing, services, tasks
from benchmarks.archive import write_archive
from benchmarks.models import Upload
from profiles.models import Platform, Profile, Revision, Source
from tests.profiles.deliveries import measured, stored_counts
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db

CREATED = datetime(2026, 11, 20, 10, tzinfo=UTC)


def tarball(measurements=None) -> bytes:
    file = io.BytesIO()
    write_archive(file, measurements or sample_measurements(1, 2), created=CREATED)
    return file.getvalue()


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    return settings.MEDIA_ROOT


@pytest.fixture
def alice():
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def bob():
    return get_user_model().objects.create_user("bob")


def receive(content, owner=None, visibility="public", filename="run.tar.gz"):
    return services.receive_tarball(io.BytesIO(content), owner, visibility, filename)


def kept_files(media):
    return [path for path in media.rglob("*") if path.is_file()] if media.exists() else []


def test_an_accepted_upload(alice, media):
    content = tarball()
    upload = receive(content, alice)
    assert upload.status == Upload.Status.ACCEPTED
    assert upload.report["errors"] == []
    assert upload.finished_at is not None
    assert upload.size_bytes == len(content)
    assert upload.source.kind == "tarball"
    assert upload.source.label == upload.filename == "run.tar.gz"
    assert upload.source.sha256 == upload.sha256
    assert upload.source.owner == alice
    assert upload.source.profiles.count() == 2
    assert Upload.objects.get().status == Upload.Status.ACCEPTED


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


def test_warnings_of_quality_and_of_matching_are_reported(alice):
    receive(tarball(measured([sample_platform(kernel="Linux 5")])), alice)
    upload = receive(tarball(measured([sample_platform(virtualised=True)])), alice)
    assert any("was kept as it is known" in warning for warning in upload.report["warnings"])
    assert any("virtual" in warning for warning in upload.report["warnings"])


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


@pytest.mark.parametrize("owned", [True, False])
def test_the_database_keeps_an_upload_once(alice, owned):
    owner = alice if owned else None
    fields = {"owner": owner, "filename": "x", "sha256": "a" * 64, "size_bytes": 1}
    Upload.objects.create(**fields, status="rejected")
    Upload.objects.create(**fields, status="rejected")
    Upload.objects.create(**fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        Upload.objects.create(**fields, status="accepted")


def test_two_at_the_same_moment_are_one(alice, media, monkeypatch):
    content = tarball()
    first = receive(content, alice)
    answers = iter([None, first])
    monkeypatch.setattr(services, "_find_first", lambda upload: next(answers))
    assert receive(content, alice) == first
    assert Upload.objects.count() == 1
    assert len(kept_files(media)) == 1


def test_a_private_upload(alice):
    upload = receive(tarball(), alice, "private")
    assert upload.status == Upload.Status.ACCEPTED
    assert upload.source.private_to == alice
    assert not Platform.objects.public().exists()
    assert Revision.current() == (0, 0)


def test_emulated_measurements_are_stored_as_private(alice):
    upload = receive(tarball(sample_measurements(1, 1, origin="emulated")), alice, "public")
    assert upload.status == Upload.Status.ACCEPTED
    assert upload.visibility == "private"
    assert "stored as private: the measurements are emulated" in upload.report["warnings"]
    assert upload.source.private_to == alice


def test_what_was_imported_before_with_another_visibility_keeps_it(alice):
    content = tarball()
    first = receive(content, alice, "private")
    Upload.objects.all().delete()
    upload = receive(content, alice, "public")
    assert upload.source == first.source
    assert upload.visibility == "private"
    assert any("they are private and stay so" in warning for warning in upload.report["warnings"])


@pytest.mark.parametrize(
    "spoil",
    [lambda content: b"", lambda content: b"not a tarball", lambda content: content[:-200], gzip.compress],
    ids=["empty", "text", "truncated", "packed twice"],
)
def test_a_rejected_upload_leaves_its_report_only(alice, media, spoil):
    upload = receive(spoil(tarball()), alice)
    assert upload.status == Upload.Status.REJECTED
    assert upload.report["warnings"] == []
    assert set(upload.report["errors"][0]) == {"member", "line", "reason"}
    assert upload.report["errors"][0]["reason"]
    assert upload.finished_at is not None
    assert upload.source is None
    assert set(stored_counts().values()) == {0}
    assert kept_files(media) == []


def test_errors_name_member_and_line(alice):
    bad = sample_measurements(1, 1)
    bad.profiles[0].runs.time_ns[4] = -5
    (error, *_) = receive(tarball(bad), alice).report["errors"]
    assert error["member"] == "runs.csv"
    assert error["line"] == 6


def test_a_refusal_of_ingest_is_reported(alice):
    receive(tarball(), alice)
    platforms = [sample_platform(name="x" * 201)]
    upload = receive(tarball(measured(platforms)), alice)
    assert upload.status == Upload.Status.REJECTED
    assert Platform.objects.count() == 1


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


def test_a_crash_is_logged_and_nothing_is_stored(alice, media, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(processing, "quality_warnings", fail)  # after ingest
    upload = receive(tarball(), alice)
    assert upload.status == Upload.Status.REJECTED
    assert upload.report["errors"] == [{"member": None, "line": None, "reason": processing.INTERNAL_ERROR}]
    assert "a secret detail" in caplog.text
    assert set(stored_counts().values()) == {0}
    assert not Revision.objects.exists()
    assert kept_files(media) == []


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


def test_unpacked_limit_comes_from_the_settings(alice, settings):
    settings.UPLOAD_MAX_UNPACKED_BYTES = 1000
    assert receive(tarball(), alice).status == Upload.Status.REJECTED


def test_processing_happens_once(alice, monkeypatch):
    upload = receive(tarball(), alice)
    monkeypatch.setattr(processing, "_ingest_upload", None)
    assert processing.process(upload).status == Upload.Status.ACCEPTED
    Upload.objects.update(status=Upload.Status.PROCESSING)
    assert processing.process(upload).status == Upload.Status.PROCESSING


def test_left_to_a_worker(alice, monkeypatch):
    """With the database backend the upload waits as received; the task then does what the request did not."""
    enqueued = []
    monkeypatch.setattr(type(tasks.process_upload), "enqueue", lambda task, key: enqueued.append(key))
    upload = receive(tarball(), alice)
    assert upload.status == Upload.Status.RECEIVED
    assert enqueued == [upload.pk]
    assert default_storage.exists(upload.file.name)
    tasks.process_upload.call(upload.pk)
    upload.refresh_from_db()
    assert upload.status == Upload.Status.ACCEPTED
    tasks.process_upload.call(upload.pk + 1)  # was deleted meanwhile
    assert Upload.objects.count() == 1


def test_the_worker_of_the_database_backend_processes_uploads(alice, settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    upload = receive(tarball(), alice)
    assert upload.status == Upload.Status.RECEIVED
    (waiting,) = DBTaskResult.objects.all()
    waiting.task.call(*waiting.args_kwargs["args"], **waiting.args_kwargs["kwargs"])
    upload.refresh_from_db()
    assert upload.status == Upload.Status.ACCEPTED


@pytest.mark.parametrize(("age", "status"), [(timedelta(minutes=5), "processing"), (timedelta(hours=2), "accepted")])
def test_an_upload_whose_worker_died_is_taken_up_again(alice, monkeypatch, age, status):
    content = tarball()
    monkeypatch.setattr(type(tasks.process_upload), "enqueue", lambda task, key: None)
    upload = receive(content, alice)
    monkeypatch.undo()
    Upload.objects.update(status="processing", created_at=timezone.now() - age)
    again = receive(content, alice)
    assert again == upload
    assert again.status == status


def test_profiles_of_two_owners_of_the_same_tarball(alice, bob):
    content = tarball()
    receive(content, alice)
    receive(content, bob, "private")
    assert Source.objects.count() == 2
    assert Platform.objects.count() == 1
    assert Profile.objects.public().count() == 2
    assert Profile.objects.visible_to(bob).count() == 4
