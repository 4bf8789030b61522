"""What killed processes left of uploads, and uploads that a request could not wait for."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Upload, UploadQuerySet
from mpet_site.state_folder import is_older_than
from profiles.jobs.queue import uses_workers

UPLOADS_FOLDER = "uploads"
ORPHANED_AFTER_LEASES = 10  # a file is older before it can be said that no row will come


def unclaimed_uploads() -> UploadQuerySet:
    """Those that wait and that no process has claimed. Without workers a new one is its request's own for as long as a
    lease; one that its request left to others says "processing"."""
    unclaimed = Upload.objects.waiting().unheld().select_related("owner").order_by("pk")
    if uses_workers():
        return unclaimed
    lease_ago = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    return unclaimed.exclude(Q(status=Upload.Status.RECEIVED, created_at__gte=lease_ago))


def sweep_files() -> int:
    """Delete uploaded files without a row, and what was on its way in when its process died. Returns the number of
    files."""
    orphans = [*_orphaned_tarballs(), *_old_files(Path(settings.FILE_UPLOAD_TEMP_DIR))]
    for path in orphans:
        path.unlink(missing_ok=True)
    return len(orphans)


def _orphaned_tarballs() -> list[Path]:
    old = _old_files(Path(default_storage.path(UPLOADS_FOLDER)))
    if not old:
        return []
    known = set(Upload.objects.exclude(file="").values_list("file", flat=True))  # read after the folder was
    return [path for path in old if f"{UPLOADS_FOLDER}/{path.name}" not in known]


def _old_files(folder: Path) -> list[Path]:
    left_after = ORPHANED_AFTER_LEASES * settings.LEASE_SECONDS
    return [path for path in folder.glob("*") if path.is_file() and is_older_than(path, left_after)]
