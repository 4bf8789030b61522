"""Work behind the request: in it (MPET_TASKS=immediate), or in `manage.py db_worker` (MPET_TASKS=database)."""

from django_tasks import task

from benchmarks.models import Upload
from benchmarks.processing import process


@task()
def process_upload(key: int) -> None:
    """Process the upload of that primary key; one that was deleted meanwhile is done."""
    upload = Upload.objects.select_related("owner").filter(pk=key).first()
    if upload is not None:
        process(upload)
