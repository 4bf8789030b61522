"""What is stored and reported of a received tarball; what killed processes left (trust 5) is taken up, and swept."""

import gzip
import os
import time
import uuid
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.db import OperationalError
from django.utils import timezone

from benchmarks import processing
from benchmarks.models import Upload
from benchmarks.processing import ORPHANED_AFTER_LEASES, sweep_files, unclaimed_uploads
from mpet_site.web.periodic_tasks import registered_periodic_tasks
from profiles.jobs.queue import take_up
from profiles.models import Platform, Profile, Revision, Run, Source, StagedDelivery
from tests.benchmarks.uploads import kept_files, receive, tarball
from tests.profiles.deliveries import deliver, measured, stored_counts
from tests.samples import sample_measurements, sample_platform

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
DATABASE_TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}


def let_lapse():
    Upload.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def test_an_accepted_upload(alice, media):
    content = tarball()
    receive(content, alice)
    upload = Upload.objects.get()
    assert (upload.status, upload.report["errors"], upload.size_bytes) == ("accepted", [], len(content))
    assert upload.finished_at is not None
    source = upload.source
    assert (source.kind, source.label, upload.filename) == ("tarball", "run.tar.gz", "run.tar.gz")
    assert (source.sha256, source.owner, source.profiles.count()) == (upload.sha256, alice, 2)


def test_warnings_of_quality_and_of_matching_are_reported(alice, bob):
    receive(tarball(measured([sample_platform(kernel="Linux 5")])), alice)
    upload = receive(tarball(measured([sample_platform(virtualised=True)])), bob)
    assert any("keeps its stored properties" in warning for warning in upload.report["warnings"])
    assert any("virtual" in warning for warning in upload.report["warnings"])


def test_what_the_database_refuses_names_the_member(alice):
    deliver(measured(time_kinds={0: "relative"}))
    (error,) = receive(tarball(measured()), alice).report["errors"]
    assert error["member"] == "workloads.json"
    assert "has relative times" in error["reason"]


def test_a_private_upload(alice):
    upload = receive(tarball(), alice, "private")
    assert upload.status == Upload.Status.ACCEPTED
    assert upload.source.private_to == alice
    assert not Platform.objects.public().exists()
    assert Revision.current() == (0, 0)


def test_emulated_measurements_are_stored_as_private(alice):
    upload = receive(tarball(sample_measurements(1, 1, origin="emulated")), alice, "public")
    assert (upload.status, upload.visibility, upload.source.private_to) == ("accepted", "private", alice)
    assert "stored as private: the measurements are emulated" in upload.report["warnings"]


def test_what_was_imported_before_with_another_visibility_keeps_it(alice):
    content = tarball()
    first = receive(content, alice, "private")
    Upload.objects.all().delete()
    upload = receive(content, alice, "public")
    assert (upload.source, upload.visibility) == (first.source, "private")
    assert any("they are private and were not changed" in warning for warning in upload.report["warnings"])


@pytest.mark.parametrize(
    "spoil",
    [lambda content: b"", lambda content: b"not a tarball", lambda content: content[:-200], gzip.compress],
    ids=["empty", "text", "truncated", "packed twice"],
)
def test_a_rejected_upload_leaves_its_report_only(alice, media, spoil):
    upload = receive(spoil(tarball()), alice)
    assert (upload.status, upload.report["warnings"], upload.source) == ("rejected", [], None)
    assert set(upload.report["errors"][0]) == {"member", "line", "reason"}
    assert upload.report["errors"][0]["reason"]
    assert upload.finished_at is not None
    assert (set(stored_counts().values()), kept_files(media)) == ({0}, [])


def test_a_crash_is_logged_and_nothing_is_stored(alice, media, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(processing, "ingest", fail)
    upload = receive(tarball(), alice)
    assert upload.status == Upload.Status.REJECTED
    assert upload.report["errors"] == [{"member": None, "line": None, "reason": processing.INTERNAL_ERROR}]
    assert "a secret detail" in caplog.text
    assert set(stored_counts().values()) == {0}
    assert not Revision.objects.exists()
    assert kept_files(media) == []


def test_unpacked_limit_comes_from_the_settings(alice, settings):
    settings.UPLOAD_MAX_UNPACKED_BYTES = 1000
    assert receive(tarball(), alice).status == Upload.Status.REJECTED


def test_processing_happens_once(alice, monkeypatch):
    upload = receive(tarball(), alice)
    monkeypatch.setattr(processing, "_ingest_upload", None)
    assert processing.process(upload).status == Upload.Status.ACCEPTED
    assert upload.attempts == 1


def test_what_another_process_has_in_hand_is_left_to_it(waiting):
    assert waiting.claim_to_process()
    assert processing.process(Upload.objects.get()).status == Upload.Status.PROCESSING
    assert set(stored_counts().values()) == {0}


def test_who_lost_its_lease_stores_nothing(waiting, monkeypatch):
    """A process that was asleep for longer than its lease does not write over what the next one did."""
    read = processing.read_upload

    def slow(*arguments, **options):
        let_lapse()
        with monkeypatch.context() as patch:
            patch.setattr(processing, "read_upload", read)
            assert processing.process(Upload.objects.get()).status == Upload.Status.ACCEPTED
        return read(*arguments, **options)

    monkeypatch.setattr(processing, "ingest", partial(ingest_as_other_bytes, processing.ingest))
    monkeypatch.setattr(processing, "read_upload", slow)
    assert processing.process(waiting).status == Upload.Status.ACCEPTED
    upload = Upload.objects.get()
    assert (waiting.attempts, upload.attempts, upload.source) == (1, 2, Source.objects.get())
    assert not StagedDelivery.objects.exists()
    assert Run.objects.count() == sum(profile.runs.count() for profile in Profile.objects.all())


def ingest_as_other_bytes(ingest, measurements, **options):
    """As if this delivery were not known yet, so that only the lease tells."""
    return ingest(measurements, **options | {"sha256": uuid.uuid4().hex})


def test_a_database_that_does_not_answer_leaves_the_upload_for_later(waiting, monkeypatch):
    def locked(*_, **__):
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(processing, "ingest", locked)
        left = processing.process(waiting)
    assert (left.status, left.report) == ("processing", {})
    assert left.lease_until > timezone.now()
    assert left.attempts == 0, "no process ended"


def test_a_tarball_that_takes_its_processes_along_is_given_up(waiting, media):
    """trust 5, third audit 1: tried once again, and not for ever."""
    for attempt in (1, 2):
        assert Upload.objects.get().claim_to_process()
        let_lapse()
        assert Upload.objects.get().attempts == attempt
    upload = processing.process(Upload.objects.get())
    assert upload.status == Upload.Status.REJECTED
    (error,) = upload.report["errors"]
    assert error["reason"] == processing.GIVEN_UP.format(count=2)
    assert kept_files(media) == []


def test_an_upload_whose_file_is_gone_is_rejected_with_that_reason(waiting, media):
    (path,) = kept_files(media)
    path.unlink()
    upload = processing.process(waiting)
    assert upload.status == Upload.Status.REJECTED
    assert upload.report["errors"][0]["reason"] == processing.FILE_GONE


def test_profiles_of_two_owners_of_the_same_tarball(alice, bob):
    content = tarball()
    receive(content, alice)
    receive(content, bob, "private")
    assert Source.objects.count() == 2
    assert Platform.objects.count() == 1
    assert Profile.objects.public().count() == 2
    assert Profile.objects.visible_to(bob).count() == 4


def let_age(path):
    then = time.time() - 3600
    os.utime(path, (then, then))


def test_the_server_keeps_these_chores():
    assert {"uploads", "files", "staged deliveries"} <= {chore.name for chore in registered_periodic_tasks()}


def test_an_upload_whose_process_was_killed_is_taken_up_again(waiting):
    """trust 5: it stayed "processing"."""
    assert waiting.claim_to_process()
    assert take_up("uploads") == 0
    let_lapse()
    assert take_up("uploads") == 1
    upload = Upload.objects.get()
    assert (upload.status, upload.attempts, upload.lease_until) == (Upload.Status.ACCEPTED, 2, None)
    assert upload.source.profiles.count() == 2
    assert take_up("uploads") == 0


def test_an_upload_that_nobody_began_is_taken_up_once_its_request_has_had_its_time(waiting, settings):
    assert take_up("uploads") == 0
    Upload.objects.update(created_at=timezone.now() - timedelta(seconds=settings.LEASE_SECONDS + 1))
    assert take_up("uploads") == 1
    assert Upload.objects.get().status == Upload.Status.ACCEPTED


def test_with_workers_a_new_one_is_for_the_first_worker(waiting, settings):
    """The server that received it may have been killed before it called one."""
    settings.TASKS = DATABASE_TASKS
    assert list(unclaimed_uploads()) == [waiting]
    assert waiting.claim_to_process()
    assert not unclaimed_uploads().exists()
    let_lapse()
    assert list(unclaimed_uploads()) == [waiting]


def test_a_file_without_a_row_is_swept_once_it_is_old(waiting, media):
    """trust 5: an orphan file remained."""
    (own,) = kept_files(media)
    orphan = own.parent / "orphan.tar.gz"
    orphan.write_bytes(b"x")
    let_age(own)
    assert sweep_files() == 0
    let_age(orphan)
    assert sweep_files() == 1
    assert kept_files(media) == [own]


def test_what_was_on_its_way_in_when_its_process_died_is_swept(settings, tmp_path, media):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "incoming"
    settings.FILE_UPLOAD_TEMP_DIR.mkdir()
    new, old = settings.FILE_UPLOAD_TEMP_DIR / "new.upload", settings.FILE_UPLOAD_TEMP_DIR / "old.upload"
    new.write_bytes(b"x")
    old.write_bytes(b"x")
    let_age(old)
    assert sweep_files() == 1
    assert list(settings.FILE_UPLOAD_TEMP_DIR.iterdir()) == [new]


def test_no_file_is_swept_while_its_request_may_still_run(settings):
    assert ORPHANED_AFTER_LEASES * settings.LEASE_SECONDS >= 120  # gunicorn's timeout
    assert Path(settings.FILE_UPLOAD_TEMP_DIR).is_dir()
