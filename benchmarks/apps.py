"""The application that measures: the kit, its results and the simulator."""

from django.apps import AppConfig
from django.conf import settings

from benchmarks.archive import read_archive
from mpet_site.web.periodic_tasks import register_periodic_task
from profiles.measurements import KIT_RESULTS, register_reader


class BenchmarksConfig(AppConfig):
    name = "benchmarks"

    def ready(self) -> None:
        from accounts.user_data import register_user_data  # noqa: PLC0415
        from benchmarks.quarantine import end_abandoned  # noqa: PLC0415
        from benchmarks.recovery import (  # noqa: PLC0415
            requeue_abandoned_tasks,
            sweep_files,
            take_up_uploads,
        )
        from benchmarks.user_data import MEASUREMENTS  # noqa: PLC0415  models are not there before

        register_reader(KIT_RESULTS, read_archive)
        register_user_data(MEASUREMENTS)
        register_periodic_task(
            "uploads", take_up_uploads, seconds=min(settings.CHORE_SECONDS, 2.0)
        )  # their senders wait
        register_periodic_task("quarantine", end_abandoned)
        register_periodic_task("tasks", requeue_abandoned_tasks)
        register_periodic_task("files", sweep_files, seconds=2 * settings.LEASE_SECONDS)
