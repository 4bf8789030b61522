"""The queue of background work: reading uploads, and computations.

Rows record what is waiting and which process has claimed it (profiles.models.base). With MPET_TASKS=database,
`manage.py db_worker` does the work. A task of django-tasks only signals that work is waiting, so losing one or running
it twice has no effect. Without workers, the periodic tasks of each server do the work. In both cases, periodic tasks
resume the work of killed processes. docs/decisions/computations.md lists the missing features of django-tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django_tasks import task
from django_tasks_db.models import DBTaskResult

from mpet_site.web.periodic_tasks import PeriodicTask, register_periodic_task

LOOKED_FOR_EVERY_S = 2.0  # longest interval between two checks, because a user waits for the result
CLAIMED_FROM = 8  # number of waiting rows to try, because other processes claim rows at the same time


@dataclass(frozen=True)
class KindOfWork:
    """A kind of work.

    `waiting` returns the unclaimed rows (LeasedWork) in the order of processing. `claim` claims a row, and `do`
    processes a claimed row. Workers process the kind with the lowest `order` first.
    """

    order: int
    waiting: Callable[[], QuerySet[Any]]
    claim: Callable[[Any], bool]
    do: Callable[[Any], Any]

    def claim_next(self) -> Any | None:
        return next((row for row in self.waiting()[:CLAIMED_FROM] if self.claim(row)), None)


_kinds: dict[str, KindOfWork] = {}
_periodic_tasks: dict[str, PeriodicTask] = {}


def register_work(name: str, kind: KindOfWork) -> None:
    """Register a kind of work, in `AppConfig.ready`. Workers or the periodic task `name` process it."""
    _kinds[name] = kind
    interval_s = min(settings.CHORE_SECONDS, LOOKED_FOR_EVERY_S)
    _periodic_tasks[name] = register_periodic_task(name, partial(take_up, name), interval_s)


def take_up(name: str) -> int:
    """Process all waiting rows of this kind, or call workers for them. Return the number of rows processed here."""
    kind, done = _kinds[name], 0
    if uses_workers():
        if kind.waiting().exists():
            enqueue_worker_task()
        return 0
    while (row := kind.claim_next()) is not None:
        kind.do(row)
        done += 1
    return done


def uses_workers() -> bool:
    return not settings.TASKS["default"]["BACKEND"].endswith("ImmediateBackend")


@task()
def work() -> None:
    """Process one waiting row. If more are waiting, call another worker first."""
    if sum(kind.waiting()[:2].count() for kind in _kinds.values()) > 1:
        enqueue_worker_task()
    for kind in sorted(_kinds.values(), key=lambda kind: kind.order):
        row = kind.claim_next()
        if row is not None:
            kind.do(row)
            return


def enqueue_worker_task() -> None:
    """Enqueue a task for the workers, unless one is already waiting."""
    if not DBTaskResult.objects.ready().filter(task_path=work.module_path).exists():
        work.enqueue()


def begin_in_background(name: str) -> None:
    """Let a worker, or the periodic task of this process, process the waiting rows of this kind now."""
    if uses_workers():
        enqueue_worker_task()
    else:
        _periodic_tasks[name].due.set()


def requeue_abandoned_tasks() -> int:
    """Requeue tasks that started longer ago than a lease. Return their number. This is a periodic task.

    django-tasks does not requeue the tasks of killed workers. If the worker is still alive, a second run does no harm,
    because it only processes unclaimed rows.
    """
    began_before = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    count: int = (
        DBTaskResult.objects.running().filter(started_at__lt=began_before).update(status="READY", started_at=None)
    )
    return count
