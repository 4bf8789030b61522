"""The command that processes what requests left to a worker."""

from typing import Any

from django_tasks_db.management.commands import db_worker

from benchmarks.recovery import seen_alive
from mpet_site.web.periodic_tasks import start_periodic_tasks


class Command(db_worker.Command):
    help = "Process what requests leave to a worker (MPET_TASKS=database), until it is stopped."

    def handle(self, *, worker_id: str, **options: Any) -> None:
        start_periodic_tasks()
        with seen_alive(worker_id):
            super().handle(worker_id=worker_id, **options)
