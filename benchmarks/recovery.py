"""What killed processes left, and uploads that a request could not wait for, are taken up by whoever runs: chores of
every server and worker. A worker says of the task it runs that it still does, by `started_at`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import Q
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from benchmarks.models import Upload
from benchmarks.tasks import enqueue
from mpet_site.state_folder import is_older_than
from profiles.models.base import MOST_ATTEMPTS, heartbeat

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


def seen_alive(worker_id: str) -> AbstractContextManager[None]:
    """Keep the started task of this worker fresh, in a thread, as long as the block runs."""
    return heartbeat(f"task of worker {worker_id}", lambda: refresh_task_of(worker_id))


def refresh_task_of(worker_id: str) -> None:
    own = [pk for pk, workers in _running().values_list("pk", "worker_ids") if workers and workers[-1] == worker_id]
    _running().filter(pk__in=own).update(started_at=timezone.now())


def requeue_abandoned_tasks() -> int:
    """Give tasks whose worker is gone to the next one. Returns their number. One that took too many workers along has
    failed."""
    last_seen = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    count = 0
    for row in _running().filter(started_at__lt=last_seen):
        same = _running().filter(pk=row.pk, started_at=row.started_at)
        if len(row.worker_ids) > MOST_ATTEMPTS:
            traceback = f"{len(row.worker_ids)} workers ended while they ran it"
            count += same.update(status="FAILED", finished_at=timezone.now(), traceback=traceback)
        else:
            count += same.update(status="READY", started_at=None)
    return count


def _running() -> Any:
    return DBTaskResult.objects.running()
