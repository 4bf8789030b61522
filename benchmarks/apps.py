"""Django application for measurements: the benchmark kit, uploads and the simulator."""

from django.apps import AppConfig
from django.conf import settings

from mpet_site.web.periodic_tasks import register_periodic_task


class BenchmarksConfig(AppConfig):
    name = "benchmarks"

    def ready(self) -> None:
        from accounts.user_data import register_user_data  # noqa: PLC0415
        from benchmarks.models import Upload  # noqa: PLC0415
        from benchmarks.processing import process_claimed, sweep_files, unclaimed_uploads  # noqa: PLC0415
        from benchmarks.quarantine import end_abandoned  # noqa: PLC0415
        from benchmarks.user_data import MEASUREMENTS  # noqa: PLC0415  models are not loaded before `ready`
        from profiles.jobs.queue import KindOfWork, register_work  # noqa: PLC0415

        register_user_data(MEASUREMENTS)
        register_work("uploads", KindOfWork(1, unclaimed_uploads, Upload.claim_to_process, process_claimed))
        register_periodic_task("quarantine", end_abandoned)
        register_periodic_task("files", sweep_files, seconds=2 * settings.LEASE_SECONDS)
