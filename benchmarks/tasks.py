"""Work behind the request: in it (MPET_TASKS=immediate), or in `manage.py db_worker` (MPET_TASKS=database)."""

from django_tasks import task
from django_tasks_db import DatabaseBackend
from django_tasks_db.models import DBTaskResult

from benchmarks.models import Upload
from benchmarks.processing import process
from benchmarks.reading import ReaderBusyError, one_request_at_a_time


@task()
def process_upload(key: int) -> None:
    """Process the upload of that primary key; one that was deleted meanwhile is done. Where this is a request's work
    and another request waits for a file, it is left to the chore (benchmarks.recovery), which takes it up at once."""
    upload = Upload.objects.select_related("owner").filter(pk=key).first()
    if upload is None:
        return
    try:
        with one_request_at_a_time():
            process(upload)
    except ReaderBusyError:
        Upload.objects.unheld().filter(pk=key, status=Upload.Status.RECEIVED).update(status=Upload.Status.PROCESSING)


def enqueue(upload: Upload) -> None:
    """Enqueue the upload to be processed, unless it is enqueued already."""
    if not _is_enqueued(upload):
        process_upload.enqueue(upload.pk)


def _is_enqueued(upload: Upload) -> bool:
    if not isinstance(process_upload.get_backend(), DatabaseBackend):
        return False
    waiting = DBTaskResult.objects.filter(task_path=process_upload.module_path, status__in=("READY", "RUNNING"))
    return any(arguments["args"] == [upload.pk] for arguments in waiting.values_list("args_kwargs", flat=True))
