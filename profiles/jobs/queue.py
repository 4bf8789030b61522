"""Work that a request leaves behind it: uploads that are read, and computations. Rows say what waits and which process
is at it (profiles.models.base).

With MPET_TASKS=database `manage.py db_worker` does it. A task of django-tasks says that something waits, and no more:
one that is lost or run twice changes nothing. Without workers the periodic tasks of each server do it. In both cases
they see to what a killed process left. docs/decisions/computations.md says what django-tasks does not do.
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

LOOKED_FOR_EVERY_S = 2.0  # at most, as somebody waits for it
CLAIMED_FROM = 8  # of the first that wait: others may be claiming as well


@dataclass(frozen=True)
class KindOfWork:
    """`waiting`: rows of a LeasedWork that no process has claimed, in the order in which they are done; `do` does one
    that `claim` claimed. Workers do what is of the lowest `order` first."""

    order: int
    waiting: Callable[[], QuerySet[Any]]
    claim: Callable[[Any], bool]
    do: Callable[[Any], Any]

    def claim_next(self) -> Any | None:
        return next((row for row in self.waiting()[:CLAIMED_FROM] if self.claim(row)), None)


_kinds: dict[str, KindOfWork] = {}
_periodic_tasks: dict[str, PeriodicTask] = {}


def register_work(name: str, kind: KindOfWork) -> None:
    """Have it done by workers, or by the periodic task `name`. For `AppConfig.ready`."""
    _kinds[name] = kind
    interval_s = min(settings.CHORE_SECONDS, LOOKED_FOR_EVERY_S)
    _periodic_tasks[name] = register_periodic_task(name, partial(take_up, name), interval_s)


def take_up(name: str) -> int:
    """Do all of this kind that waits, or have workers do it. Returns how much was done here."""
    kind, done = _kinds[name], 0
    if uses_workers():
        if kind.waiting().exists():
            call_workers()
        return 0
    while (row := kind.claim_next()) is not None:
        kind.do(row)
        done += 1
    return done


def uses_workers() -> bool:
    return not settings.TASKS["default"]["BACKEND"].endswith("ImmediateBackend")


@task()
def work() -> None:
    """Do one piece of what waits; where more does, another worker is called before, or this one takes it next."""
    if sum(kind.waiting()[:2].count() for kind in _kinds.values()) > 1:
        call_workers()
    for kind in sorted(_kinds.values(), key=lambda kind: kind.order):
        row = kind.claim_next()
        if row is not None:
            kind.do(row)
            return


def call_workers() -> None:
    """Have a worker look what waits, unless a task is there that none has begun."""
    if not DBTaskResult.objects.ready().filter(task_path=work.module_path).exists():
        work.enqueue()


def begin_soon(name: str) -> None:
    """Have what waits of this kind done by a worker, or by the periodic task of this process."""
    if uses_workers():
        call_workers()
    else:
        _periodic_tasks[name].due.set()


def requeue_abandoned_tasks() -> int:
    """Have tasks run again that began longer ago than a lease. Returns their number. A periodic task.

    django-tasks never takes up the task of a killed worker. Whether the worker is alive makes no difference: another
    one does what nobody has claimed.
    """
    began_before = timezone.now() - timedelta(seconds=settings.LEASE_SECONDS)
    count: int = (
        DBTaskResult.objects.running().filter(started_at__lt=began_before).update(status="READY", started_at=None)
    )
    return count
