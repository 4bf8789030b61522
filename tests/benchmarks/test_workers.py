"""Tasks of workers that were killed (trust 5: their rows stayed RUNNING)."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from benchmarks import tasks
from benchmarks.recovery import requeue_abandoned_tasks, seen_alive
from profiles.models.base import MOST_ATTEMPTS

pytestmark = pytest.mark.django_db


@pytest.fixture
def started(settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    tasks.process_upload.enqueue(1)
    row = DBTaskResult.objects.get()
    row.claim("first")
    return row


def let_age(settings):
    DBTaskResult.objects.update(started_at=timezone.now() - timedelta(seconds=settings.LEASE_SECONDS + 1))


def test_the_task_of_a_worker_that_is_gone_is_for_the_next(started, settings):
    assert requeue_abandoned_tasks() == 0
    let_age(settings)
    assert requeue_abandoned_tasks() == 1
    assert list(DBTaskResult.objects.ready()) == [started]


def test_a_task_that_took_too_many_workers_along_has_failed(started, settings):
    DBTaskResult.objects.update(worker_ids=["w"] * (MOST_ATTEMPTS + 1))
    let_age(settings)
    assert requeue_abandoned_tasks() == 1
    row = DBTaskResult.objects.get()
    assert (row.status, row.traceback) == ("FAILED", "6 workers ended while they ran it")


@pytest.mark.django_db(transaction=True)
def test_a_worker_at_work_keeps_its_task_and_no_other(started, settings):
    settings.LEASE_SECONDS = 0.4
    tasks.process_upload.enqueue(2)
    other = DBTaskResult.objects.exclude(pk=started.pk).get()
    other.claim("second")
    with seen_alive("first"):
        deadline = timezone.now() + timedelta(seconds=30)
        while DBTaskResult.objects.get(pk=started.pk).started_at <= started.started_at and timezone.now() < deadline:
            threading.Event().wait(0.05)
    assert DBTaskResult.objects.get(pk=started.pk).started_at > started.started_at
    assert DBTaskResult.objects.get(pk=other.pk).started_at == other.started_at
