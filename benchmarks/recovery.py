"""What killed processes left, and uploads that a request could not wait for, are taken up by whoever runs: chores of
every server and worker."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Upload
from benchmarks.tasks import enqueue
from profiles.leftovers import is_older_than

UPLOADS_FOLDER = "uploads"
ORPHANED_AFTER_LEASES = 10  # a file is older before it can be said that no row will come


def take_up_uploads() -> int:
    """Have all waiting uploads processed that no process has claimed. Returns their number. A new one is its request's
    own for as long as a lease; one that its request left to this chore says "processing"."""
    new = Q(status=Upload.Status.RECEIVED, created_at__gte=timezone.now() - timedelta(seconds=settings.LEASE_SECONDS))
    left = list(Upload.objects.waiting().unheld().exclude(new).select_related("owner").order_by("pk"))
    for upload in left:
        enqueue(upload)
    return len(left)


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
