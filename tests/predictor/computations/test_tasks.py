"""Who computes: a thread of the server, or the workers."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from mpet_site.web.periodic_tasks import registered_periodic_tasks
from predictor.computations.tasks import compute_what_waits, start_computing, take_up_computations
from predictor.models import Computation

pytestmark = pytest.mark.django_db


@pytest.fixture
def with_workers(settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}


@pytest.mark.django_db(transaction=True)
def test_a_thread_of_the_server_computes_where_there_is_no_worker(waiting, monkeypatch):
    threads = []

    class Thread:
        def __init__(self, target, **named):
            threads.append(target)

        def start(self):
            threads[0]()

    monkeypatch.setattr("predictor.computations.tasks.threading.Thread", Thread)
    monkeypatch.setattr("predictor.computations.tasks.connections.close_all", lambda: None)
    start_computing()
    assert Computation.objects.get().is_done


def test_a_worker_computes_where_there_is_one(waiting, with_workers):
    start_computing()
    assert not Computation.objects.get().is_done
    (queued,) = DBTaskResult.objects.all()
    assert queued.priority < 0
    compute_what_waits.func()
    assert Computation.objects.get().is_done


def test_the_chore_goes_on_with_what_a_killed_process_left(waiting):
    assert "computations" in [chore.name for chore in registered_periodic_tasks()]
    waiting.claim()
    take_up_computations()
    assert not Computation.objects.get().is_done
    Computation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    take_up_computations()
    assert Computation.objects.get().is_done


def test_the_chore_hands_to_a_worker_once_what_a_killed_one_left(waiting, with_workers):
    waiting.claim()
    take_up_computations()
    assert not DBTaskResult.objects.exists()
    Computation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    for _ in range(2):
        take_up_computations()
    assert DBTaskResult.objects.count() == 1
