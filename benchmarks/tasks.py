"""Work behind the request: in it (MPET_TASKS=immediate), or in `manage.py db_worker` (MPET_TASKS=database)."""

from django_tasks import task
from django_tasks_db import DatabaseBackend
from django_tasks_db.models import DBTaskResult

from benchmarks.models import Upload
from benchmarks.processing import process


@task()
def process_upload(key: int) -> None:
    """Process the upload of that primary key; one that was deleted meanwhile is done."""
    upload = Upload.objects.select_related("owner").filter(pk=key).first()
    if upload is not None:
        process(upload)


def hand_on(upload: Upload) -> None:
    """Have it processed: now, or by a worker, once."""
    if not _is_enqueued(upload):
        process_upload.enqueue(upload.pk)


def _is_enqueued(upload: Upload) -> bool:
    if not isinstance(process_upload.get_backend(), DatabaseBackend):
        return False
    waiting = DBTaskResult.objects.filter(task_path=process_upload.module_path, status__in=("READY", "RUNNING"))
    return any(arguments["args"] == [upload.pk] for arguments in waiting.values_list("args_kwargs", flat=True))
