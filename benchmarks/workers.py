"""Tasks in the database whose worker is gone. A worker says of the task it runs that it still does, by `started_at`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from profiles.models.leases import MOST_ATTEMPTS, heartbeat


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
