"""What killed processes left (trust 5): taken up again, and swept."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from benchmarks.models import Upload
from benchmarks.processing import ORPHANED_AFTER_LEASES, sweep_files, unclaimed_uploads
from mpet_site.web.periodic_tasks import registered_periodic_tasks
from profiles.jobs.queue import take_up
from tests.benchmarks.uploads import kept_files

pytestmark = pytest.mark.django_db
DATABASE_TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}


def let_lapse():
    Upload.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


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
