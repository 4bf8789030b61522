"""Work behind requests is done by a worker, or by a periodic task of the server, whatever was killed (trust 5, 8)."""

import io
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from benchmarks.models import Upload
from benchmarks.services import begin_processing, keep_tarball
from mpet_site.web.periodic_tasks import registered_periodic_tasks
from predictor.computations.asking import ask
from predictor.models import Computation
from predictor.predictions.rankings import RankingQuestion
from profiles.jobs.queue import enqueue_worker_task, requeue_abandoned_tasks, take_up, work
from tests.benchmarks.uploads import tarball
from tests.mpet_site.api_samples import make_user, store
from tests.profiles.deliveries import let_lapse
from tests.samples import sample_measurements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def workers(settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}


@pytest.fixture
def computation(settings, django_capture_on_commit_callbacks):
    settings.REQUEST_SECONDS = 0
    for chore in registered_periodic_tasks():
        chore.due.clear()
    store(sample_measurements(3, 6))
    with django_capture_on_commit_callbacks(execute=True):
        ask(RankingQuestion.of("app0-section0"), None)
    return Computation.objects.get()


def keep(workloads=2, owner="ada"):
    content = io.BytesIO(tarball(sample_measurements(1, workloads)))
    return keep_tarball(content, make_user(owner), "public", "run.tar.gz")


def run_next_task():
    """What a worker does with it."""
    row = DBTaskResult.objects.ready().first()
    row.claim("worker")
    row.task.call(*row.args_kwargs["args"], **row.args_kwargs["kwargs"])
    row.set_successful(None)


def let_task_lapse(settings):
    DBTaskResult.objects.update(started_at=timezone.now() - timedelta(seconds=settings.LEASE_SECONDS + 1))


def test_without_workers_a_periodic_task_computes_at_once(computation):
    assert {"uploads", "computations", "tasks"} <= {chore.name for chore in registered_periodic_tasks()}
    assert not DBTaskResult.objects.exists()
    assert [chore.name for chore in registered_periodic_tasks() if chore.due.is_set()] == ["computations"]
    assert take_up("computations") == 1
    assert Computation.objects.get().is_done
    assert take_up("computations") == 0


def test_without_workers_it_goes_on_with_what_a_killed_process_left(computation):
    computation.claim()
    assert take_up("computations") == 0
    let_lapse(Computation.objects)
    assert take_up("computations") == 1
    assert Computation.objects.get().is_done


def test_an_upload_is_left_to_a_worker(workers):
    upload = begin_processing(keep())
    assert upload.status == Upload.Status.RECEIVED
    assert default_storage.exists(upload.file.name)
    run_next_task()
    assert Upload.objects.get().status == Upload.Status.ACCEPTED
    assert not DBTaskResult.objects.ready().exists()
    work.call()  # nothing waits
    assert Upload.objects.get().attempts == 1


def test_a_worker_takes_uploads_before_computations_and_calls_the_next_before_it_begins(workers, computation):
    begin_processing(keep())
    assert DBTaskResult.objects.count() == 1  # the computation's was there, and nobody had begun it
    run_next_task()
    assert Upload.objects.get().status == Upload.Status.ACCEPTED
    assert not Computation.objects.get().is_done
    run_next_task()
    assert not Computation.objects.exists()  # of a revision that is gone
    assert not DBTaskResult.objects.ready().exists()


def test_each_task_does_one_piece_and_another_worker_is_called_for_the_next(workers, monkeypatch):
    first, second = keep(2, "ada"), keep(3, "bob")
    begin_processing(first)
    begin_processing(second)
    assert DBTaskResult.objects.count() == 1
    ready = []
    monkeypatch.setattr(
        "benchmarks.processing._ingest_upload", lambda upload: ready.append(DBTaskResult.objects.ready().count())
    )
    run_next_task()
    run_next_task()
    assert ready == [1, 0]
    assert {upload.attempts for upload in Upload.objects.all()} == {1}


def test_what_a_killed_worker_left_is_done_by_the_next_worker_that_is_called(workers, computation):
    DBTaskResult.objects.all().delete()
    computation.claim()
    take_up("computations")
    assert not DBTaskResult.objects.exists()
    let_lapse(Computation.objects)
    for _ in range(2):
        take_up("computations")
    assert DBTaskResult.objects.count() == 1
    assert not Computation.objects.get().is_done
    run_next_task()
    assert Computation.objects.get().is_done


def test_the_task_of_a_killed_worker_is_for_the_next(workers, settings):
    """django-tasks leaves it RUNNING for ever (trust 5)."""
    enqueue_worker_task()
    row = DBTaskResult.objects.get()
    row.claim("killed")
    assert requeue_abandoned_tasks() == 0
    let_task_lapse(settings)
    assert not DBTaskResult.objects.ready().exists()
    assert requeue_abandoned_tasks() == 1
    assert list(DBTaskResult.objects.ready()) == [row]
    run_next_task()
    assert DBTaskResult.objects.get().status == "SUCCESSFUL"


def test_a_task_that_is_run_again_beside_its_worker_does_nothing_twice(workers, settings, monkeypatch):
    upload = begin_processing(keep())
    first = DBTaskResult.objects.get()
    first.claim("slow")
    assert upload.claim_to_process()
    let_task_lapse(settings)
    assert requeue_abandoned_tasks() == 1
    run_next_task()
    assert Upload.objects.get().attempts == 1
    first.set_successful(None)
    assert DBTaskResult.objects.get().status == "SUCCESSFUL"
