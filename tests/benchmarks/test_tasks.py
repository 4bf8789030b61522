"""Uploads that are left to a worker."""

import pytest
from django.core.files.storage import default_storage
from django_tasks_db.models import DBTaskResult

from benchmarks import tasks
from benchmarks.models import Upload
from tests.benchmarks.uploads import receive, tarball

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def test_left_to_a_worker(alice, monkeypatch):
    """With the database backend the upload waits as received; the task then does what the request did not."""
    enqueued = []
    monkeypatch.setattr(type(tasks.process_upload), "enqueue", lambda task, key: enqueued.append(key))
    upload = receive(tarball(), alice)
    assert upload.status == Upload.Status.RECEIVED
    assert enqueued == [upload.pk]
    assert default_storage.exists(upload.file.name)
    tasks.process_upload.call(upload.pk)
    upload.refresh_from_db()
    assert upload.status == Upload.Status.ACCEPTED
    tasks.process_upload.call(upload.pk + 1)  # was deleted meanwhile
    assert Upload.objects.count() == 1


def test_the_worker_of_the_database_backend_processes_uploads(alice, settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    upload = receive(tarball(), alice)
    assert upload.status == Upload.Status.RECEIVED
    (waiting,) = DBTaskResult.objects.all()
    waiting.task.call(*waiting.args_kwargs["args"], **waiting.args_kwargs["kwargs"])
    upload.refresh_from_db()
    assert upload.status == Upload.Status.ACCEPTED
