"""Command that runs background tasks."""

from typing import Any

from django_tasks_db.management.commands import db_worker

from mpet_site.web.periodic_tasks import start_periodic_tasks


class Command(db_worker.Command):
    help = "Run background tasks from the database (MPET_TASKS=database) until stopped."

    def handle(self, **options: Any) -> None:
        start_periodic_tasks()
        super().handle(**options)
